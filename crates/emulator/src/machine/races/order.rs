//! Whether one access is ordered before another.

use super::parties::{Parties, party_of};
use super::threads::WarpClock;
use crate::memory::{Group, Order, Touch};

/// Who makes a new access, and how.
pub(super) struct Judge<'c> {
    pub clock: &'c WarpClock,
    /// The lane that it is by, where an engine makes it for a lane.
    pub by: Option<u32>,
    pub touch: Touch,
    pub bytes: u8,
    pub value: u64,
    pub parties: Parties<'c>,
}

impl Judge<'_> {
    #[inline(always)]
    pub(super) fn order(&self, old: &Group, old_lane: u32, lane: u32) -> Order {
        let lane = self.by.unwrap_or(lane);
        let clock = self.clock;
        // What a launch reads through `.nc` must not change from its start to its end.
        if self.touch.writes && old.touch.constant && !clock.known(lane).is_over(party_of(old.block))
            || self.touch.constant && old.touch.writes && !clock.starts_after(old, old_lane)
        {
            return Order::Race;
        }
        // Who only reads need not know whether it is ordered.
        if !self.touch.writes && self.both_strong(old) {
            return Order::Allowed;
        }
        if old.tick != Group::PENDING {
            if old.block == clock.block && old.warp == clock.warp && old.warps == 1 {
                if old.tick <= clock.all_know() {
                    return Order::Before;
                }
                if old_lane == lane || old.tick <= clock.knows_lane(lane, old_lane) {
                    return Order::BeforeLane;
                }
            } else {
                let known = clock.known(lane);
                if party_of(old.block) != party_of(clock.block) && known.is_over(party_of(old.block)) {
                    return if clock.agrees() { Order::Before } else { Order::BeforeLane };
                }
                // A product is one for the four warps: it is over for all when it is for one.
                for warp in old.warp..old.warp + u16::from(old.warps) {
                    if old.warps > 1 && old.block == clock.block && warp == clock.warp {
                        if old.tick <= clock.knows_lane(lane, lane) {
                            return Order::BeforeLane;
                        }
                        continue;
                    }
                    let Some(entry) = known.entry(old.block, warp.into()) else { continue };
                    if old.tick <= entry.of_all() {
                        // Another lane of this warp may know less.
                        return if clock.agrees() { Order::Before } else { Order::BeforeLane };
                    }
                    if old.tick <= entry.time(old_lane) {
                        return Order::BeforeLane;
                    }
                }
            }
        }
        // Whoever comes last, the value is the same.
        let silent = self.value != 0 && old.value == self.value;
        if silent || self.both_strong(old) { Order::Allowed } else { Order::Race }
    }

    /// Whether both are strong, for each other, and of the same bytes.
    #[inline(always)]
    fn both_strong(&self, old: &Group) -> bool {
        let (Some(a), Some(b)) = (old.touch.strong, self.touch.strong) else { return false };
        let clock = self.clock;
        old.bytes == self.bytes
            && self.parties.includes(a, old.block, clock.block)
            && self.parties.includes(b, clock.block, old.block)
    }
}
