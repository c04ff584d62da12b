//! `wgmma`: products that four warps start together and that are there after a wait.

#![allow(clippy::needless_range_loop)]

use super::arrive::Actor;
use super::cell::Request;
use super::cluster::Cluster;
use super::core::Core;
use super::descriptor::{Descriptor, Problem};
use super::interpret::Stop;
use super::multiply::{Panels, multiply};
use super::peers::Peers;
use super::warp::{Group, State, Warp};
use crate::finding::{AccessKind, FindingKind, Storage};
use crate::lanes::{FULL, LANES, Registers};
use crate::memory::Flat;
use crate::program::{Accumulator, Element, Matrix, NONE, Product, Space};
use crate::simd::Simd;
use std::collections::VecDeque;

/// A product that a warp has started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Started {
    pc: u32,
    /// Its index in the program.
    product: u32,
    /// Descriptors of its operands; 0 for A in registers.
    a: u64,
    b: u64,
    /// Whether it adds to what is in the accumulator.
    adds: bool,
    /// Groups that the warp had committed before.
    group: u32,
}

/// The products of a warp.
#[derive(Debug, Default)]
pub(crate) struct Products {
    queue: VecDeque<Started>,
    committed: u32,
    /// Products that are complete.
    done: u64,
    /// Registers that belong to products on their way, a bit each, and whether there are any.
    owned: Vec<u64>,
    pub busy: bool,
}

impl Products {
    pub(crate) fn clear(&mut self) {
        *self = Products { owned: std::mem::take(&mut self.owned), ..Products::default() };
        if !self.owned.is_empty() {
            self.owned.fill(0);
        }
    }

    fn started(&self) -> u64 {
        self.done + self.queue.len() as u64
    }

    fn own(&mut self, core: &Core<'_>, product: &Product) {
        self.owned.resize(core.program.counts.r32.div_ceil(64), 0);
        for register in product.registers(&core.program.lists) {
            self.owned[*register as usize / 64] |= 1 << (register % 64);
        }
        self.busy = true;
    }

    /// Some products are complete: only the registers of the others still belong to them.
    fn disown(&mut self, core: &Core<'_>) {
        self.owned.fill(0);
        self.busy = false;
        let rest: Vec<u32> = self.queue.iter().map(|s| s.product).collect();
        for product in rest.into_iter().filter_map(|n| core.program.products.get(n as usize)) {
            self.own(core, product);
        }
    }
}

impl Warp {
    /// `wgmma.mma_async`.
    pub(super) fn start_product(
        &mut self,
        core: &mut Core<'_>,
        peers: &Peers,
        index: u32,
        group: &mut Group,
        active: u32,
    ) {
        let Some(p) = core.program.products.get(index as usize) else { return };
        let pc = group.pc;
        group.pc += 1;
        if active != FULL || core.shape.warps() < (self.index / 4 + 1) * 4 {
            let detail = match active {
                FULL => format!(
                    "the block has {} warps: the last {} are no warpgroup",
                    core.shape.warps(),
                    core.shape.warps() % 4
                ),
                _ => "some lanes of the warp do not take part".into(),
            };
            core.report_threads(peers, self.index, FindingKind::Warpgroup, pc, active, detail);
            return;
        }
        if let Some(register) = p.unfenced {
            let name = core.program.names.get(register as usize).map_or("", String::as_str);
            let detail = format!("`{name}` is written on a way here, and no `wgmma.fence` follows");
            core.report_threads(peers, self.index, FindingKind::ProductFence, pc, active, detail);
        }
        let uniform = |values: &[u64; LANES]| values.iter().all(|x| *x == values[0]);
        let r = &self.registers;
        let b = &r.r64[p.b as usize];
        let a = if let Matrix::Shared(plane) = p.a { r.r64[plane as usize] } else { [0; LANES] };
        if !uniform(&a) || !uniform(b) {
            let detail = "the lanes of the warp give different descriptors".to_string();
            core.report_threads(peers, self.index, FindingKind::Warpgroup, pc, 1, detail);
        }
        let (a, b) = (a[0], b[0]);
        let adds = p.scale == NONE || r.p[p.scale as usize] & 1 == 1;
        let group = self.products.committed;
        self.products.queue.push_back(Started { pc, product: index, a, b, adds, group });
        self.products.own(core, p);
    }

    /// `wgmma.commit_group`.
    pub(super) fn commit_products(&mut self) {
        self.products.committed += 1;
    }

