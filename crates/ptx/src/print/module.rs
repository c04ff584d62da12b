//! The module: header, variables, functions, files, debug strings.

use super::{DebugStrings, function};
use crate::instruction::Operand;
use crate::module::{Linkage, Module, Symbol, Variable};
use crate::syntax::Opcode;
use std::fmt;

pub(super) fn write(f: &mut fmt::Formatter<'_>, module: &Module) -> fmt::Result {
    writeln!(f, ".version {}\n.target {}\n.address_size 64", module.version, module.target)?;
    if !module.variables.is_empty() {
        f.write_str("\n")?;
    }
    for variable in &module.variables {
        write_variable(f, variable)?;
    }
    let strings = DebugStrings::of(&module.functions);
    for index in called_early(module) {
        f.write_str("\n")?;
        function::write_declaration(f, &module.functions[index])?;
    }
    for function in &module.functions {
        f.write_str("\n")?;
        function::write(f, function, Some(module), &strings)?;
    }
    if !module.files.is_empty() {
        f.write_str("\n")?;
    }
    for file in &module.files {
        writeln!(f, ".file {} \"{}\"", file.index, file.path)?;
    }
    if !strings.names.is_empty() {
        f.write_str("\n.section .debug_str\n{\n")?;
        for (index, name) in strings.names.iter().enumerate() {
            writeln!(f, "$L__info_string{index}:")?;
            let bytes: Vec<String> = name.bytes().chain([0]).map(|b| b.to_string()).collect();
            for line in bytes.chunks(20) {
                writeln!(f, "\t.b8 {}", line.join(","))?;
            }
        }
        f.write_str("}\n")?;
    }
    Ok(())
}

/// The functions that another calls before they come.
fn called_early(module: &Module) -> Vec<usize> {
    let mut early = vec![];
    for (caller, function) in module.functions.iter().enumerate() {
        for operand in function.instructions().filter(|i| i.opcode == Opcode::Call).flat_map(|i| &i.operands) {
            if let Operand::Symbol(Symbol::Function(callee), _) = operand
                && let callee = *callee as usize
                && callee > caller
                && module.functions.get(callee).is_some_and(|f| f.linkage != Linkage::Extern)
            {
                early.push(callee);
            }
        }
    }
    early.sort_unstable();
    early.dedup();
    early
}

pub(super) const fn linkage(linkage: Linkage) -> &'static str {
    match linkage {
        Linkage::Internal => "",
        Linkage::Visible => ".visible ",
        Linkage::Extern => ".extern ",
        Linkage::Weak => ".weak ",
        Linkage::Common => ".common ",
    }
}

pub(super) fn write_variable(f: &mut fmt::Formatter<'_>, variable: &Variable) -> fmt::Result {
    let Variable { name, space, align, ty, .. } = variable;
    write!(f, "{}.{space} .align {align} .{ty} {name}", linkage(variable.linkage))?;
    match variable.count {
        None => f.write_str("[]")?,
        Some(1) => {}
        Some(count) => write!(f, "[{count}]")?,
    }
    match (variable.init.as_slice(), variable.count) {
        ([], _) => {}
        ([value], Some(1)) => write!(f, " = {value}")?,
        (values, _) => {
            f.write_str(" = {")?;
            for (i, value) in values.iter().enumerate() {
                write!(f, "{}{value}", if i == 0 { "" } else { ", " })?;
            }
            f.write_str("}")?;
        }
    }
    f.write_str(";\n")
}
