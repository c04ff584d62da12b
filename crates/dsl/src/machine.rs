//! One machine instruction, by its PTX name.
//!
//! `ptx("mbarrier.arrive.expect_tx.shared::cta.b64").sink().at(barrier).arg(bytes)` reads as the manual writes it. The name
//! and the operands are checked against the table of operations when the kernel is verified.

use crate::trace::{Handle, mistake, poison, with};
use smallvec::SmallVec;
use std::panic::Location;
use warpsmith_ir::machine::{Immediate, Machine, Modifier, Opcode, Slot};
use warpsmith_ir::{Op, RegisterId, Type};

/// An instruction that is being put together, operand by operand.
pub(crate) struct Ptx {
    name: String,
    opcode: Option<Opcode>,
    modifiers: SmallVec<[Modifier; 6]>,
    operands: SmallVec<[Slot; 4]>,
    args: SmallVec<[Handle; 4]>,
    results: SmallVec<[Type; 4]>,
}

/// Begins an instruction.
pub(crate) fn ptx(name: impl Into<String>) -> Ptx {
    let name = name.into();
    let mut words = name.split('.');
    let mut opcode = words.next().and_then(Opcode::from_name);
    let mut modifiers = SmallVec::new();
    for word in words {
        match Modifier::from_name(word) {
            Some(m) => modifiers.push(m),
            None => opcode = None,
        }
    }
    Ptx { name, opcode, modifiers, operands: SmallVec::new(), args: SmallVec::new(), results: SmallVec::new() }
}

impl Ptx {
    fn place(mut self, slot: Slot) -> Ptx {
        self.operands.push(slot);
        self
    }

    fn add_arg(&mut self, h: Handle) -> u8 {
        self.args.push(h);
        self.args.len() as u8 - 1
    }

    /// A result.
    pub(crate) fn result(mut self, ty: Type) -> Ptx {
        self.results.push(ty);
        let slot = Slot::Result(self.results.len() as u8 - 1);
        self.place(slot)
    }

    /// `{…}` of results.
    pub(crate) fn results(mut self, types: &[Type]) -> Ptx {
        let first = self.results.len() as u8;
        self.results.extend_from_slice(types);
        self.place(Slot::results(first..first + types.len() as u8))
    }

    /// `_|p`: only the predicate is wanted.
    pub(crate) fn predicate(mut self) -> Ptx {
        self.results.push(Type::Bool);
        let slot = Slot::Result(self.results.len() as u8 - 1);
        self.place(Slot::Pair(Box::new(Slot::Sink), Box::new(slot)))
    }

    /// `d|p`, of which only the predicate is wanted, where PTX has no `_` for `d`.
    pub(crate) fn with_predicate(mut self, ty: Type) -> Ptx {
        let first = self.results.len() as u8;
        self.results.extend([ty, Type::Bool]);
        self.place(Slot::pair(Slot::Result(first), Slot::Result(first + 1)))
    }

    /// `_`.
    pub(crate) fn sink(self) -> Ptx {
        self.place(Slot::Sink)
    }

    /// An operand.
    pub(crate) fn arg(mut self, h: Handle) -> Ptx {
        let i = self.add_arg(h);
        self.place(Slot::Arg(i))
    }

    /// `{…}` of operands.
    pub(crate) fn args(mut self, all: &[Handle]) -> Ptx {
        let slots = all.iter().map(|&h| Slot::Arg(self.add_arg(h))).collect();
        self.place(Slot::Vector(slots))
    }

    /// `{…}` of mutable registers, read and written.
    pub(crate) fn registers(self, first: RegisterId, count: usize) -> Ptx {
        self.place(Slot::Registers(first, count as u32))
    }

    /// `{…}` of mutable registers, wherever they are.
    pub(crate) fn register_list(self, all: &[RegisterId]) -> Ptx {
        self.place(Slot::registers(all.iter().copied()))
    }

    /// A number that is part of the instruction.
    pub(crate) fn number(self, n: i64) -> Ptx {
        self.place(Slot::Immediate(Immediate::Integer(n)))
    }

    /// `[address]`.
    pub(crate) fn at(self, address: Handle) -> Ptx {
        self.at_offset(address, 0)
    }

    /// `[address + offset]`.
    pub(crate) fn at_offset(mut self, address: Handle, offset: i32) -> Ptx {
        let base = self.add_arg(address);
        self.place(Slot::Address { base, offset, coordinates: vec![] })
    }

    /// `[map, {x, y}]`.
    pub(crate) fn at_coordinates(mut self, map: Handle, coordinates: &[Handle]) -> Ptx {
        let base = self.add_arg(map);
        let coordinates = coordinates.iter().map(|&h| Slot::Arg(self.add_arg(h))).collect();
        self.place(Slot::Address { base, offset: 0, coordinates })
    }

    /// Records it.
    #[track_caller]
    pub(crate) fn emit(self) -> SmallVec<[Handle; 1]> {
        let at = Location::caller();
        let Some(opcode) = self.opcode else {
            mistake(format!("`{}` has a word that PTX does not", self.name), &[], "see the table of operations");
            return self.results.iter().map(|_| poison()).collect();
        };
        let machine = Machine { opcode, modifiers: self.modifiers, operands: self.operands, guard: None };
        with(|t| t.record(Op::Machine(Box::new(machine)), &self.args, &self.results, at))
    }

    /// Records it, and gives its only result.
    #[track_caller]
    pub(crate) fn value(self) -> Handle {
        self.emit().first().copied().unwrap_or_else(poison)
    }
}
