//! A row, ready to be matched.

use super::row::{Effect, Row};
use super::{floors, rules};
use crate::instruction::{Instruction, Operand};
use crate::module::Symbol;
use crate::syntax::{Modifier, Opcode, Type, Word};
use warpsmith_types::{PtxVersion, Target};

/// One place in the order of modifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Whether it may stay empty.
    pub optional: bool,
    /// What may stand there.
    pub choices: Vec<Modifier>,
}

/// Whether an operand is written or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Written.
    Result,
    /// Read.
    Source,
    /// Read, then written.
    Both,
}

/// When an operand is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Presence {
    /// In every instruction of the row.
    Always,
    /// As the author likes.
    Optional,
    /// Exactly when the modifier is there.
    With(Modifier),
}

/// An operand's type, in terms of the instruction's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeOf {
    /// The n-th type among the modifiers, from 0.
    Nth(usize),
    /// The first type at double width.
    Wide,
    /// This one.
    Fixed(Type),
}

/// How many registers make an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lanes {
    /// One, without braces.
    Scalar,
    /// A vector by `.v2`, `.v4`, `.v8`; one without braces when there is none of them.
    ByVector,
    /// A vector by `.x1`, `.x2`, `.x4`.
    ByMatrices,
    /// The accumulator of a warpgroup: a thread's share of 64 × n values of the first type, by `.m64n…`.
    ByShape,
    /// A vector of that many.
    Exactly(usize),
}

/// A value: a register, a literal, a special register, or a vector of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ValueForm {
    /// Its type.
    pub ty: TypeOf,
    /// How many registers.
    pub lanes: Lanes,
    /// Whether a register may be wider than the type.
    pub wider: bool,
    /// Whether it must be a literal.
    pub literal: bool,
    /// Whether it may be a special register or the address of a variable.
    pub symbol: bool,
    /// Whether it may be `_`.
    pub sink: bool,
}

/// What an operand looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// A value.
    Value(ValueForm),
    /// `d|p`.
    Pair {
        /// Before the bar.
        first: ValueForm,
        /// After it.
        second: ValueForm,
        /// Whether bar and second may be left out.
        optional: bool,
    },
    /// `[a]`.
    Address {
        /// Whether coordinates follow.
        tensor: bool,
    },
    /// A place to jump to.
    Label,
    /// A function.
    Function,
    /// What a call passes: parameters, registers, literals.
    List,
}

/// One operand of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OperandForm {
    /// Its name in the row.
    pub name: &'static str,
    /// Whether it is written.
    pub role: Role,
    /// When it is there.
    pub presence: Presence,
    /// What it looks like.
    pub shape: Shape,
}

/// A row of the table with its notation read: what [`resolve`](super::resolve) finds for an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// The row.
    pub row: &'static Row,
    /// Its place in [`forms`](super::forms).
    pub index: usize,
    /// The first word.
    pub opcode: Opcode,
    /// Modifiers in order.
    pub slots: Vec<Slot>,
    /// Operands in order.
    pub operands: Vec<OperandForm>,
}

impl Form {
    /// Whether these modifiers, in this order, are this form's: each slot in turn takes the next one if it can.
    pub fn takes_modifiers(&self, modifiers: &[Modifier]) -> bool {
        let mut rest = modifiers;
        for slot in &self.slots {
            match rest.split_first() {
                Some((first, after)) if slot.choices.contains(first) => rest = after,
                _ if slot.optional => {}
                _ => return false,
            }
        }
        rest.is_empty() && rules::go_together(self.opcode, modifiers)
    }

    /// The same modifiers in the form's order, if they are its modifiers in another. Types, and state spaces, do not
    /// change places among themselves: there the order means something.
    pub fn arrange(&self, modifiers: &[Modifier]) -> Option<Vec<Modifier>> {
        let mut rest = modifiers.to_vec();
        let mut arranged = Vec::with_capacity(rest.len());
        for slot in &self.slots {
            match rest.iter().position(|m| slot.choices.contains(m)) {
                Some(i) => arranged.push(rest.remove(i)),
                None if slot.optional => {}
                None => return None,
            }
        }
        let ordered = |m: &&Modifier| matches!(m, Modifier::Type(_)) || rules::is_space(**m);
        let same = arranged.iter().filter(ordered).eq(modifiers.iter().filter(ordered));
        (rest.is_empty() && same && self.takes_modifiers(&arranged)).then_some(arranged)
    }

    /// The syntax with its sets written out; of long ones, the first few.
    pub fn spelling(&self) -> String {
        let mut text = String::from(self.opcode.name());
        for slot in &self.slots {
            let shown = if slot.choices.len() > 14 { 3 } else { slot.choices.len() };
            let mut choices: Vec<String> = slot.choices.iter().take(shown).map(|c| format!(".{}", c.name())).collect();
            if shown < slot.choices.len() {
                choices.push("…".into());
            }
            let choices = choices.join("|");
            text += &match (slot.optional, slot.choices.len()) {
                (true, _) => format!("{{{choices}}}"),
                (false, 1) => choices,
                (false, _) => format!("({choices})"),
            };
        }
        text
    }