    /// `wgmma.wait_group`: goes on when all but the last groups are complete.
    pub(super) fn wait_products(&mut self, left: u32, group: &mut Group) -> Option<Stop> {
        let bound = self.products.committed.saturating_sub(left);
        let due = self.products.queue.iter().take_while(|s| s.group < bound).count() as u64;
        if due == 0 {
            group.pc += 1;
            return None;
        }
        Some(Stop::Waiting(State::Products { until: self.products.done + due }))
    }

    /// Reports an instruction that touches a register of a product on its way.
    #[cold]
    pub(super) fn check_owned(&mut self, core: &mut Core<'_>, peers: &Peers, pc: u32, active: u32) {
        if !self.products.busy || active == 0 {
            return;
        }
        let program = core.program;
        let Some(touched) = program.touched.get(pc as usize) else { return };
        let owned = &self.products.owned;
        let hit = touched.iter().find(|r| owned.get(**r as usize / 64).is_some_and(|w| w >> (*r % 64) & 1 == 1));
        let Some(register) = hit.copied() else { return };
        let owner = self.products.queue.iter().rev().find(|s| {
            let product = program.products.get(s.product as usize);
            product.is_some_and(|p| p.registers(&program.lists).any(|r| *r == register))
        });
        let line = owner.and_then(|s| program.origins.get(s.pc as usize)).map_or(0, |o| o.line);
        let place = if line > 0 { format!(" of line {line} of the PTX") } else { String::new() };
        let name = program.names.get(register as usize).map_or("", String::as_str);
        let detail = format!("`{name}` belongs to the `wgmma`{place} until `wgmma.wait_group`");
        core.report_threads(peers, self.index, FindingKind::InFlight, pc, active, detail);
        // Said once; what follows from it is no news.
        self.products.busy = false;
    }
}

impl Cluster {
    /// Completes the products that warps of the block that ran wait for, where all four of a warpgroup have started
    /// them.
    pub(super) fn complete_products(&mut self, core: &mut Core<'_>) {
        let rank = self.peers.rank() as u32;
        let per_block = core.shape.warps() as usize;
        let block = self.warps.iter_mut().skip(rank as usize * per_block).take(per_block);
        let mut block: Vec<&mut Warp> = block.collect();
        for warps in block.chunks_exact_mut(4) {
            let waits = |w: &Warp| {
                w.groups.iter().find_map(|g| match g.state {
                    State::Products { until } => Some(until),
                    _ => None,
                })
            };
            let Some(until) = warps.iter().filter_map(|w| waits(w)).max() else { continue };
            let there = warps.iter().map(|w| w.products.started()).min().unwrap_or_default();
            if warps[0].products.done < until.min(there) {
                while warps[0].products.done < until.min(there) {
                    complete(core, &mut self.peers, warps);
                }
                warps.iter_mut().for_each(|w| w.products.disown(core));
            }
            for warp in warps {
                let done = warp.products.done;
                for g in &mut warp.groups {
                    if matches!(g.state, State::Products { until } if until <= done) {
                        g.state = State::Ready;
                        g.pc += 1;
                        warp.hurry = 0;
                        self.peers.meet(warp.index, g.mask, warp.live);
                    }
                }
            }
        }
    }
}

