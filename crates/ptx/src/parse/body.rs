//! A function's body.

use super::cursor::Cursor;
use super::error::{ParseError, ParseErrorKind};
use super::function::Labels;
use super::lexer::Token;
use super::operand;
use super::scope::{Meaning, Scopes};
use super::variable;
use crate::instruction::{Guard, Instruction, Operand};
use crate::module::{Function, InlinedAt, Linkage, SourceLine, Statement, Symbol};
use crate::syntax::{Modifier, Opcode};
use crate::table;

/// From the brace that opens to the one that closes.
pub(super) fn parse(
    cursor: &mut Cursor<'_>,
    function: &mut Function,
    scopes: &mut Scopes<'_>,
    labels: &Labels<'_>,
) -> Result<(), ParseError> {
    if cursor.peek() != Token::Mark('{') {
        return Err(cursor.expected("`{`"));
    }
    let outside = scopes.depth();
    loop {
        match cursor.peek() {
            Token::Mark('{') => {
                scopes.enter().map_err(|kind| cursor.error(kind))?;
                for (at, name) in labels.get(&cursor.at).into_iter().flatten() {
                    scopes.label(name).map_err(|kind| cursor.error_at(*at, kind))?;
                }
                cursor.next();
            }
            Token::Mark('}') => {
                cursor.next();
                scopes.leave();
                if scopes.depth() == outside {
                    return Ok(());
                }
            }
            Token::Mark(';') => {
                cursor.next();
            }
            Token::Dot("reg") => registers(cursor, scopes)?,
            Token::Dot("loc") => function.body.push(Statement::Source(source_line(cursor)?)),
            Token::Dot("pragma") => {
                cursor.next();
                function.body.push(Statement::Pragma(cursor.text()?.into()));
                cursor.expect(';')?;
            }
            token if variable::space(token).is_some() => variables(cursor, Linkage::Internal, function, scopes)?,
            Token::Dot("extern") if variable::space(cursor.peek_at(1)).is_some() => {
                cursor.next();
                variables(cursor, Linkage::Extern, function, scopes)?;
            }
            Token::Dot(word) => {
                return Err(cursor.error(ParseErrorKind::Unsupported(format!("`.{word}` in a function"))));
            }
            Token::Name(name)
                if cursor.peek_at(1) == Token::Mark(':') && cursor.peek_at(2) == Token::Dot("branchtargets") =>
            {
                let at = cursor.at;
                cursor.at += 3;
                let targets = branch_targets(cursor, scopes)?;
                scopes.table(name, targets).map_err(|kind| cursor.error_at(at, kind))?;
            }
            Token::Name(name) if cursor.peek_at(1) == Token::Mark(':') => {
                // Every label was declared when its scope opened.
                if let Some(Meaning::Label(id)) = scopes.find(name) {
                    function.body.push(Statement::Label(id));
                }
                cursor.at += 2;
            }
            Token::Name(_) | Token::Mark('@') => {
                function.body.push(Statement::Instruction(instruction(cursor, scopes)?));
            }
            _ => return Err(cursor.expected("an instruction, a declaration or `}`")),
        }
    }
}

/// `.reg .b32 %r<10>, %x;`.
fn registers(cursor: &mut Cursor<'_>, scopes: &mut Scopes<'_>) -> Result<(), ParseError> {
    cursor.next();
    if let Token::Dot(word @ ("v2" | "v4")) = cursor.peek() {
        return Err(cursor.error(ParseErrorKind::Unsupported(format!("a register of `.{word}`"))));
    }
    let ty = cursor.ty()?;
    loop {
        let at = cursor.at;
        let name = cursor.name()?;
        if cursor.eat('<') {
            let count: u32 = cursor.integer()?;
            cursor.expect('>')?;
            for i in 0..count {
                scopes.register(&format!("{name}{i}"), ty).map_err(|kind| cursor.error_at(at, kind))?;
            }
        } else {
            scopes.register(name, ty).map_err(|kind| cursor.error_at(at, kind))?;
        }
        if !cursor.eat(',') {
            return cursor.expect(';');
        }
    }
}

