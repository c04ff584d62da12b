//! PTX as data.
//!
//! A [`Module`] holds functions, a [`Function`] holds statements, an [`Instruction`] is an opcode, its modifiers in
//! order, and operands. What exists, in which order modifiers come, which operands an operation takes, and from which
//! target and version it is there, stands in one table ([`table`]); the printer, the parser, the verifier and the
//! emulator's decoder all read it, so a new instruction is a new row.
//!
//! [`parse()`] reads a text, `Display` writes one, [`Module::verify`] says what an assembler would object to, and
//! [`Module::minimal_version`] which `.version` suffices:
//!
//! ```
//! let text = "
//!     .version 8.0
//!     .target sm_90
//!     .address_size 64
//!     .visible .entry double(.param .u64 x) {
//!         .reg .b64 %rd<2>;
//!         .reg .f32 %f<2>;
//!         ld.param.u64 %rd0, [x];
//!         ld.global.f32 %f0, [%rd0];
//!         add.rn.f32 %f1, %f0, %f0;
//!         st.global.f32 [%rd0], %f1;
//!         ret;
//!     }";
//! let module = warpsmith_ptx::parse(text)?;
//! let kernel = module.entry("double").unwrap();
//! let add = kernel.instructions().nth(2).unwrap();
//! assert_eq!(add.display(kernel, &module).to_string(), "add.rn.f32 %f1, %f0, %f0;");
//!
//! let form = warpsmith_ptx::table::resolve(add).unwrap();
//! assert_eq!(form.row.doc, "Sum.");
//! assert!(module.verify().is_ok());
//! assert_eq!(module.minimal_version().to_string(), "7.8"); // the first that knows sm_90
//! # Ok::<(), warpsmith_ptx::ParseError>(())
//! ```

pub mod instruction;
pub mod module;
pub mod syntax;
pub mod table;

mod locations;
mod parse;
mod print;
mod verify;

pub use instruction::{Address, Base, Guard, Immediate, Instruction, Operand, RegisterId};
pub use locations::Locations;
pub use module::{
    Directives, File, Function, FunctionKind, InlinedAt, Label, LabelId, Linkage, Module, Parameter, Register,
    SourceLine, Statement, Symbol, Variable,
};
pub use parse::{ParseError, ParseErrorKind, parse};
pub use syntax::{Modifier, Opcode, SpecialRegister, StateSpace, Type, Word};
pub use verify::{VerifyError, VerifyErrorKind};
