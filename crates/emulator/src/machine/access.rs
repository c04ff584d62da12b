//! Loads and stores: all lanes of an access at once where they lie in one page and nothing is wrong, else lane by lane.

#![allow(clippy::needless_range_loop)]

use super::block::Common;
use super::cell::{Intent, Request, cell};
use super::core::Core;
use super::peers::Peers;
use super::races::{Deed, Words};
use super::span::{Span, addresses, extend, gather, load_flat_row, load_halves, load_row, scatter, store_row};
use super::warp::Warp;
use crate::finding::AccessKind;
use crate::lanes::{FULL, LANES, Raw, each, spread};
use crate::memory::{Flat, PAGE, POISON_WORD, Page, SHARED_BASE, Touch};
use crate::program::{Access, Space};
use std::sync::atomic::Ordering::Relaxed;

impl Warp {
    #[inline(never)]
    pub(super) fn load(&mut self, core: &mut Core<'_>, common: &mut Peers, a: &Access, mask: u32, pc: u32) {
        if a.space == Space::Param && a.literal && mask == FULL && self.load_parameter(core, a) {
            return;
        }
        let simd = self.registers.simd;
        let span = simd.run(
            #[inline(always)]
            || Span::of(&self.registers, a, mask),
        );
        if core.races && !core.note_shared_load(common, a, (self.index, mask, pc), &span) {
            self.note_access(core, common, a, (mask, pc), &span, false);
        }
        let done = simd.run(
            #[inline(always)]
            || self.load_together(core, common, a, mask, &span),
        );
        if !done {
            self.load_lanes(core, common, a, mask, pc);
        }
        let at = (pc, span.base, usize::from(a.width) * usize::from(a.count));
        match a.space {
            _ if a.strong => self.polled(core, at),
            Space::Global | Space::Generic | Space::Shared => self.loaded(core, at),
            Space::Param | Space::Local => {}
        }
    }

    /// Loads for all lanes at once, where nothing is wrong and one page has it all; false when not.
    #[inline(always)]
    fn load_together(&mut self, core: &mut Core<'_>, common: &Common, a: &Access, mask: u32, span: &Span) -> bool {
        let bytes = a.width as usize * a.count as usize;
        let list = registers(core, a);
        let init = core.options.checks.init;
        let last = span.greatest.wrapping_add(bytes as u64);
        if !span.regular || last <= span.greatest {
            return false;
        }
        let r = &mut self.registers;
        match a.space {
            Space::Global | Space::Generic => {
                let Some((page, start)) = page(core, span, last, false) else { return false };
                if init && !all_written_page(page, span, start, bytes) {
                    return false;
                }
                let first = (span.least - start) as usize;
                if !(span.unit_stride && load_row(r, list, a, page, first)) {
                    gather(r, list, a, mask, page, span, start);
                }
            }
            Space::Shared => {
                let flat = &common.shared;
                if span.least < SHARED_BASE.into()
                    || last > flat.len() as u64
                    || (init && !all_written_flat(flat, span, bytes))
                {
                    return false;
                }
                let row = match span.unit_stride {
                    true => load_flat_row(r, list, a, flat, span.least as usize),
                    false => load_halves(r, list, a, mask, flat, span),
                };
                if !row {
                    gather(r, list, a, mask, flat, span, 0);
                }
            }
            Space::Param if last <= core.parameters.len() as u64 => {
                gather(r, list, a, mask, &core.parameters, span, 0);
            }
            Space::Param | Space::Local => return false,
        }
        true
    }

    /// Loads a parameter at a literal address, the same for all lanes; false where it is not within the parameters.
    fn load_parameter(&mut self, core: &Core<'_>, a: &Access) -> bool {
        let address = match a.address_wide {
            true => self.registers.r64[a.address as usize][0].wrapping_add(a.offset as i64 as u64),
            false => self.registers.r32[a.address as usize][0].wrapping_add(a.offset as u32).into(),
        };
        let (width, bytes) = (usize::from(a.width), usize::from(a.width) * usize::from(a.count));
        let within = address.checked_add(bytes as u64).is_some_and(|end| end <= core.parameters.len() as u64);
        if a.strong || !within || !address.is_multiple_of(bytes as u64) {
            return false;
        }
        for (e, register) in registers(core, a).iter().enumerate() {
            let value = core.parameters.get(address as usize + e * width, width);
            if width == 8 {
                *u64::plane_mut(&mut self.registers, *register as u16) = [value; LANES];
                continue;
            }
            let narrow = extend(value as u32, width as u32, a.signed);
            if a.wide {
                let value = if a.signed { narrow as i32 as i64 as u64 } else { narrow.into() };
                *u64::plane_mut(&mut self.registers, *register as u16) = [value; LANES];
            } else {
                *u32::plane_mut(&mut self.registers, *register as u16) = [narrow; LANES];
            }
        }
        true
    }

