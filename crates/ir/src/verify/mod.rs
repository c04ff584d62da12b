//! What must hold of a kernel, checked before it is changed or lowered.
//!
//! The kernel:
//! - its name is a PTX identifier; its block has at most 1024 threads, none of its sides is 0;
//! - parameters are numbers, pointers are `u64`; alignments are powers of two; shared variables have bytes;
//! - shared memory stays within what some target has;
//! - directives make sense together: a cluster has 1 to 16 blocks, `setmaxnreg` has registers to start from;
//! - blocks are nested at most [`MAX_DEPTH`] deep.
//!
//! Each instruction:
//! - has the operands and results that its operation takes, in number and type, and only such values, registers,
//!   parameters and shared variables as exist;
//! - reads values that are defined before it in its own block or in one around it; each value is defined once;
//! - as a constant or a fill, has no bits beyond its type; as a `for`, does not step by 0; as a `break_if` or
//!   `continue_if`, is in a loop;
//! - as a `print`, has a format of C's `printf` that fits its operands.
//!
//! Each access to memory:
//! - moves 1, 2 or 4 elements of one type, at most 16 bytes; or, in global memory, 8 elements of 32 bits or 4 of 64;
//! - has an offset that its width divides, and an address that is aligned to its width as far as that can be proven;
//! - as a load, has a fill exactly when it has a condition;
//! - orders and hints as PTX has it: loads acquire, stores release, read-only is global ([`Access`](crate::Access)).
//!
//! Along the ways through the program:
//! - mutable registers are written before they are read;
//! - all threads of the block come to its barriers, all threads of a warp to `.aligned` instructions, and none of them
//!   has exited before;
//! - registers that a product of a warpgroup owns are left alone until a wait covers it.
//!
//! What a target can do is not checked here but in lowering, and by PTX's own verifier.

mod alignment;
mod assigned;
mod declarations;
mod format;
mod machine;
mod pending;
mod signature;
mod uniformity;
mod unused;

#[cfg(test)]
mod tests;

pub use unused::warnings;

use crate::kernel::{Block, Inst, Kernel, LocationId, Value};
use crate::machine::{Machine, Opcode};
use crate::op::{Op, Space};
use crate::types::{Type, memory};
use alignment::Alignment;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use warpsmith_types::{Diagnostic, Location, Report};

/// How deep blocks may be nested. Far more than anyone writes, and little enough that no walk runs out of stack.
pub const MAX_DEPTH: usize = 128;

/// The most bodies that a trip of an unrolled loop may have.
pub const MAX_UNROLL: u32 = 256;

/// What a block may have of shared memory on the target that has most.
pub const MAX_SHARED: u32 = 227 * 1024;

/// What to write where a value leaves its block.
const CARRY: &str = "a value ends with its block; a mutable register carries one out";

/// Checks a kernel. Everything that is wrong with it is reported at once.
pub fn verify(kernel: &Kernel) -> Result<(), Report> {
    let mut verifier = Verifier {
        kernel,
        definitions: vec![None; kernel.values.len()],
        scope: vec![Scope::Ahead; kernel.values.len()],
        alignment: Alignment::new(kernel),
        loops: 0,
        diagnostics: vec![],
        right: FxHashMap::default(),
    };
    verifier.declarations();
    if verifier.collect(&kernel.body, 0) {
        verifier.block(&kernel.body);
    }
    // These follow the program, which has to be one.
    if verifier.diagnostics.is_empty() {
        verifier.assigned();
        verifier.uniformity();
        verifier.pending();
    }
    match verifier.diagnostics {
        d if d.is_empty() => Ok(()),
        diagnostics => Err(Report { subject: format!("kernel `{}`", kernel.name), diagnostics }),
    }
}

/// Whether a value can be read.
#[derive(Clone, Copy, PartialEq)]
enum Scope {
    /// Not yet defined.
    Ahead,
    /// Defined before, here or around.
    Open,
    /// Its block has ended.
    Closed,
}

