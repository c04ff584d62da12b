//! Watching a launch: counts for a profile, and the steps of one warp.
//!
//! An instruction is seen before it runs, with its operands at hand, so that whoever runs it knows nothing of this.

use super::boxes::Boxes;
use super::cell::resolve;
use super::core::Core;
use super::span::addresses;
use super::warp::Warp;
use crate::decode::{Register, number};
use crate::finding::Storage;
use crate::lanes::{LANES, each};
use crate::profile::{LineProfile, Parted, Profile, Requests, Traffic};
use crate::program::{Access, Action, Fragments, MatrixAccess, MultimemKind, NONE, Program, Space};
use crate::step::{Step, StepRegister, Watch};
use rustc_hash::FxHashMap;

/// Bytes of a sector.
const SECTOR: u64 = 32;
/// Sectors that one word of bits stands for.
const RUN: u64 = 128;
/// Bytes of a bank of shared memory, and banks.
const BANK: u64 = 4;
const BANKS: usize = 32;

/// What one instruction did.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    instructions: u64,
    lanes: u64,
    branches: Parted,
    global: Requests,
    shared: Requests,
    local_bytes: u64,
}

/// What a worker has seen.
#[derive(Debug)]
pub(crate) struct Watcher {
    watch: Watch,
    counts: Vec<Counts>,
    read: Sectors,
    written: Sectors,
    /// Of the warp that is followed.
    steps: Vec<Step>,
    /// Whether the last step waits for what it wrote.
    open: Option<u32>,
}

/// A set of sectors, and how often one was touched.
#[derive(Debug, Default)]
struct Sectors {
    touched: u64,
    seen: FxHashMap<u64, u128>,
}

impl Sectors {
    fn touch(&mut self, sector: u64) {
        self.touched += 1;
        *self.seen.entry(sector / RUN).or_default() |= 1 << (sector % RUN);
    }

    fn once(&self) -> u64 {
        self.seen.values().map(|bits| u64::from(bits.count_ones())).sum()
    }

    fn merge(&mut self, other: Sectors) {
        self.touched += other.touched;
        other.seen.into_iter().for_each(|(run, bits)| *self.seen.entry(run).or_default() |= bits);
    }
}

impl Watcher {
    /// Nothing where nothing is asked for.
    pub(crate) fn new(watch: Watch, program: &Program) -> Option<Box<Watcher>> {
        let counts = vec![Counts::default(); if watch.profile { program.code.len() } else { 0 }];
        let (read, written) = (Sectors::default(), Sectors::default());
        let watcher = Watcher { watch, counts, read, written, steps: vec![], open: None };
        (watch.profile || watch.warp.is_some()).then(|| Box::new(watcher))
    }

    pub(crate) fn merge(&mut self, other: Watcher) {
        for (ours, theirs) in self.counts.iter_mut().zip(&other.counts) {
            ours.add(theirs);
        }
        self.read.merge(other.read);
        self.written.merge(other.written);
        // One worker runs the warp.
        self.steps.extend(other.steps);
    }

    pub(crate) fn finish(self, program: &Program) -> (Option<Profile>, Vec<Step>) {
        if !self.watch.profile {
            return (None, self.steps);
        }
        let mut places = FxHashMap::default();
        let mut lines: Vec<LineProfile> = vec![];
        for (pc, counts) in self.counts.iter().enumerate().filter(|(_, c)| c.instructions > 0) {
            let (at, origin) = (program.location(pc), program.origins[pc]);
            let key = at.map_or((None, origin.line), |at| (Some(at.file.clone()), at.line));
            let place = *places.entry(key).or_insert_with(|| {
                lines.push(LineProfile { at: at.cloned(), ptx_line: origin.line, ..LineProfile::default() });
                lines.len() - 1
            });
            counts.add_to(&mut lines[place]);
        }
        let traffic = Traffic {
            read: self.read.touched * SECTOR,
            read_once: self.read.once() * SECTOR,
            written: self.written.touched * SECTOR,
            written_once: self.written.once() * SECTOR,
        };
        (Some(Profile { lines, traffic }), self.steps)
    }

