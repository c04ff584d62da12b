//! One block makes a table, another uses it: the book's chapter on races, as a whole program.
//!
//! `cargo run -p warpsmith --example hand_over`

#![allow(missing_docs, unreachable_pub, clippy::print_stdout, reason = "a program, not a library")]

use warpsmith::prelude::*;

/// Block 0 doubles `x` into `table`; block 1 waits for it and writes the table to `y` in reverse.
pub struct HandOver {
    /// How block 0 says that the table is there.
    pub publish: fn(Pointer<U32>),
    /// How block 1 looks whether it is.
    pub look: fn(Pointer<U32>) -> U32,
}

#[derive(KernelArgs)]
pub struct HandOverArgs<'a> {
    #[tensor(n = fixed)]
    pub x: &'a TensorArg,
    #[tensor(n = fixed)]
    pub table: &'a mut TensorArg,
    #[tensor(one)]
    pub flag: &'a mut TensorArg,
    #[tensor(n = fixed)]
    pub y: &'a mut TensorArg,
}

/// Elements, and threads of a block.
pub const N: usize = 64;

impl Kernel for HandOver {
    type Args = HandOverParams;

    fn name(&self) -> String {
        "hand_over".into()
    }

    fn launch(&self, _: &HandOverArgs<'_>) -> Launch {
        Launch::grid(2).block(N).cooperative()
    }

    // ANCHOR: body
    fn body(&self, a: HandOverParams) {
        let (i, flag) = (thread_idx().x, a.flag.at::<U32>((0,)));
        when_uniform(block_idx().x.eq(0), || {
            a.table.at::<F32>((i,)).store(a.x.at::<F32>((i,)).load() * 2.0);
            sync_threads(); // all of the table is written …
            when(i.eq(0), || (self.publish)(flag)); // … so say it
        })
        .otherwise(|| {
            when(i.eq(0), || spin("the table").until(|| (self.look)(flag).eq(1)));
            sync_threads(); // thread 0 has seen the flag, so all may read
            a.y.at::<F32>((i,)).store(a.table.at::<F32>((N - 1 - i,)).load());
        });
    }
    // ANCHOR_END: body
}

// ANCHOR: right
/// A store that what precedes stays before, and a load that what follows stays after.
pub fn right() -> HandOver {
    HandOver { publish: |flag| flag.release(Scope::Device).store(1), look: |flag| flag.acquire(Scope::Device).load() }
}
// ANCHOR_END: right

/// Runs it on a device; what the sanitizer says is an error.
pub fn run(device: &Device, kernel: HandOver) -> Result<Vec<f32>, Box<dyn std::error::Error>> {
    let bytes: Vec<u8> = (0..N).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let x = DeviceTensor::from_bytes(device, "x", DType::F32, &[N], &bytes)?;
    let mut table = DeviceTensor::new(device, "table", DType::F32, &[N])?;
    let mut flag = DeviceTensor::from_bytes(device, "flag", DType::U32, &[1], &[0; 4])?;
    let mut y = DeviceTensor::new(device, "y", DType::F32, &[N])?;
    let args = HandOverArgs { x: x.arg(), table: table.arg_mut(), flag: flag.arg_mut(), y: y.arg_mut() };
    let outcome = Jit::new(kernel).launch(&args, &device.default_stream())?;
    if let Some(finding) = outcome.findings.first() {
        return Err(finding.to_string().into());
    }
    Ok(y.to_bytes()?.chunks(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("{:?} …", &run(&Device::best(), right())?[..4]);
    Ok(())
}
