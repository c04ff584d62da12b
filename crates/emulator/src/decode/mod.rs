//! From a parsed module to a [`Program`]: registers and constants get planes, variables get addresses, every
//! instruction becomes one action with its types baked in. What is not understood is refused here, never at run time.

mod bulk;
mod call;
mod carry;
mod cluster;
mod control;
mod convert;
mod fences;
mod float;
mod flow;
mod fragments;
mod half;
mod halves;
mod integer;
mod layout;
mod logic;
mod lop3;
mod mbarrier;
mod memory;
mod mixed;
mod moves;
mod multimem;
mod operands;
mod packed;
mod product;
mod tensor_maps;
mod tiny;
mod vectors;
mod video;
mod warp;
mod wide;
mod wmma;

use crate::DecodeError;
use crate::lanes::{Compute, FULL, Fields};
use crate::program::{
    Action, Bulk, CallSite, Constant, Counts, Fragments, Frame, Guard, Instruction, Multimem, NONE, Origin, Product,
    Program, VectorAtomic,
};
use crate::quick::Quick;
pub(crate) use flow::{Step, number};
use layout::Layout;
use operands::Slot;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use warpsmith_ptx as ptx;
use warpsmith_ptx::{Locations, Modifier, Module, Opcode, Operand, SourceLine, SpecialRegister, Statement, Type, Word};
use warpsmith_types::Location;

/// A register by its file and index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Register {
    R32(u16),
    R64(u16),
    P(u16),
}

type Result<T, E = DecodeError> = std::result::Result<T, E>;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// The state of decoding one kernel.
pub(crate) struct Decoder<'m> {
    module: &'m Module,
    function: &'m ptx::Function,
    /// The kernel last, what it calls before: whoever calls waits ahead of whom it calls.
    functions: Vec<(u32, &'m ptx::Function)>,
    /// Which of them is decoded.
    current: usize,
    layout: Layout,
    slots: Vec<Slot>,
    counts: Counts,
    constants32: FxHashMap<u32, u16>,
    constants64: FxHashMap<Constant, u16>,
    specials: FxHashMap<SpecialRegister, u16>,
    /// Always-false and always-true predicates, once asked for.
    fixed: [Option<u16>; 2],
    /// The carry of `add.cc` and its kin, once asked for.
    carry: Option<u16>,
    /// Where results go that nobody wants, a register a file.
    sinks: [Option<u16>; 3],
    code: Vec<Instruction>,
    origins: Vec<Origin>,
    flow: Vec<flow::Step>,
    lists: Vec<u32>,
    bulk: Vec<Bulk>,
    vectors: Vec<VectorAtomic>,
    multimems: Vec<Multimem>,
    products: Vec<Product>,
    fragments: Vec<Fragments>,
    labels: Vec<Option<u32>>,
    /// Where the current function's labels start.
    first_label: u32,
    frames: Vec<Frame>,
    calls: Vec<CallSite>,
    named: Vec<(Register, String)>,
    locations: Vec<Location>,
    known_locations: FxHashMap<Location, u32>,
    sources: Locations,
    here: Origin,
    guard: Guard,
    reads: Vec<Register>,
    writes: Vec<Register>,
    communicates: bool,
}

impl Program {
    /// Decodes a kernel of a module.
    pub fn decode(module: &Module, entry: &str) -> Result<Program> {
        let function = module.entry(entry).ok_or_else(|| DecodeError::NoEntry {
            name: entry.into(),
            entries: module
                .functions
                .iter()
                .filter(|f| f.kind == ptx::FunctionKind::Entry)
                .map(|f| f.name.clone())
                .collect(),
        })?;
        Decoder::new(module, function)?.run()
    }
}