    /// The careful way.
    #[cold]
    #[inline(never)]
    fn load_lanes(&mut self, core: &mut Core<'_>, common: &mut Peers, a: &Access, mask: u32, pc: u32) {
        let addresses = addresses(&self.registers, a.address, a.address_wide, a.offset);
        let (width, bytes) = (a.width as usize, a.width as usize * a.count as usize);
        let list = registers(core, a);
        for lane in each(mask) {
            let request = Request { kind: AccessKind::Load, space: a.space, address: addresses[lane], bytes, lane, pc };
            let intent = if a.padding { Intent::ReadPadding } else { Intent::Read };
            let found = cell((self.index, &mut self.local), core, common, &request, intent);
            for (e, register) in list.iter().enumerate() {
                let value = match &found {
                    Some(cell) => cell.get(e * width, width),
                    None => u64::from(POISON_WORD) << 32 | u64::from(POISON_WORD),
                };
                let register = *register as usize;
                if width == 8 {
                    self.registers.r64[register][lane] = value;
                    continue;
                }
                let value = extend(value as u32, width as u32, a.signed);
                match a.wide {
                    true if a.signed => self.registers.r64[register][lane] = value as i32 as i64 as u64,
                    true => self.registers.r64[register][lane] = value.into(),
                    false => self.registers.r32[register][lane] = value,
                }
            }
        }
    }

    #[inline(never)]
    pub(super) fn store(&mut self, core: &mut Core<'_>, common: &mut Peers, a: &Access, mask: u32, pc: u32) {
        let simd = self.registers.simd;
        self.stores += 1;
        let span = simd.run(
            #[inline(always)]
            || Span::of(&self.registers, a, mask),
        );
        if core.races {
            self.note_access(core, common, a, (mask, pc), &span, true);
        }
        let done = simd.run(
            #[inline(always)]
            || self.store_together(core, common, a, mask, &span),
        );
        if !done {
            self.store_lanes(core, common, a, mask, pc);
        }
    }

    /// Looks for races of a load or store.
    #[inline(never)]
    fn note_access(
        &mut self,
        core: &mut Core<'_>,
        common: &mut Peers,
        a: &Access,
        (mask, pc): (u32, u32),
        span: &Span,
        writes: bool,
    ) {
        let addresses = &addresses(&self.registers, a.address, a.address_wide, a.offset);
        if matches!(a.space, Space::Param | Space::Local) {
            return;
        }
        let touch = Touch { writes, strong: a.strong.then_some(a.scope), constant: a.constant, asynchronous: false };
        let kind = if writes { AccessKind::Store } else { AccessKind::Load };
        let bytes = u32::from(a.width) * u32::from(a.count);
        let (warp, live, order, space) = (self.index, self.live, a.order, a.space);
        let value = match writes && !a.strong {
            true => self.registers.simd.run(
                #[inline(always)]
                || self.value_of(core, a, mask, addresses),
            ),
            false => 0,
        };
        let deed = Deed { warp, mask, pc, kind, space, addresses, bytes, touch, order, live, value };
        if a.strong && !writes && core.polls_again(common, &deed) {
            return;
        }
        // Elements of a strong vector are accesses of their own, in no order.
        let pieces = if a.strong && a.width >= 4 { a.count.into() } else { 1 };
        if pieces == 1 {
            let words = self.registers.simd.run(
                #[inline(always)]
                || Words::of_span(span, bytes, mask).or_else(|| Words::of(&deed)),
            );
            note_deed(core, common, &deed, words);
        } else {
            for piece in 0..pieces {
                let addresses = &addresses.map(|at| at.wrapping_add(piece * u64::from(a.width)));
                let deed = Deed { addresses, bytes: a.width.into(), ..deed };
                note_deed(core, common, &deed, Words::of(&deed));
            }
        }
        if writes && !a.strong && !span.unit_stride {
            self.note_collisions(core, common, a, &deed);
        }
    }

