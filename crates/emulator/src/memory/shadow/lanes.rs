//! Accesses of whole words by the lanes of a warp, wherever they lie.

use super::{Cell, Group, Known, Order, Shadow};
use crate::lanes::{LANES, each};

/// What each lane accesses: words at an offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneWords<'a> {
    /// Bytes, multiples of four.
    pub offsets: &'a [u32; LANES],
    pub mask: u32,
    /// Bytes of each lane, a multiple of four.
    pub bytes: u32,
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
        let place = |lane: usize| (w.offsets[lane] / 4) as usize;
        if touch.writes {
            // Lanes that take no part have an offset between the others'.
            let (mut least, mut most) = (u32::MAX, 0);
            for lane in 0..LANES {
                least = least.min(w.offsets[lane]);
                most = most.max(w.offsets[lane]);
            }
            self.spread_written(true, least, most + w.bytes);
            let limit = self.limit();
            let fresh = |cells: &[Cell]| {
                each(w.mask).all(|lane| {
                    let cells = cells.get(place(lane)..place(lane) + count);
                    cells.is_some_and(|cells| cells.iter().all(|cell| *cell <= limit))
                })
            };
            let untouched = (!self.wrote || fresh(&self.writes)) && (!self.was_read || fresh(&self.reads));
            if untouched && (most + w.bytes) as usize <= 4 * self.writes.len() {
                for lane in each(w.mask) {
                    self.writes[place(lane)..place(lane) + count].fill(number << 5 | lane as u32);
                }
                self.wrote = true;
                return;
            }
        }
        self.wrote |= touch.writes;
        self.was_read |= !touch.writes;
        let mut known = Known::default();
        let mut end = u32::MAX;
        for lane in each(w.mask) {
            // What was found for one lane holds for the next where it follows in memory.
            if w.offsets[lane] != end {
                known.key = None;
            }
            end = w.offsets[lane] + w.bytes;
            // Words of one lane with one history have one future.
            let mut last = None;
            for at in place(lane)..(place(lane) + count).min(self.writes.len()) {
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
