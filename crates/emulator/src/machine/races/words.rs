//! Accesses of whole words, noted for all lanes at once where they lie in one memory.

#![allow(clippy::needless_range_loop)]

use super::access::{Deed, Race, add};
use super::block::BlockRaces;
use super::order::Judge;
use crate::lanes::{FULL, LANES, Raw, spread};
use crate::machine::block::Common;
use crate::machine::core::Core;
use crate::machine::peers::Peers;
use crate::machine::span::Span;
use crate::memory::{GLOBAL_BASE, Group, LaneWords, PAGE, SHARED_BASE, Shadow, Stretch, Touch};
use crate::program::{Access, Space};

/// An access of whole words, by each lane or by all in a row, within 16 MiB.
pub(crate) struct Words {
    /// The lowest address.
    start: u64,
    /// From there to each lane; 0 for lanes that take no part.
    offsets: [u32; LANES],
    /// Bytes from the lowest address to the end of the highest.
    bytes: u32,
    /// Whether all lanes take part, and their bytes follow each other.
    pub in_a_row: bool,
}

impl Words {
    #[inline(always)]
    pub(crate) fn of(d: &Deed<'_>) -> Option<Words> {
        let first = d.addresses[d.mask.trailing_zeros() as usize % LANES];
        let lanes = spread(d.mask);
        let (mut start, mut end, mut low, mut off) = (u64::MAX, 0, 0, 0);
        let mut addresses = [0; LANES];
        for l in 0..LANES {
            let address = u64::blend(lanes[l], d.addresses[l], first);
            addresses[l] = address;
            start = start.min(address);
            end = end.max(address);
            low |= address;
            off |= address ^ first.wrapping_add(l as u64 * u64::from(d.bytes));
        }
        let in_a_row = off == 0 && d.mask == FULL;
        let whole = d.bytes.is_multiple_of(4) && low % 4 == 0 || in_a_row && start.is_multiple_of(4);
        if !whole || end - start >= 1 << 24 {
            return None;
        }
        let mut offsets = [0; LANES];
        for l in 0..LANES {
            offsets[l] = (addresses[l] - start) as u32 & lanes[l];
        }
        Some(Words { start, offsets, bytes: (end - start) as u32 + d.bytes, in_a_row })
    }

    /// The same of a load or store whose addresses have been looked at, each aligned to the size of the access.
    #[inline(always)]
    pub(crate) fn of_span(span: &Span, bytes: u32, mask: u32) -> Option<Words> {
        let length = span.greatest - span.least;
        let whole = bytes.is_multiple_of(4) || span.unit_stride && span.least.is_multiple_of(4);
        if !span.regular || !whole || length >= 1 << 24 {
            return None;
        }
        let more = span.base.wrapping_sub(span.least) as u32;
        let (lanes, mut offsets) = (spread(mask), [0; LANES]);
        for l in 0..LANES {
            offsets[l] = span.offsets[l].wrapping_add(more) & lanes[l];
        }
        Some(Words { start: span.least, offsets, bytes: length as u32 + bytes, in_a_row: span.unit_stride })
    }

    /// Notes it in the history of a stretch of memory that starts at an address.
    fn touch(
        &self,
        shadow: &mut Shadow,
        number: u32,
        d: &Deed<'_>,
        place: u64,
        judge: &Judge<'_>,
        races: &mut Vec<Race>,
    ) {
        let order = &mut |g: &Group, a, b| judge.order(g, a, b);
        let race = &mut |g: &Group, a, b, byte| add(races, g, a, b, place + u64::from(byte));
        if self.in_a_row {
            let offset = (self.start - place) as u32;
            let stretch = Stretch { offset, bytes: self.bytes, lane: 0, stride: d.bytes };
            shadow.touch(number, stretch, order, race);
        } else {
            let words = LaneWords { offsets: &self.from(place), mask: d.mask, bytes: d.bytes };
            shadow.touch_lanes(number, words, order, race);
        }
    }

    /// The offsets from another place not above the lowest address.
    fn from(&self, place: u64) -> [u32; LANES] {
        let more = (self.start - place) as u32;
        self.offsets.map(|offset| offset + more)
    }
}

