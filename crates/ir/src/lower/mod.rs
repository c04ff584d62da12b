//! Lowering to PTX: one kernel, one module with one entry.
//!
//! It is a single walk in program order. Each value gets a register of its own and each constant becomes an immediate
//! where PTX takes one; which of them share hardware registers is `ptxas`' business. Every rounding is printed, so
//! `ptxas` contracts nothing and a GPU computes the same bits as the emulator.
//!
//! | file | what |
//! |---|---|
//! | `builder` | registers, labels and operands of the function being written |
//! | `declare` | parameters, shared memory, directives |
//! | `types` | the PTX types of a value |
//! | `arithmetic`, `convert`, `memory`, `control` | the operations by family |
//! | `print` | the driver's `vprintf` |
//! | `machine`, `inline` | instructions by their names in PTX, PTX text |
//! | `lines` | `.file` and `.loc` |

mod arithmetic;
mod builder;
mod control;
mod convert;
mod declare;
mod inline;
mod lines;
mod machine;
mod memory;
pub(crate) mod print;
mod types;

#[cfg(test)]
mod tests;

use crate::kernel::{Block, Inst, Kernel};
use crate::op::Op;
use crate::verify::verify;
use builder::Builder;
use machine::Plans;
use warpsmith_ptx::Module;
use warpsmith_types::{Location, Report, Target};

/// What to lower for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LowerOptions {
    /// The instruction set.
    pub target: Target,
    /// Whether to say which line of source each instruction came from.
    pub line_info: bool,
}

impl LowerOptions {
    /// For a target, with line information: it costs no instruction.
    pub const fn new(target: Target) -> LowerOptions {
        LowerOptions { target, line_info: true }
    }
}

/// Why a kernel could not be lowered.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LowerError {
    /// The verifier refused it.
    #[error("{0}")]
    Invalid(Report),
    /// The target has no such instruction.
    #[error("{what} needs {needs}, and the target is {target}{}", at.as_ref().map(|l| format!(" ({})", l.with_calls())).unwrap_or_default())]
    Unsupported {
        /// What was asked for.
        what: String,
        /// The first target that has it.
        needs: Target,
        /// The target lowered for.
        target: Target,
        /// Who asked for it.
        at: Option<Location>,
    },
    /// The target has less shared memory.
    #[error("the kernel has {bytes} bytes of shared memory, and a block on {target} may have {limit}")]
    Shared {
        /// What the kernel declares, with the padding between.
        bytes: u32,
        /// What a block may have.
        limit: u32,
        /// The target lowered for.
        target: Target,
    },
}

/// What a block may have of shared memory, static and dynamic, in bytes.
pub const fn shared_limit(target: Target) -> u32 {
    1024 * match target.number {
        86 | 89 | 120..130 => 99,
        ..90 => 163,
        _ => 227,
    }
}

/// Writes a kernel as PTX, in the oldest version that has what it uses. It is verified first, so that no kernel makes
/// this fail otherwise than by an error.
pub fn lower(kernel: &Kernel, options: &LowerOptions) -> Result<Module, LowerError> {
    verify(kernel).map_err(LowerError::Invalid)?;
    lower_verified(kernel, options)
}

pub(crate) fn lower_verified(kernel: &Kernel, options: &LowerOptions) -> Result<Module, LowerError> {
    let (bytes, limit) = (kernel.shared_bytes(), shared_limit(options.target));
    if bytes > limit {
        return Err(LowerError::Shared { bytes, limit, target: options.target });
    }
    let out = Builder::new(kernel, options);
    let mut lowering = Lowering { kernel, target: options.target, out, plans: Plans::default() };
    lowering.declare()?;
    lowering.block(&kernel.body)?;
    lowering.finish();

    let Builder { function, lines, globals, prints, .. } = lowering.out;
    let mut module = Module::new(options.target.version_floor(), options.target);
    module.variables = globals;
    module.functions.extend(prints.function());
    module.functions.push(function);
    module.version = module.minimal_version().max(lines.version());
    module.files = lines.files;
    Ok(module)
}

/// A kernel on its way to PTX.
struct Lowering<'k> {
    kernel: &'k Kernel,
    target: Target,
    out: Builder,
    plans: Plans,
}

impl Lowering<'_> {
    fn block(&mut self, block: &Block) -> Result<(), LowerError> {
        block.iter().try_for_each(|inst| self.inst(inst))
    }

    fn inst(&mut self, inst: &Inst) -> Result<(), LowerError> {
        match self.kernel.location(inst.location) {
            // A constant is no instruction.
            Some(location) if !matches!(inst.op, Op::Const(_)) => self.out.source(inst.location, location),
            _ => {}
        }
        match &inst.op {
            Op::Const(bits) => self.out.hold_constant(inst.results[0], *bits),
            Op::Param(i) => self.param(inst, *i)?,
            Op::Special(s) => self.special(inst, *s)?,
            Op::SharedAddress(id) => self.shared_address(inst, *id),
            Op::Unary(op) => self.unary(inst, *op),
            Op::Binary(op) => self.binary(inst, *op),
            Op::Fma => self.fma(inst),
            Op::Compare(op) => self.compare(inst, *op),
            Op::Select => self.select(inst),
            Op::Convert => self.convert(inst)?,
            Op::Bitcast => self.bitcast(inst),
            Op::Pack { bf16 } => self.pack(inst, *bf16),
            Op::Unpack => self.unpack(inst),
            Op::Load { space, offset, fill, access } => self.load(inst, *space, *offset, *fill, *access)?,
            Op::Store { space, offset, access, .. } => self.store(inst, *space, *offset, *access)?,
            Op::Shuffle(s) => self.shuffle(inst, *s),
            Op::Barrier => self.barrier(),
            Op::WaitForUpstream | Op::LaunchDependents => self.dependence(&inst.op),
            Op::Get(r) => self.get(inst, *r),
            Op::Set(r) => self.set(inst, *r),
            Op::If { uniform, then, otherwise } => self.branch(inst, *uniform, then, otherwise)?,
            Op::For { index, body, .. } => self.for_loop(inst, *index, body)?,
            Op::Loop { body } => self.endless(body)?,
            Op::BreakIf => self.break_if(inst),
            Op::ContinueIf => self.continue_if(inst),
            Op::ExitIf => self.exit_if(inst),
            Op::Print { format } => self.print(inst, format),
            Op::Trap => self.trap(),
            Op::Machine(m) => self.machine(inst, m)?,
            Op::Inline(i) => self.inline(inst, i)?,
        }
        Ok(())
    }

    /// An error unless the target has what `needs` introduced.
    fn require(&self, needs: Target, inst: &Inst, what: impl FnOnce() -> String) -> Result<(), LowerError> {
        if self.target.has(needs) {
            return Ok(());
        }
        let at = self.kernel.location(inst.location).cloned();
        Err(LowerError::Unsupported { what: what(), needs, target: self.target, at })
    }

    fn is_hopper(&self) -> bool {
        self.target.has(Target::SM_90)
    }
}
