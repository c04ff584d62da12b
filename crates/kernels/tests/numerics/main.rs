//! What `docs/numerics.md` states of conversions and mathematics, measured: every 8- and 16-bit value, and special and
//! random 32-bit ones. On a card there are ten million of those; on the emulator a few thousand.

#![allow(clippy::print_stdout, reason = "what was measured is printed")]
#![allow(unreachable_pub, reason = "a test's modules")]
#![allow(clippy::type_complexity, reason = "tables of functions")]

#[path = "../common/mod.rs"]
mod common;

mod conversions;
mod functions;
mod map;
