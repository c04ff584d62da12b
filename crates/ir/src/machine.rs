//! One operation for every instruction of PTX.
//!
//! A [`Machine`] names an instruction as PTX does and says which of its operands are results, operands or mutable
//! registers of the IR. What it takes, what it does and which target has it stands in PTX's table alone, so an
//! instruction that the table has needs nothing here.

use crate::kernel::RegisterId;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::ops::Range;
use warpsmith_ptx as ptx;
use warpsmith_ptx::table::{Convergence, Effect, Form, FormError, OperandForm, forms_of, resolve};
use warpsmith_ptx::{Address, Base, Instruction, Operand};

pub use warpsmith_ptx::{Immediate, Modifier, Opcode, SpecialRegister, Type as PtxType, Word};

/// One instruction of PTX's table with typed operands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Machine {
    /// The first word.
    pub opcode: Opcode,
    /// The other words, in the order of the table.
    pub modifiers: SmallVec<[Modifier; 6]>,
    /// What stands at its operands, results first, as PTX writes them.
    pub operands: SmallVec<[Slot; 4]>,
    /// The condition under which it runs.
    pub guard: Option<Guard>,
}

/// `@p` or `@!p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// Which operand of the instruction is the condition.
    pub arg: u8,
    /// Whether it runs where the condition is false.
    pub negated: bool,
}

/// What stands at an operand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// A result of the instruction, by its place in [`Inst::results`](crate::Inst::results).
    Result(u8),
    /// An operand, by its place in [`Inst::args`](crate::Inst::args).
    Arg(u8),
    /// A mutable register: read, written or both, as the table says. Accumulators stay pinned in such.
    Register(RegisterId),
    /// A literal.
    Immediate(Immediate),
    /// `[a + offset]`, or `[a + offset, {x, y}]` for a tensor.
    Address {
        /// The operand that it starts from.
        base: u8,
        /// In bytes.
        offset: i32,
        /// Coordinates of a tensor access; empty otherwise.
        coordinates: Vec<Slot>,
    },
    /// `{a, b}`. Consecutive registers are [`Slot::Registers`] instead: [`Slot::vector`] sees to that.
    Vector(Vec<Slot>),
    /// `{r, …}` of mutable registers, one after another: the first, and how many. Accumulators have up to 256.
    Registers(RegisterId, u32),
    /// `d|p`.
    Pair(Box<Slot>, Box<Slot>),
    /// `_`: a result that nobody wants.
    Sink,
    /// A hardware value.
    Special(SpecialRegister),
}

impl Slot {
    /// A literal integer.
    pub const fn number(n: i64) -> Slot {
        Slot::Immediate(Immediate::Integer(n))
    }

    /// `[a]`, of an operand.
    pub const fn at(base: u8) -> Slot {
        Slot::Address { base, offset: 0, coordinates: vec![] }
    }

    /// `[a, {x, y}]`, of operands.
    pub fn tensor(base: u8, coordinates: impl IntoIterator<Item = u8>) -> Slot {
        Slot::Address { base, offset: 0, coordinates: coordinates.into_iter().map(Slot::Arg).collect() }
    }

    /// `{a, b}` of consecutive operands.
    pub fn args(all: std::ops::Range<u8>) -> Slot {
        Slot::Vector(all.map(Slot::Arg).collect())
    }

    /// `{d, e}` of consecutive results.
    pub fn results(all: std::ops::Range<u8>) -> Slot {
        Slot::Vector(all.map(Slot::Result).collect())
    }

    /// `{r, s}` of mutable registers.
    pub fn registers(all: impl IntoIterator<Item = RegisterId>) -> Slot {
        Slot::vector(all.into_iter().map(Slot::Register).collect())
    }

    /// `{a, b}` of anything.
    pub fn vector(parts: Vec<Slot>) -> Slot {
        match parts.first() {
            Some(&Slot::Register(first))
                if (first.0..).zip(&parts).all(|(r, s)| *s == Slot::Register(RegisterId(r))) =>
            {
                Slot::Registers(first, parts.len() as u32)
            }
            _ => Slot::Vector(parts),
        }
    }

