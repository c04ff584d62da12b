//! The kernel IR: what a traced kernel is before it is PTX.
//!
//! A [`Kernel`] is a tree of structured blocks. Values are typed and defined once; what changes at run time lives in
//! mutable registers ([`Op::Get`], [`Op::Set`]). Control flow is structured (`if`, `for`, `loop`), so passes need no
//! graph algorithms, and every instruction knows the line of Rust that wrote it.
//!
//! | module | what |
//! |---|---|
//! | [`kernel`], [`op`], [`types`] | the IR itself |
//! | [`access`] | how loads and stores treat memory |
//! | [`machine`], [`inline`] | any instruction of PTX as one operation; PTX text |
//! | [`verify`](mod@verify) | what must hold, checked before and after the passes |
//! | [`Verified`] | a kernel that is checked once on its way |
//! | [`passes`] | contraction, unrolling, folding, registers, division, addresses, value numbering, loops, dead code |
//! | [`lower`](mod@lower) | to PTX |
//! | [`text`] | the text form, printed and parsed |
//!
//! The passes do what `ptxas` was measured not to do (constant division, address folding, contraction by our own
//! rules) and leave registers and scheduling to it.

pub mod access;
pub mod inline;
pub mod kernel;
pub mod lower;
pub mod machine;
pub mod op;
pub mod passes;
mod special;
pub mod text;
pub mod types;
mod verified;
pub mod verify;

pub use access::{Access, AccessKind, Scope};
pub use inline::{Effect, Inline};
pub use kernel::{Block, Inst, Kernel, LocationId, Param, Pointer, RegisterId, SharedId, SharedVariable, Value};
pub use lower::{LowerError, LowerOptions, lower};
pub use machine::Machine;
pub use op::{Binary, Comparison, Op, Shuffle, Space, Special, Unary};
pub use passes::{Pass, optimize};
pub use types::Type;
pub use verified::Verified;
pub use verify::{verify, warnings};
pub use warpsmith_ptx::Module;
