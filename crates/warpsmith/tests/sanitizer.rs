//! What the sanitizer says of kernels that are wrong, with the line of Rust.

use warpsmith::prelude::*;

#[derive(KernelArgs)]
struct CopyArgs<'a> {
    #[tensor(rows, dim = fixed)]
    x: &'a TensorArg,
    #[tensor(rows, dim = fixed)]
    y: &'a mut TensorArg,
}

/// The line of the load in [`Copy32::body`].
const LOAD: u32 = line!() + 19;

/// `y = x`, a row to a block, 32 threads of 4 elements.
struct Copy32;

impl Kernel for Copy32 {
    type Args = CopyParams;

    fn name(&self) -> String {
        "copy".into()
    }

    fn launch(&self, a: &CopyArgs<'_>) -> Launch {
        Launch::grid(a.x.dim(0)).block(32)
    }

    fn body(&self, a: CopyParams) {
        let tv = Tv::rows(1, 32, 4, 1).unwrap();
        let mine = |t: &Tensor| t.tile([1, 128], (block_idx().x, 0)).partition(&tv, thread_idx().x);
        let x = mine(&a.x).load();
        mine(&a.y).store(x);
    }
}

fn copy(x: &TensorArg, y: &mut TensorArg, device: &Device) -> Vec<String> {
    let outcome = Jit::new(Copy32).launch(&CopyArgs { x, y }, &device.default_stream()).unwrap();
    outcome.findings.iter().map(ToString::to_string).collect()
}

#[test]
fn a_right_kernel_is_clean() {
    let device = Device::emulated(Chip::H200);
    let x = DeviceTensor::from_bytes(&device, "x", DType::F32, &[4, 128], &[7; 2048]).unwrap();
    let mut y = DeviceTensor::new(&device, "y", DType::F32, &[4, 128]).unwrap();
    assert_eq!(copy(x.arg(), y.arg_mut(), &device), Vec::<String>::new());
    assert_eq!(y.to_bytes().unwrap(), [7; 2048]);
}

#[test]
fn out_of_bounds() {
    let device = Device::emulated(Chip::H200);
    let x = DeviceTensor::from_bytes(&device, "x", DType::F32, &[4, 128], &[7; 2048]).unwrap();
    let mut y = DeviceTensor::new(&device, "y", DType::F32, &[5, 128]).unwrap();
    // The caller says five rows; the memory ends after four.
    let claimed = TensorArg { shape: vec![5, 128], ..x.arg().clone() };
    let said = copy(&claimed, y.arg_mut(), &device).join("\n");
    let base = x.arg().address;
    let expected = format!(
        "error: `copy` reads 16 bytes of global memory out of bounds
  --> crates/warpsmith/tests/sanitizer.rs:{LOAD}:28
   |
{LOAD} |         let x = mine(&a.x).load();
   |                            ^^^^ this load
   |
   = note: block (4, 0, 0), thread (0, 0, 0), address {:#x}, `x[row 4, column 0]`",
        base + 2048
    );
    assert!(said.starts_with(&expected), "{said}\n---\n{expected}");
    assert!(said.contains("`x`") && said.contains("32 times in all"), "{said}");
}

#[test]
fn an_uninitialised_read() {
    let device = Device::emulated(Chip::H200);
    let x = DeviceTensor::new(&device, "x", DType::F32, &[4, 128]).unwrap();
    x.buffer().upload_at(0, &[7; 3 * 512]).unwrap(); // three of four rows
    let mut y = DeviceTensor::new(&device, "y", DType::F32, &[4, 128]).unwrap();
    let said = copy(x.arg(), y.arg_mut(), &device).join("\n");
    assert!(said.contains("`copy` reads uninitialised global memory"), "{said}");
    assert!(said.contains(&format!("crates/warpsmith/tests/sanitizer.rs:{LOAD}:28")), "{said}");
    assert!(said.contains("block (3, 0, 0), thread (0, 0, 0)") && said.contains("`x[row 3, column 0]`"), "{said}");
}

#[derive(KernelArgs)]
struct OutArgs<'a> {
    #[tensor(rows, dim = fixed)]
    y: &'a mut TensorArg,
}