    /// An access of a warp, by the bytes that each lane wants.
    fn access(&mut self, pc: u32, space: Space, lanes: &[(u64, u64)], (reads, writes): (bool, bool)) {
        let Some(counts) = self.counts.get_mut(pc as usize) else { return };
        let Some((storage, _)) = lanes.first().map(|(address, _)| resolve(space, *address)) else { return };
        let bytes = lanes.iter().map(|(_, bytes)| bytes).sum();
        match storage {
            Storage::Global => {
                let mut sectors: Vec<u64> = vec![];
                let mut words: Vec<(u64, u64)> = lanes.to_vec();
                words.sort_unstable();
                let (mut different, mut end) = (0, 0);
                for (address, bytes) in words {
                    let last = address.saturating_add(bytes);
                    different += last.saturating_sub(end.max(address));
                    end = end.max(last);
                    sectors.extend(address / SECTOR..last.div_ceil(SECTOR));
                }
                sectors.sort_unstable();
                sectors.dedup();
                for sector in &sectors {
                    if reads {
                        self.read.touch(*sector);
                    }
                    if writes {
                        self.written.touch(*sector);
                    }
                }
                let (transactions, least) = (sectors.len() as u64, different.div_ceil(SECTOR));
                counts.global.add(&Requests { count: 1, bytes, transactions, least });
            }
            Storage::Shared => {
                let (transactions, least) = passes(lanes);
                counts.shared.add(&Requests { count: 1, bytes, transactions, least });
            }
            Storage::Local => counts.local_bytes += bytes,
            Storage::Parameter | Storage::Register => {}
        }
    }

    /// A bulk or tensor copy of global memory.
    pub(super) fn copy(&mut self, pc: u32, boxes: &Boxes, writes: bool) {
        let Some(counts) = self.counts.get_mut(pc as usize) else { return };
        let sectors = if writes { &mut self.written } else { &mut self.read };
        let (mut bytes, mut transactions) = (0, 0);
        boxes.rows(|row| {
            let (start, end) = (row.global + row.inside.start as u64, row.global + row.inside.end as u64);
            if end > start {
                (start / SECTOR..end.div_ceil(SECTOR)).for_each(|s| sectors.touch(s));
                transactions += end.div_ceil(SECTOR) - start / SECTOR;
                bytes += end - start;
            }
            true
        });
        let least = bytes.div_ceil(SECTOR);
        counts.global.add(&Requests { count: 1, bytes, transactions, least });
    }
}

/// Passes over the banks that an access takes, and that it would take without conflicts. The hardware takes as many lanes
/// at a time as ask for 128 bytes; words that several of them want count once.
fn passes(lanes: &[(u64, u64)]) -> (u64, u64) {
    let widest = lanes.iter().map(|(_, bytes)| *bytes).max().unwrap_or(BANK).max(BANK);
    let together = (BANKS as u64 * BANK / widest).max(1) as usize;
    let (mut taken, mut least) = (0, 0);
    for some in lanes.chunks(together) {
        let mut words: Vec<u64> =
            some.iter().flat_map(|(at, bytes)| at / BANK..at.saturating_add(*bytes).div_ceil(BANK)).collect();
        words.sort_unstable();
        words.dedup();
        let mut banks = [0u64; BANKS];
        words.iter().for_each(|word| banks[*word as usize % BANKS] += 1);
        taken += banks.iter().max().copied().unwrap_or_default();
        least += words.len().div_ceil(BANKS) as u64;
    }
    (taken, least)
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.instructions += other.instructions;
        self.lanes += other.lanes;
        self.branches.add(other.branches);
        self.global.add(&other.global);
        self.shared.add(&other.shared);
        self.local_bytes += other.local_bytes;
    }

    fn add_to(&self, line: &mut LineProfile) {
        line.instructions += self.instructions;
        line.lanes += self.lanes;
        line.branches.add(self.branches);
        line.global.add(&self.global);
        line.shared.add(&self.shared);
        line.local_bytes += self.local_bytes;
    }
}

impl Parted {
    fn add(&mut self, other: Parted) {
        self.taken += other.taken;
        self.diverged += other.diverged;
    }
}

impl Requests {
    fn add(&mut self, other: &Requests) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.transactions += other.transactions;
        self.least += other.least;
    }
}

impl Warp {
    /// Sees an instruction that lanes of `mask` have come to, and that those of `active` are about to run.
    #[cold]
    #[inline(never)]
    pub(super) fn watch(&self, core: &mut Core<'_>, block: [u32; 3], pc: u32, mask: u32, active: u32) {
        let program = core.program;
        let Some(watcher) = &mut core.watcher else { return };
        if watcher.watch.profile {
            self.count(watcher, program, pc, mask, active);
        }
        if watcher.watch.warp == Some((block, self.index)) {
            self.step(watcher, program, pc, mask, active);
        }
    }