struct Verifier<'k> {
    kernel: &'k Kernel,
    /// Who defines each value.
    definitions: Vec<Option<LocationId>>,
    /// Where the instruction at hand stands to it.
    scope: Vec<Scope>,
    alignment: Alignment<'k>,
    /// Loops around the instruction at hand.
    loops: usize,
    diagnostics: Vec<Diagnostic>,
    /// The last instructions of PTX that were right, by opcode and operands: unrolled loops repeat them.
    right: FxHashMap<(Opcode, usize), SmallVec<[Right<'k>; 2]>>,
}

/// An instruction of PTX that was right, with the types of its operands and results.
type Right<'k> = (&'k Machine, Types, Types);

/// How many of one opcode are remembered.
const MAX_RIGHT: usize = 8;

/// Types of operands or results.
type Types = SmallVec<[Type; 4]>;

impl<'k> Verifier<'k> {
    fn error(&mut self, message: impl Into<String>, at: LocationId) -> &mut Diagnostic {
        let mut diagnostic = Diagnostic::error(message);
        diagnostic.at = self.place(at);
        self.diagnostics.push(diagnostic);
        let last = self.diagnostics.len() - 1;
        &mut self.diagnostics[last]
    }

    fn place(&self, at: LocationId) -> Option<Location> {
        self.kernel.location(at).cloned()
    }

    /// The same error, with a note at the definition of a value.
    fn error_about(&mut self, message: String, at: LocationId, value: Value, note: &str) {
        let place = self.definitions.get(value.0 as usize).copied().flatten().and_then(|id| self.place(id));
        let diagnostic = self.error(message, at);
        if place.is_some() {
            *diagnostic = diagnostic.clone().note(note, place);
        }
    }

    /// Finds the definitions. False when blocks are nested too deep to go on.
    fn collect(&mut self, block: &'k Block, depth: usize) -> bool {
        if depth > MAX_DEPTH {
            let at = block.first().map_or(LocationId::NONE, |i| i.location);
            self.error(format!("blocks are nested more than {MAX_DEPTH} deep"), at);
            return false;
        }
        block.iter().all(|inst| {
            let index = match inst.op {
                Op::For { index, .. } => Some(index),
                _ => None,
            };
            for &v in inst.results.iter().chain(&index) {
                match self.definitions.get_mut(v.0 as usize) {
                    None => {
                        self.error(format!("{v} is defined but has no type"), inst.location);
                    }
                    Some(place @ None) => *place = Some(inst.location),
                    Some(Some(_)) => {
                        self.error_about(format!("{v} is defined twice"), inst.location, v, "first defined here");
                    }
                }
            }
            inst.op.blocks().all(|b| self.collect(b, depth + 1))
        })
    }

    fn block(&mut self, block: &'k Block) {
        for inst in block {
            self.inst(inst);
        }
        for &v in block.iter().flat_map(|i| &i.results) {
            self.enter(v, Scope::Closed);
        }
    }

    fn inst(&mut self, inst: &'k Inst) {
        // Each operand is looked at, so that each is reported, but once.
        let first = |(i, v): &(usize, &Value)| !inst.args[..*i].contains(v);
        let operands = inst.args.iter().enumerate().filter(first);
        let unreadable = operands.filter(|(_, v)| !self.readable(**v, inst)).count();
        let typed = unreadable == 0
            && inst.results.iter().all(|v| (v.0 as usize) < self.kernel.values.len())
            && self.signature(inst);
        if typed {
            self.access(inst);
        }
        for &v in &inst.results {
            self.enter(v, Scope::Open);
        }
        if typed {
            self.alignment.define(inst);
        }
        let is_loop = matches!(inst.op, Op::For { .. } | Op::Loop { .. });
        self.loops += usize::from(is_loop);
        if let Op::For { index, .. } = inst.op {
            self.enter(index, Scope::Open);
        }
        for block in inst.op.blocks() {
            self.block(block);
        }
        if let Op::For { index, .. } = inst.op {
            self.enter(index, Scope::Closed);
        }
        self.loops -= usize::from(is_loop);
    }

    fn enter(&mut self, v: Value, scope: Scope) {
        if let Some(place) = self.scope.get_mut(v.0 as usize) {
            *place = scope;
        }
    }

