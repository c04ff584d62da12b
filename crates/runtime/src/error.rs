//! What can go wrong on a device, in words.

use crate::driver::DriverVersion;
use crate::launched::Suspect;
use crate::report::ToolError;
use warpsmith_types::Target;

/// A failed call of the runtime.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no driver library.
    #[error("no CUDA driver found (libcuda.so.1): install NVIDIA's driver for a card, or use the emulated device")]
    NoDriver,
    /// The driver is there, and nothing for it to drive.
    #[error("the CUDA driver finds no card{}", visible())]
    NoCard,
    /// There are cards, fewer than asked for.
    #[error("no CUDA card {ordinal}: {count} found, numbered from 0")]
    NoSuchCard {
        /// The number asked for.
        ordinal: u32,
        /// How many there are.
        count: u32,
    },
    /// The driver lacks what is used here.
    #[error("the CUDA driver is too old: {found}; expected {needed} or newer")]
    DriverTooOld {
        /// The version it supports, or the function that it lacks.
        found: String,
        /// The oldest that works.
        needed: DriverVersion,
    },
    /// The card lacks what every kernel here needs.
    #[error("{name} is too old: compute capability {}.{}; expected 8.0 or newer", .capability.0, .capability.1)]
    CardTooOld {
        /// The card's name.
        name: String,
        /// Its compute capability.
        capability: (u32, u32),
    },
    /// The driver refused a call.
    #[error("{call} failed: {name} ({code}): {text}")]
    Driver {
        /// The driver's function.
        call: &'static str,
        /// The driver's name of the error.
        name: String,
        /// The error's number.
        code: u32,
        /// The driver's words.
        text: String,
    },
    /// A kernel broke the device; nothing runs on it any more in this process.
    #[error("the device is lost: {reason}{}", suspected(suspects))]
    DeviceLost {
        /// What the driver says.
        reason: String,
        /// The launches since the last synchronisation, the latest last.
        suspects: Vec<Suspect>,
    },
    /// The device's memory is used up.
    #[error("out of memory on {device}: `{name}` takes {bytes} bytes, {free} of {total} are free")]
    OutOfMemory {
        /// The device's name.
        device: String,
        /// What was to be allocated.
        name: String,
        /// Its size.
        bytes: u64,
        /// Free bytes.
        free: u64,
        /// The device's memory.
        total: u64,
    },
    /// A tensor map that TMA does not take.
    #[error("tensor map: {0}")]
    TensorMap(String),
    /// The PTX does not parse.
    #[error("kernel `{entry}`: {message}")]
    Ptx {
        /// The kernel asked for.
        entry: String,
        /// What is wrong with the text.
        message: String,
    },
    /// The driver's linker refused the PTX.
    #[error("kernel `{entry}` does not compile for {target}:\n{log}")]
    Compile {
        /// The kernel asked for.
        entry: String,
        /// What it was compiled for.
        target: String,
        /// The linker's log.
        log: String,
    },
    /// The module has no such kernel.
    #[error("the PTX has no kernel `{entry}`")]
    NoEntry {
        /// The kernel asked for.
        entry: String,
    },
    /// PTX for another chip.
    #[error("kernel `{entry}` is for {target}; expected PTX that {device} runs")]
    Target {
        /// The kernel asked for.
        entry: String,
        /// The PTX's `.target`.
        target: Target,
        /// The device's.
        device: Target,
    },
    /// A launch that the chip or the kernel can not take.
    #[error("launch of `{kernel}`: {argument} is {got}; expected {expected}")]
    Launch {
        /// The kernel.
        kernel: String,
        /// What was wrong: `block.x`, `dynamic_shared`.
        argument: &'static str,
        /// What would be right.
        expected: String,
        /// What was given.
        got: String,
    },
    /// Bytes outside a buffer.
    #[error("{what} of bytes {offset}..{} of buffer `{name}`, which has {len}", offset.saturating_add(*bytes))]
    OutOfRange {
        /// The operation.
        what: &'static str,
        /// The buffer.
        name: String,
        /// Where it began.
        offset: usize,
        /// How many bytes it concerned.
        bytes: usize,
        /// The buffer's size.
        len: usize,
    },
    /// Things of two devices in one call.
    #[error("{what} is on {there}, but the call is on {here}")]
    OtherDevice {
        /// What is elsewhere.
        what: String,
        /// Where the call runs.
        here: String,
        /// Where the thing lives.
        there: String,
    },
    /// Page-locked memory of the host is used up.
    #[error("out of page-locked memory: {bytes} bytes can not be had")]
    OutOfHostMemory {
        /// What was asked for.
        bytes: u64,
    },
    /// The thread has no context to take over.
    #[error("this thread has no current CUDA context: make another library's current first, or use `Device::cuda`")]
    NoContext,
    /// Something of another library that can not be used here.
    #[error("{what} is {got}; expected {expected}")]
    Foreign {
        /// What was given.
        what: String,
        /// What would be right.
        expected: String,
        /// What it is.
        got: String,
    },
    /// Two devices without a link between them.
    #[error("{here} can not reach the memory of {there}: nothing links them")]
    NoPeerAccess {
        /// Who was to reach it.
        here: String,
        /// Whose memory.
        there: String,
    },
    /// Something that can not be written down for a graph.
    #[error("{what} on a stream whose work is being written down for a graph")]
    Capturing {
        /// What was asked for.
        what: &'static str,
    },
    /// Work that can not be written down as it is.
    #[error("work was not written down for a graph: {reason}")]
    Capture {
        /// What stands against it.
        reason: String,
    },
    /// Bytes that name no memory and no event of another process.
    #[error("no handle of exported {what}: {reason}")]
    Handle {
        /// Memory, or an event.
        what: &'static str,
        /// What is wrong with the bytes, or why the driver refuses them.
        reason: String,
    },
    /// A time asked of an event that has not been recorded.
    #[error("the time between two events of which one was never recorded")]
    NotRecorded,
    /// Something that this device does not do.
    #[error("{device} has no {what}")]
    Unsupported {
        /// The device's name.
        device: String,
        /// What it lacks.
        what: &'static str,
    },
    /// `ptxas`, where it was asked for.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// An environment variable with a value that means nothing.
    #[error("{variable} is `{got}`; expected {expected}")]
    Environment {
        /// The variable.
        variable: &'static str,
        /// Its value.
        got: String,
        /// The values that it may have.
        expected: &'static str,
    },
    /// The emulator could not run the kernel.
    #[error(transparent)]
    Emulator(#[from] warpsmith_emulator::Error),
    /// The emulator does not know an instruction of the kernel.
    #[error(transparent)]
    Decode(#[from] warpsmith_emulator::DecodeError),
}

/// A common reason for a driver without cards.
fn visible() -> String {
    match std::env::var("CUDA_VISIBLE_DEVICES") {
        Ok(v) => format!(" (CUDA_VISIBLE_DEVICES is `{v}`)"),
        Err(_) => String::new(),
    }
}

/// Who may have been it, and how to see what it did.
fn suspected(suspects: &[Suspect]) -> String {
    let mut text = match suspects {
        [] => String::new(),
        [one] => format!(", in kernel {one}"),
        many => many.iter().fold(", in one of these kernels (the latest last):".into(), |t, s| format!("{t}\n  {s}")),
    };
    text.push_str("\nAn emulated device says which access it was: ");
    let mut commands: Vec<&str> = suspects.iter().filter_map(|s| s.command.as_deref()).collect();
    commands.dedup();
    // What the command line does not run, the program itself does.
    if commands.is_empty() || suspects.iter().any(|s| s.command.is_none()) {
        commands.push("run this program with WARPSMITH_DEVICE=emulated");
    }
    text.push_str(&commands.join(", "));
    if suspects.len() > 1 {
        text.push_str("\nWARPSMITH_SYNC=1 waits for each launch, and so tells which kernel it was.");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_device_names_its_suspects() {
        let suspect =
            |kernel: &str| Suspect { kernel: kernel.into(), operator: None, arguments: vec![], command: None };
        let softmax = Suspect {
            operator: Some("Softmax".into()),
            arguments: vec![("x".into(), "f32 (3, 8) at 0x100".into()), ("eps".into(), "0.5".into())],
            command: Some("warpsmith run softmax".into()),
            ..suspect("softmax_f32_8")
        };
        let lost = |suspects: &[Suspect]| {
            let reason = "an illegal memory access was encountered".into();
            Error::DeviceLost { reason, suspects: suspects.to_vec() }.to_string()
        };
        assert_eq!(
            lost(std::slice::from_ref(&softmax)),
            "the device is lost: an illegal memory access was encountered, in kernel `softmax_f32_8` of Softmax with \
             x: f32 (3, 8) at 0x100, eps: 0.5\n\
             An emulated device says which access it was: warpsmith run softmax"
        );
        assert_eq!(
            lost(&[softmax, suspect("b")]),
            "the device is lost: an illegal memory access was encountered, in one of these kernels (the latest last):\n  \
             `softmax_f32_8` of Softmax with x: f32 (3, 8) at 0x100, eps: 0.5\n  `b`\n\
             An emulated device says which access it was: warpsmith run softmax, run this program with \
             WARPSMITH_DEVICE=emulated\n\
             WARPSMITH_SYNC=1 waits for each launch, and so tells which kernel it was."
        );
        assert!(lost(&[]).contains("encountered\nAn emulated device"));
    }

    #[test]
    fn limits_name_argument_expected_and_got() {
        let e = Error::Launch {
            kernel: "vadd".into(),
            argument: "block.x",
            expected: "1 to 1024".into(),
            got: "2048".into(),
        };
        assert_eq!(e.to_string(), "launch of `vadd`: block.x is 2048; expected 1 to 1024");
    }
}
