//! A kernel for another program's stream and memory, behind C's calling convention. `scripts/foreign_stream.py` calls it
//! from a process with PyTorch:
//!
//! `cargo build -p warpsmith --example foreign && python3 scripts/foreign_stream.py target/debug/examples/libforeign.so`

#![allow(missing_docs, unreachable_pub, clippy::print_stderr, reason = "a program, not a library")]
#![allow(unsafe_code, reason = "handles of another library are pointers")]

use std::sync::LazyLock;
use warpsmith::prelude::*;

/// `x = a · x`, of any length.
struct Scale {
    tv: Tv,
}

#[derive(KernelArgs)]
struct ScaleArgs<'a> {
    #[tensor(n)]
    x: &'a mut TensorArg,
    a: f32,
}

impl Kernel for Scale {
    type Args = ScaleParams;

    fn name(&self) -> String {
        "foreign_scale".into()
    }

    fn launch(&self, args: &ScaleArgs<'_>) -> Launch {
        Launch::grid(args.x.dim(0).div_ceil(self.tv.tile()[1])).block(self.tv.threads())
    }

    fn body(&self, args: ScaleParams) {
        let x = args.x.broadcast(1).tile(self.tv.tile(), (0, block_idx().x)).partition(&self.tv, thread_idx().x);
        x.store(x.load().f32() * args.a);
    }
}

/// Compiled for each device and alignment once, and kept: another library's graphs may hold launches of it.
static SCALE: LazyLock<Jit<Scale>> = LazyLock::new(|| Jit::new(Scale { tv: Tv::rows(1, 256, 4, 1).unwrap() }));

/// Queues `x[i] *= factor` for `count` floats at an address of the device.
fn scale_on(stream: &Stream, address: u64, count: usize, factor: f32) -> Result<(), Box<dyn std::error::Error>> {
    let device = stream.device();
    // Refuses what is not memory of this device, or not so much of it.
    let x = device.foreign(address, count.saturating_mul(4), "x")?;
    let mut x = TensorArg::new(x.address(), device.info().id.into(), DType::F32, &[count]);
    SCALE.launch(&ScaleArgs { x: &mut x, a: factor }, stream)?;
    Ok(())
}

/// Queues `x[i] *= factor` for `count` floats at an address of the card whose context is current, on a stream of that
/// context. 0 when it is queued; 1 when it is not, and why is on the standard error.
///
/// # Safety
/// The stream must be alive, or a special handle, and the context must outlive the process' use of it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scale(stream: u64, address: u64, count: u64, factor: f32) -> i32 {
    let queue = || -> Result<(), Box<dyn std::error::Error>> {
        // SAFETY: as the caller promises.
        let device = unsafe { Device::from_current_context() }?;
        // SAFETY: as the caller promises; it is not kept beyond this call.
        let stream = unsafe { Stream::from_raw(&device, stream) }?;
        scale_on(&stream, address, usize::try_from(count)?, factor)
    };
    // A panic must not cross into C.
    match std::panic::catch_unwind(queue) {
        Ok(Ok(())) => 0,
        Ok(Err(e)) => {
            eprintln!("{e}");
            1
        }
        Err(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_scales_and_refuses() {
        let device = Device::emulated(Chip::H200);
        let stream = device.create_stream().unwrap();
        let x = device.upload(&[1.5f32; 5000].map(f32::to_le_bytes).concat(), "x").unwrap();
        scale_on(&stream, x.address() + 4, 4998, 2.0).unwrap();
        assert!(stream.synchronize().unwrap().findings.is_empty());
        let bytes = x.to_vec().unwrap();
        let at = |i: usize| f32::from_le_bytes([0, 1, 2, 3].map(|b| bytes[4 * i + b]));
        assert_eq!([0, 1, 4998, 4999].map(at), [1.5, 3.0, 3.0, 1.5]);
        let said = scale_on(&stream, x.address() + 4, 5000, 2.0).unwrap_err().to_string();
        assert!(said.contains("is only 19996 bytes long"), "{said}");
    }
}
