//! Functions: head, declarations, body.

use super::integer::write_unsigned;
use super::{DebugStrings, Names, instruction, module, registers};
use crate::module::{Directives, Function, FunctionKind, Linkage, Module, Parameter, SourceLine, Statement};
use crate::syntax::{Opcode, StateSpace};
use rustc_hash::FxHashSet;
use std::fmt::{self, Write as _};

pub(super) fn write(
    f: &mut fmt::Formatter<'_>,
    function: &Function,
    module: Option<&Module>,
    strings: &DebugStrings<'_>,
) -> fmt::Result {
    write_head(f, function)?;
    if function.linkage == Linkage::Extern {
        return f.write_str(";\n");
    }
    f.write_str("\n{\n")?;
    registers::write(f, &function.registers)?;
    for variable in &function.variables {
        f.write_str("\t")?;
        module::write_variable(f, variable)?;
    }
    let names = Names { module, function: Some(function) };
    // The assembler wants the call of an inlined line to have been a line itself.
    let mut seen = FxHashSet::default();
    // A formatter is called through a table of functions: once a statement, and not for each of its parts.
    let mut line = String::new();
    let mut last = instruction::Last::default();
    for statement in &function.body {
        line.clear();
        let out = &mut line;
        match statement {
            Statement::Instruction(i) => {
                if i.opcode == Opcode::BrxIdx {
                    instruction::write_targets(out, i, names, &mut last)?;
                    out.push('\n');
                }
                out.push('\t');
                instruction::write(out, i, names, &mut last)?;
                out.push('\n');
            }
            Statement::Label(id) => {
                names.label(out, *id)?;
                out.push_str(":\n");
            }
            Statement::Source(source) => write_source(out, source, strings, &mut seen)?,
            Statement::Pragma(text) => writeln!(out, "\t.pragma \"{text}\";")?,
        }
        f.write_str(&line)?;
    }
    f.write_str("}\n")
}

/// Everything before the body.
fn write_head(f: &mut fmt::Formatter<'_>, function: &Function) -> fmt::Result {
    f.write_str(module::linkage(function.linkage))?;
    f.write_str(match function.kind {
        FunctionKind::Entry => ".entry ",
        FunctionKind::Device => ".func ",
    })?;
    if !function.results.is_empty() {
        write_parameters(f, &function.results)?;
        f.write_str(" ")?;
    }
    f.write_str(&function.name)?;
    write_parameters(f, &function.parameters)?;
    write_directives(f, &function.directives)
}

/// Announces a function that is called before it comes.
pub(super) fn write_declaration(f: &mut fmt::Formatter<'_>, function: &Function) -> fmt::Result {
    write_head(f, function)?;
    f.write_str(";\n")
}

fn write_parameters(f: &mut fmt::Formatter<'_>, parameters: &[Parameter]) -> fmt::Result {
    f.write_str("(")?;
    for (i, parameter) in parameters.iter().enumerate() {
        f.write_str(if i == 0 { "\n\t" } else { ",\n\t" })?;
        write_parameter(f, parameter)?;
    }
    f.write_str(if parameters.is_empty() { ")" } else { "\n)" })
}

fn write_parameter(f: &mut fmt::Formatter<'_>, parameter: &Parameter) -> fmt::Result {
    f.write_str(".param ")?;
    if parameter.array || parameter.align != parameter.ty.bytes() {
        write!(f, ".align {} ", parameter.align)?;
    }
    write!(f, ".{} ", parameter.ty)?;
    if let Some((space, align)) = parameter.pointer {
        f.write_str(".ptr ")?;
        if space != StateSpace::Generic {
            write!(f, ".{space} ")?;
        }
        write!(f, ".align {align} ")?;
    }
    f.write_str(&parameter.name)?;
    if parameter.array { write!(f, "[{}]", parameter.count) } else { Ok(()) }
}

fn write_directives(f: &mut fmt::Formatter<'_>, directives: &Directives) -> fmt::Result {
    let three = |f: &mut fmt::Formatter<'_>, name: &str, value: Option<[u32; 3]>| match value {
        Some([x, y, z]) => write!(f, "\n.{name} {x}, {y}, {z}"),
        None => Ok(()),
    };
    let one = |f: &mut fmt::Formatter<'_>, name: &str, value: Option<u32>| match value {
        Some(n) => write!(f, "\n.{name} {n}"),
        None => Ok(()),
    };
    three(f, "reqntid", directives.reqntid)?;
    three(f, "maxntid", directives.maxntid)?;
    three(f, "reqnctapercluster", directives.reqnctapercluster)?;
    if directives.explicitcluster {
        f.write_str("\n.explicitcluster")?;
    }
    one(f, "minnctapersm", directives.minnctapersm)?;
    one(f, "maxnreg", directives.maxnreg)
}

fn write_source(
    out: &mut String,
    source: &SourceLine,
    strings: &DebugStrings<'_>,
    seen: &mut FxHashSet<(u32, u32, u32)>,
) -> fmt::Result {
    let place = (source.file, source.line, source.column);
    let Some(call) = &source.inlined_at else {
        seen.insert(place);
        write_place(out, "\t.loc", place)?;
        out.push('\n');
        return Ok(());
    };
    let caller = (call.file, call.line, call.column);
    if seen.insert(caller) {
        write_place(out, "\t.loc", caller)?;
        out.push('\n');
    }
    let label = strings.labels.get(call.function.as_str()).copied().unwrap_or(0);
    write_place(out, "\t.loc", place)?;
    write!(out, ", function_name $L__info_string{label}, inlined_at")?;
    write_place(out, "", caller)?;
    out.push('\n');
    Ok(())
}

/// File, line and column, each after a space.
fn write_place(out: &mut String, word: &str, (file, line, column): (u32, u32, u32)) -> fmt::Result {
    out.push_str(word);
    for n in [file, line, column] {
        out.push(' ');
        write_unsigned(out, n.into())?;
    }
    Ok(())
}
