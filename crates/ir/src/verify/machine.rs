//! Instructions by their names in PTX: operands and types, by the table.

use crate::kernel::{Kernel, RegisterId};
use crate::machine::{Machine, Opcode, PtxType, Slot};
use crate::types::Type;
use smallvec::SmallVec;
use warpsmith_ptx as ptx;
use warpsmith_ptx::Instruction;
use warpsmith_ptx::table::{OperandForm, Role, Shape, ValueForm};

/// Checks what stands at its operands; the error says what is wrong.
pub(super) fn check(kernel: &Kernel, machine: &Machine, args: &[Type], results: &[Type]) -> Result<(), String> {
    if matches!(machine.opcode, Opcode::Ret | Opcode::Exit | Opcode::Bra | Opcode::Call | Opcode::BrxIdx) {
        return Err(format!("`{machine}` decides what runs next; write `exit_if`, `if` or `loop`"));
    }
    if machine.opcode == Opcode::Setmaxnreg && kernel.max_registers.is_none() && kernel.min_blocks.is_none() {
        return Err(format!(
            "`{machine}` moves registers between warpgroups, and without `max_registers` or `min_blocks` of the kernel \
             nothing says how many each starts with: the assembler ignores it"
        ));
    }
    references(kernel, machine, args, results)?;
    let probe = machine.probe();
    let (_, bound) = machine.bind(&probe).map_err(|e| e.to_string())?;
    let checker = Checker { kernel, machine, probe: &probe, args, results };
    for (slot, (form, _)) in machine.operands.iter().zip(bound) {
        checker.operand(slot, form)?;
    }
    Ok(())
}

/// How often something is named.
type Counts = SmallVec<[u32; 8]>;

/// Every result stands at one operand, every operand at one or more, and all that is named is there.
fn references(kernel: &Kernel, machine: &Machine, args: &[Type], results: &[Type]) -> Result<(), String> {
    let zeros = |n| SmallVec::from_elem(0, n);
    let (mut defined, mut read): (Counts, Counts) = (zeros(results.len()), zeros(args.len()));
    let mut missing = None;
    let mut count = |counts: &mut Counts, i: u8, what: &str| match counts.get_mut(usize::from(i)) {
        Some(n) => *n += 1,
        None => missing = Some(format!("`{machine}` names {what} {i} and has {}", counts.len())),
    };
    let mut unknown = None;
    let declared = kernel.registers.len() as u64;
    for operand in &machine.operands {
        if let Slot::Registers(first, count) = operand
            && u64::from(first.0) + u64::from(*count) > declared
        {
            return Err(format!("`{machine}` names {count} registers from ${}, and {declared} are declared", first.0));
        }
    }
    machine.each_slot(|slot| match slot {
        Slot::Result(i) => count(&mut defined, *i, "result"),
        Slot::Arg(i) | Slot::Address { base: i, .. } => count(&mut read, *i, "operand"),
        Slot::Register(r) if r.0 as usize >= kernel.registers.len() => {
            unknown = Some(format!("`{machine}` names register ${}, which is not declared", r.0));
        }
        _ => {}
    });
    if let Some(guard) = machine.guard {
        count(&mut read, guard.arg, "operand");
    }
    if let Some(problem) = missing.or(unknown) {
        return Err(problem);
    }
    if let Some(i) = defined.iter().position(|n| *n != 1) {
        return Err(format!("`{machine}`: result {i} stands at {} operands and not at one", defined[i]));
    }
    if let Some(i) = read.iter().position(|n| *n == 0) {
        return Err(format!("`{machine}`: operand {i} stands nowhere"));
    }
    match machine.guard {
        Some(guard) if args[usize::from(guard.arg)] != Type::Bool => {
            Err(format!("`{machine}`: a guard is a bool, and this is {}", args[usize::from(guard.arg)]))
        }
        Some(_) if !results.is_empty() => {
            Err(format!("`{machine}` has no result where its guard is false; let it write a mutable register"))
        }
        _ => Ok(()),
    }
}

