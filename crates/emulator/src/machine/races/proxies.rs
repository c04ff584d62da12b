//! What threads wrote to global memory and bulk copies read: the async proxy sees it after a `fence.proxy.async` that
//! knows of it, of whichever thread, and that is ordered before the copy. What engines wrote is fenced when they are
//! done (PTX ISA, "Async Proxy"), and so is what came before a launch.

use super::engines::READS;
use super::order::Judge;
use super::parties::party_of;
use crate::finding::{AccessKind, FindingKind, Storage};
use crate::machine::arrive::Actor;
use crate::machine::cell::Request;
use crate::machine::core::Core;
use crate::machine::peers::Peers;
use crate::memory::{Group, Order, PAGE};
use crate::program::{BulkKind, Program, Space};
use std::sync::PoisonError;

impl Program {
    /// Whether it has copies that read global memory through the async proxy.
    pub(crate) fn loads_in_bulk(&self) -> bool {
        self.bulk.iter().any(|b| matches!(b.kind, BulkKind::Load))
    }
}

impl Core<'_> {
    /// A `fence.proxy.async` of some lanes that concerns global memory.
    pub(crate) fn fence_proxy(&mut self, peers: &mut Peers, warp: u32, (lanes, live): (u32, u32)) {
        if self.proxies
            && let Some(clock) = peers.races.as_mut().and_then(|r| r.warps.get_mut(warp as usize))
        {
            clock.fence_proxy(lanes, live);
        }
    }

    /// Reports a bulk copy of what threads wrote, and nothing fenced.
    pub(super) fn check_proxy(&mut self, peers: &mut Peers, who: Actor, address: u64, bytes: usize) {
        let Some(clock) = peers.races.as_ref().and_then(|r| r.warps.get(who.warp as usize)) else { return };
        let Some(allocation) = self.memory.find(address) else { return };
        let judge = Judge { clock, by: Some(who.lane), touch: READS, bytes: 16, value: 0, parties: self.parties };
        let mut unfenced: Vec<(Group, u32, u64)> = vec![];
        let (mut at, mut done) = (address - allocation.base, 0);
        while done < bytes {
            let inside = at as usize % PAGE;
            let n = (PAGE - inside).min(bytes - done);
            if let Some(page) = allocation.page(at) {
                let shadow = page.shadow.lock().unwrap_or_else(PoisonError::into_inner);
                let start = allocation.base + at - inside as u64;
                shadow.writes(inside as u32, (inside + n) as u32, &mut |group, lane, byte| {
                    let said = unfenced.iter().any(|(g, ..)| (g.block, g.pc) == (group.block, group.pc));
                    if !said && needs_fence(&judge, who.lane, group, lane) {
                        unfenced.push((*group, lane, start + u64::from(byte)));
                    }
                });
            }
            at += n as u64;
            done += n;
        }
        for (group, lane, at) in unfenced {
            self.report_proxy(peers, who, &group, lane, at);
        }
    }

    #[cold]
    fn report_proxy(&mut self, peers: &Peers, who: Actor, old: &Group, old_lane: u32, at: u64) {
        let lane = who.lane as usize & 31;
        let elsewhere = self.program_of(old);
        let kind = FindingKind::ProxyFence;
        let Some(mut finding) = self.race_finding(peers, who.warp, kind, who.pc, lane, (elsewhere, old.pc)) else {
            return;
        };
        let access = AccessKind::Copy;
        let request = Request { kind: access, space: Space::Global, address: at, bytes: 16, lane, pc: who.pc };
        self.describe(&mut finding, peers, &request, Storage::Global);
        let other = self.parties.other(old, old_lane, self.party);
        let lead = if finding.detail.is_empty() { String::new() } else { format!("{}; ", finding.detail) };
        let line = self.parties.line(old.block, old.pc);
        finding.detail = format!("{lead}no `fence.proxy.async` comes between the store of {line} and the copy");
        finding.notes.insert(0, (other.in_words(), other.location.clone()));
        finding.other = Some(other);
        self.findings.add(finding);
    }
}

/// Whether a write is a thread's, known to a lane, and not fenced. What is not known is a race.
fn needs_fence(judge: &Judge<'_>, lane: u32, old: &Group, old_lane: u32) -> bool {
    let by_thread = !old.touch.asynchronous && judge.parties.program(old.block).is_some();
    let clock = judge.clock.known(lane);
    let entry = clock.fenced_entry(old.block, old.warp.into());
    by_thread
        && !clock.is_over(party_of(old.block))
        && entry.is_none_or(|entry| old.tick > entry.time(old_lane))
        && matches!(judge.order(old, old_lane, lane), Order::Before | Order::BeforeLane)
}