impl Core<'_> {
    /// Notes an access to the block's own shared memory; false when it is none, or not all of it is.
    pub(super) fn note_own_shared(
        &mut self,
        peers: &mut Peers,
        d: &Deed<'_>,
        w: &Words,
        races: &mut Vec<Race>,
    ) -> bool {
        let end = w.start.saturating_add(w.bytes.into());
        if d.space != Space::Shared || w.start < SHARED_BASE.into() || end > peers.shared.len() as u64 {
            return false;
        }
        let (start, end) = (w.start as u32, end as u32);
        let parties = self.parties;
        let block: &mut Common = peers;
        let Some(history) = block.races.as_deref_mut() else { return false };
        let Some(clock) = history.warps.get(d.warp as usize) else { return false };
        let group = self.group(d, clock.block, clock.tick);
        if !d.touch.writes
            && d.touch.strong.is_none()
            && d.bytes.is_multiple_of(4)
            && history.read_later(group, (start, end), d.mask, || w.from(0))
        {
            return true;
        }
        history.settle_within(start, end);
        let BlockRaces { warps, shadow, .. } = history;
        let Some(clock) = warps.get(d.warp as usize) else { return false };
        let judge = d.judge(clock, parties);
        let number = shadow.group(group);
        w.touch(shadow, number, d, 0, &judge, races);
        true
    }

    /// Notes a load of whole words from the block's own shared memory where no more is to do than to keep it for later;
    /// false where more is.
    #[inline]
    pub(crate) fn note_shared_load(
        &self,
        peers: &mut Peers,
        a: &Access,
        (warp, mask, pc): (u32, u32, u32),
        span: &Span,
    ) -> bool {
        let bytes = u32::from(a.width) * u32::from(a.count);
        let end = span.greatest.saturating_add(bytes.into());
        let plain = a.space == Space::Shared && !a.strong && span.regular && bytes.is_multiple_of(4);
        if !plain || span.least < SHARED_BASE.into() || end > peers.shared.len() as u64 {
            return false;
        }
        let block: &mut Common = peers;
        let Some(history) = block.races.as_deref_mut() else { return false };
        let Some(clock) = history.warps.get(warp as usize) else { return false };
        let touch = Touch { writes: false, strong: None, constant: a.constant, asynchronous: false };
        let (block, tick, warp, bytes) = (clock.block, clock.tick, warp as u16, bytes as u8);
        let group = Group { block, warp, warps: 1, bytes, tick, pc, touch, lands: false, value: 0 };
        let offsets = || span.offsets.map(|offset| (span.base as u32).wrapping_add(offset));
        history.read_later(group, (span.least as u32, end as u32), mask, offsets)
    }

    /// Notes an access to one page of global memory; false when it is none, or not all of it is.
    pub(super) fn note_page(&mut self, peers: &Peers, d: &Deed<'_>, w: &Words, races: &mut Vec<Race>) -> bool {
        let last = w.start.saturating_add(w.bytes.into()) - 1;
        if !matches!(d.space, Space::Global | Space::Generic) || w.start < GLOBAL_BASE {
            return false;
        }
        let memory = self.memory;
        let mut allocation = memory.get(self.recent);
        if !allocation.is_some_and(|a| w.start >= a.base && w.start < a.end()) {
            let Some(index) = memory.index(w.start) else { return false };
            self.recent = index;
            allocation = memory.get(index);
        }
        let Some(a) = allocation.filter(|a| last < a.end()) else { return false };
        let at = w.start - a.base;
        if at / PAGE as u64 != (last - a.base) / PAGE as u64 {
            return false;
        }
        let Some(clock) = peers.races.as_ref().and_then(|r| r.warps.get(d.warp as usize)) else { return false };
        let page = if d.touch.writes { a.page_or_new(at) } else { a.page(at) };
        let Some(page) = page else { return true };
        let Ok(mut shadow) = page.shadow.lock() else { return true };
        shadow.prepare(PAGE, self.launch);
        let judge = d.judge(clock, self.parties);
        let number = shadow.group(self.group(d, clock.block, clock.tick));
        w.touch(&mut shadow, number, d, a.base + at / PAGE as u64 * PAGE as u64, &judge, races);
        true
    }
}
