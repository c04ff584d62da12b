//! Parsing.

use super::TextError;
use super::lexer::{Kind, Token, tokens};
use super::literal;
use super::words::simple;
use crate::kernel::{Block, Inst, Kernel, LocationId, RegisterId, SharedId, Value};
use crate::op::{Op, Special};
use crate::types::Type;
use crate::verify::MAX_DEPTH;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::Arc;
use warpsmith_types::{Inlined, Location};

/// Values that a text may number: a bound on what a short text can make us allocate.
const MAX_VALUES: u32 = 1 << 24;

/// Reads a kernel. Only the form is checked; what it means is for [`verify`](crate::verify()).
pub fn parse(text: &str) -> Result<Kernel, TextError> {
    let mut parser = Parser {
        tokens: tokens(text)?,
        next: 0,
        kernel: Kernel::default(),
        types: vec![],
        places: FxHashMap::default(),
    };
    parser.kernel()?;
    let mut kernel = parser.kernel;
    for (i, ty) in parser.types.into_iter().enumerate() {
        let missing = || TextError { line: 1, column: 1, message: format!("%{i} has no type; list it as `unused`") };
        kernel.values.push(ty.ok_or_else(missing)?);
    }
    Ok(kernel)
}

pub(super) struct Parser {
    tokens: Vec<Token>,
    pub(super) next: usize,
    pub(super) kernel: Kernel,
    types: Vec<Option<Type>>,
    places: FxHashMap<Location, LocationId>,
}

pub(super) type Parsed<T> = Result<T, TextError>;
pub(super) type Args = SmallVec<[Value; 3]>;

impl Parser {
    fn token(&self) -> &Token {
        // The last token is the end, and `advance` never passes it.
        &self.tokens[self.next]
    }

    pub(super) fn peek(&self) -> &Kind {
        &self.token().kind
    }

    fn advance(&mut self) -> Kind {
        let kind = self.peek().clone();
        if kind != Kind::End {
            self.next += 1;
        }
        kind
    }

    pub(super) fn fail<T>(&self, message: impl Into<String>) -> Parsed<T> {
        let Token { line, column, .. } = *self.token();
        Err(TextError { line, column, message: message.into() })
    }

    pub(super) fn expected<T>(&self, what: &str) -> Parsed<T> {
        self.fail(format!("expected {what}, found {}", self.peek().describe()))
    }

    /// Whether the next token stands on the line of the last.
    pub(super) fn same_line(&self) -> bool {
        self.next.checked_sub(1).is_none_or(|last| self.tokens[last].line == self.token().line)
    }

    pub(super) fn is(&self, c: char) -> bool {
        *self.peek() == Kind::Punctuation(c)
    }

    pub(super) fn eat(&mut self, c: char) -> bool {
        let is = self.is(c);
        self.next += usize::from(is);
        is
    }

