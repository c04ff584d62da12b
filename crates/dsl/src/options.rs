//! What a trace is told besides the body.

use crate::debug::Messages;
use crate::trace::with;
use warpsmith_types::Target;

/// What a trace is told besides the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tracing {
    /// The target that is compiled for.
    pub target: Target,
    /// Whether messages and assertions are compiled in.
    pub messages: Messages,
}

impl Default for Tracing {
    fn default() -> Tracing {
        Tracing { target: Target::SM_90A, messages: Messages::Off }
    }
}

/// The target that the kernel is compiled for: a Rust value, so that a Rust `if` takes the instructions that it has.
///
/// ```
/// # use warpsmith_dsl::{prelude::*, Target};
/// # trace("example", || {
/// let lanes = if target().has(Target::SM_100A) { 8 } else { 4 };
/// # }).unwrap();
/// ```
pub fn target() -> Target {
    with(|t| t.target)
}
