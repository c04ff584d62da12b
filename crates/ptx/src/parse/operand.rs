//! Operands. What an instruction takes is the table's to say; here is only how they are written.

use super::cursor::Cursor;
use super::error::{ParseError, ParseErrorKind};
use super::lexer::Token;
use super::scope::{Meaning, Scopes};
use crate::instruction::{Address, Base, Immediate, Instruction, Operand, RegisterId};
use crate::syntax::{SpecialRegister, Type};
use crate::table::{Form, Shape};

pub(super) fn parse(cursor: &mut Cursor<'_>, scopes: &Scopes<'_>) -> Result<Operand, ParseError> {
    match cursor.peek() {
        Token::Mark('[') => Ok(Operand::Address(address(cursor, scopes)?)),
        Token::Mark('{') => Ok(Operand::Vector(list(cursor, scopes, ['{', '}'])?.into())),
        Token::Mark('(') => Ok(Operand::Vector(list(cursor, scopes, ['(', ')'])?.into())),
        _ => {
            let first = scalar(cursor, scopes)?;
            if cursor.eat('|') {
                let second = scalar(cursor, scopes)?;
                return Ok(Operand::Pair(Box::new(first), Box::new(second)));
            }
            Ok(first)
        }
    }
}

/// A register by name.
pub(super) fn register(cursor: &mut Cursor<'_>, scopes: &Scopes<'_>) -> Result<RegisterId, ParseError> {
    let at = cursor.at;
    let name = cursor.name()?;
    match scopes.find(name) {
        Some(Meaning::Register(id)) => Ok(id),
        Some(_) => {
            Err(cursor
                .error_at(at, ParseErrorKind::Expected { expected: "a register".into(), found: format!("`{name}`") }))
        }
        None => Err(cursor.error_at(at, ParseErrorKind::UnknownName(name.into()))),
    }
}

fn scalar(cursor: &mut Cursor<'_>, scopes: &Scopes<'_>) -> Result<Operand, ParseError> {
    match cursor.peek() {
        Token::Mark('!') => {
            cursor.next();
            Ok(Operand::Not(register(cursor, scopes)?))
        }
        Token::Name("_") => {
            cursor.next();
            Ok(Operand::Sink)
        }
        Token::Name("WARP_SZ") | Token::Number(_) | Token::Mark('-') => Ok(Operand::Immediate(cursor.literal()?)),
        Token::Name(name) => match scopes.find(name) {
            Some(meaning) => {
                cursor.next();
                Ok(match meaning {
                    Meaning::Register(id) => Operand::Register(id),
                    Meaning::Label(id) => Operand::Label(id),
                    Meaning::Table(n) => Operand::Vector(scopes.tables.get(n as usize).cloned().unwrap_or_default()),
                    Meaning::Symbol(symbol) => Operand::Symbol(symbol, offset(cursor)?),
                })
            }
            None => special(cursor, name),
        },
        _ => Err(cursor.expected("an operand")),
    }
}

/// `%tid.x`, `%laneid`.
fn special(cursor: &mut Cursor<'_>, name: &str) -> Result<Operand, ParseError> {
    let at = cursor.at;
    cursor.next();
    let mut full = name.to_string();
    if let Token::Dot(part) = cursor.peek() {
        cursor.next();
        full.push('.');
        full.push_str(part);
    }
    let special = full.strip_prefix('%').and_then(SpecialRegister::from_name);
    special.map(Operand::Special).ok_or_else(|| cursor.error_at(at, ParseErrorKind::UnknownName(full)))
}

/// `{a, b}`, or `(a, b)` in a call; no lists inside.
fn list(cursor: &mut Cursor<'_>, scopes: &Scopes<'_>, marks: [char; 2]) -> Result<Vec<Operand>, ParseError> {
    cursor.expect(marks[0])?;
    let mut parts = vec![];
    if cursor.eat(marks[1]) {
        return Ok(parts);
    }
    loop {
        parts.push(scalar(cursor, scopes)?);
        if !cursor.eat(',') {
            cursor.expect(marks[1])?;
            return Ok(parts);
        }
    }
}

fn address(cursor: &mut Cursor<'_>, scopes: &Scopes<'_>) -> Result<Address, ParseError> {
    cursor.expect('[')?;
    let (base, start) = match cursor.peek() {
        Token::Name(name) => {
            let base = match scopes.find(name) {
                Some(Meaning::Register(id)) => Base::Register(id),
                Some(Meaning::Symbol(symbol)) => Base::Symbol(symbol),
                Some(Meaning::Label(_) | Meaning::Table(_)) => {
                    return Err(cursor.expected("a register or a variable"));
                }
                None => return Err(cursor.error(ParseErrorKind::UnknownName(name.into()))),
            };
            cursor.next();
            (base, 0)
        }
        _ => (Base::Absolute, cursor.integer()?),
    };
    let at = cursor.at;
    let offset = offset(cursor)?.checked_add(start);
    let offset = offset.ok_or_else(|| cursor.error_at(at, ParseErrorKind::Number(start.to_string())))?;
    let coordinates = if cursor.eat(',') { list(cursor, scopes, ['{', '}'])? } else { vec![] };
    cursor.expect(']')?;
    Ok(Address { base, offset, coordinates })
}

/// `+4`, `-4`, `+-4`, or nothing.
fn offset(cursor: &mut Cursor<'_>) -> Result<i64, ParseError> {
    let mut total = 0i64;
    loop {
        let at = cursor.at;
        if !cursor.eat('+') && cursor.peek() != Token::Mark('-') {
            return Ok(total);
        }
        let step: i64 = cursor.integer()?;
        total = total.checked_add(step).ok_or_else(|| cursor.error_at(at, ParseErrorKind::Number(step.to_string())))?;
    }
}

/// Gives float literals the width of their operand: a decimal `1.0` is read as binary64, whatever it is used for.
pub(super) fn fit_literals(form: &Form, instruction: &mut Instruction) {
    let fitted: Option<Vec<(usize, Immediate)>> = form.bind(instruction).map(|bound| {
        let fit = |(index, (form, operand)): (usize, &(&crate::table::OperandForm, &Operand))| {
            let (Shape::Value(value), Operand::Immediate(literal)) = (form.shape, operand) else { return None };
            let literal = match (value.type_in(instruction)?, literal) {
                (Type::F32, Immediate::F64(bits)) => Immediate::F32((f64::from_bits(*bits) as f32).to_bits()),
                (Type::F64, Immediate::F32(bits)) => Immediate::F64(f64::from(f32::from_bits(*bits)).to_bits()),
                _ => return None,
            };
            Some((index, literal))
        };
        bound.iter().enumerate().filter_map(fit).collect()
    });
    for (index, literal) in fitted.into_iter().flatten() {
        if let Some(operand) = instruction.operands.get_mut(index) {
            *operand = Operand::Immediate(literal);
        }
    }
}
