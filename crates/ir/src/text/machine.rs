//! Instructions of PTX in the text form: as PTX writes them, with values for registers.

use super::lexer::Kind;
use super::parse::{Args, Parsed, Parser};
use super::print;
use crate::inline::{EFFECTS, Inline};
use crate::kernel::{Inst, Value};
use crate::machine::{Guard, Immediate, Machine, Slot, SpecialRegister};
use crate::op::Op;
use smallvec::SmallVec;
use std::fmt::{self, Formatter};

/// What follows `ptx`.
pub(super) fn print(machine: &Machine, inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
    write!(f, ".{machine}")?;
    list(&machine.operands, inst, " ", f)?;
    if let Some(Guard { arg, negated }) = machine.guard {
        f.write_str(if negated { " unless " } else { " if " })?;
        value(inst.args.get(usize::from(arg)), f)?;
    }
    Ok(())
}

fn list(slots: &[Slot], inst: &Inst, first: &str, f: &mut Formatter<'_>) -> fmt::Result {
    for (i, s) in slots.iter().enumerate() {
        f.write_str(if i == 0 { first } else { ", " })?;
        slot(s, inst, f)?;
    }
    Ok(())
}

fn slot(slot: &Slot, inst: &Inst, f: &mut Formatter<'_>) -> fmt::Result {
    match slot {
        Slot::Result(i) => value(inst.results.get(usize::from(*i)), f),
        Slot::Arg(i) => value(inst.args.get(usize::from(*i)), f),
        Slot::Register(r) => write!(f, "${}", r.0),
        Slot::Immediate(literal) => write!(f, "{literal}"),
        Slot::Special(special) => f.write_str(special.name()),
        Slot::Sink => f.write_str("_"),
        Slot::Vector(_) | Slot::Registers(..) => {
            f.write_str("{")?;
            list(&slot.parts(), inst, "", f)?;
            f.write_str("}")
        }
        Slot::Pair(a, b) => {
            self::slot(a, inst, f)?;
            f.write_str("|")?;
            self::slot(b, inst, f)
        }
        Slot::Address { base, offset, coordinates } => {
            f.write_str("[")?;
            print::start(inst.args.get(usize::from(*base)), *offset, f)?;
            if !coordinates.is_empty() {
                f.write_str(", {")?;
                list(coordinates, inst, "", f)?;
                f.write_str("}")?;
            }
            f.write_str("]")
        }
    }
}

fn value(v: Option<&Value>, f: &mut Formatter<'_>) -> fmt::Result {
    match v {
        Some(v) => write!(f, "{v}"),
        None => f.write_str("?"),
    }
}

/// The values of an instruction that is being read.
struct Values<'a> {
    results: &'a [Value],
    args: &'a mut Args,
}

impl Values<'_> {
    /// A value that is read; one that is read twice is one operand.
    fn arg(&mut self, v: Value) -> u8 {
        let known = self.args.iter().position(|a| *a == v);
        let i = known.unwrap_or_else(|| {
            self.args.push(v);
            self.args.len() - 1
        });
        // More operands than any instruction has.
        u8::try_from(i).unwrap_or(u8::MAX)
    }

    fn slot(&mut self, v: Value) -> Slot {
        match self.results.iter().position(|r| *r == v).and_then(|i| u8::try_from(i).ok()) {
            Some(i) => Slot::Result(i),
            None => Slot::Arg(self.arg(v)),
        }
    }
}

impl Parser {
    /// An instruction whose name has been read at `here`.
    pub(super) fn machine(&mut self, name: &str, here: usize, results: &[Value], args: &mut Args) -> Parsed<Op> {
        let mut machine = match Machine::new(name) {
            Ok(machine) => machine,
            Err(error) => {
                self.next = here;
                return self.fail(error.to_string());
            }
        };
        let mut values = Values { results, args };
        if self.same_line() && !self.ends() {
            machine.operands = self.slots(&mut values)?;
        }
        let guard = match (self.same_line(), self.peek()) {
            (true, Kind::Word(word)) if word == "if" => Some(false),
            (true, Kind::Word(word)) if word == "unless" => Some(true),
            _ => None,
        };
        if let Some(negated) = guard {
            self.next += 1;
            let arg = values.arg(self.value()?);
            machine.guard = Some(Guard { arg, negated });
        }
        Ok(Op::Machine(Box::new(machine)))
    }

