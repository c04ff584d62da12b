//! A function's head.

use super::body;
use super::cursor::Cursor;
use super::error::{ParseError, ParseErrorKind};
use super::lexer::Token;
use super::scope::{Names, Scopes};
use super::variable;
use crate::module::{Directives, Function, FunctionKind, Linkage};
use rustc_hash::FxHashMap;

/// Labels directly inside a brace, by the brace's place.
pub(super) type Labels<'a> = FxHashMap<usize, Vec<(usize, &'a str)>>;

pub(super) fn parse<'a>(
    cursor: &mut Cursor<'a>,
    linkage: Linkage,
    names: &mut Names,
    labels: &Labels<'a>,
) -> Result<Function, ParseError> {
    let kind = match cursor.next() {
        Token::Dot("func") => FunctionKind::Device,
        _ => FunctionKind::Entry,
    };
    let mut function = Function { kind, linkage, ..Function::entry("") };
    if cursor.peek() == Token::Mark('(') {
        function.results = variable::parameters(cursor)?;
    }
    function.name = cursor.name()?.into();
    names.function(&function.name);
    if cursor.peek() == Token::Mark('(') {
        function.parameters = variable::parameters(cursor)?;
    }
    function.directives = directives(cursor)?;
    if cursor.eat(';') {
        function.linkage = Linkage::Extern;
        return Ok(function);
    }

    let mut scopes = Scopes::new(names);
    for (i, parameter) in function.parameters.iter().chain(&function.results).enumerate() {
        scopes.parameter(&parameter.name, i as u32).map_err(|kind| cursor.error(kind))?;
    }
    body::parse(cursor, &mut function, &mut scopes, labels)?;
    function.registers = scopes.registers;
    function.labels = scopes.labels;
    Ok(function)
}

fn directives(cursor: &mut Cursor<'_>) -> Result<Directives, ParseError> {
    let mut directives = Directives::default();
    while let Token::Dot(word) = cursor.peek() {
        cursor.next();
        match word {
            "reqntid" => directives.reqntid = Some(up_to_three(cursor)?),
            "maxntid" => directives.maxntid = Some(up_to_three(cursor)?),
            "reqnctapercluster" => directives.reqnctapercluster = Some(up_to_three(cursor)?),
            "minnctapersm" => directives.minnctapersm = Some(cursor.integer()?),
            "maxnreg" => directives.maxnreg = Some(cursor.integer()?),
            "explicitcluster" => directives.explicitcluster = true,
            "noreturn" => {}
            "pragma" => {
                cursor.text()?;
                cursor.expect(';')?;
            }
            _ => {
                let what = format!("the directive `.{word}` of a function");
                return Err(cursor.error_at(cursor.at - 1, ParseErrorKind::Unsupported(what)));
            }
        }
    }
    Ok(directives)
}

fn up_to_three(cursor: &mut Cursor<'_>) -> Result<[u32; 3], ParseError> {
    let mut three = [1; 3];
    for (i, extent) in three.iter_mut().enumerate() {
        if i > 0 && !cursor.eat(',') {
            break;
        }
        *extent = cursor.integer()?;
    }
    Ok(three)
}
