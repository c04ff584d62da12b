//! Tensor maps that a kernel has written to global memory: copies see one only after a fence of their own thread.

use super::threads::WarpClock;
use crate::finding::FindingKind;
use crate::machine::arrive::Actor;
use crate::machine::core::Core;
use crate::machine::peers::Peers;
use crate::program::Scope;
use rustc_hash::{FxHashMap, FxHashSet};

/// The maps, by address.
#[derive(Debug, Default)]
pub(crate) struct Maps(FxHashMap<u64, Map>);

/// A map: which instruction of which warp published it when and for whom, and who has seen that.
#[derive(Debug)]
struct Map {
    block: u64,
    warp: u32,
    tick: u32,
    pc: u32,
    scope: Scope,
    seen: FxHashSet<(u64, u32, u32)>,
}

impl Core<'_> {
    fn clock<'p>(&self, peers: &'p Peers, warp: u32) -> Option<&'p WarpClock> {
        peers.races.as_ref()?.warps.get(warp as usize)
    }

    /// A warp writes a map, and makes that known to a scope.
    pub(crate) fn publish_map(&mut self, peers: &Peers, address: u64, who: Actor, scope: Scope) {
        let Some(tick) = self.clock(peers, who.warp).map(|w| w.tick) else { return };
        let map = Map { block: peers.number, warp: who.warp, tick, pc: who.pc, scope, seen: FxHashSet::default() };
        self.maps.0.insert(address, map);
    }

    /// A lane's fence for a map: it sees what is ordered before and meant for it.
    pub(crate) fn acquire_map(&mut self, peers: &Peers, address: u64, who: Actor, scope: Scope) {
        let (parties, here) = (self.parties, peers.number);
        let Some(clock) = peers.races.as_ref().and_then(|r| r.warps.get(who.warp as usize)) else { return };
        let Some(map) = self.maps.0.get_mut(&address) else { return };
        let own = (map.block, map.warp) == (here, who.warp);
        let known =
            || clock.known(who.lane).entry(map.block, map.warp as usize).is_some_and(|e| map.tick <= e.latest());
        let meant = parties.includes(map.scope, map.block, here) && parties.includes(scope, here, map.block);
        if meant && (own || known()) {
            map.seen.insert((here, who.warp, who.lane));
        }
    }

    /// A lane starts a copy through a map.
    pub(crate) fn check_map(&mut self, peers: &Peers, address: u64, who: Actor) {
        let Some(map) = self.maps.0.get(&address) else { return };
        if !map.seen.contains(&(peers.number, who.warp, who.lane)) {
            let detail = format!(
                "{} wrote the map, and no `fence.proxy.tensormap` of this thread that acquires it comes after",
                self.line(map.pc)
            );
            self.report_threads(peers, who.warp, FindingKind::TensorMapFence, who.pc, 1 << (who.lane & 31), detail);
        }
    }
}