impl<'m> Decoder<'m> {
    fn new(module: &'m Module, function: &'m ptx::Function) -> Result<Decoder<'m>> {
        let functions = call::reachable(module, function);
        let all: Vec<&ptx::Function> = functions.iter().map(|(_, f)| *f).collect();
        Ok(Decoder {
            module,
            function,
            layout: Layout::of(module, &all)?,
            functions,
            current: 0,
            slots: vec![],
            counts: Counts::default(),
            constants32: FxHashMap::default(),
            constants64: FxHashMap::default(),
            specials: FxHashMap::default(),
            fixed: [None; 2],
            carry: None,
            sinks: [None; 3],
            code: vec![],
            origins: vec![],
            flow: vec![],
            lists: vec![],
            bulk: vec![],
            vectors: vec![],
            multimems: vec![],
            products: vec![],
            fragments: vec![],
            labels: vec![],
            first_label: 0,
            frames: vec![],
            calls: vec![],
            named: vec![],
            locations: vec![],
            known_locations: FxHashMap::default(),
            sources: Locations::new(module),
            here: Origin::default(),
            guard: Guard::ALWAYS,
            reads: vec![],
            writes: vec![],
            communicates: false,
        })
    }

    fn run(mut self) -> Result<Program> {
        for (place, (_, function)) in self.functions.clone().into_iter().enumerate() {
            self.enter(place, function)?;
            for statement in &function.body {
                match statement {
                    Statement::Label(label) => {
                        let at = self.code.len() as u32;
                        if let Some(slot) = self.labels.get_mut((self.first_label + label.0) as usize) {
                            *slot = Some(at);
                        }
                    }
                    Statement::Source(line) => self.here.location = self.source(line),
                    Statement::Instruction(i) => self.instruction(i)?,
                    Statement::Pragma(_) => {}
                }
            }
            self.guard = Guard::ALWAYS;
            let last = if self.is_function() { Action::Return } else { Action::Exit };
            self.emit(last);
            self.leave(place);
        }
        self.link()?;
        self.finish()
    }

    /// Starts with another function.
    fn enter(&mut self, place: usize, function: &'m ptx::Function) -> Result<()> {
        self.function = function;
        self.current = place;
        self.here = Origin::default();
        self.first_label = self.labels.len() as u32;
        self.labels.resize(self.labels.len() + function.labels.len(), None);
        self.frames.push(Frame {
            start: self.code.len() as u32,
            local: self.layout.frames.get(place).cloned().unwrap_or_default(),
            registers: [(); 3].map(|()| 0..0),
        });
        let counts = self.counts;
        self.frames[place].registers = [counts.r32, counts.r64, counts.p].map(|n| n as u16..n as u16);
        self.slots.clear();
        for register in &function.registers {
            let slot = self.slot(register.ty)?;
            self.slots.push(slot);
        }
        Ok(())
    }

    /// Notes what registers the function has.
    fn leave(&mut self, place: usize) {
        let counts = self.counts;
        for (range, n) in self.frames[place].registers.iter_mut().zip([counts.r32, counts.r64, counts.p]) {
            range.end = n as u16;
        }
        for (register, slot) in self.function.registers.iter().zip(&self.slots) {
            let planes = match slot {
                Slot::Plane(r) => vec![*r],
                Slot::Halves(low, high) => vec![Register::R64(*low), Register::R64(*high)],
                Slot::Unsupported(_) => vec![],
            };
            self.named.extend(planes.into_iter().map(|plane| (plane, register.name.clone())));
        }
    }

    /// Whether what is decoded is a function that the kernel calls.
    fn is_function(&self) -> bool {
        self.current + 1 < self.functions.len()
    }

    fn instruction(&mut self, i: &ptx::Instruction) -> Result<()> {
        self.here.line = i.line;
        self.reads.clear();
        self.writes.clear();
        self.guard = match i.guard {
            Some(g) => Guard { register: self.predicate_register(i, g.register)?, negated: g.negated },
            None => Guard::ALWAYS,
        };
        // The guard is read by whatever this instruction emits.
        let guard_reads = std::mem::take(&mut self.reads);
        self.reads.extend(guard_reads);
        self.dispatch(i)
    }

    fn dispatch(&mut self, i: &ptx::Instruction) -> Result<()> {
        use Opcode::*;
        match i.opcode {
            Mov | Cvta | Isspacep | Szext | Bmsk => self.moves(i),
            Add | Sub | Mul | Mad | Fma | Min | Max | Div | Rem | Abs | Neg | Sad | Mul24 | Mad24 | Addc | Subc
            | Madc => self.arithmetic(i),
            Sqrt | Rsqrt | Rcp | Ex2 | Lg2 | Sin | Cos | Tanh | Copysign | Testp => self.float(i),
            And | Or | Xor | Not | Cnot | Shl | Shr | Shf | Lop3 | Prmt | Bfe | Bfi | Bfind | Brev | Clz | Popc
            | Fns | Dp2a | Dp4a => self.integer(i),
            Setp | Set | Selp | Slct => self.comparison(i),
            Cvt => self.conversion(i),
            Ld | Ldu | St | Atom | Red | Cp => self.memory(i),
            Multimem => self.multimem(i),
            Shfl | Vote | Match | Redux | Activemask | Elect => self.warp(i),
            Call => self.call(i),
            Tensormap => self.tensor_map(i),
            Bra | BrxIdx | Exit | Ret | Trap | Brkpt | Bar | Barrier | Fence | Membar | Nanosleep | Prefetch
            | Prefetchu | Discard | Applypriority | Createpolicy | Griddepcontrol | Setmaxnreg => self.control(i),
            Mbarrier => self.mbarrier(i),
            Mapa | Getctarank => self.cluster_address(i),
            Wgmma => self.warpgroup(i),
            Mma | Ldmatrix | Stmatrix | Movmatrix => self.fragments(i),
            Wmma => self.wmma(i),
            Vadd2 | Vadd4 | Vsub2 | Vsub4 | Vavrg2 | Vavrg4 | Vabsdiff2 | Vabsdiff4 | Vmin2 | Vmin4 | Vmax2 | Vmax4 => {
                self.video(i)
            }
            _ => Err(self.unsupported(i, "")),
        }
    }

    /// `add` and its kin, whose type decides the family.
    fn arithmetic(&mut self, i: &ptx::Instruction) -> Result<()> {
        let types: Vec<Type> = i.types().collect();
        match types.last() {
            _ if Decoder::carries(i) => self.carry(i),
            Some(Type::F16 | Type::BF16) if types.len() == 2 && types[0] == Type::F32 => self.mixed(i),
            Some(Type::F32 | Type::F64 | Type::F32x2) => self.float(i),
            Some(Type::F16 | Type::BF16 | Type::F16x2 | Type::BF16x2) => self.half(i),
            _ => self.integer(i),
        }
    }

    fn source(&mut self, line: &SourceLine) -> u32 {
        let location = self.sources.read(line);
        let next = self.locations.len() as u32 + 1;
        let number = *self.known_locations.entry(location.clone()).or_insert(next);
        if number == next {
            self.locations.push(location);
        }
        number
    }

    /// Appends an instruction under the current guard, with the reads and writes noted since the last one.
    fn emit(&mut self, action: Action) {
        let reads = std::mem::take(&mut self.reads);
        let writes = std::mem::take(&mut self.writes);
        self.flow.push(flow::Step { reads, writes, copies: false });
        self.code.push(Instruction { action, guard: self.guard, checked: false, quick: Quick::Call, straight: 0 });
        self.origins.push(self.here);
    }

    fn compute(&mut self, run: Compute, fields: Fields) {
        self.emit(Action::Compute { run, fields });
    }

    /// The instruction that was just emitted is one of the frequent ones, if it is any.
    fn quick(&mut self, quick: Option<Quick>) {
        if let (Some(i), Some(quick)) = (self.code.last_mut(), quick) {
            i.quick = quick;
        }
    }

    /// Labels become instruction indices.
    fn link(&mut self) -> Result<()> {
        let end = self.code.len() as u32 - 1;
        let resolve = |label: u32| self.labels.get(label as usize).copied().flatten().unwrap_or(end).min(end);
        for i in &mut self.code {
            match &mut i.action {
                Action::Branch { target } => *target = resolve(*target),
                Action::Call { target, .. } => *target = self.frames.get(*target as usize).map_or(end, |f| f.start),
                Action::Table { start, count, .. } => {
                    let range = *start as usize..(*start + *count) as usize;
                    for target in self.lists.get_mut(range).into_iter().flatten() {
                        *target = resolve(*target);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Program> {
        let name = self.function.name.clone();
        let large = |what| DecodeError::TooLarge { kernel: name.clone(), what };
        if self.counts.r32.max(self.counts.r64).max(self.counts.p) >= NONE as usize {
            return Err(large("registers"));
        }
        if self.code.len() >= u32::MAX as usize {
            return Err(large("instructions"));
        }
        let entry = self.frames.last().map_or(0, |f| f.start);
        let uses = flow::analyse(&mut self.code, &self.flow, &self.lists, self.counts, entry);
        flow::count_straight(&mut self.code, self.constants32.get(&FULL).copied());
        let touched = if self.products.is_empty() { vec![] } else { flow::touched(&self.flow) };
        if !self.products.is_empty() {
            fences::analyse(&self.code, &self.flow, &self.lists, self.counts.r32, &mut self.products);
        }
        let names = self.names();
        Ok(Program {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            code: self.code,
            origins: self.origins,
            locations: self.locations,
            uses,
            steps: self.flow,
            lists: self.lists,
            bulk: self.bulk,
            vectors: self.vectors,
            multimems: self.multimems,
            products: self.products,
            fragments: self.fragments,
            calls: self.calls,
            frames: self.frames,
            entry,
            touched,
            counts: self.counts,
            constants32: self.constants32.into_iter().map(|(value, index)| (index, value)).collect(),
            constants64: self.constants64.into_iter().map(|(value, index)| (index, value)).collect(),
            predicates: [false, true].into_iter().filter_map(|v| Some((self.fixed[usize::from(v)]?, v))).collect(),
            specials: self.specials.into_iter().collect(),
            parameters: self.layout.parameters,
            parameter_bytes: self.layout.parameter_bytes,
            shared: self.layout.shared,
            dynamic_base: self.layout.dynamic_base,
            local_bytes: self.layout.local_bytes,
            globals: self.layout.globals,
            communicates: self.communicates,
            reqntid: self.function.directives.reqntid,
            maxntid: self.function.directives.maxntid,
            reqnctapercluster: self.function.directives.reqnctapercluster,
            names,
            name,
        })
    }

    /// Register names in the numbering of [`flow`].
    fn names(&self) -> Vec<String> {
        let mut names = vec![String::new(); self.counts.r32 + self.counts.r64 + self.counts.p];
        for (plane, name) in &self.named {
            if let Some(slot) = names.get_mut(flow::number(*plane, self.counts) as usize) {
                slot.clone_from(name);
            }
        }
        names
    }

    fn unsupported(&self, i: &ptx::Instruction, reason: &str) -> DecodeError {
        let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        DecodeError::Unsupported { instruction: spelling(i), at: self.place(), reason }
    }

    fn malformed(&self, i: &ptx::Instruction, reason: impl Into<String>) -> DecodeError {
        DecodeError::Malformed { instruction: spelling(i), at: self.place(), reason: reason.into() }
    }

    /// Where the current instruction stands: its line of PTX, or else of the source.
    fn place(&self) -> String {
        match (self.here.line, (self.here.location as usize).checked_sub(1).and_then(|l| self.locations.get(l))) {
            (0, Some(location)) => location.to_string(),
            (0, None) => format!("instruction {}", self.code.len() + 1),
            (line, _) => format!("line {line}"),
        }
    }

    /// Refuses modifiers that this family does not know: to ignore one would be to run another program.
    fn only(&self, i: &ptx::Instruction, allowed: &[Word]) -> Result<()> {
        for modifier in &i.modifiers {
            if let Modifier::Word(word) = modifier
                && !allowed.contains(word)
            {
                return Err(self.unsupported(i, &format!("`.{word}`")));
            }
        }
        Ok(())
    }

    fn operand<'i>(&self, i: &'i ptx::Instruction, index: usize) -> Result<&'i Operand> {
        i.operands.get(index).ok_or_else(|| self.malformed(i, format!("operand {} is missing", index + 1)))
    }

    /// The only type, or the first.
    fn ty(&self, i: &ptx::Instruction) -> Result<Type> {
        i.types().next().ok_or_else(|| self.malformed(i, "it has no type"))
    }
}

/// An instruction's opcode and modifiers.
pub(crate) fn spelling(i: &ptx::Instruction) -> String {
    let mut text = i.opcode.name().to_string();
    for m in &i.modifiers {
        text.push('.');
        text.push_str(m.name());
    }
    text
}