    /// A hash of what lanes store and where; never 0.
    #[inline(always)]
    fn value_of(&self, core: &Core<'_>, a: &Access, mask: u32, addresses: &[u64; LANES]) -> u64 {
        // Each lane by itself, then their sum: it matters what is stored where, and not by whom.
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let kept = u64::MAX >> (64 - 8 * u32::from(a.width).min(8));
        let lanes = spread(mask);
        let mut hashes = addresses.map(|address| address.wrapping_mul(FACTOR));
        for register in registers(core, a) {
            let register = *register as usize;
            for l in 0..LANES {
                let value =
                    if a.wide { self.registers.r64[register][l] } else { self.registers.r32[register][l].into() };
                let mixed = (hashes[l] ^ (value & kept)).wrapping_mul(FACTOR);
                hashes[l] = mixed ^ mixed >> 29;
            }
        }
        let mut sum = 0u64;
        for l in 0..LANES {
            let mixed = hashes[l].wrapping_mul(FACTOR);
            sum = sum.wrapping_add(u64::blend(lanes[l], mixed ^ mixed >> 31, 0));
        }
        sum.wrapping_mul(FACTOR) | 1
    }

    /// Lanes that store different values to one place in one instruction.
    fn note_collisions(&self, core: &mut Core<'_>, common: &Peers, a: &Access, d: &Deed<'_>) {
        let bytes = u64::from(d.bytes);
        let simd = self.registers.simd;
        let all_apart = d.mask == FULL
            && simd.run(
                #[inline(always)]
                || apart(d.addresses, bytes),
            );
        let mut next = 0;
        let mut rises = |lane: usize| {
            let free = d.addresses[lane] >= next;
            next = d.addresses[lane].saturating_add(bytes);
            free
        };
        if all_apart || each(d.mask).all(&mut rises) {
            return;
        }
        let lanes: Vec<usize> = each(d.mask).collect();
        let list = registers(core, a);
        let value = |lane: usize, register: u32| match a.wide {
            true => self.registers.r64[register as usize][lane],
            false => self.registers.r32[register as usize][lane].into(),
        };
        let mask = u64::MAX >> (64 - 8 * u32::from(a.width).min(8));
        for (n, first) in lanes.iter().enumerate() {
            for second in &lanes[n + 1..] {
                let (x, y) = (d.addresses[*first], d.addresses[*second]);
                let overlap = x < y.saturating_add(bytes) && y < x.saturating_add(bytes);
                let same = x == y && list.iter().all(|r| (value(*first, *r) ^ value(*second, *r)) & mask == 0);
                if overlap && !same {
                    core.report_collision(common, d, (*first, *second));
                    return;
                }
            }
        }
    }

    /// Stores for all lanes at once, where nothing is wrong and one page has it all; false when not.
    #[inline(always)]
    fn store_together(&self, core: &mut Core<'_>, common: &mut Peers, a: &Access, mask: u32, span: &Span) -> bool {
        let bytes = a.width as usize * a.count as usize;
        let list = registers(core, a);
        let last = span.greatest.wrapping_add(bytes as u64);
        if !span.regular || last <= span.greatest {
            return false;
        }
        let r = &self.registers;
        match a.space {
            Space::Global | Space::Generic => {
                let Some((page, start)) = page(core, span, last, true) else { return false };
                let row = span.unit_stride && store_row(r, list, a, page, (span.least - start) as usize);
                if !row && !scatter(r, list, a, mask, page, span, start) {
                    return false;
                }
                mark_page(page, span, start, bytes, mask);
            }
            Space::Shared if span.least >= SHARED_BASE.into() && last <= common.shared.len() as u64 => {
                let flat = &mut common.shared;
                if !scatter(r, list, a, mask, &mut *flat, span, 0) {
                    return false;
                }
                mark_flat(flat, span, bytes, mask);
                if !flat.unfenced.is_empty() {
                    each(mask).for_each(|lane| flat.stored(span.at(lane, 0), bytes, self.writer()));
                }
            }
            _ => return false,
        }
        true
    }

    /// The careful way.
    #[inline(never)]
    fn store_lanes(&mut self, core: &mut Core<'_>, common: &mut Peers, a: &Access, mask: u32, pc: u32) {
        let addresses = addresses(&self.registers, a.address, a.address_wide, a.offset);
        let (width, bytes) = (a.width as usize, a.width as usize * a.count as usize);
        let alone = core.alone;
        for lane in each(mask) {
            let mut values = [0; 8];
            for (value, register) in values.iter_mut().zip(registers(core, a)) {
                let register = *register as usize;
                *value =
                    if a.wide { self.registers.r64[register][lane] } else { self.registers.r32[register][lane].into() };
            }
            let request =
                Request { kind: AccessKind::Store, space: a.space, address: addresses[lane], bytes, lane, pc };
            if let Some(mut cell) = cell((self.index, &mut self.local), core, common, &request, Intent::Write) {
                for (e, value) in values.iter().take(a.count as usize).enumerate() {
                    cell.set(e * width, width, *value, alone);
                }
            }
        }
    }
}