    fn readable(&mut self, v: Value, inst: &Inst) -> bool {
        let defined = self.definitions.get(v.0 as usize).copied().flatten().is_some();
        let (problem, help) = match self.scope.get(v.0 as usize) {
            Some(Scope::Open) => return true,
            Some(Scope::Closed) => ("outside of the block that defines it", Some(CARRY)),
            Some(Scope::Ahead) if defined => ("before it is defined", None),
            _ => ("but nothing defines it", None),
        };
        let message = format!("`{}` reads {v} {problem}", inst.op.label());
        self.error_about(message, inst.location, v, "defined here");
        if let (Some(help), Some(last)) = (help, self.diagnostics.last_mut()) {
            last.help = Some(help.into());
        }
        false
    }

    fn signature(&mut self, inst: &'k Inst) -> bool {
        let types = |values: &[Value]| values.iter().map(|&v| self.kernel.type_of(v)).collect::<Types>();
        let (args, results) = (types(&inst.args), types(&inst.results));
        if let Op::Machine(machine) = &inst.op
            && let Some(right) = self.right.get(&(machine.opcode, machine.operands.len()))
            && right.iter().any(|(known, a, r)| (a, r) == (&args, &results) && **known == **machine)
        {
            return true;
        }
        let problem = match signature::check(self.kernel, &inst.op, &args, &results) {
            Err(problem) => Some(problem),
            Ok(()) => match inst.op {
                Op::BreakIf | Op::ContinueIf if self.loops == 0 => {
                    Some(format!("`{}` is not in a loop", inst.op.name()))
                }
                Op::For { unroll: Some(n), .. } if !(1..=MAX_UNROLL).contains(&n) => {
                    Some(format!("this `for` is to be unrolled {n} times, and that is 1 to {MAX_UNROLL}"))
                }
                Op::For { .. } if self.alignment.constant(inst.args[2]) == Some(0) => {
                    Some("this `for` steps by 0 and would never end".into())
                }
                _ => None,
            },
        };
        let Some(problem) = problem else {
            if let Op::Machine(machine) = &inst.op {
                let right = self.right.entry((machine.opcode, machine.operands.len())).or_default();
                if right.len() == MAX_RIGHT {
                    right.remove(0);
                }
                right.push((machine, args, results));
            }
            return true;
        };
        match inst.args.first() {
            Some(&v) => self.error_about(problem, inst.location, v, "its first operand is defined here"),
            None => {
                self.error(problem, inst.location);
            }
        }
        false
    }

    /// Width, offset and alignment of an access.
    fn access(&mut self, inst: &Inst) {
        let (load, space, offset, access) = match &inst.op {
            Op::Load { space, offset, access, .. } => (true, *space, *offset, *access),
            Op::Store { space, offset, access, .. } => (false, *space, *offset, *access),
            _ => return,
        };
        let moved = inst.moved();
        let (elements, ty) = (moved.len(), self.kernel.type_of(moved[0]));
        let element = ty.bytes();
        let width = element * elements as u32;
        let name = inst.op.name();
        let wide = width == 32 && matches!(element, 4 | 8) && space == Space::Global;
        if !(wide || matches!(elements, 1 | 2 | 4) && width <= 16) {
            let message = format!("no {} `{name}` moves {elements} elements of {element} bytes at once", space.name());
            self.error(message, inst.location).help =
                Some("1, 2 or 4 elements of 16 bytes in all; or 8 of 4 bytes or 4 of 8 bytes in global memory".into());
            return;
        }
        if let Some(problem) = access.problem(load, space, elements, memory(ty)) {
            self.error(problem, inst.location);
            return;
        }
        if offset.unsigned_abs() % width != 0 {
            self.error(
                format!("a `{name}` of {width} bytes at offset {offset}, which {width} does not divide"),
                inst.location,
            );
            return;
        }
        if let Some((root, problem)) = self.alignment.problem(inst.args[0], offset, width) {
            let space = space.name();
            self.error_about(
                format!("a {space} `{name}` of {width} bytes, but {problem}"),
                inst.location,
                root,
                "the address",
            );
        }
    }
}
