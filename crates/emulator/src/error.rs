//! What can go wrong outside a kernel: bad calls of the API, and PTX that can not be run.

use crate::memory::DevicePointer;
use crate::system::Device;

/// A call that can not be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No allocation starts there.
    #[error("no allocation starts at {pointer}")]
    NotAllocated {
        /// What was to be freed.
        pointer: DevicePointer,
    },
    /// A host access that is not within one allocation.
    #[error("{bytes} bytes at {pointer} are not within one allocation{nearest}")]
    OutOfBounds {
        /// Where the access starts.
        pointer: DevicePointer,
        /// How long it is.
        bytes: usize,
        /// The nearest allocation in words, with a leading separator; empty when there is none.
        nearest: String,
    },
    /// More memory than the address space has room for.
    #[error("can not allocate {bytes} bytes for `{name}`")]
    OutOfMemory {
        /// How many.
        bytes: usize,
        /// For what.
        name: String,
    },
    /// No device, or more than a system can have.
    #[error("a system has 1 to {most} devices, not {count}")]
    Devices {
        /// How many were asked for.
        count: usize,
        /// How many there can be.
        most: usize,
    },
    /// A device that is not there.
    #[error("there is no {device}: the system has {devices}")]
    NoDevice {
        /// What was named.
        device: Device,
        /// How many there are.
        devices: usize,
    },
    /// Memory of a device was to be mapped for one that it has no link to.
    #[error("{a} and {b} are not linked")]
    NotLinked {
        /// Whose memory it is.
        a: Device,
        /// Who was to reach it.
        b: Device,
    },
    /// Memory that the host does not reach.
    #[error("{pointer} ({name}) is not mapped for the host")]
    NotMapped {
        /// Where the access is.
        pointer: DevicePointer,
        /// What lies there, in words.
        name: String,
    },
    /// A word that is not at a multiple of its size.
    #[error("{pointer} is not a multiple of {bytes}")]
    Misaligned {
        /// Where it is.
        pointer: DevicePointer,
        /// Its size.
        bytes: usize,
    },
    /// A multicast range with memory of the host, or twice of one device.
    #[error("multicast range `{name}`: {pointer} is memory of the host, or the second of its device")]
    Multicast {
        /// The range.
        name: String,
        /// The member.
        pointer: DevicePointer,
    },
    /// A launch that the kernel or the chip does not allow.
    #[error("can not launch `{kernel}`: {reason}")]
    Launch {
        /// The kernel.
        kernel: String,
        /// Why.
        reason: String,
    },
}

/// PTX that is not run: unknown to the emulator, or malformed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The module has no such kernel.
    #[error("no kernel `{name}` in the module; it has {}", list(.entries))]
    NoEntry {
        /// What was asked for.
        name: String,
        /// What there is.
        entries: Vec<String>,
    },
    /// An instruction that the emulator does not know, or a form of one.
    #[error("unsupported instruction `{instruction}` at {at}{reason}")]
    Unsupported {
        /// Its opcode and modifiers.
        instruction: String,
        /// The line of the PTX text or of the source.
        at: String,
        /// What about it, with a leading separator; may be empty.
        reason: String,
    },
    /// An instruction whose operands do not fit it.
    #[error("malformed instruction `{instruction}` at {at}: {reason}")]
    Malformed {
        /// Its opcode and modifiers.
        instruction: String,
        /// The line of the PTX text or of the source.
        at: String,
        /// What is wrong.
        reason: String,
    },
    /// More of something than the compact form can number.
    #[error("`{kernel}` has too many {what}")]
    TooLarge {
        /// The kernel.
        kernel: String,
        /// Of what.
        what: &'static str,
    },
    /// A variable that can not be placed.
    #[error("variable `{name}`: {reason}")]
    Variable {
        /// The variable.
        name: String,
        /// Why.
        reason: String,
    },
}

fn list(names: &[String]) -> String {
    match names {
        [] => "none".into(),
        names => names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", "),
    }
}