    pub(super) fn punctuation(&mut self, c: char) -> Parsed<()> {
        if self.eat(c) { Ok(()) } else { self.expected(&format!("`{c}`")) }
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Kind::Word(w) if w == word)
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let is = self.is_word(word);
        self.next += usize::from(is);
        is
    }

    pub(super) fn keyword(&mut self, word: &str) -> Parsed<()> {
        if self.eat_word(word) { Ok(()) } else { self.expected(&format!("`{word}`")) }
    }

    pub(super) fn name(&mut self) -> Parsed<String> {
        match self.peek().clone() {
            Kind::Word(name) | Kind::Quoted(name) => {
                self.next += 1;
                Ok(name)
            }
            _ => self.expected("a name"),
        }
    }

    pub(super) fn number(&mut self) -> Parsed<u32> {
        match self.peek() {
            Kind::Number(n) => match n.parse() {
                Ok(n) => {
                    self.next += 1;
                    Ok(n)
                }
                Err(_) => self.expected("a u32"),
            },
            _ => self.expected("a number"),
        }
    }

    pub(super) fn ty(&mut self) -> Parsed<Type> {
        let ty = match self.peek() {
            Kind::Word(word) => Type::from_name(word),
            _ => None,
        };
        match ty {
            Some(ty) => {
                self.next += 1;
                Ok(ty)
            }
            None => self.expected("a type"),
        }
    }

    pub(super) fn value(&mut self) -> Parsed<Value> {
        match *self.peek() {
            Kind::Value(n) => {
                self.next += 1;
                Ok(Value(n))
            }
            _ => self.expected("a value"),
        }
    }

    pub(super) fn register(&mut self) -> Parsed<RegisterId> {
        match *self.peek() {
            Kind::Register(n) => {
                self.next += 1;
                Ok(RegisterId(n))
            }
            _ => self.expected("a register"),
        }
    }

    /// `%3: f32`
    pub(super) fn typed(&mut self) -> Parsed<Value> {
        let v = self.value()?;
        self.punctuation(':')?;
        if v.0 >= MAX_VALUES {
            return self.fail(format!("{v} is numbered too high"));
        }
        let i = v.0 as usize;
        if self.types.len() <= i {
            self.types.resize(i + 1, None);
        }
        let here = self.next;
        let ty = self.ty()?;
        match self.types[i].replace(ty) {
            Some(other) if other != ty => {
                self.next = here;
                self.fail(format!("{v} is also declared as {other}"))
            }
            _ => Ok(v),
        }
    }

    fn literal(&mut self, ty: Option<Type>) -> Parsed<u64> {
        let here = self.next;
        let sign = if self.eat('-') { "-" } else { "" };
        let bits = match self.advance() {
            Kind::Number(text) | Kind::Word(text) => literal::read(ty, &format!("{sign}{text}")),
            _ => None,
        };
        match bits {
            Some(bits) => Ok(bits),
            None => {
                self.next = here;
                self.expected(&ty.map_or("bits in hexadecimal".into(), |t| format!("a literal of type {t}")))
            }
        }
    }

    /// The rest of a block whose brace is open.
    pub(super) fn block(&mut self, depth: usize) -> Parsed<Block> {
        if depth > MAX_DEPTH {
            return self.fail(format!("blocks are nested more than {MAX_DEPTH} deep"));
        }
        let mut block = vec![];
        while !self.eat('}') {
            let inst = self.inst(depth)?;
            block.push(inst);
        }
        Ok(block)
    }

    fn inst(&mut self, depth: usize) -> Parsed<Inst> {
        let mut results = SmallVec::new();
        if matches!(self.peek(), Kind::Value(_)) {
            results.push(self.typed()?);
            while self.eat(',') {
                results.push(self.typed()?);
            }
            self.punctuation('=')?;
        }
        let result = results.first().and_then(|v: &Value| self.types[v.0 as usize]);
        let here = self.next;
        let Kind::Word(word) = self.advance() else {
            self.next = here;
            return self.expected("an operation");
        };
        let mut args = Args::new();
        let mut op = match word.as_str() {
            "const" => Op::Const(self.literal(result)?),
            "param" => {
                let names = self.kernel.params.iter().map(|p| p.name.clone()).collect();
                Op::Param(self.reference(names, "parameter")?)
            }
            "shared_address" => {
                let names = self.kernel.shared.iter().map(|s| s.name.clone()).collect();
                Op::SharedAddress(SharedId(self.reference(names, "shared variable")?))
            }
            "special" => {
                let name = self.name()?;
                match Special::from_name(&name) {
                    Some(special) => Op::Special(special),
                    None => return self.fail(format!("`{name}` is no special value")),
                }
            }
            "get" => Op::Get(self.register()?),
            "set" => {
                let register = self.register()?;
                self.eat(',');
                Op::Set(register)
            }
            "print" => match self.advance() {
                Kind::Quoted(format) => Op::Print { format },
                _ => {
                    self.next = here + 1;
                    return self.expected("a format in quotes");
                }
            },
            "inline" => Op::Inline(Box::new(self.inline()?)),
            "for" => {
                let index = self.typed()?;
                self.keyword("in")?;
                Op::For { index, unroll: None, body: vec![] }
            }
            _ => match word.strip_prefix("ptx.") {
                Some(name) => self.machine(name, here, &results, &mut args)?,
                None => match simple(&word) {
                    Some(op) => op,
                    None => {
                        self.next = here;
                        return self.fail(format!("`{word}` is no operation"));
                    }
                },
            },
        };
        match &mut op {
            Op::Load { offset, fill, access, .. } => {
                *offset = self.address(&mut args)?;
                access.policy = self.policy(&mut args)?;
                self.more(&mut args)?;
                if self.eat_word("else") {
                    *fill = Some(self.literal(result)?);
                }
            }
            Op::Store { offset, guarded, access, .. } => {
                *offset = self.address(&mut args)?;
                access.policy = self.policy(&mut args)?;
                self.more(&mut args)?;
                // An `if` on the next line is an instruction.
                if self.same_line() && self.eat_word("if") {
                    *guarded = true;
                    if matches!(self.peek(), Kind::Value(_)) && self.same_line() {
                        args.push(self.value()?);
                    }
                }
            }
            Op::Machine(_) => {}
            _ if matches!(self.peek(), Kind::Value(_)) && self.same_line() => {
                args.push(self.value()?);
                self.more(&mut args)?;
            }
            _ => {}
        }
        if let Op::For { unroll, .. } = &mut op
            && self.eat_word("unroll")
        {
            *unroll = Some(self.number()?);
        }
        let location = self.location()?;
        match &mut op {
            Op::If { then, otherwise, .. } => {
                self.punctuation('{')?;
                *then = self.block(depth + 1)?;
                if self.eat_word("else") {
                    self.punctuation('{')?;
                    *otherwise = self.block(depth + 1)?;
                }
            }
            Op::For { body, .. } | Op::Loop { body } => {
                self.punctuation('{')?;
                *body = self.block(depth + 1)?;
            }
            _ => {}
        }
        Ok(Inst { op, args, results, location })
    }

    /// `, %1, %2`
    fn more(&mut self, args: &mut Args) -> Parsed<()> {
        while self.eat(',') {
            args.push(self.value()?);
        }
        Ok(())
    }

    /// `[%0 + 16]`
    fn address(&mut self, args: &mut Args) -> Parsed<i32> {
        self.punctuation('[')?;
        if !matches!(self.peek(), Kind::Punctuation(_)) {
            args.push(self.value()?);
        }
        let offset = self.offset()?;
        self.punctuation(']')?;
        Ok(offset)
    }

    /// `policy %1`, or nothing.
    fn policy(&mut self, args: &mut Args) -> Parsed<bool> {
        let is = self.eat_word("policy");
        if is && matches!(self.peek(), Kind::Value(_)) && self.same_line() {
            args.push(self.value()?);
        }
        Ok(is)
    }

    /// `+ 16`, `- 16` or nothing.
    pub(super) fn offset(&mut self) -> Parsed<i32> {
        let sign = if self.eat('+') {
            1
        } else if self.eat('-') {
            -1
        } else {
            return Ok(0);
        };
        let offset = sign * i64::from(self.number()?);
        i32::try_from(offset).or_else(|_| self.fail("this offset does not fit 32 bits"))
    }

    /// Something declared, by name or number.
    fn reference(&mut self, names: Vec<String>, what: &str) -> Parsed<u32> {
        if matches!(self.peek(), Kind::Number(_)) {
            return self.number();
        }
        let here = self.next;
        let name = self.name()?;
        match names.iter().position(|n| *n == name) {
            Some(i) => Ok(i as u32),
            None => {
                self.next = here;
                self.fail(format!("no {what} is called `{name}`"))
            }
        }
    }

    fn location(&mut self) -> Parsed<LocationId> {
        let Some(location) = self.place(0)? else { return Ok(LocationId::NONE) };
        let new = LocationId(self.kernel.locations.len() as u32);
        let id = *self.places.entry(location.clone()).or_insert(new);
        if id == new {
            self.kernel.locations.push(location);
        }
        Ok(id)
    }

    fn place(&mut self, depth: usize) -> Parsed<Option<Location>> {
        let Kind::Place { file, line, column } = self.peek().clone() else { return Ok(None) };
        if depth > MAX_DEPTH {
            return self.fail("this chain of calls is too long");
        }
        self.next += 1;
        let mut location = Location::new(file, line, column);
        if self.eat_word("in") {
            let function = self.name()?;
            let Some(at) = self.place(depth + 1)? else { return self.expected("`@` and the place of the call") };
            location.inlined_at = Some(Arc::new(Inlined { function: function.into(), at }));
        }
        Ok(Some(location))
    }
}
