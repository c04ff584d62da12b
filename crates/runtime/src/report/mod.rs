//! What NVIDIA's tools say of a kernel: the assembler's report, and the machine code with the lines that it came from.
//!
//! Neither tool is needed to run kernels. [`Tool::find`] looks for them; [`Assembler`] turns PTX into a [`Cubin`], whose
//! [`CompileReport`] says what a thread costs; [`Disassembler`] turns that into [`MachineCode`], of which tests ask what
//! no log says: whether it spills to local memory, how wide its accesses are, how many matrix instructions it has.
//!
//! ```no_run
//! use warpsmith_runtime::report::{Assembler, Disassembler, ToolError};
//! use warpsmith_types::Target;
//!
//! # let ptx = "";
//! let cubin = Assembler::find()?.assemble(ptx, Target::SM_90A)?;
//! let report = cubin.report("vadd");
//! println!("{:?} registers, {:?}", report.registers, report.warnings);
//! for code in Disassembler::find()?.disassemble(&cubin)? {
//!     println!("{}: {} matrix instructions", code.kernel, code.count("HGMMA"));
//! }
//! # Ok::<(), ToolError>(())
//! ```
//!
//! | file | what |
//! |---|---|
//! | `compile` | the report of the assembler or of the driver's linker |
//! | `warning` | their warnings |
//! | `residency` | how many blocks a multiprocessor holds |
//! | `tool` | where the tools are, and what their absence costs |
//! | `assemble` | PTX to a cubin |
//! | `disassemble` | a cubin to machine code |
//! | `machine_code` | machine code as data, and questions about it |
//! | `lines` | which source line a line of PTX came from |

mod assemble;
mod compile;
mod disassemble;
mod lines;
mod machine_code;
mod residency;
mod tool;
mod warning;

pub use assemble::{Assembler, Cubin};
pub use compile::{CompileReport, Spills};
pub use disassemble::Disassembler;
pub use lines::PtxLines;
pub use machine_code::{Access, MachineCode, MachineInstruction};
pub use residency::{Limit, Residency};
pub use tool::{Tool, ToolError};
pub use warning::Warning;