    /// What stands in a vector, or by itself.
    pub fn parts(&self) -> Cow<'_, [Slot]> {
        match *self {
            Slot::Vector(ref parts) => Cow::Borrowed(parts),
            Slot::Registers(first, count) => range(first, count).map(Slot::Register).collect(),
            ref slot => Cow::Borrowed(std::slice::from_ref(slot)),
        }
    }

    /// `d|p`.
    pub fn pair(first: Slot, second: Slot) -> Slot {
        Slot::Pair(Box::new(first), Box::new(second))
    }

    /// Whether it is, or has inside, a mutable register.
    fn has_register(&self) -> bool {
        match self {
            Slot::Register(_) | Slot::Registers(..) => true,
            Slot::Vector(parts) | Slot::Address { coordinates: parts, .. } => parts.iter().any(Slot::has_register),
            Slot::Pair(a, b) => a.has_register() || b.has_register(),
            _ => false,
        }
    }

    /// It, and every slot inside.
    pub fn each(&self, see: &mut impl FnMut(&Slot)) {
        see(self);
        match self {
            Slot::Vector(parts) | Slot::Address { coordinates: parts, .. } => parts.iter().for_each(|s| s.each(see)),
            Slot::Registers(first, count) => range(*first, *count).for_each(|r| see(&Slot::Register(r))),
            Slot::Pair(a, b) => {
                a.each(see);
                b.each(see);
            }
            _ => {}
        }
    }
}

/// A name that is no instruction's: a word that PTX does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` of `{name}` is no word of PTX")]
pub struct UnknownWord {
    /// The whole name.
    pub name: String,
    /// The word.
    pub word: String,
}

impl Machine {
    /// An instruction by its name in PTX, operands to follow: `Machine::new("mbarrier.init.shared::cta.b64")`.
    pub fn new(name: &str) -> Result<Machine, UnknownWord> {
        let unknown = |word: &str| UnknownWord { name: name.into(), word: word.into() };
        let mut words = name.split('.');
        let first = words.next().unwrap_or_default();
        let opcode = Opcode::from_name(first).ok_or_else(|| unknown(first))?;
        let modifiers = words.map(|w| Modifier::from_name(w).ok_or_else(|| unknown(w))).collect::<Result<_, _>>()?;
        Ok(Machine { opcode, modifiers, operands: SmallVec::new(), guard: None })
    }

    /// With one more operand.
    pub fn with(mut self, slot: Slot) -> Machine {
        self.operands.push(slot);
        self
    }

    /// Running only where an operand holds.
    pub fn when(mut self, arg: u8) -> Machine {
        self.guard = Some(Guard { arg, negated: false });
        self
    }

    /// Running only where an operand does not hold.
    pub fn unless(mut self, arg: u8) -> Machine {
        self.guard = Some(Guard { arg, negated: true });
        self
    }

    /// Opcode and modifiers, as PTX writes them.
    pub fn name(&self) -> String {
        self.to_string()
    }

    /// Whether it has this word.
    pub fn has(&self, word: Word) -> bool {
        self.modifiers.contains(&Modifier::Word(word))
    }

    /// Calls `see` with every slot, those inside others included.
    pub fn each_slot(&self, mut see: impl FnMut(&Slot)) {
        self.operands.iter().for_each(|s| s.each(&mut see));
    }

    /// The mutable registers that it may read and may write; one that it names twice comes twice.
    pub fn registers(&self) -> SmallVec<[RegisterId; 8]> {
        let mut all = SmallVec::new();
        self.each_register(|r| all.push(r));
        all
    }

    /// Calls `see` with each of [`registers`](Machine::registers).
    pub fn each_register(&self, mut see: impl FnMut(RegisterId)) {
        self.each_run(|run| run.for_each(|r| see(RegisterId(r as u32))));
    }

    /// The same, by runs of consecutive ones: as places in what is known of each register.
    pub(crate) fn each_run(&self, mut see: impl FnMut(Range<usize>)) {
        let run = |first: &RegisterId, count: u32| first.0 as usize..first.0.saturating_add(count) as usize;
        for operand in &self.operands {
            match operand {
                Slot::Register(r) => see(run(r, 1)),
                Slot::Registers(first, count) => see(run(first, *count)),
                operand => operand.each(&mut |s| {
                    if let Slot::Register(r) = s {
                        see(run(r, 1));
                    }
                }),
            }
        }
    }

    /// What it does besides computing its results. An instruction that is not in the table may do anything.
    pub fn effect(&self) -> Effect {
        // The carry is a register that no operand names.
        let carries = matches!(self.opcode, Opcode::Addc | Opcode::Subc | Opcode::Madc) || self.has(Word::Cc);
        let mut effect = self.family(|forms| forms.first().map_or(Effect::Control, |f| f.row.effect));
        if effect == Effect::None {
            self.each_slot(|s| {
                if matches!(s, Slot::Special(s) if s.is_volatile()) {
                    effect = Effect::Reads;
                }
            });
        }
        if carries { Effect::Control } else { effect }
    }

    /// Which threads of a warp must come to it together.
    pub fn convergence(&self) -> Convergence {
        self.family(|forms| forms.first().map_or(Convergence::Any, |f| f.row.convergence))
    }

    /// Whether it only computes, each thread by itself: it may be merged with another and moved.
    pub fn is_pure(&self) -> bool {
        self.is_removable() && self.convergence() == Convergence::Any
    }

    /// Whether it may be dropped when nobody reads its results.
    pub fn is_removable(&self) -> bool {
        !self.has_registers() && self.effect() == Effect::None
    }