    /// `reads "ld.global.u32 {0}, [{1}];"`
    pub(super) fn inline(&mut self) -> Parsed<Inline> {
        let effect = match self.peek() {
            Kind::Word(word) => EFFECTS.iter().find(|(_, name)| name == word).map(|(effect, _)| *effect),
            _ => None,
        };
        let Some(effect) = effect else { return self.expected("an effect") };
        self.next += 1;
        match self.peek().clone() {
            Kind::Quoted(text) => {
                self.next += 1;
                Ok(Inline { text, effect })
            }
            _ => self.expected("PTX in quotes"),
        }
    }

    /// Whether the operands are over.
    fn ends(&self) -> bool {
        match self.peek() {
            Kind::End | Kind::Place { .. } | Kind::Punctuation('}') => true,
            Kind::Word(word) => matches!(word.as_str(), "if" | "unless"),
            _ => false,
        }
    }

    fn slots(&mut self, values: &mut Values<'_>) -> Parsed<SmallVec<[Slot; 4]>> {
        let mut all = SmallVec::new();
        loop {
            let slot = match self.peek() {
                Kind::Punctuation('{') => Slot::vector(self.scalars(values)?),
                Kind::Punctuation('[') => self.slot_address(values)?,
                _ => {
                    let first = self.scalar(values)?;
                    if self.eat('|') { Slot::pair(first, self.scalar(values)?) } else { first }
                }
            };
            all.push(slot);
            if !self.eat(',') {
                return Ok(all);
            }
        }
    }

    /// `[%0 + 8, {%1, %2}]`
    fn slot_address(&mut self, values: &mut Values<'_>) -> Parsed<Slot> {
        self.punctuation('[')?;
        let base = values.arg(self.value()?);
        let offset = self.offset()?;
        let coordinates = if self.eat(',') { self.scalars(values)? } else { vec![] };
        self.punctuation(']')?;
        Ok(Slot::Address { base, offset, coordinates })
    }

    /// `{%1, _, 3}`
    fn scalars(&mut self, values: &mut Values<'_>) -> Parsed<Vec<Slot>> {
        self.punctuation('{')?;
        let mut all = vec![];
        while !self.eat('}') {
            all.push(self.scalar(values)?);
            if !self.is('}') {
                self.punctuation(',')?;
            }
        }
        Ok(all)
    }

    fn scalar(&mut self, values: &mut Values<'_>) -> Parsed<Slot> {
        let negative = self.eat('-');
        let slot = match self.peek().clone() {
            Kind::Value(_) if !negative => return Ok(values.slot(self.value()?)),
            Kind::Register(_) if !negative => return Ok(Slot::Register(self.register()?)),
            Kind::Word(word) if word == "_" && !negative => Some(Slot::Sink),
            Kind::Word(word) if !negative => SpecialRegister::from_name(&word).map(Slot::Special),
            Kind::Number(text) => literal(negative, &text).map(Slot::Immediate),
            _ => None,
        };
        match slot {
            Some(slot) => {
                self.next += 1;
                Ok(slot)
            }
            None => self.expected("an operand of an instruction"),
        }
    }
}

/// A literal as PTX writes it.
fn literal(negative: bool, text: &str) -> Option<Immediate> {
    let bits = |digits: &str| u64::from_str_radix(digits, 16).ok().filter(|_| !negative);
    if let Some(digits) = text.strip_prefix("0f") {
        return bits(digits).and_then(|b| u32::try_from(b).ok()).map(Immediate::F32);
    }
    if let Some(digits) = text.strip_prefix("0d") {
        return bits(digits).map(Immediate::F64);
    }
    let n: i128 = match text.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok()?,
        None => text.parse().ok()?,
    };
    let n = if negative { -n } else { n };
    i64::try_from(n).map(Immediate::Integer).or_else(|_| u64::try_from(n).map(Immediate::Unsigned)).ok()
}