/// The oldest product of a warpgroup. [`Products::disown`] must follow.
fn complete(core: &mut Core<'_>, peers: &mut Peers, warps: &mut [&mut Warp]) {
    let program = core.program;
    let started: Vec<Started> = warps.iter_mut().filter_map(|w| w.products.queue.pop_front()).collect();
    for warp in warps.iter_mut() {
        warp.products.done += 1;
    }
    let Some(first) = started.first().copied() else { return };
    let same = |s: &Started| (s.pc, s.a, s.b, s.adds) == (first.pc, first.a, first.b, first.adds);
    if let Some(odd) = started.iter().position(|s| !same(s)) {
        let detail = format!(
            "warp {} runs another `wgmma`, or with other descriptors, than warp {}",
            warps[odd].index, warps[0].index
        );
        core.report_threads(peers, warps[odd].index, FindingKind::Warpgroup, started[odd].pc, 1, detail);
    }
    let Some(p) = program.products.get(first.product as usize) else { return };
    let mut panels = std::mem::take(&mut core.panels);
    let (n, k) = (usize::from(p.n), usize::from(p.k));
    panels.reset(8, n / 8, k);
    let simd = warps[0].registers.simd;
    let shared = &peers.shared;
    let sign = |negate: bool| if negate { -1.0 } else { 1.0 };
    let read_a = match p.a {
        Matrix::Shared(_) => Descriptor::decode(first.a).and_then(|d| {
            let size = (p.a_element, (64, k), p.transpose_a);
            read(simd, &d, shared, size, (Side::A, sign(p.negate_a)), &mut panels)
        }),
        Matrix::Registers(list) => {
            warps.iter().enumerate().for_each(|(w, warp)| registers(p, list, &program.lists, warp, w, &mut panels));
            Ok(())
        }
    };
    let read_b = Descriptor::decode(first.b).and_then(|d| {
        let size = (p.b_element, (n, k), p.transpose_b);
        read(simd, &d, shared, size, (Side::B, sign(p.negate_b)), &mut panels)
    });
    for (w, warp) in warps.iter_mut().enumerate() {
        for half in 0..2 {
            accumulate(p, &program.lists, first.adds, &panels, (2 * w + half, half), warp);
        }
    }
    core.panels = panels;
    if core.races {
        let all: Vec<u32> = warps.iter().map(|w| w.index).collect();
        if let Some(races) = &mut peers.races {
            races.align(&all);
        }
        let who = Actor { warp: all[0], lane: 0, pc: first.pc };
        if let (Matrix::Shared(_), Ok(d)) = (p.a, Descriptor::decode(first.a)) {
            core.note_product(peers, who, &d.stretches(p.a_element, (64, k), p.transpose_a));
        }
        if let Ok(d) = Descriptor::decode(first.b) {
            core.note_product(peers, who, &d.stretches(p.b_element, (n, k), p.transpose_b));
        }
    }
    report(core, peers, warps[0].index, first.pc, "A", read_a);
    report(core, peers, warps[0].index, first.pc, "B", read_b);
}

/// Which operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    A,
    B,
}

/// Reads an operand of a type, of so many rows and so much of k, across or not; compiled for its type.
fn read(
    simd: Simd,
    descriptor: &Descriptor,
    shared: &Flat,
    (element, (rows, k), across): (Element, (usize, usize), bool),
    (side, sign): (Side, f32),
    panels: &mut Panels,
) -> Result<(), Problem> {
    macro_rules! each_type {
        ($($name:ident)*) => {
            match element {
                $(Element::$name => {
                    const ELEMENT: Element = Element::$name;
                    match (across, side) {
                        (false, Side::A) => descriptor.read_lines(
                            shared,
                            rows,
                            #[inline(always)]
                            |eight, lines| panels.put_a_lines(eight, ELEMENT, sign, lines),
                        ),
                        (false, Side::B) => descriptor.read_lines(
                            shared,
                            rows,
                            #[inline(always)]
                            |eight, lines| panels.put_b_lines(eight, ELEMENT, sign, lines),
                        ),
                        (true, Side::A) => descriptor.read_across(
                            shared,
                            ELEMENT,
                            (rows, k),
                            #[inline(always)]
                            |row, k, x| panels.put_a(row, k, sign, &[x]),
                        ),
                        (true, Side::B) => descriptor.read_across(
                            shared,
                            ELEMENT,
                            (rows, k),
                            #[inline(always)]
                            |column, k, x| panels.put_b(column, k, sign, x),
                        ),
                    }
                })*
            }
        };
    }
    simd.run(
        #[inline(always)]
        || each_type!(F16 BF16 TF32 E4M3 E5M2 S8 U8),
    )
}

/// A's fragment of a warp, from its registers.
fn registers(p: &Product, list: u32, lists: &[u32], warp: &Warp, index: usize, panels: &mut Panels) {
    let each = 4 / p.a_element.bytes();
    let sign = if p.negate_a { -1.0 } else { 1.0 };
    for (n, plane) in lists.iter().skip(list as usize).take(4).enumerate() {
        for lane in 0..LANES {
            let mut numbers = [0.0; 4];
            p.a_element.unpack(warp.registers.r32[*plane as usize][lane], &mut numbers[..each]);
            let (row, k) = (16 * index + 8 * (n % 2) + lane / 4, (lane % 4 + 4 * (n / 2)) * each);
            panels.put_a(row, k, sign, &numbers[..each]);
        }
    }
}

#[inline(always)]
fn read_floats(plane: &[u32; LANES]) -> [f32; LANES] {
    let mut floats = [0.0; LANES];
    for l in 0..LANES {
        floats[l] = f32::from_bits(plane[l]);
    }
    floats
}

#[inline(always)]
fn write(plane: &mut [u32; LANES], floats: &[f32; LANES]) {
    for l in 0..LANES {
        plane[l] = floats[l].to_bits();
    }
}

