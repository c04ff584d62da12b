//! Instructions and operands.

use super::{Names, integer::write_integer};
use crate::instruction::{Address, Base, Immediate, Instruction, Operand};
use crate::syntax::Opcode;
use std::fmt;
use std::sync::Arc;

/// What printing a function carries from one instruction to the next. The last long vector and its text: the accumulator
/// of an unrolled loop comes again and again.
#[derive(Default)]
pub(super) struct Last {
    vector: Option<Arc<[Operand]>>,
    text: String,
    /// Tables of labels so far.
    tables: usize,
}

/// Shorter ones are written as fast as copied.
const LONG: usize = 16;

impl Last {
    fn write(&mut self, f: &mut impl fmt::Write, parts: &Arc<[Operand]>, names: Names<'_>) -> fmt::Result {
        if !self.vector.as_ref().is_some_and(|last| Arc::ptr_eq(last, parts)) {
            self.text.clear();
            write_list(&mut self.text, ["{", "}"], parts, names)?;
            self.vector = Some(parts.clone());
        }
        f.write_str(&self.text)
    }
}

/// The table of labels that a `brx.idx` jumps by, which PTX wants before it and under a name.
pub(super) fn write_targets(
    f: &mut impl fmt::Write,
    instruction: &Instruction,
    names: Names<'_>,
    last: &mut Last,
) -> fmt::Result {
    let Some(Operand::Vector(targets)) = instruction.operands.last() else { return Ok(()) };
    last.tables += 1;
    write_table(f, last.tables)?;
    write_list(f, [": .branchtargets ", ";"], targets, names)
}

fn write_table(f: &mut impl fmt::Write, number: usize) -> fmt::Result {
    write!(f, "$targets_{number}")
}

pub(super) fn write(
    f: &mut impl fmt::Write,
    instruction: &Instruction,
    names: Names<'_>,
    last: &mut Last,
) -> fmt::Result {
    if let Some(guard) = instruction.guard {
        f.write_str(if guard.negated { "@!" } else { "@" })?;
        names.register(f, guard.register)?;
        f.write_str(" ")?;
    }
    f.write_str(instruction.opcode.name())?;
    for modifier in &instruction.modifiers {
        f.write_str(".")?;
        f.write_str(modifier.name())?;
    }
    for (i, operand) in instruction.operands.iter().enumerate() {
        f.write_str(if i == 0 { " " } else { ", " })?;
        match operand {
            Operand::Vector(_) if instruction.opcode == Opcode::BrxIdx && last.tables > 0 => {
                write_table(f, last.tables)?
            }
            Operand::Vector(parts) if instruction.opcode == Opcode::Call => write_list(f, ["(", ")"], parts, names)?,
            Operand::Vector(parts) if parts.len() >= LONG => last.write(f, parts, names)?,
            operand => write_operand(f, operand, names)?,
        }
    }
    f.write_str(";")
}

fn write_operand(f: &mut impl fmt::Write, operand: &Operand, names: Names<'_>) -> fmt::Result {
    match operand {
        Operand::Register(id) => names.register(f, *id),
        Operand::Immediate(Immediate::Integer(n)) => write_integer(f, *n),
        Operand::Immediate(value) => write!(f, "{value}"),
        Operand::Special(special) => write!(f, "%{special}"),
        Operand::Address(address) => write_address(f, address, names),
        Operand::Vector(parts) => write_list(f, ["{", "}"], parts, names),
        Operand::Pair(a, b) => {
            write_operand(f, a, names)?;
            f.write_str("|")?;
            write_operand(f, b, names)
        }
        Operand::Label(id) => names.label(f, *id),
        Operand::Symbol(symbol, offset) => {
            names.symbol(f, *symbol)?;
            write_offset(f, *offset)
        }
        Operand::Not(id) => {
            f.write_str("!")?;
            names.register(f, *id)
        }
        Operand::Sink => f.write_str("_"),
    }
}

fn write_list(f: &mut impl fmt::Write, marks: [&str; 2], parts: &[Operand], names: Names<'_>) -> fmt::Result {
    f.write_str(marks[0])?;
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        write_operand(f, part, names)?;
    }
    f.write_str(marks[1])
}

fn write_address(f: &mut impl fmt::Write, address: &Address, names: Names<'_>) -> fmt::Result {
    f.write_str("[")?;
    match address.base {
        Base::Register(id) => names.register(f, id)?,
        Base::Symbol(symbol) => names.symbol(f, symbol)?,
        Base::Absolute => write!(f, "{}", address.offset)?,
    }
    if address.base != Base::Absolute {
        write_offset(f, address.offset)?;
    }
    if !address.coordinates.is_empty() {
        f.write_str(", ")?;
        write_list(f, ["{", "}"], &address.coordinates, names)?;
    }
    f.write_str("]")
}

fn write_offset(f: &mut impl fmt::Write, offset: i64) -> fmt::Result {
    if offset == 0 {
        return Ok(());
    }
    f.write_str("+")?;
    write_integer(f, offset)
}

impl fmt::Display for Immediate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Immediate::Integer(n) => write!(f, "{n}"),
            Immediate::Unsigned(n) => write!(f, "{n}"),
            Immediate::F32(bits) => write!(f, "0f{bits:08X}"),
            Immediate::F64(bits) => write!(f, "0d{bits:016X}"),
        }
    }
}
