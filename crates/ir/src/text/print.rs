//! Printing.

use super::literal::Literal;
use crate::access::Access;
use crate::inline::EFFECTS;
use crate::kernel::{Block, Inst, Kernel, Value};
use crate::op::{Op, Space};
use std::fmt::{self, Formatter, Write};
use warpsmith_types::Location;

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "kernel {}(", Name(&self.name))?;
        for (i, p) in self.params.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}{}: {}", Name(&p.name), p.ty)?;
            if let Some(pointer) = &p.pointer {
                write!(f, " pointer {} align {}", Name(&pointer.tensor), pointer.align)?;
            }
            if p.tensor_map {
                f.write_str(" tensor_map")?;
            }
        }
        f.write_str(")")?;
        if let Some([x, y, z]) = self.block {
            write!(f, " block {x}, {y}, {z}")?;
        }
        if let Some([x, y, z]) = self.cluster {
            write!(f, " cluster {x}, {y}, {z}")?;
        }
        if let Some(n) = self.max_registers {
            write!(f, " max_registers {n}")?;
        }
        if let Some(n) = self.min_blocks {
            write!(f, " min_blocks {n}")?;
        }
        f.write_str(" {\n")?;
        for s in &self.shared {
            writeln!(f, "  shared {}: {} align {}", Name(&s.name), s.bytes, s.align)?;
        }
        for (i, ty) in self.registers.iter().enumerate() {
            writeln!(f, "  register ${i}: {ty}")?;
        }
        self.unused(f)?;
        self.print(&self.body, 1, f)?;
        f.write_str("}\n")
    }
}

impl Kernel {
    /// Values that nothing defines still have types, and numbers.
    fn unused(&self, f: &mut Formatter<'_>) -> fmt::Result {
        fn mark(block: &Block, defined: &mut [bool]) {
            for inst in block {
                let index = match inst.op {
                    Op::For { index, .. } => Some(index),
                    _ => None,
                };
                for v in inst.results.iter().chain(&index) {
                    if let Some(d) = defined.get_mut(v.0 as usize) {
                        *d = true;
                    }
                }
                inst.op.blocks().for_each(|b| mark(b, defined));
            }
        }
        let mut defined = vec![false; self.values.len()];
        mark(&self.body, &mut defined);
        let mut separator = "  unused ";
        for (i, ty) in self.values.iter().enumerate().filter(|(i, _)| !defined[*i]) {
            write!(f, "{separator}%{i}: {ty}")?;
            separator = ", ";
        }
        if separator == ", " { f.write_char('\n') } else { Ok(()) }
    }

    fn print(&self, block: &Block, depth: usize, f: &mut Formatter<'_>) -> fmt::Result {
        for inst in block {
            write!(f, "{:1$}", "", 2 * depth)?;
            self.head(inst, f)?;
            if let Some(location) = self.location(inst.location) {
                write!(f, " {}", At(location))?;
            }
            match &inst.op {
                Op::If { then, otherwise, .. } => {
                    f.write_str(" {\n")?;
                    self.print(then, depth + 1, f)?;
                    if !otherwise.is_empty() {
                        writeln!(f, "{:1$}}} else {{", "", 2 * depth)?;
                        self.print(otherwise, depth + 1, f)?;
                    }
                    write!(f, "{:1$}}}", "", 2 * depth)?;
                }
                Op::For { body, .. } | Op::Loop { body } => {
                    f.write_str(" {\n")?;
                    self.print(body, depth + 1, f)?;
                    write!(f, "{:1$}}}", "", 2 * depth)?;
                }
                _ => {}
            }
            f.write_char('\n')?;
        }
        Ok(())
    }

