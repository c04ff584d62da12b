//! The text form: what tests are written in and `inspect` shows.
//!
//! ```
//! let text = r#"kernel scale(x: u64 pointer x align 4, n: u32) block 128, 1, 1 {
//!   %0: u64 = param x
//!   %1: u32 = param n
//!   %2: u32 = special tid.x
//!   %3: bool = lt %2, %1
//!   if %3 {
//!     %4: u32 = const 4
//!     %5: u64 = mul_wide %2, %4
//!     %6: u64 = add %0, %5
//!     %7: f32 = load.global [%6]
//!     %8: f32 = add %7, %7 @ src/scale.rs:7:20
//!     store.global [%6], %8
//!   }
//! }
//! "#;
//! let kernel = warpsmith_ir::text::parse(text)?;
//! assert_eq!(kernel.to_string(), text);
//! # Ok::<(), warpsmith_ir::text::TextError>(())
//! ```
//!
//! One line is one instruction: results with their types, operation, operands. `@` says which line of source wrote it,
//! `;` starts a comment. An instruction of PTX is its name after `ptx.`, with values where PTX has registers:
//! `%4: bool = ptx.mbarrier.try_wait.parity.shared::cta.b64 %4, [%0 + 8], %2`. Parsing what was printed gives the kernel again; only its table of locations is renumbered in
//! order of use.

mod head;
mod lexer;
mod literal;
mod machine;
mod parse;
mod print;
mod words;

#[cfg(test)]
mod tests;

pub use parse::parse;

/// Why a text is no kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct TextError {
    /// From 1.
    pub line: u32,
    /// From 1.
    pub column: u32,
    /// What is wrong there.
    pub message: String,
}
