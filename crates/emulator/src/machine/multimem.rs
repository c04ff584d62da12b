//! `multimem`: one access to the memory of several devices (PTX ISA §9.7.9.15). Each device's memory is accessed as by
//! an instruction of its own, in the order of the devices; PTX leaves the order open.

use super::atomic::apply;
use super::cell::{Intent, Request, cell};
use super::core::Core;
use super::peers::Peers;
use super::races::Deed;
use super::span::addresses;
use super::warp::Warp;
use crate::arithmetic::half::Half;
use crate::finding::{AccessKind, FindingKind, Storage};
use crate::lanes::{BF16, F16, LANES, each};
use crate::memory::{Multicast, Touch};
use crate::program::{AtomicOp, AtomicType, Multimem, MultimemKind, Space};

impl Warp {
    pub(super) fn multimem(&mut self, core: &mut Core<'_>, peers: &mut Peers, m: &Multimem, mask: u32, pc: u32) {
        let addresses = addresses(&self.registers, m.address.plane, m.address.wide, m.address.offset);
        let mut left = self.in_multicast(core, peers, m, &addresses, mask, pc);
        // Lanes of one range together.
        while left != 0 {
            let Some(range) = core.memory.multicast(addresses[left.trailing_zeros() as usize % LANES]) else { return };
            let here = each(left).filter(|lane| range.holds(addresses[*lane])).fold(0, |mask, lane| mask | 1 << lane);
            self.multimem_range(core, peers, m, (here, pc), &addresses, range);
            left &= !here;
        }
    }

    fn multimem_range(
        &mut self,
        core: &mut Core<'_>,
        peers: &mut Peers,
        m: &Multimem,
        (mask, pc): (u32, u32),
        addresses: &[u64; LANES],
        range: &Multicast,
    ) {
        let writes = !matches!(m.what, MultimemKind::LoadReduce { .. });
        self.stores += u64::from(writes);
        // What is bound to a range is reached by it, mapped or not.
        let (view, recent) = (core.memory, core.recent);
        core.memory = view.whole();
        let mut sums: Vec<[Option<u64>; LANES]> = vec![[None; LANES]; m.elements.len()];
        for (_, base) in range.targets(range.base) {
            let places = addresses.map(|at| base.wrapping_add(at.wrapping_sub(range.base)));
            self.access_member(core, peers, m, (mask, pc), &places, &mut sums);
        }
        (core.memory, core.recent) = (view, recent);
        if writes {
            return;
        }
        for (register, sums) in m.elements.iter().zip(sums) {
            for lane in each(mask) {
                let value = result(m, sums[lane].unwrap_or_default());
                match m.ty.bytes() {
                    8 => self.registers.r64[*register as usize][lane] = value,
                    _ => self.registers.r32[*register as usize][lane] = value as u32,
                }
            }
        }
        if m.strong.is_some() {
            self.polled(core, (pc, addresses[mask.trailing_zeros() as usize % LANES], m.bytes()));
        }
    }

    /// The lanes whose addresses are in a multicast range; the others are reported.
    fn in_multicast(
        &self,
        core: &mut Core<'_>,
        peers: &Peers,
        m: &Multimem,
        addresses: &[u64; LANES],
        mask: u32,
        pc: u32,
    ) -> u32 {
        let bytes = m.bytes();
        let mut good = 0;
        for lane in each(mask) {
            let address = addresses[lane];
            let range = core.memory.multicast(address);
            let inside = range.is_some_and(|r| address - r.base + bytes as u64 <= r.bytes);
            let kind = match inside {
                false => FindingKind::Multicast,
                true if !address.is_multiple_of(bytes as u64) => FindingKind::Misaligned,
                true => {
                    good |= 1 << lane;
                    continue;
                }
            };
            let request = Request { kind: kind_of(m), space: Space::Global, address, bytes, lane, pc };
            core.report_access(peers, self.index, &request, Storage::Global, kind);
        }
        good
    }

