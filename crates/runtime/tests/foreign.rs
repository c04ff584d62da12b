//! Streams, contexts and memory that another library made: here by the driver's own calls, beside the runtime.

#![allow(unsafe_code, reason = "handles of another library are pointers")]
#![allow(clippy::print_stdout, reason = "what is skipped is said")]

#[path = "device/common.rs"]
mod common;

use common::{VADD, add, device, floats, values};
use cudarc::driver::sys;
use std::ptr::null_mut;
use warpsmith_runtime::{Device, DeviceId, Error, Graph, MemoryUse, Stream};
use warpsmith_types::Chip;

/// The stream of a handle that is alive.
fn stream(device: &Device, handle: u64) -> Result<Stream, Error> {
    // SAFETY: the tests here give special handles, and those of streams that outlive what is returned.
    unsafe { Stream::from_raw(device, handle) }
}

#[test]
fn special_handles_are_streams() {
    let device = device();
    let function = device.load(VADD, "vadd").unwrap();
    let x = floats(&device, &[1.0; 32], "x");
    for (handle, raw) in [(0, 0), (1, 0), (2, 2)] {
        let stream = stream(&device, handle).unwrap();
        assert_eq!(stream.as_raw(), raw);
        add(&function, &stream, [&x, &x, &x]).unwrap();
        stream.synchronize().unwrap();
    }
    assert_eq!(values(&x), [8.0; 32]);
    assert_eq!(device.default_stream().as_raw(), 0);
    // Each thread has its own, which the default stream waits for.
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| add(&function, &stream(&device, 2).unwrap(), [&x, &x, &x]).unwrap()).join().unwrap();
        }
    });
    add(&function, &device.default_stream(), [&x, &x, &x]).unwrap();
    assert!(values(&x)[0] >= 32.0);
}

#[test]
fn a_stream_of_ours_goes_out_and_comes_back() {
    let device = device();
    let function = device.load(VADD, "vadd").unwrap();
    let x = floats(&device, &[1.0; 32], "x");
    let ours = device.create_stream().unwrap();
    let before = device.live_objects();
    let theirs = stream(&device, ours.as_raw()).unwrap();
    assert_eq!((theirs.as_raw(), device.live_objects()), (ours.as_raw(), before));
    add(&function, &theirs, [&x, &x, &x]).unwrap();
    // Letting go of it destroys nothing.
    drop(theirs);
    add(&function, &ours, [&x, &x, &x]).unwrap();
    assert!(ours.synchronize().unwrap().findings.is_empty());
    assert_eq!((values(&x), device.live_objects()), (vec![4.0; 32], before));
}

#[test]
fn an_emulated_device_knows_its_streams() {
    let device = Device::emulated(Chip::H200);
    let gone = device.create_stream().unwrap().as_raw();
    for handle in [gone, 3, 1 << 40] {
        let said = stream(&device, handle).unwrap_err().to_string();
        assert!(said.starts_with(&format!("stream {handle:#x} is none; expected one of emulated:")), "{said}");
    }
}

#[test]
fn memory_is_looked_up() {
    let device = device();
    let function = device.load(VADD, "vadd").unwrap();
    let x = floats(&device, &[1.0; 64], "x");
    let before = device.memory_use();
    {
        let half = device.foreign(x.address() + 128, 128, "half").unwrap();
        assert_eq!((half.len(), half.address(), half.name()), (128, x.address() + 128, "half"));
        add(&function, &device.default_stream(), [&half, &half, &half]).unwrap();
        assert_eq!(device.memory_use(), before);
    }
    drop(device.foreign(x.address(), 256, "all").unwrap());
    // It was not freed, and the other half is as it was.
    assert_eq!(values(&x), [[1.0; 32], [2.0; 32]].concat());
    assert!(device.foreign(0, 0, "nothing").unwrap().is_empty());
    let host = [0u8; 16];
    for (address, bytes, what) in
        [(x.address() + 4, 1 << 40, "long"), (16, 16, "no"), (host.as_ptr() as u64, 16, ""), (u64::MAX - 3, 16, "")]
    {
        let said = device.foreign(address, bytes, "theirs").unwrap_err().to_string();
        let start = format!("`theirs`, {bytes} bytes at {address:#x}, is ");
        assert!(said.starts_with(&start) && said.contains("expected allocated memory of"), "{said}");
        assert!(said.contains(what), "{said}");
    }
    let y = x.address();
    drop(x);
    assert!(!device.is_emulated() || device.foreign(y, 16, "gone").is_err());
    assert_eq!(device.memory_use(), MemoryUse::default());
}