    /// Which operand of the form each operand of the instruction is; `None` when they do not fit in number and kind.
    pub fn bind<'a>(&'a self, instruction: &'a Instruction) -> Option<Vec<(&'a OperandForm, &'a Operand)>> {
        let mut given = instruction.operands.iter();
        let optional = self.operands.iter().filter(|o| o.presence == Presence::Optional).count();
        let required = self.operands.iter().filter(|o| self.required(o, instruction)).count();
        // Optional operands are filled from the left with what is left over.
        let mut spare = given.len().checked_sub(required).filter(|spare| *spare <= optional)?;
        let mut bound = Vec::with_capacity(given.len());
        for form in &self.operands {
            if form.presence == Presence::Optional {
                match spare.checked_sub(1) {
                    Some(less) => spare = less,
                    None => continue,
                }
            } else if !self.required(form, instruction) {
                continue;
            }
            let operand = given.next()?;
            if !form.fits(operand, instruction) {
                return None;
            }
            bound.push((form, operand));
        }
        Some(bound)
    }

    fn required(&self, operand: &OperandForm, instruction: &Instruction) -> bool {
        match operand.presence {
            Presence::Always => true,
            Presence::Optional => false,
            Presence::With(modifier) => instruction.modifiers.contains(&modifier),
        }
    }

    /// What the instruction does besides computing its results: the row's effect, or reading a register that changes.
    pub fn effect(&self, instruction: &Instruction) -> Effect {
        let reads = |o: &Operand| matches!(o, Operand::Special(s) if s.is_volatile());
        match self.row.effect {
            Effect::None if instruction.operands.iter().any(reads) => Effect::Reads,
            effect => effect,
        }
    }

    /// Whether a target has the instruction.
    pub fn is_on(&self, target: Target, instruction: &Instruction) -> bool {
        target.has(self.floor(instruction).1) || target.specific && self.row.also.contains(&target.number)
    }

    /// The smallest version and target that have this instruction: the row's, and those of its modifiers and special
    /// registers.
    pub fn floor(&self, instruction: &Instruction) -> (PtxVersion, Target) {
        let modifiers = instruction.modifiers.iter().filter_map(|m| floors::of_modifier(instruction, *m));
        let specials = instruction.operands.iter().filter_map(|o| match o {
            Operand::Special(s) => floors::of_special(*s),
            _ => None,
        });
        modifiers.chain(specials).chain(floors::of_width(instruction)).fold(
            (self.row.version, self.row.target),
            |(version, target), (v, t)| {
                // What one chip alone has is above every plain target.
                (version.max(v), if target.specific || target.number >= t.number { target } else { t })
            },
        )
    }
}

impl OperandForm {
    /// Whether the operand is of the right kind and, for a vector, length; its type is not looked at.
    pub fn fits(&self, operand: &Operand, instruction: &Instruction) -> bool {
        let result = self.role != Role::Source;
        match (&self.shape, operand) {
            (Shape::Label, operand) => matches!(operand, Operand::Label(_)),
            (Shape::Function, operand) => matches!(operand, Operand::Symbol(Symbol::Function(_), 0)),
            (Shape::List, operand) => matches!(operand, Operand::Vector(_)),
            (Shape::Address { tensor }, Operand::Address(a)) => *tensor != a.coordinates.is_empty(),
            (Shape::Value(value), operand) => value.fits(operand, result, instruction),
            (Shape::Pair { first, second, .. }, Operand::Pair(a, b)) => {
                first.fits(a, result, instruction) && second.fits(b, result, instruction)
            }
            (Shape::Pair { first, optional: true, .. }, operand) => first.fits(operand, result, instruction),
            _ => false,
        }
    }
}

impl ValueForm {
    /// The type in that instruction; `None` when it has too few.
    pub fn type_in(&self, instruction: &Instruction) -> Option<Type> {
        match self.ty {
            TypeOf::Nth(n) => instruction.types().nth(n),
            TypeOf::Wide => instruction.types().next().and_then(Type::double),
            TypeOf::Fixed(ty) => Some(ty),
        }
    }

    /// The length of the vector in that instruction; `None` for a scalar.
    pub fn count_in(&self, instruction: &Instruction) -> Option<usize> {
        let by = |words: &[(Word, usize)]| words.iter().find(|(w, _)| instruction.has(*w)).map(|(_, n)| *n);
        match self.lanes {
            Lanes::Scalar => None,
            Lanes::ByVector => by(&[(Word::V2, 2), (Word::V4, 4), (Word::V8, 8)]),
            Lanes::ByMatrices => by(&[(Word::X1, 1), (Word::X2, 2), (Word::X4, 4)]),
            Lanes::ByShape => Some(accumulator(instruction)),
            Lanes::Exactly(n) => Some(n),
        }
    }

    fn fits(&self, operand: &Operand, result: bool, instruction: &Instruction) -> bool {
        match (operand, self.count_in(instruction)) {
            (Operand::Vector(parts), Some(count)) => {
                parts.len() == count && parts.iter().all(|p| self.fits_lane(p, result, true))
            }
            (operand, None) => self.fits_lane(operand, result, false),
            _ => false,
        }
    }

    fn fits_lane(&self, operand: &Operand, result: bool, in_vector: bool) -> bool {
        match operand {
            Operand::Register(_) => !self.literal,
            Operand::Immediate(_) => !result,
            Operand::Special(_) | Operand::Symbol(..) => self.symbol,
            Operand::Not(_) => !result && !self.literal,
            Operand::Sink => self.sink || result && in_vector,
            Operand::Vector(_) | Operand::Pair(..) | Operand::Address(_) | Operand::Label(_) => false,
        }
    }
}

/// How many 32-bit registers of each of 128 threads hold 64 × n values of the first type.
fn accumulator(instruction: &Instruction) -> usize {
    let columns = instruction.modifiers.iter().find_map(|m| {
        let (n, _) = m.name().strip_prefix("m64n")?.split_once('k')?;
        n.parse::<usize>().ok()
    });
    let bits = instruction.types().next().map_or(32, Type::bits) as usize;
    64 * columns.unwrap_or(0) * bits / (128 * 32)
}