    /// An instruction without its location and blocks.
    fn head(&self, inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, &v) in inst.results.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}{}", self.typed(v))?;
        }
        if !inst.results.is_empty() {
            f.write_str(" = ")?;
        }
        f.write_str(inst.op.name())?;
        let result = inst.results.first().and_then(|v| self.values.get(v.0 as usize)).copied();
        match &inst.op {
            Op::Const(bits) => write!(f, " {}", Literal(result, *bits)),
            Op::Param(i) => named(self.params.iter().map(|p| p.name.as_str()), *i, f),
            Op::SharedAddress(id) => named(self.shared.iter().map(|s| s.name.as_str()), id.0, f),
            Op::Special(s) => write!(f, " {}", s.name()),
            Op::Shuffle(s) => write!(f, ".{}", s.name()),
            Op::Get(r) => write!(f, " ${}", r.0),
            Op::Set(r) => {
                write!(f, " ${}", r.0)?;
                if !inst.args.is_empty() { f.write_char(',') } else { Ok(()) }
            }
            Op::For { index, .. } => write!(f, " {} in", self.typed(*index)),
            Op::Load { space, offset, fill, access } => {
                self::access(*space, *access, f)?;
                address(inst.args.first(), *offset, f)?;
                operands(&inst.args, *access, f)?;
                fill.map_or(Ok(()), |bits| write!(f, " else {}", Literal(result, bits)))
            }
            Op::Store { space, offset, guarded, access } => {
                let split = inst.args.len() - usize::from(*guarded && !inst.args.is_empty());
                let (stored, condition) = inst.args.split_at(split);
                self::access(*space, *access, f)?;
                address(stored.first(), *offset, f)?;
                operands(stored, *access, f)?;
                if *guarded { f.write_str(" if") } else { Ok(()) }?;
                condition.iter().try_for_each(|v| write!(f, " {v}"))
            }
            Op::Print { format } => {
                f.write_char(' ')?;
                quoted(format, f)
            }
            Op::Inline(inline) => {
                let effect = EFFECTS.iter().find(|(e, _)| *e == inline.effect).map_or("", |(_, name)| name);
                write!(f, " {effect} ")?;
                quoted(&inline.text, f)
            }
            Op::Machine(machine) => super::machine::print(machine, inst, f),
            _ => Ok(()),
        }?;
        if !matches!(inst.op, Op::Load { .. } | Op::Store { .. } | Op::Machine(_)) {
            for (i, v) in inst.args.iter().enumerate() {
                write!(f, "{}{v}", if i > 0 { ", " } else { " " })?;
            }
        }
        match inst.op {
            Op::For { unroll: Some(n), .. } => write!(f, " unroll {n}"),
            _ => Ok(()),
        }
    }

    fn typed(&self, v: Value) -> String {
        match self.values.get(v.0 as usize) {
            Some(ty) => format!("{v}: {ty}"),
            None => format!("{v}: ?"),
        }
    }
}

/// By name where only one has it, else by number.
fn named<'a>(names: impl Iterator<Item = &'a str> + Clone, i: u32, f: &mut Formatter<'_>) -> fmt::Result {
    match names.clone().nth(i as usize) {
        Some(name) if names.filter(|n| *n == name).count() == 1 => write!(f, " {}", Name(name)),
        _ => write!(f, " {i}"),
    }
}

/// `.global.relaxed.gpu`
fn access(space: Space, access: Access, f: &mut Formatter<'_>) -> fmt::Result {
    write!(f, ".{}", space.name())?;
    access.words().try_for_each(|word| write!(f, ".{word}"))?;
    f.write_char(' ')
}

/// What follows an address, which is the first.
fn operands(all: &[Value], access: Access, f: &mut Formatter<'_>) -> fmt::Result {
    let mut rest = all.iter().skip(1);
    if access.policy {
        f.write_str(" policy")?;
        rest.next().map_or(Ok(()), |v| write!(f, " {v}"))?;
    }
    rest.try_for_each(|v| write!(f, ", {v}"))
}

fn address(base: Option<&Value>, offset: i32, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_char('[')?;
    start(base, offset, f)?;
    f.write_char(']')
}

/// What an address starts from.
pub(super) fn start(base: Option<&Value>, offset: i32, f: &mut Formatter<'_>) -> fmt::Result {
    if let Some(base) = base {
        write!(f, "{base}")?;
    }
    match offset {
        0 => {}
        1.. => write!(f, " + {offset}")?,
        _ => write!(f, " - {}", offset.unsigned_abs())?,
    }
    Ok(())
}

/// A name as it is, or in quotes.
struct Name<'a>(&'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let plain = self.0.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && self.0.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        if plain { f.write_str(self.0) } else { quoted(self.0, f) }
    }
}

fn quoted(text: &str, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '"' | '\\' => write!(f, "\\{c}")?,
            _ => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

/// `@ file:line:column in helper @ file:line:column`.
struct At<'a>(&'a Location);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut at = self.0;
        loop {
            f.write_str("@ ")?;
            let file = at.file.as_ref();
            if file.is_empty() || file.contains(|c: char| c.is_whitespace() || c == ':' || c == '"') {
                quoted(file, f)?;
            } else {
                f.write_str(file)?;
            }
            write!(f, ":{}", at.line)?;
            if at.column > 0 {
                write!(f, ":{}", at.column)?;
            }
            match &at.inlined_at {
                None => return Ok(()),
                Some(call) => {
                    write!(f, " in {} ", Name(&call.function))?;
                    at = &call.at;
                }
            }
        }
    }
}
