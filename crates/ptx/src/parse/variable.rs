//! Variables and parameters.

use super::cursor::Cursor;
use super::error::{ParseError, ParseErrorKind};
use super::lexer::Token;
use crate::instruction::Immediate;
use crate::module::{Linkage, Parameter, Variable};
use crate::syntax::{StateSpace, Type};

/// The linkage before a declaration, if one is there.
pub(super) fn linkage(cursor: &mut Cursor<'_>) -> Linkage {
    let linkage = match cursor.peek() {
        Token::Dot("visible") => Linkage::Visible,
        Token::Dot("extern") => Linkage::Extern,
        Token::Dot("weak") => Linkage::Weak,
        Token::Dot("common") => Linkage::Common,
        _ => return Linkage::Internal,
    };
    cursor.next();
    linkage
}

/// The space of a variable, if one comes; not taken.
pub(super) fn space(token: Token<'_>) -> Option<StateSpace> {
    match token {
        Token::Dot("global") => Some(StateSpace::Global),
        Token::Dot("const") => Some(StateSpace::Const),
        Token::Dot("shared" | "shared::cta") => Some(StateSpace::Shared),
        Token::Dot("local") => Some(StateSpace::Local),
        Token::Dot("param") => Some(StateSpace::Param),
        _ => None,
    }
}

/// Variables from their space on, to the semicolon: `.global .align 4 .b8 a[16], b;`.
pub(super) fn variables(cursor: &mut Cursor<'_>, linkage: Linkage) -> Result<Vec<Variable>, ParseError> {
    let space = space(cursor.peek()).ok_or_else(|| cursor.expected("a state space"))?;
    cursor.next();
    let (align, ty) = align_and_type(cursor)?;
    let mut variables = vec![];
    loop {
        let name = cursor.name()?.to_string();
        let count = dimensions(cursor)?;
        let init = if cursor.eat('=') { initialiser(cursor)? } else { vec![] };
        let count = match count {
            Some(None) if !init.is_empty() => Some(init.len() as u64),
            Some(count) => count,
            None => Some(1),
        };
        variables.push(Variable { name, space, linkage, align, ty, count, init });
        if !cursor.eat(',') {
            break;
        }
    }
    cursor.expect(';')?;
    Ok(variables)
}

fn align_and_type(cursor: &mut Cursor<'_>) -> Result<(u32, Type), ParseError> {
    let align = if cursor.eat_dot("align") { Some(cursor.integer()?) } else { None };
    if let Token::Dot(word @ ("attribute" | "v2" | "v4" | "texref" | "samplerref" | "surfref")) = cursor.peek() {
        return Err(cursor.error(ParseErrorKind::Unsupported(format!("a variable with `.{word}`"))));
    }
    let ty = cursor.ty()?;
    Ok((align.unwrap_or(ty.bytes()), ty))
}

/// `[4][8]`: the product. `None` without brackets, `Some(None)` for `[]`.
fn dimensions(cursor: &mut Cursor<'_>) -> Result<Option<Option<u64>>, ParseError> {
    let mut count = None;
    while cursor.eat('[') {
        if cursor.eat(']') {
            count = Some(None);
            continue;
        }
        let at = cursor.at;
        let extent: u64 = cursor.integer()?;
        cursor.expect(']')?;
        count = Some(match count {
            None => Some(extent),
            Some(None) => None,
            Some(Some(product)) => Some(
                extent
                    .checked_mul(product)
                    .ok_or_else(|| cursor.error_at(at, ParseErrorKind::Number(extent.to_string())))?,
            ),
        });
    }
    Ok(count)
}

/// `5`, `{1, 2}` or `{{1, 2}, {3, 4}}`: the elements.
fn initialiser(cursor: &mut Cursor<'_>) -> Result<Vec<Immediate>, ParseError> {
    let mut values = vec![];
    let mut depth = 0usize;
    loop {
        if cursor.eat('{') {
            depth += 1;
            continue;
        }
        if !(depth > 0 && cursor.peek() == Token::Mark('}')) {
            if let Token::Name(name) = cursor.peek()
                && name != "WARP_SZ"
            {
                let what = format!("`{name}` as an initial value");
                return Err(cursor.error(ParseErrorKind::Unsupported(what)));
            }
            values.push(cursor.literal()?);
        }
        while depth > 0 && cursor.eat('}') {
            depth -= 1;
        }
        if depth == 0 {
            return Ok(values);
        }
        cursor.expect(',')?;
    }
}

/// `(.param .u64 a, .param .align 4 .b8 b[16])`, without linkage or name.
pub(super) fn parameters(cursor: &mut Cursor<'_>) -> Result<Vec<Parameter>, ParseError> {
    let mut parameters = vec![];
    cursor.expect('(')?;
    if cursor.eat(')') {
        return Ok(parameters);
    }
    loop {
        parameters.push(parameter(cursor)?);
        if !cursor.eat(',') {
            break;
        }
    }
    cursor.expect(')')?;
    Ok(parameters)
}

fn parameter(cursor: &mut Cursor<'_>) -> Result<Parameter, ParseError> {
    if cursor.peek() == Token::Dot("reg") {
        return Err(cursor.error(ParseErrorKind::Unsupported("a parameter in a register".into())));
    }
    if !cursor.eat_dot("param") {
        return Err(cursor.expected("`.param`"));
    }
    let (align, ty) = align_and_type(cursor)?;
    let pointer = if cursor.eat_dot("ptr") {
        let space = space(cursor.peek());
        cursor.at += usize::from(space.is_some());
        let align = if cursor.eat_dot("align") { cursor.integer()? } else { 4 };
        Some((space.unwrap_or(StateSpace::Generic), align))
    } else {
        None
    };
    let name = cursor.name()?.to_string();
    let at = cursor.at;
    let count = dimensions(cursor)?;
    let array = count.is_some();
    let count = match count {
        Some(None) => return Err(cursor.error_at(at, ParseErrorKind::Unsupported("a parameter without size".into()))),
        Some(Some(count)) => count,
        None => 1,
    };
    Ok(Parameter { name, ty, align, count, array, pointer })
}
