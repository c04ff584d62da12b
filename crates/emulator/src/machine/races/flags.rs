//! Flags: places that strong accesses write, with what the writers make known.

use super::clock::{Clock, joined};
use super::parties::Parties;
use super::threads::{Hint, WarpClock, Why};
use crate::program::{Scope, Semantics};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The last strong write to a place.
#[derive(Clone, Debug)]
struct Flag {
    /// What it makes known; `None` without a release.
    clock: Option<Rc<Clock>>,
    scope: Scope,
    block: u64,
    pc: u32,
}

/// The flags of a memory, by address.
#[derive(Debug, Default)]
pub(crate) struct Flags(FxHashMap<u64, Flag>);

/// One lane's strong access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signal {
    pub address: u64,
    pub lane: u32,
    pub live: u32,
    pub pc: u32,
    pub order: Semantics,
    pub scope: Scope,
}

impl Flags {
    /// The block and the instruction that last wrote a flag.
    pub(crate) fn writer(&self, address: u64) -> Option<(u64, u32)> {
        self.0.get(&address).map(|f| (f.block, f.pc))
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// A lane writes a flag. A read-modify-write goes on with the release sequence that it finds.
    pub(super) fn write(&mut self, clock: &mut WarpClock, s: Signal, modifies: bool) {
        let released = match s.order.releases {
            true => Some((clock.release(1 << s.lane), s.scope)),
            false => clock.fenced(s.lane).map(|(known, scope)| (known, scope.min(s.scope))),
        };
        let old = if modifies { self.0.get(&s.address) } else { None };
        let before = old.and_then(|f| Some((Rc::clone(f.clock.as_ref()?), f.scope)));
        let (known, scope) = match (before, released) {
            (Some((a, x)), Some((b, y))) => (Some(joined(&a, &b)), x.min(y)),
            (Some((a, x)), None) | (None, Some((a, x))) => (Some(a), x),
            (None, None) => (None, s.scope),
        };
        self.0.insert(s.address, Flag { clock: known, scope, block: clock.block, pc: s.pc });
    }

    /// A lane reads a flag.
    pub(super) fn read(&mut self, clock: &mut WarpClock, s: Signal, parties: Parties<'_>) {
        let Some(flag) = self.0.get(&s.address) else { return };
        let hint = |clock: &mut WarpClock, why| {
            clock.hint(Hint { block: flag.block, why, write: flag.pc, read: s.pc });
        };
        let Some(known) = flag.clock.clone() else { return hint(clock, Why::NoRelease) };
        // Who polls has mostly seen it before.
        if clock.has_seen(s.lane, s.pc, &known) {
            return;
        }
        if !parties.includes(flag.scope, flag.block, clock.block) {
            return hint(clock, Why::WriteScope(flag.scope));
        }
        if !parties.includes(s.scope, clock.block, flag.block) {
            return hint(clock, Why::ReadScope(s.scope));
        }
        if s.order.acquires {
            clock.acquire(1 << s.lane, s.live, &known);
            return;
        }
        let narrowest = [Scope::Cta, Scope::Cluster, Scope::Gpu];
        let narrowest = narrowest.into_iter().find(|scope| parties.includes(*scope, clock.block, flag.block));
        clock.await_fence(s.lane, s.live, &known, narrowest.unwrap_or(Scope::Sys));
        hint(clock, Why::NoAcquire);
    }
}