struct Checker<'a> {
    kernel: &'a Kernel,
    machine: &'a Machine,
    probe: &'a Instruction,
    args: &'a [Type],
    results: &'a [Type],
}

impl Checker<'_> {
    fn operand(&self, slot: &Slot, form: &OperandForm) -> Result<(), String> {
        match (&form.shape, slot) {
            (Shape::Value(value), slot) => self.value(slot, form, value),
            (Shape::Pair { first, second, .. }, Slot::Pair(a, b)) => {
                self.value(a, form, first)?;
                self.value(b, form, second)
            }
            (Shape::Pair { first, .. }, slot) => self.value(slot, form, first),
            (Shape::Address { .. }, Slot::Address { base, coordinates, .. }) => {
                let ty = self.args[usize::from(*base)];
                if !ty.is_integer() || ty.bits() < 32 {
                    return Err(format!(
                        "`{}`: [{}] is an address of 32 or 64 bits, and not {ty}",
                        self.machine, form.name
                    ));
                }
                coordinates.iter().try_for_each(|c| self.scalar(c, form, PtxType::S32, false))
            }
            _ => Err(format!("`{}`: nothing of the IR can stand at `{}`", self.machine, form.name)),
        }
    }

    fn value(&self, slot: &Slot, form: &OperandForm, value: &ValueForm) -> Result<(), String> {
        let Some(expected) = value.type_in(self.probe) else { return Ok(()) };
        match slot {
            Slot::Vector(_) | Slot::Registers(..) => {
                slot.parts().iter().try_for_each(|s| self.scalar(s, form, expected, value.wider))
            }
            slot => self.scalar(slot, form, expected, value.wider),
        }
    }

    fn scalar(&self, slot: &Slot, form: &OperandForm, expected: PtxType, wider: bool) -> Result<(), String> {
        let OperandForm { name, role, .. } = form;
        let machine = self.machine;
        let ty = match slot {
            Slot::Result(_) if *role != Role::Result => {
                return Err(format!("`{machine}` reads `{name}`; a result can not stand there"));
            }
            Slot::Arg(_) if *role == Role::Result => {
                return Err(format!("`{machine}` writes `{name}`; a result or a mutable register stands there"));
            }
            Slot::Arg(_) if *role == Role::Both => {
                return Err(format!("`{machine}` reads and writes `{name}`; a mutable register stands there"));
            }
            Slot::Result(i) => self.results[usize::from(*i)],
            Slot::Arg(i) => self.args[usize::from(*i)],
            Slot::Register(RegisterId(r)) => self.kernel.registers[*r as usize],
            Slot::Immediate(literal) => {
                let float = matches!(literal, ptx::Immediate::F32(_) | ptx::Immediate::F64(_));
                let wants_float = matches!(expected, PtxType::F32 | PtxType::F64);
                let bits = matches!(expected, PtxType::B32 | PtxType::B64);
                return if float == wants_float || float && bits {
                    Ok(())
                } else {
                    Err(format!("`{machine}`: `{name}` is {expected}, and {literal} is no literal of it"))
                };
            }
            _ => return Ok(()),
        };
        if fits(expected, ty, wider) {
            return Ok(());
        }
        Err(format!("`{machine}`: `{name}` is {expected}, and not {ty}"))
    }
}

/// Whether a value's register may stand for an operand, by PTX's rules: untyped ones by width, integers of either sign
/// for one another, floats for themselves. `wider`: also one of more bits.
fn fits(expected: PtxType, ty: Type, wider: bool) -> bool {
    let width = ty.bits() == expected.bits() || wider && ty.bits() > expected.bits();
    // Halves live in untyped registers.
    let float = matches!(ty, Type::F32 | Type::F64);
    match expected {
        PtxType::Pred => return ty == Type::Bool,
        _ if ty == Type::Bool => return false,
        PtxType::B8 | PtxType::B16 | PtxType::B32 | PtxType::B64 | PtxType::B128 => {}
        PtxType::F32 | PtxType::F64 if float => return ty.bits() == expected.bits(),
        _ if float => return false,
        _ => {}
    }
    width
}