    /// Whether it names a mutable register.
    pub(crate) fn has_registers(&self) -> bool {
        self.operands.iter().any(Slot::has_register)
    }

    /// The forms that have these modifiers, in the table's order.
    fn family<T>(&self, see: impl FnOnce(&[&'static Form]) -> T) -> T {
        type Families = FxHashMap<SmallVec<[Modifier; 6]>, SmallVec<[&'static Form; 2]>>;
        // Passes ask often, and the rows of one opcode are many.
        thread_local!(static FAMILIES: RefCell<Vec<Families>> = RefCell::default());
        FAMILIES.with_borrow_mut(|by_opcode| {
            let opcode = self.opcode as usize;
            if by_opcode.len() <= opcode {
                by_opcode.resize_with(opcode + 1, Families::default);
            }
            let families = &mut by_opcode[opcode];
            if let Some(forms) = families.get(&self.modifiers[..]) {
                return see(forms);
            }
            let forms: SmallVec<[&'static Form; 2]> =
                forms_of(self.opcode).iter().copied().filter(|f| f.takes_modifiers(&self.modifiers)).collect();
            see(families.entry(self.modifiers.clone()).or_insert(forms))
        })
    }

    /// The table's form of an instruction that was built from it, and which operand is which.
    pub(crate) fn bind<'a>(&self, built: &'a Instruction) -> Result<(&'static Form, Bound<'a>), FormError> {
        let forms: SmallVec<[&'static Form; 2]> = self.family(|forms| forms.into());
        match forms.iter().find_map(|form| form.bind(built).map(|bound| (*form, bound))) {
            Some(found) => Ok(found),
            None => resolve(built).map(|form| (form, form.bind(built).unwrap_or_default())),
        }
    }

    /// An instruction with the same kinds of operands, to find its form by.
    pub(crate) fn probe(&self) -> Instruction {
        let operands = self.operands.iter().map(|s| operand(s, &mut Anywhere));
        Instruction::new(self.opcode, self.modifiers.iter().copied(), operands)
    }
}

fn range(first: RegisterId, count: u32) -> impl Iterator<Item = RegisterId> {
    (first.0..first.0.saturating_add(count)).map(RegisterId)
}

/// Operands of a form with those of an instruction.
pub(crate) type Bound<'a> = Vec<(&'a OperandForm, &'a Operand)>;

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.opcode.name())?;
        self.modifiers.iter().try_for_each(|m| write!(f, ".{}", m.name()))
    }
}

/// Where the slots of a [`Machine`] are.
pub(crate) trait Places {
    /// A result.
    fn result(&mut self, i: u8) -> ptx::RegisterId;
    /// An operand.
    fn arg(&mut self, i: u8) -> Operand;
    /// An operand that an address starts from.
    fn base(&mut self, i: u8) -> ptx::RegisterId;
    /// A mutable register.
    fn register(&mut self, id: RegisterId) -> ptx::RegisterId;
    /// `{…}` of mutable registers, one after another.
    fn registers(&mut self, first: RegisterId, count: u32) -> Operand {
        Operand::Vector(range(first, count).map(|r| Operand::Register(self.register(r))).collect())
    }
}

/// Of no matter which registers.
struct Anywhere;

impl Places for Anywhere {
    fn result(&mut self, _: u8) -> ptx::RegisterId {
        ptx::RegisterId(0)
    }

    fn arg(&mut self, _: u8) -> Operand {
        Operand::Register(ptx::RegisterId(0))
    }

    fn base(&mut self, _: u8) -> ptx::RegisterId {
        ptx::RegisterId(0)
    }

    fn register(&mut self, _: RegisterId) -> ptx::RegisterId {
        ptx::RegisterId(0)
    }
}

/// One operand.
pub(crate) fn operand(slot: &Slot, places: &mut impl Places) -> Operand {
    match slot {
        Slot::Result(i) => Operand::Register(places.result(*i)),
        Slot::Arg(i) => places.arg(*i),
        Slot::Register(r) => Operand::Register(places.register(*r)),
        Slot::Immediate(literal) => Operand::Immediate(*literal),
        Slot::Special(special) => Operand::Special(*special),
        Slot::Sink => Operand::Sink,
        Slot::Vector(parts) => Operand::Vector(parts.iter().map(|s| operand(s, places)).collect()),
        Slot::Registers(first, count) => places.registers(*first, *count),
        Slot::Pair(a, b) => Operand::Pair(Box::new(operand(a, places)), Box::new(operand(b, places))),
        Slot::Address { base, offset, coordinates } => {
            let base = Base::Register(places.base(*base));
            let coordinates = coordinates.iter().map(|s| operand(s, places)).collect();
            Operand::Address(Address { base, offset: i64::from(*offset), coordinates })
        }
    }
}