    /// The access to one device's memory.
    fn access_member(
        &mut self,
        core: &mut Core<'_>,
        peers: &mut Peers,
        m: &Multimem,
        (mask, pc): (u32, u32),
        places: &[u64; LANES],
        sums: &mut [[Option<u64>; LANES]],
    ) {
        let (width, alone) = (m.ty.bytes(), core.alone);
        if core.races && m.strong.is_none() {
            self.note_member(core, peers, m, (mask, pc), places, m.bytes());
        }
        let intent = match m.what {
            MultimemKind::LoadReduce { .. } => Intent::Read,
            MultimemKind::Store => Intent::Write,
            MultimemKind::Reduce { .. } => Intent::Update,
        };
        for lane in each(mask) {
            let (kind, space) = (kind_of(m), Space::Global);
            let request = Request { kind, space, address: places[lane], bytes: m.bytes(), lane, pc };
            let registers = &self.registers;
            let found = cell((self.index, &mut self.local), core, peers, &request, intent);
            let Some(mut cell) = found else { continue };
            for (e, register) in m.elements.iter().enumerate() {
                let own = match width {
                    8 => registers.r64[*register as usize][lane],
                    _ => registers.r32[*register as usize][lane].into(),
                };
                match m.what {
                    MultimemKind::LoadReduce { op, wide } => {
                        let value = widened(m.ty, wide, cell.get(e * width, width));
                        let sum = sums[e][lane].map_or(value, |sum| combined(m.ty, op, wide, sum, value));
                        sums[e][lane] = Some(sum);
                    }
                    MultimemKind::Store => cell.set(e * width, width, own, alone),
                    MultimemKind::Reduce { op } => {
                        let new = apply(op, m.ty, cell.get(e * width, width), own, 0);
                        cell.set(e * width, width, new, alone);
                    }
                }
            }
        }
        if core.races && m.strong.is_some() {
            for e in 0..m.elements.len() as u64 {
                let places = places.map(|place| place + e * width as u64);
                self.note_member(core, peers, m, (mask, pc), &places, width);
            }
        }
    }

    /// Looks for races, and notes what is made known.
    fn note_member(
        &self,
        core: &mut Core<'_>,
        peers: &mut Peers,
        m: &Multimem,
        (mask, pc): (u32, u32),
        addresses: &[u64; LANES],
        bytes: usize,
    ) {
        let writes = !matches!(m.what, MultimemKind::LoadReduce { .. });
        let reads = !matches!(m.what, MultimemKind::Store);
        let touch = Touch { writes, strong: m.strong, constant: false, asynchronous: false };
        let (warp, live, order, bytes) = (self.index, self.live, m.order, bytes as u32);
        let (kind, space) = (kind_of(m), Space::Global);
        let deed = Deed { warp, mask, pc, kind, space, addresses, bytes, touch, order, live, value: 0 };
        core.note(peers, &deed);
        if m.strong.is_some() {
            core.signal(peers, &deed, reads);
        }
    }
}

fn kind_of(m: &Multimem) -> AccessKind {
    match m.what {
        MultimemKind::LoadReduce { .. } => AccessKind::Load,
        MultimemKind::Store => AccessKind::Store,
        MultimemKind::Reduce { .. } => AccessKind::Atomic,
    }
}

/// Both halves of 16-bit floats in binary32, where they are summed so.
fn widened(ty: AtomicType, wide: bool, x: u64) -> u64 {
    if !wide {
        return x;
    }
    let both = |f: fn(u16) -> f32| u64::from(f(x as u16).to_bits()) | u64::from(f((x >> 16) as u16).to_bits()) << 32;
    match ty {
        AtomicType::F16 | AtomicType::F16x2 => both(|bits| F16::from_bits(bits).widen()),
        _ => both(|bits| BF16::from_bits(bits).widen()),
    }
}

fn combined(ty: AtomicType, op: AtomicOp, wide: bool, a: u64, b: u64) -> u64 {
    if !wide {
        return apply(op, ty, a, b, 0);
    }
    let sum = |a: u64, b: u64| apply(AtomicOp::Add, AtomicType::F32, a, b, 0) & u64::from(u32::MAX);
    sum(a & u64::from(u32::MAX), b & u64::from(u32::MAX)) | sum(a >> 32, b >> 32) << 32
}

/// What goes into the register.
fn result(m: &Multimem, sum: u64) -> u64 {
    let MultimemKind::LoadReduce { wide: true, .. } = m.what else { return sum };
    let [low, high] = [sum as u32, (sum >> 32) as u32].map(|bits| f64::from(f32::from_bits(bits)));
    let round = |x: f64| match m.ty {
        AtomicType::F16 | AtomicType::F16x2 => F16::round(x).bits(),
        _ => BF16::round(x).bits(),
    };
    match m.ty {
        AtomicType::F16 | AtomicType::BF16 => round(low).into(),
        _ => u64::from(round(low)) | u64::from(round(high)) << 16,
    }
}