    fn count(&self, watcher: &mut Watcher, program: &Program, pc: u32, mask: u32, active: u32) {
        let counts = &mut watcher.counts[pc as usize];
        counts.instructions += 1;
        counts.lanes += u64::from(active.count_ones());
        let r = &self.registers;
        let lanes = |at: [u64; LANES], bytes: u64| each(active).map(|l| (at[l], bytes)).collect::<Vec<_>>();
        let of = |a: &Access| {
            lanes(addresses(r, a.address, a.address_wide, a.offset), u64::from(a.width) * u64::from(a.count))
        };
        let rows = |a: &MatrixAccess| {
            let at = addresses(r, a.address.plane, a.address.wide, a.address.offset);
            (0..8 * usize::from(a.count).min(4)).map(|l| (at[l], 16)).collect::<Vec<_>>()
        };
        match &program.code[pc as usize].action {
            Action::Branch { .. } => {
                counts.branches.taken += 1;
                counts.branches.diverged += u64::from(active != 0 && active != mask);
            }
            _ if active == 0 => {}
            Action::Load(a) => watcher.access(pc, a.space, &of(a), (true, false)),
            Action::Store(a) => watcher.access(pc, a.space, &of(a), (false, true)),
            Action::Atomic(a) => {
                let at = addresses(r, a.address, a.address_wide, a.offset);
                watcher.access(pc, a.space, &lanes(at, a.ty.bytes() as u64), (true, true));
            }
            Action::VectorAtomic(index) => {
                let Some(a) = program.vectors.get(*index as usize) else { return };
                let at = addresses(r, a.address.plane, a.address.wide, a.address.offset);
                let bytes = a.ty.bytes() * if a.whole { 1 } else { a.b.len() };
                watcher.access(pc, a.space, &lanes(at, bytes as u64), (true, true));
            }
            Action::Multimem(index) => {
                let Some(m) = program.multimems.get(*index as usize) else { return };
                let at = addresses(r, m.address.plane, m.address.wide, m.address.offset);
                let reads = !matches!(m.what, MultimemKind::Store);
                let writes = !matches!(m.what, MultimemKind::LoadReduce { .. });
                watcher.access(pc, Space::Global, &lanes(at, m.bytes() as u64), (reads, writes));
            }
            Action::CopyAsync(c) => {
                let off = if c.ignore == NONE { 0 } else { r.p[c.ignore as usize] };
                let from = addresses(r, c.from, true, c.from_offset);
                let size = |l: usize| match c.size {
                    NONE => c.bytes.into(),
                    size => u64::from(r.r32[size as usize][l].min(c.bytes.into())),
                };
                let read: Vec<_> =
                    each(active & !off).map(|l| (from[l], size(l))).filter(|(_, bytes)| *bytes > 0).collect();
                watcher.access(pc, Space::Global, &read, (true, false));
                let to = addresses(r, c.to, c.to_wide, c.to_offset.into());
                let space = if c.to_wide { Space::Generic } else { Space::Shared };
                watcher.access(pc, space, &lanes(to, c.bytes.into()), (false, true));
            }
            Action::Fragments { index, .. } => match program.fragments.get(*index as usize) {
                Some(Fragments::Load(a)) => watcher.access(pc, a.space, &rows(a), (true, false)),
                Some(Fragments::Store(a)) => watcher.access(pc, a.space, &rows(a), (false, true)),
                _ => {}
            },
            _ => {}
        }
    }

    fn step(&self, watcher: &mut Watcher, program: &Program, pc: u32, mask: u32, active: u32) {
        if let (Some(before), Some(step)) = (watcher.open.take(), watcher.steps.last_mut()) {
            step.registers.extend(self.registers_of(program, before, true));
        }
        if watcher.steps.len() as u64 == watcher.watch.most_steps {
            return;
        }
        watcher.open = Some(pc);
        watcher.steps.push(Step {
            at: program.location(pc as usize).cloned(),
            ptx_line: program.origins[pc as usize].line,
            lanes: mask,
            active,
            registers: self.registers_of(program, pc, false),
        });
    }

    /// The registers that an instruction reads, or writes, as they are now.
    fn registers_of(&self, program: &Program, pc: u32, written: bool) -> Vec<StepRegister> {
        let Some(step) = program.steps.get(pc as usize) else { return vec![] };
        let mut all: Vec<StepRegister> = vec![];
        for register in if written { &step.writes } else { &step.reads } {
            let name = program.names.get(number(*register, program.counts) as usize);
            // A register without a name is a constant of the decoded form.
            let Some(name) = name.filter(|n| !n.is_empty() && all.iter().all(|r| r.name != **n)) else { continue };
            let (bits, lanes) = match *register {
                Register::R32(n) => (32, self.registers.r32[n as usize].map(u64::from)),
                Register::R64(n) => (64, self.registers.r64[n as usize]),
                Register::P(n) => (1, std::array::from_fn(|l| u64::from(self.registers.p[n as usize] >> l & 1))),
            };
            all.push(StepRegister { name: name.clone(), written, bits, lanes });
        }
        all
    }
}