/// Adds the products of eight rows to a warp's accumulator, whose first or second half they are.
pub(super) fn accumulate(
    p: &Product,
    lists: &[u32],
    adds: bool,
    panels: &Panels,
    (eight, half): (usize, usize),
    warp: &mut Warp,
) {
    let Some(list) = lists.get(p.accumulator as usize..) else { return };
    let registers = &mut warp.registers;
    let simd = registers.simd;
    simd.run(
        #[inline(always)]
        || {
            let a = panels.rows(eight);
            let count = usize::from(p.n) / 8;
            let mut j = 0;
            if simd.has_many_registers() && p.result == Accumulator::F32 {
                while j + 2 <= count {
                    let planes = [j, j + 1].map(|j| [0, 1].map(|n| list[4 * j + 2 * half + n] as usize));
                    let b = [panels.columns(j), panels.columns(j + 1)];
                    add_floats(simd, a, b, planes, adds, registers);
                    j += 2;
                }
            }
            for j in j..count {
                let b = panels.columns(j);
                match p.result {
                    Accumulator::F32 => {
                        let planes = [0, 1].map(|n| list[4 * j + 2 * half + n] as usize);
                        add_floats(simd, a, [b], [planes], adds, registers);
                    }
                    Accumulator::F16 => {
                        let plane = list[2 * j + half] as usize;
                        let mut sums = [[0.0; LANES]; 2];
                        if adds {
                            let number = warpsmith_types::convert::f16_to_f32;
                            sums = [0, 16].map(|shift| registers.r32[plane].map(|x| number((x >> shift) as u16)));
                        }
                        let mut sums = [sums];
                        multiply(simd, a, [b], &mut sums);
                        let [[c, d]] = sums;
                        for lane in 0..LANES {
                            let half = |x: f32| u32::from(warpsmith_types::convert::f32_to_f16(x));
                            registers.r32[plane][lane] = half(c[lane]) | half(d[lane]) << 16;
                        }
                    }
                    Accumulator::S32 { saturates } => {
                        // Sums of 32 products of bytes are integers that f32 holds.
                        let mut sums = [[[0.0; LANES]; 2]];
                        multiply(simd, a, [b], &mut sums);
                        for (n, sums) in sums[0].iter().enumerate() {
                            let plane = &mut registers.r32[list[4 * j + 2 * half + n] as usize];
                            for lane in 0..LANES {
                                let (old, sum) = (if adds { plane[lane] as i32 } else { 0 }, sums[lane] as i32);
                                let new = if saturates { old.saturating_add(sum) } else { old.wrapping_add(sum) };
                                plane[lane] = new as u32;
                            }
                        }
                    }
                }
            }
        },
    );
}

/// Adds products to pairs of registers of f32.
#[inline(always)]
fn add_floats<const N: usize>(
    simd: Simd,
    a: &[[f32; LANES]],
    b: [&[[f32; 8]]; N],
    planes: [[usize; 2]; N],
    adds: bool,
    registers: &mut Registers,
) {
    let mut sums = [[[0.0; LANES]; 2]; N];
    if adds {
        for n in 0..N {
            for p in 0..2 {
                sums[n][p] = read_floats(&registers.r32[planes[n][p]]);
            }
        }
    }
    multiply(simd, a, b, &mut sums);
    for n in 0..N {
        for p in 0..2 {
            write(&mut registers.r32[planes[n][p]], &sums[n][p]);
        }
    }
}

fn report(core: &mut Core<'_>, peers: &Peers, warp: u32, pc: u32, operand: &str, read: Result<(), Problem>) {
    let (address, kind) = match read {
        Ok(()) => return,
        Err(Problem::Nonsense(detail)) => {
            let detail = format!("operand {operand}: {detail}");
            core.report_threads(peers, warp, FindingKind::Descriptor, pc, 1, detail);
            return;
        }
        Err(Problem::Outside(address)) => (address, FindingKind::OutOfBounds),
        Err(Problem::Unwritten(address)) => (address, FindingKind::UninitializedRead(Storage::Shared)),
        Err(Problem::Unfenced(address, writer)) => {
            core.report_unfenced(peers, warp, (pc, 0), AccessKind::Matrix, address, writer);
            return;
        }
    };
    let request =
        Request { kind: AccessKind::Matrix, space: Space::Shared, address: address.into(), bytes: 16, lane: 0, pc };
    core.report_access(peers, warp, &request, Storage::Shared, kind);
}
