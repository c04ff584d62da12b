//! Calls of functions: where their arguments are, and what a function owns.

use std::ops::Range;

/// A function: its code, and what of registers and local memory is its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frame {
    /// Its first instruction.
    pub start: u32,
    /// Its part of a thread's local memory, parameters and results first.
    pub local: Range<u32>,
    /// Its registers of 32 bits, of 64 bits, and predicates.
    pub registers: [Range<u16>; 3],
}

/// Whom a call calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callee {
    /// A function of the module, by its place in `frames`.
    Function {
        place: u32,
        /// Whether it may be running already, further up.
        recursive: bool,
    },
    /// `vprintf`.
    Print,
    /// `__assertfail`.
    Assert,
}

/// A call.
#[derive(Clone, Debug)]
pub(crate) struct CallSite {
    pub callee: Callee,
    pub arguments: Vec<Argument>,
    pub results: Vec<Argument>,
}

/// What is passed, and where it goes to or comes from in the function's part of local memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Argument {
    pub passed: Passed,
    pub at: u32,
    pub bytes: u32,
}

/// Where the caller has it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Passed {
    /// An offset in local memory.
    Local(u32),
    R32(u16),
    R64(u16),
}
