//! A call like one before allocates nothing, from the public function to the device. On a card that is the whole call; else
//! on a device that takes launches and does not run them.

#![allow(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use warpsmith_kernels::{gemm, rms_norm, softmax};
use warpsmith_runtime::{Device, Stream, Tensor};
use warpsmith_types::{Chip, DType};

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is the system's; a thread's own number is counted up beside it, which allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps to the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps to the contract; all memory is the system's.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps to the contract; all memory is the system's.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of this thread in a call.
fn allocations<T>(call: impl FnOnce() -> T) -> u64 {
    let before = COUNT.get();
    let result = call();
    let count = COUNT.get() - before;
    // Else what is made and not looked at may not be made.
    drop(std::hint::black_box(result));
    count
}

fn device() -> Device {
    match std::env::var("WARPSMITH_DEVICE") {
        Ok(name) if name.starts_with("cuda") => Device::from_env().unwrap(),
        _ => Device::idle(Chip::H200),
    }
}

/// The first call of its kind allocates, those after it do not, on any stream.
fn check(what: &str, device: &Device, mut call: impl FnMut(&Stream)) {
    let streams = [device.default_stream(), device.create_stream().unwrap()];
    assert!(allocations(|| call(&streams[0])) > 0, "{what}: the first call compiles");
    for i in 0..100 {
        assert_eq!(allocations(|| call(&streams[i % 2])), 0, "{what}: call {i} after it");
    }
    device.synchronize().unwrap();
}

#[test]
fn allocations_are_counted() {
    assert_eq!(allocations(|| ()), 0);
    assert_eq!(allocations(|| Box::new(1)), 1);
    let mut list = vec![1];
    assert_eq!(allocations(|| list.extend([2, 3, 4, 5, 6, 7, 8, 9])), 1);
}

#[test]
fn a_call_like_one_before_allocates_nothing() {
    let device = device();
    let tensor = |name, shape: &[usize]| Tensor::new(&device, name, DType::BF16, shape).unwrap();
    let (x, weight, mut y) = (tensor("x", &[8, 4096]), tensor("weight", &[4096]), tensor("y", &[8, 4096]));
    check("rms_norm", &device, |s| drop(rms_norm(x.arg(), Some(weight.arg()), y.arg_mut(), 1e-6, s).unwrap()));
    check("rms_norm without a weight", &device, |s| drop(rms_norm(x.arg(), None, y.arg_mut(), 1e-6, s).unwrap()));
    check("softmax", &device, |s| drop(softmax(x.arg(), y.arg_mut(), s).unwrap()));
    let bound = softmax::bind(x.arg(), y.arg_mut(), &device).unwrap();
    let stream = device.default_stream();
    assert_eq!(allocations(|| bound.launch(&stream)), 0);

    // Other memory and another number of rows, about as many.
    let (x, mut y) = (tensor("x", &[13, 4096]), tensor("y", &[13, 4096]));
    assert_eq!(allocations(|| softmax(x.arg(), y.arg_mut(), &stream)), 0);
    // An empty one launches nothing.
    let (x, mut y) = (tensor("x", &[0, 4096]), tensor("y", &[0, 4096]));
    softmax(x.arg(), y.arg_mut(), &stream).unwrap();
    device.synchronize().unwrap();
}

#[test]
fn tensor_maps_are_made_once() {
    let device = device();
    if device.chip().target != warpsmith_dsl::Target::SM_90A {
        return;
    }
    let tensor = |name, shape: &[usize]| Tensor::new(&device, name, DType::BF16, shape).unwrap();
    let (a, b, mut c) = (tensor("a", &[256, 128]), tensor("b", &[512, 128]), tensor("c", &[256, 512]));
    check("gemm", &device, |s| drop(gemm(a.arg(), b.arg(), c.arg_mut(), s).unwrap()));
}
