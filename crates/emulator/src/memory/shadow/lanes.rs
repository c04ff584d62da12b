//! Accesses of whole words by the lanes of a warp, wherever they lie.

#![allow(clippy::needless_range_loop)]

use super::parts::Parts;
use super::{Cell, Group, Known, Order, Shadow, any_above};
use crate::lanes::{LANES, ballot, each};
use crate::simd::Simd;
use std::ops::Range;

/// What each lane accesses: words at an offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneWords<'a> {
    /// Bytes, multiples of four. Lanes that take no part have one between the others'.
    pub offsets: &'a [u32; LANES],
    pub mask: u32,
    /// Bytes of each lane, a multiple of four.
    pub bytes: u32,
}

/// How they lie.
#[derive(Clone, Copy, Debug)]
struct Lie {
    mask: u32,
    /// The lanes whose words follow those of the lane before.
    follows: u32,
    /// What lies between the first byte and the last.
    hull: (u32, u32),
}

impl Lie {
    #[inline(always)]
    fn of(w: LaneWords<'_>) -> Lie {
        let (mut least, mut most) = (u32::MAX, 0);
        let mut expected = [0; LANES];
        for l in 0..LANES {
            least = least.min(w.offsets[l]);
            most = most.max(w.offsets[l]);
        }
        for l in 1..LANES {
            expected[l] = w.offsets[l - 1] + w.bytes;
        }
        let follows = ballot(|l| w.offsets[l] == expected[l]) & w.mask & w.mask << 1;
        Lie { mask: w.mask, follows, hull: (least, most + w.bytes) }
    }

    /// Lanes in a row whose words are in a row: the first lane of each such run, and how many they are.
    fn runs(self) -> impl Iterator<Item = (usize, usize)> {
        each(self.mask & !self.follows).map(move |lane| {
            let after = (u64::from(self.follows) >> (lane + 1)).trailing_ones() as usize;
            (lane, 1 + after)
        })
    }
}

impl LaneWords<'_> {
    /// Words of a run.
    fn words(self, (lane, lanes): (usize, usize)) -> Range<usize> {
        let start = (self.offsets[lane] / 4) as usize;
        start..start + lanes * (self.bytes / 4) as usize
    }
}

impl Shadow {
    /// [`Shadow::touch`] for the words of each lane in turn.
    pub(crate) fn touch_lanes(
        &mut self,
        number: u32,
        w: LaneWords<'_>,
        judge: &mut impl FnMut(&Group, u32, u32) -> Order,
        race: &mut impl FnMut(&Group, u32, u32, u32),
    ) {
        let Some(touch) = self.get(number).map(|g| g.touch) else { return };
        let count = (w.bytes / 4) as usize;
        let simd = *self.simd.get_or_insert_with(Simd::detect);
        let lie = simd.run(
            #[inline(always)]
            || Lie::of(w),
        );
        let (start, end) = lie.hull;
        let parts = Parts::between(start, end, self.shift);
        let (written, was_read) = (self.written.touches(parts), self.was_read.touches(parts));
        let within = end as usize <= 4 * self.writes.len();
        if touch.writes {
            let limit = self.limit();
            let fresh = |cells: &[Cell]| {
                let touched = |run| cells.get(w.words(run)).is_none_or(|cells| any_above(cells, limit));
                !lie.runs().any(touched)
            };
            let untouched = within && (!written || fresh(&self.writes)) && (!was_read || fresh(&self.reads));
            self.written.add(parts);
            if untouched {
                for run in lie.runs() {
                    fill_lanes(&mut self.writes[w.words(run)], number << 5 | run.0 as u32, count);
                }
                return;
            }
        } else {
            self.was_read.add(parts);
        }
        let mut known = Known::default();
        for run in lie.runs() {
            // What was found for one lane holds for the next where it follows in memory.
            known.part();
            if within
                && !touch.writes
                && self.read_run((number, run.0), w.words(run), count, written, &mut known, judge)
            {
                continue;
            }
            for lane in run.0..run.0 + run.1 {
                // Words of one lane with one history have one future.
                let mut last = None;
                let words = w.words((lane, 1));
                for at in words.start..words.end.min(self.writes.len()) {
                    if self.writes[at] == super::SPLIT {
                        let stretch = super::Stretch { offset: 4 * at as u32, bytes: 4, lane: lane as u32, stride: 0 };
                        self.touch(number, stretch, judge, race);
                        continue;
                    }
                    let cells = (self.writes[at], self.reads[at]);
                    let new = match last {
                        Some((old, new)) if old == cells => new,
                        _ => self.step((number, lane as u32, 1), cells, touch, &mut known, judge, &mut |g, a, b| {
                            race(g, a, b, 4 * at as u32);
                        }),
                    };
                    last = Some((cells, new));
                    (self.writes[at], self.reads[at]) = new;
                }
            }
        }
    }

    /// Notes that lanes in a row read words in a row, `count` each, where nobody has written and where the same was read
    /// before, lane by lane: then all have one future. False where it is otherwise.
    #[inline]
    fn read_run(
        &mut self,
        (number, lane): (u32, usize),
        words: Range<usize>,
        count: usize,
        written: bool,
        known: &mut Known,
        judge: &mut impl FnMut(&Group, u32, u32) -> Order,
    ) -> bool {
        let limit = self.limit();
        if written && any_above(&self.writes[words.clone()], limit) {
            return false;
        }
        let (cells, mine) = (&mut self.reads[words.clone()], number << 5 | lane as u32);
        let first = cells[0];
        if first <= limit {
            let fresh = !any_above(cells, limit);
            if fresh {
                fill_lanes(cells, mine, count);
            }
            return fresh;
        }
        if !are_of_lanes(cells, first, count) {
            return false;
        }
        if first != mine {
            let new = self.union(first, (number, lane as u32, 1), known, judge);
            if new != first {
                fill_lanes(&mut self.reads[words], new, count);
            }
        }
        true
    }
}

/// The cell of the lane that comes so many after that of a cell.
#[inline(always)]
fn after(first: Cell, lanes: usize) -> Cell {
    (first & !31) | (first.wrapping_add(lanes as u32) & 31)
}

/// Gives lanes their cells, `count` each.
#[inline(always)]
fn fill_lanes(cells: &mut [Cell], first: Cell, count: usize) {
    match count {
        1 => fill_each::<1>(cells, first),
        2 => fill_each::<2>(cells, first),
        4 => fill_each::<4>(cells, first),
        _ => cells.chunks_mut(count.max(1)).enumerate().for_each(|(n, cells)| cells.fill(after(first, n))),
    }
}

#[inline(always)]
fn fill_each<const N: usize>(cells: &mut [Cell], first: Cell) {
    for (n, cells) in cells.as_chunks_mut::<N>().0.iter_mut().enumerate() {
        *cells = [after(first, n); N];
    }
}

/// Whether cells are those of lanes in a row, `count` each.
#[inline(always)]
fn are_of_lanes(cells: &[Cell], first: Cell, count: usize) -> bool {
    match count {
        1 => each_is::<1>(cells, first),
        2 => each_is::<2>(cells, first),
        4 => each_is::<4>(cells, first),
        _ => cells.chunks(count.max(1)).enumerate().all(|(n, cells)| cells.iter().all(|c| *c == after(first, n))),
    }
}

#[inline(always)]
fn each_is<const N: usize>(cells: &[Cell], first: Cell) -> bool {
    let mut differ = 0;
    for (n, cells) in cells.as_chunks::<N>().0.iter().enumerate() {
        for cell in cells {
            differ |= cell ^ after(first, n);
        }
    }
    differ == 0
}