#[test]
fn memory_of_another_device_is_refused() {
    let [here, there] = Device::emulated_node(&[Chip::H200; 2]).unwrap().try_into().unwrap();
    let x = floats(&there, &[1.0; 32], "x");
    let said = here.foreign(x.address(), 128, "x").unwrap_err().to_string();
    assert!(said.contains("is memory of device 1 of its node; expected"), "{said}");
}

/// A call of the driver that must succeed.
fn ok(result: sys::CUresult) {
    assert_eq!(result, sys::CUresult::CUDA_SUCCESS);
}

/// A card, when `WARPSMITH_DEVICE` asks for one.
fn card() -> Option<Device> {
    let device = device();
    if device.is_emulated() {
        println!("skipped: it takes a card (WARPSMITH_DEVICE=cuda)");
        return None;
    }
    Some(device)
}

#[test]
fn work_goes_on_another_librarys_stream_and_memory() {
    let Some(device) = card() else { return };
    let function = device.load(VADD, "vadd").unwrap();
    let (mut theirs, mut memory, mut context) = (null_mut(), 0, null_mut());
    let ones = [1.0f32; 32];
    let mut result = [0.0f32; 32];
    // SAFETY: plain calls of the driver on objects that live until the end; pointers are to live values.
    unsafe {
        // The primary context, as PyTorch takes it.
        ok(sys::cuDevicePrimaryCtxRetain(&mut context, 0));
        ok(sys::cuCtxPushCurrent_v2(context));
        ok(sys::cuStreamCreate(&mut theirs, 1));
        ok(sys::cuMemAlloc_v2(&mut memory, 256));
        ok(sys::cuMemcpyHtoDAsync_v2(memory, ones.as_ptr().cast(), 128, theirs));
    }
    let before = (device.memory_use(), device.live_objects());
    let ours = stream(&device, theirs as u64).unwrap();
    {
        let [x, y] = [0, 128].map(|at| device.foreign(memory + at, 128, "theirs").unwrap());
        let said = device.foreign(memory, 1 << 30, "theirs").unwrap_err().to_string();
        assert!(said.contains("only"), "{said}");
        // No synchronisation in between.
        add(&function, &ours, [&x, &x, &y]).unwrap();
        add(&function, &ours, [&y, &y, &y]).unwrap();
    }
    // A graph of ours runs there, and a capture of theirs takes our launches.
    let x = device.foreign(memory + 128, 128, "theirs").unwrap();
    let graph = Graph::capture(&device, |s| add(&function, s, [&x, &x, &x]).map(drop)).unwrap();
    graph.replay(&ours).unwrap();
    let (mut written, mut exec) = (null_mut(), null_mut());
    // SAFETY: as above.
    unsafe {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
        ok(sys::cuStreamBeginCapture_v2(theirs, mode));
        add(&function, &ours, [&x, &x, &x]).unwrap();
        let refused = ours.allocate(64, "y").unwrap_err();
        assert!(matches!(refused, Error::Capturing { .. }), "{refused}");
        // Ours to allocate meanwhile, even under the strictest mode.
        drop(device.allocate(64, "z").unwrap());
        ok(sys::cuStreamEndCapture(theirs, &mut written));
        ok(sys::cuGraphInstantiateWithFlags(&mut exec, written, 0));
        ok(sys::cuGraphLaunch(exec, theirs));
        ok(sys::cuMemcpyDtoHAsync_v2(result.as_mut_ptr().cast(), memory + 128, 128, theirs));
        ok(sys::cuStreamSynchronize(theirs));
        ok(sys::cuGraphExecDestroy(exec));
        ok(sys::cuGraphDestroy(written));
    }
    assert_eq!(result, [16.0; 32]);
    drop((x, graph, ours));
    assert_eq!((device.memory_use(), device.live_objects()), before);
    // SAFETY: as above; nothing of ours uses them any more. Both are still alive, so we have destroyed neither.
    unsafe {
        ok(sys::cuStreamQuery(theirs));
        ok(sys::cuStreamDestroy_v2(theirs));
        ok(sys::cuMemFree_v2(memory));
        let mut popped = null_mut();
        ok(sys::cuCtxPopCurrent_v2(&mut popped));
        assert_eq!(popped, context);
    }
}

