//! Declarations of registers: one group a type, `%r<8>` for names that count up from 0.

use crate::module::Register;
use crate::syntax::Type;
use std::fmt;

pub(super) fn write(f: &mut fmt::Formatter<'_>, registers: &[Register]) -> fmt::Result {
    let mut types: Vec<Type> = vec![];
    for register in registers {
        if !types.contains(&register.ty) {
            types.push(register.ty);
        }
    }
    for ty in types {
        let mut group: Vec<&str> = registers.iter().filter(|r| r.ty == ty).map(|r| r.name.as_str()).collect();
        while let Some(name) = group.first() {
            let run = run_from_zero(&group);
            if run > 1 {
                writeln!(f, "\t.reg .{ty} {}<{run}>;", &name[..name.len() - 1])?;
                group.drain(..run);
            } else {
                let listed = (1..group.len()).find(|i| run_from_zero(&group[*i..]) > 1).unwrap_or(group.len()).min(16);
                writeln!(f, "\t.reg .{ty} {};", group[..listed].join(", "))?;
                group.drain(..listed);
            }
        }
    }
    Ok(())
}

/// How many names from the first on are `x0`, `x1`, `x2`, …. A range after a digit, as in `x1<2>`, is no range to the
/// assembler.
fn run_from_zero(names: &[&str]) -> usize {
    let prefix = names.first().and_then(|n| n.strip_suffix('0'));
    let Some(prefix) = prefix.filter(|p| !p.is_empty() && !p.ends_with(|c: char| c.is_ascii_digit())) else { return 0 };
    let counts = |(i, name): (usize, &&str)| {
        let digits = name.strip_prefix(prefix).filter(|d| d.len() == 1 || !d.starts_with(['0', '+']));
        digits.and_then(|d| d.parse().ok()) == Some(i)
    };
    names.iter().enumerate().take_while(|(i, name)| counts((*i, name))).count()
}