fn variables(
    cursor: &mut Cursor<'_>,
    linkage: Linkage,
    function: &mut Function,
    scopes: &mut Scopes<'_>,
) -> Result<(), ParseError> {
    let at = cursor.at;
    for mut variable in variable::variables(cursor, linkage)? {
        let meaning = Meaning::Symbol(Symbol::Local(function.variables.len() as u32));
        scopes.declare(&variable.name, meaning).map_err(|kind| cursor.error_at(at, kind))?;
        variable.name = scopes.unique(&variable.name);
        function.variables.push(variable);
    }
    Ok(())
}

/// `A, B, C;`, after `.branchtargets`.
fn branch_targets(cursor: &mut Cursor<'_>, scopes: &Scopes<'_>) -> Result<Vec<Operand>, ParseError> {
    let mut all = vec![];
    loop {
        let at = cursor.at;
        let name = cursor.name()?;
        match scopes.find(name) {
            Some(Meaning::Label(id)) => all.push(Operand::Label(id)),
            Some(_) => {
                let (expected, found) = ("a label".into(), format!("`{name}`"));
                return Err(cursor.error_at(at, ParseErrorKind::Expected { expected, found }));
            }
            None => return Err(cursor.error_at(at, ParseErrorKind::UnknownName(name.into()))),
        }
        if !cursor.eat(',') {
            cursor.expect(';')?;
            return Ok(all);
        }
    }
}

/// `.loc 2 33 13, function_name $L__info_string0, inlined_at 1 12 7`. The name stays a label until the end of the file.
fn source_line(cursor: &mut Cursor<'_>) -> Result<SourceLine, ParseError> {
    cursor.next();
    let (file, line, column) = (cursor.integer()?, cursor.integer()?, cursor.integer()?);
    let mut inlined_at = None;
    if cursor.eat(',') {
        if cursor.peek() != Token::Name("function_name") {
            return Err(cursor.expected("`function_name`"));
        }
        cursor.next();
        let function = cursor.name()?.to_string();
        if cursor.eat('+') {
            cursor.integer::<u64>()?;
        }
        cursor.expect(',')?;
        if cursor.peek() != Token::Name("inlined_at") {
            return Err(cursor.expected("`inlined_at`"));
        }
        cursor.next();
        let (file, line, column) = (cursor.integer()?, cursor.integer()?, cursor.integer()?);
        inlined_at = Some(InlinedAt { function, file, line, column });
    }
    Ok(SourceLine { file, line, column, inlined_at })
}

fn instruction(cursor: &mut Cursor<'_>, scopes: &Scopes<'_>) -> Result<Instruction, ParseError> {
    let guard = if cursor.eat('@') {
        let negated = cursor.eat('!');
        Some(Guard { register: operand::register(cursor, scopes)?, negated })
    } else {
        None
    };
    let (at, line) = (cursor.at, cursor.line());
    let word = cursor.name()?;
    let mut name = String::from(word);
    let mut modifiers = Some(vec![]);
    while let Token::Dot(word) = cursor.peek() {
        cursor.next();
        name.push('.');
        name.push_str(word);
        match (Modifier::from_name(word), &mut modifiers) {
            (Some(modifier), Some(all)) => all.push(modifier),
            _ => modifiers = None,
        }
    }
    let opcode = Opcode::from_name(word);
    let (Some(opcode), Some(modifiers)) = (opcode.filter(|o| !table::forms_of(*o).is_empty()), modifiers) else {
        return Err(cursor.error_at(at, ParseErrorKind::UnknownInstruction(name)));
    };
    let mut instruction = Instruction { guard, line, ..Instruction::new(opcode, modifiers, []) };
    if cursor.peek() != Token::Mark(';') {
        loop {
            instruction.operands.push(operand::parse(cursor, scopes)?);
            if !cursor.eat(',') {
                break;
            }
        }
    }
    cursor.expect(';')?;
    if matches!(opcode, Opcode::Ld | Opcode::Ldu | Opcode::St | Opcode::Atom | Opcode::Red) {
        // Some compilers write a single value as a vector of one; ptxas takes it.
        for operand in &mut instruction.operands {
            if let Operand::Vector(parts) = operand
                && let [only] = &parts[..]
            {
                *operand = only.clone();
            }
        }
    }
    let form = table::arrange(&mut instruction).map_err(|error| cursor.error_at(at, error))?;
    operand::fit_literals(form, &mut instruction);
    Ok(instruction)
}