#[test]
fn memory_of_the_host_is_no_memory_of_the_card() {
    let Some(device) = card() else { return };
    let pinned = device.pinned(64).unwrap();
    let said = device.foreign(pinned.as_ptr() as u64, 64, "pinned").unwrap_err().to_string();
    assert!(said.contains("memory of the host"), "{said}");
    let mut managed = 0;
    // SAFETY: the pointers are to live values, and the memory is freed once.
    unsafe {
        let (mut context, mut popped) = (null_mut(), null_mut());
        ok(sys::cuDevicePrimaryCtxRetain(&mut context, 0));
        ok(sys::cuCtxPushCurrent_v2(context));
        ok(sys::cuMemAllocManaged(&mut managed, 64, 1));
        let said = device.foreign(managed, 64, "managed").unwrap_err().to_string();
        assert!(said.contains("memory of the host"), "{said}");
        ok(sys::cuMemFree_v2(managed));
        ok(sys::cuCtxPopCurrent_v2(&mut popped));
    }
}

#[test]
fn another_librarys_context_is_a_device_of_its_own() {
    let Some(device) = card() else { return };
    // A thread of its own has no context.
    std::thread::spawn(move || {
        // SAFETY: contexts are destroyed after everything that lives on them is gone, or never.
        let current = || unsafe { Device::from_current_context() };
        assert!(matches!(current(), Err(Error::NoContext)));
        let (mut own, mut primary, mut popped) = (null_mut(), null_mut(), null_mut());
        // SAFETY: plain calls of the driver; pointers are to live values.
        unsafe {
            ok(sys::cuDevicePrimaryCtxRetain(&mut primary, 0));
            ok(sys::cuCtxPushCurrent_v2(primary));
        }
        assert!(current().unwrap() == device);
        // SAFETY: as above.
        unsafe {
            ok(sys::cuCtxPopCurrent_v2(&mut popped));
            ok(sys::cuCtxCreate_v2(&mut own, 0, 0));
        }
        let theirs = current().unwrap();
        assert!(theirs == current().unwrap() && theirs != device);
        assert!(matches!(theirs.info().id, DeviceId::Context(_)), "{theirs:?}");
        assert_eq!(theirs.info().name, device.info().name);
        let function = theirs.load(VADD, "vadd").unwrap();
        let x = floats(&theirs, &[1.0; 32], "x");
        let side = theirs.create_stream().unwrap();
        add(&function, &side, [&x, &x, &x]).unwrap();
        assert_eq!(values(&x), [2.0; 32]);
        // Our context is the primary one, whatever is current; theirs is put back.
        let y = floats(&device, &[1.0; 32], "y");
        assert_eq!(values(&y), [1.0; 32]);
        let mut now = null_mut();
        // SAFETY: as above.
        unsafe { ok(sys::cuCtxGetCurrent(&mut now)) };
        assert_eq!(now, own);
        // A stream of one context is none of the other's.
        let said = stream(&device, side.as_raw()).unwrap_err().to_string();
        assert!(said.contains("is of another context; expected one of this context of"), "{said}");
        assert!(add(&function, &device.default_stream(), [&x, &x, &x]).is_err());
        let memory = theirs.memory_use();
        assert_eq!((memory.buffers, theirs.live_objects().streams), (1, 1));
        drop((x, side, function));
        assert_eq!(theirs.memory_use(), MemoryUse::default());
    })
    .join()
    .unwrap();
}