/// Looks for races of a load or store of scalars, and notes what it makes known.
#[inline]
fn note_deed(core: &mut Core<'_>, common: &mut Peers, deed: &Deed<'_>, words: Option<Words>) {
    let writes = deed.touch.writes;
    for (storage, race) in core.races_of_words(common, deed, words) {
        let group = &race.0;
        // A copy that has not landed reads as poison, and that is told of.
        let poison = !writes && group.asynchronous_landing() && core.options.checks.init;
        if !poison {
            core.report_race(common, deed, storage, &race);
        }
    }
    if deed.touch.strong.is_some() {
        core.signal(common, deed, !writes);
    }
}

/// Whether no two lanes' bytes are the same, as far as that shows at once.
#[inline(always)]
fn apart(addresses: &[u64; LANES], bytes: u64) -> bool {
    // Where all are aligned, only equal addresses overlap. Each lane is compared with the sixteen after it.
    let mut twice = [0u32; 2 * LANES];
    let mut low = 0;
    for l in 0..LANES {
        twice[l] = addresses[l] as u32;
        twice[l + LANES] = addresses[l] as u32;
        low |= addresses[l];
    }
    let mut same = 0;
    for k in 1..=LANES / 2 {
        for l in 0..LANES {
            same |= u32::from(twice[l] == twice[l + k]);
        }
    }
    same == 0 && low & bytes.wrapping_sub(1) == 0
}

/// The data registers of an access.
#[inline(always)]
fn registers<'p>(core: &Core<'p>, a: &Access) -> &'p [u32] {
    &core.program.lists[a.list as usize..a.list as usize + a.count as usize]
}

/// The page that all lanes are in, when there is one, and the address of its first byte.
#[inline(always)]
fn page<'m>(core: &mut Core<'m>, span: &Span, last: u64, write: bool) -> Option<(&'m Page, u64)> {
    let memory = core.memory;
    let mut a = memory.get(core.recent);
    if !a.is_some_and(|a| span.least >= a.base && last <= a.end()) {
        let index = memory.index(span.least)?;
        a = memory.get(index).filter(|a| last <= a.end());
        core.recent = index;
    }
    let a = a?;
    let (first, end) = (span.least - a.base, last - 1 - a.base);
    if first / PAGE as u64 != end / PAGE as u64 {
        return None;
    }
    let page = if write { a.page_or_new(first) } else { a.page(first) }?;
    Some((page, a.base + first / PAGE as u64 * PAGE as u64))
}

/// Bytes of an access that are looked at together, with what lies between.
const NEAR: usize = 1024;

#[inline(always)]
fn all_written_page(page: &Page, span: &Span, start: u64, bytes: usize) -> bool {
    let first = (span.least - start) as usize;
    if span.unit_stride && first.is_multiple_of(32) {
        return page.init[first / 32..first / 32 + bytes].iter().all(|w| w.load(Relaxed) == u32::MAX);
    }
    // What lies between may be written, too: that is seen at once.
    let end = (span.greatest - start) as usize + bytes;
    if end - first <= NEAR && page.init[first / 32..end.div_ceil(32)].iter().all(|w| w.load(Relaxed) == u32::MAX) {
        return true;
    }
    (0..LANES).all(|lane| page.written(span.at(lane, start), bytes))
}

#[inline(always)]
fn all_written_flat(flat: &Flat, span: &Span, bytes: usize) -> bool {
    let first = span.least as usize;
    if span.unit_stride && first.is_multiple_of(32) {
        return flat.init[first / 32..first / 32 + bytes].iter().all(|w| *w == u32::MAX);
    }
    let end = span.greatest as usize + bytes;
    if end - first <= NEAR && flat.init[first / 32..end.div_ceil(32)].iter().all(|w| *w == u32::MAX) {
        return true;
    }
    (0..LANES).all(|lane| flat.written(span.at(lane, 0), bytes))
}

#[inline(always)]
fn mark_flat(flat: &mut Flat, span: &Span, bytes: usize, mask: u32) {
    let first = span.least as usize;
    if span.unit_stride && first.is_multiple_of(32) {
        flat.init[first / 32..first / 32 + bytes].fill(u32::MAX);
    } else {
        for lane in each(mask) {
            let at = span.at(lane, 0);
            flat.init[at / 32] |= crate::memory::byte_bits(at, bytes);
        }
    }
}

#[inline(always)]
fn mark_page(page: &Page, span: &Span, start: u64, bytes: usize, mask: u32) {
    let first = (span.least - start) as usize;
    if span.unit_stride && first.is_multiple_of(32) {
        for word in &page.init[first / 32..first / 32 + bytes] {
            if word.load(Relaxed) != u32::MAX {
                word.store(u32::MAX, Relaxed);
            }
        }
    } else {
        for lane in each(mask) {
            page.mark(span.at(lane, start), bytes);
        }
    }
}