/// The line of the read in [`Unwritten::body`].
const READ: u32 = line!() + 18;

/// Reads shared memory of which half was never written.
struct Unwritten;

impl Kernel for Unwritten {
    type Args = OutParams;
    fn name(&self) -> String {
        "unwritten".into()
    }
    fn launch(&self, _: &OutArgs<'_>) -> Launch {
        Launch::grid(1).block(32)
    }
    fn body(&self, a: OutParams) {
        let (slots, lane) = (Shared::<F32>::new("slots", 32), thread_idx().x);
        when(lane.lt(16), || slots.set(lane, 1.0));
        sync_threads();
        let tv = Tv::rows(1, 32, 1, 1).unwrap();
        let sum = warp_reduce(slots.get(lane), 32, |a, b| a + b);
        a.y.tile([1, 32], (0, 0)).partition(&tv, lane).store(Frag::filled(1, sum));
    }
}

#[test]
fn an_uninitialised_read_of_shared_memory() {
    let device = Device::emulated(Chip::H200);
    let mut y = DeviceTensor::new(&device, "y", DType::F32, &[1, 32]).unwrap();
    let outcome = Jit::new(Unwritten).launch(&OutArgs { y: y.arg_mut() }, &device.default_stream()).unwrap();
    let said = outcome.findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert!(said.contains("`unwritten` reads uninitialised shared memory"), "{said}");
    assert!(said.contains(&format!("crates/warpsmith/tests/sanitizer.rs:{READ}:")), "{said}");
    assert!(said.contains("thread (16, 0, 0)") && said.contains("slots"), "{said}");
}

/// The line of the outer call in [`Helped::body`].
const CALL: u32 = line!() + 14;

/// Reads in a helper of a helper what was never written.
struct Helped;

impl Kernel for Helped {
    type Args = OutParams;
    fn name(&self) -> String {
        "helped".into()
    }
    fn launch(&self, _: &OutArgs<'_>) -> Launch {
        Launch::grid(1).block(32)
    }
    fn body(&self, a: OutParams) {
        let x = outer(&Shared::<F32>::new("slots", 32));
        a.y.tile([1, 32], (0, 0)).partition(&Tv::rows(1, 32, 1, 1).unwrap(), thread_idx().x).store(Frag::filled(1, x));
    }
}

#[track_caller]
fn outer(slots: &Shared<F32>) -> F32 {
    helper("outer", || inner(slots) + 1.0)
}

#[track_caller]
fn inner(slots: &Shared<F32>) -> F32 {
    helper("inner", || slots.get(lane_idx()))
}

#[test]
fn a_mistake_in_a_helper_names_all_calls_that_led_there() {
    let device = Device::emulated(Chip::H200);
    let mut y = DeviceTensor::new(&device, "y", DType::F32, &[1, 32]).unwrap();
    let outcome = Jit::new(Helped).launch(&OutArgs { y: y.arg_mut() }, &device.default_stream()).unwrap();
    let said = outcome.findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let places: Vec<&str> = said.lines().filter(|line| line.contains("sanitizer.rs:")).collect();
    assert_eq!(places.len(), 3, "{said}");
    assert!(places[2].contains(&format!("sanitizer.rs:{CALL}:")), "{said}");
}

#[test]
fn a_misaligned_access() {
    let device = Device::emulated(Chip::H200);
    let x = DeviceTensor::from_bytes(&device, "x", DType::F32, &[5, 128], &[7; 2560]).unwrap();
    let mut y = DeviceTensor::new(&device, "y", DType::F32, &[4, 128]).unwrap();
    // The kernel is made for what the launch guarantees: another address gives another kernel, and a right one.
    let shifted = TensorArg { address: x.arg().address + 4, shape: vec![4, 128], ..x.arg().clone() };
    assert_eq!(copy(&shifted, y.arg_mut(), &device), Vec::<String>::new());
}
