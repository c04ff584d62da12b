//! The module: header, then declarations in any order.

use super::cursor::Cursor;
use super::error::{ParseError, ParseErrorKind};
use super::function;
use super::lexer::Token;
use super::scope::{Meaning, Names};
use super::variable;
use crate::instruction::Operand;
use crate::module::{File, Linkage, Module, Statement, Symbol};
use rustc_hash::FxHashMap;
use warpsmith_types::{PtxVersion, Target};

pub(super) fn parse(mut cursor: Cursor<'_>) -> Result<Module, ParseError> {
    let mut module = header(&mut cursor)?;
    let labels: FxHashMap<usize, _> = cursor.labels_by_brace().into_iter().collect();
    let mut strings = FxHashMap::default();
    let mut names = Names::default();
    // Where each function stands in the module.
    let mut places: FxHashMap<String, usize> = FxHashMap::default();
    while cursor.peek() != Token::End {
        let start = cursor.at;
        let linkage = variable::linkage(&mut cursor);
        match cursor.peek() {
            Token::Dot("entry" | "func") => {
                let function = function::parse(&mut cursor, linkage, &mut names, &labels)?;
                match places.get(&function.name).and_then(|i| module.functions.get_mut(*i)) {
                    None => {
                        places.insert(function.name.clone(), module.functions.len());
                        module.functions.push(function);
                    }
                    Some(_) if function.linkage == Linkage::Extern => {}
                    // The definition comes after the functions before it, wherever it was declared.
                    Some(declared) if declared.linkage == Linkage::Extern => {
                        declared.name.clear();
                        places.insert(function.name.clone(), module.functions.len());
                        module.functions.push(function);
                    }
                    Some(_) => return Err(cursor.error_at(start, ParseErrorKind::Duplicate(function.name))),
                }
            }
            token if variable::space(token).is_some() => {
                for variable in variable::variables(&mut cursor, linkage)? {
                    let meaning = Meaning::Symbol(Symbol::Global(module.variables.len() as u32));
                    if names.meanings.insert(variable.name.clone(), meaning).is_some() {
                        return Err(cursor.error_at(start, ParseErrorKind::Duplicate(variable.name)));
                    }
                    module.variables.push(variable);
                }
            }
            Token::Dot("file") => module.files.push(file(&mut cursor)?),
            Token::Dot("section") => section(&mut cursor, &mut strings)?,
            Token::Dot(word @ ("alias" | "tex" | "pragma")) => {
                return Err(cursor.error(ParseErrorKind::Unsupported(format!("`.{word}` outside functions"))));
            }
            _ => return Err(cursor.expected("a function, a variable, `.file` or `.section`")),
        }
    }
    name_inlined(&mut module, &strings);
    // Declarations that a definition replaced have lost their names.
    module.functions.retain(|f| !f.name.is_empty());
    place_calls(&mut module, &names.functions);
    Ok(module)
}

fn header(cursor: &mut Cursor<'_>) -> Result<Module, ParseError> {
    if !cursor.eat_dot("version") {
        return Err(cursor.expected("`.version`"));
    }
    let at = cursor.at;
    let text = cursor.digits()?;
    let numbers = text.split_once('.').and_then(|(a, b)| Some(PtxVersion::new(a.parse().ok()?, b.parse().ok()?)));
    let version = numbers.ok_or_else(|| cursor.error_at(at, ParseErrorKind::Number(text.into())))?;
    if !cursor.eat_dot("target") {
        return Err(cursor.expected("`.target`"));
    }
    let mut target: Option<Target> = None;
    loop {
        let at = cursor.at;
        match cursor.name()? {
            "debug" => {}
            name => {
                let parsed = name.parse().map_err(|_| {
                    let expected = "a target like `sm_90a`".into();
                    cursor.error_at(at, ParseErrorKind::Expected { expected, found: format!("`{name}`") })
                })?;
                target = target.or(Some(parsed));
            }
        }
        if !cursor.eat(',') {
            break;
        }
    }
    let target = target.ok_or_else(|| cursor.expected("a target like `sm_90a`"))?;
    if cursor.eat_dot("address_size") {
        let at = cursor.at;
        if cursor.integer::<u32>()? != 64 {
            return Err(cursor.error_at(at, ParseErrorKind::Unsupported("an address size other than 64".into())));
        }
    }
    Ok(Module::new(version, target))
}

/// `.file 1 "path", timestamp, size`.
fn file(cursor: &mut Cursor<'_>) -> Result<File, ParseError> {
    cursor.next();
    let index = cursor.integer()?;
    let path = cursor.text()?.to_string();
    while cursor.eat(',') {
        cursor.integer::<u64>()?;
    }
    Ok(File { index, path })
}

/// Keeps the strings of `.debug_str` by their labels, and skips every other section.
fn section<'a>(cursor: &mut Cursor<'a>, strings: &mut FxHashMap<&'a str, String>) -> Result<(), ParseError> {
    cursor.next();
    let name = cursor.dot("the name of a section")?;
    cursor.expect('{')?;
    let mut label = None;
    let mut bytes: Vec<u8> = vec![];
    let mut ended = false;
    loop {
        match cursor.next() {
            Token::Mark('}') => break,
            Token::End => return Err(cursor.expected("`}`")),
            Token::Name(text) if cursor.peek() == Token::Mark(':') => {
                flush(&mut label, &mut bytes, strings);
                label = Some(text);
                ended = false;
            }
            Token::Number(text) if name == "debug_str" => match text.parse() {
                Ok(0) => ended = true,
                Ok(byte) if !ended => bytes.push(byte),
                _ => {}
            },
            _ => {}
        }
    }
    flush(&mut label, &mut bytes, strings);
    Ok(())
}

fn flush<'a>(label: &mut Option<&'a str>, bytes: &mut Vec<u8>, strings: &mut FxHashMap<&'a str, String>) {
    if let Some(label) = label.take() {
        strings.insert(label, String::from_utf8_lossy(bytes).into_owned());
    }
    bytes.clear();
}

/// Gives calls the place of their function in the module instead of the place of its name.
fn place_calls(module: &mut Module, functions: &[String]) {
    let of_name: FxHashMap<&str, u32> =
        module.functions.iter().zip(0..).map(|(function, place)| (function.name.as_str(), place)).collect();
    let places: Vec<u32> = functions.iter().map(|f| of_name.get(f.as_str()).copied().unwrap_or(u32::MAX)).collect();
    for statement in module.functions.iter_mut().flat_map(|f| &mut f.body) {
        let Statement::Instruction(instruction) = statement else { continue };
        for operand in &mut instruction.operands {
            if let Operand::Symbol(Symbol::Function(name), _) = operand
                && let Some(place) = places.get(*name as usize)
            {
                *name = *place;
            }
        }
    }
}

/// `.loc` mentions an inlined function by the label of its name, which comes at the end of the file.
fn name_inlined(module: &mut Module, strings: &FxHashMap<&str, String>) {
    for statement in module.functions.iter_mut().flat_map(|f| &mut f.body) {
        if let Statement::Source(source) = statement
            && let Some(inlined) = &mut source.inlined_at
            && let Some(name) = strings.get(inlined.function.as_str())
        {
            inlined.function.clone_from(name);
        }
    }
}
