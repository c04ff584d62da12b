//! Copies that `cp.async` started and no wait has completed: they happen as late as they may, so that a missing wait
//! shows.

use super::arrive::Actor;
use super::cell::{Intent, Request, cell};
use super::core::Core;
use super::peers::Peers;
use super::races::Mark;
use super::span::addresses;
use super::warp::Warp;
use crate::finding::AccessKind;
use crate::lanes::{LANES, each};
use crate::memory::{Allocation, Flat, PAGE, SHARED_BASE, byte_bits};
use crate::program::{CopyAsync, NONE, Space};
use std::sync::atomic::Ordering::Relaxed;

/// One lane's copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub lane: u8,
    /// The lane's groups committed before this copy: it belongs to the next one.
    pub group: u32,
    pub from: u64,
    /// An offset in shared memory.
    pub to: u32,
    pub bytes: u8,
    /// Bytes that are read; the others become zero.
    pub source_bytes: u8,
    pub mark: Option<Mark>,
}

/// A warp's copies in flight, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    pending: Vec<Copy>,
    committed: [u32; LANES],
}

impl Copies {
    pub(crate) fn clear(&mut self) {
        self.pending.clear();
        self.committed = [0; LANES];
    }

    pub(crate) fn start(&mut self, mut copy: Copy) {
        copy.group = self.committed[copy.lane as usize % LANES];
        self.pending.push(copy);
    }

    pub(crate) fn commit(&mut self, mask: u32) {
        each(mask).for_each(|lane| self.committed[lane] += 1);
    }

    /// Takes out the copies that lanes wait for: all but their last `pending` groups, or all, committed or not.
    pub(crate) fn wait(&mut self, mask: u32, pending: Option<u32>) -> Vec<Copy> {
        let committed = self.committed;
        let due = |c: &Copy| {
            let lane = c.lane as usize % LANES;
            mask >> lane & 1 == 1
                && match pending {
                    Some(n) => c.group < committed[lane].saturating_sub(n),
                    None => true,
                }
        };
        let ready = self.pending.iter().filter(|c| due(c)).copied().collect();
        self.pending.retain(|c| !due(c));
        ready
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }
}

impl Warp {
    pub(super) fn copy_async(&mut self, core: &mut Core<'_>, common: &mut Peers, c: &CopyAsync, mask: u32, pc: u32) {
        let r = &self.registers;
        let from = addresses(r, c.from, true, c.from_offset);
        let to = addresses(r, c.to, c.to_wide, c.to_offset.into());
        let mut source = [u32::from(c.bytes); LANES];
        if c.size != NONE {
            source = r.r32[c.size as usize].map(|n| n.min(c.bytes.into()));
        }
        if c.ignore != NONE {
            let ignored = r.p[c.ignore as usize];
            each(ignored).for_each(|lane| source[lane] = 0);
        }
        // The addresses are judged now, where the mistake is; the bytes move at the wait.
        let bytes = c.bytes as usize;
        for lane in each(mask) {
            if source[lane] == u32::from(c.bytes) && self.is_good(core, common, from[lane], to[lane], bytes) {
                self.start_copy(core, common, c, (from[lane], to[lane], source[lane]), lane, pc);
                continue;
            }
            let request = Request { kind: AccessKind::Copy, space: Space::Shared, address: to[lane], bytes, lane, pc };
            self.probe(core, common, &request);
            let read = source[lane] as usize;
            let request = Request { space: Space::Global, address: from[lane], ..request };
            match read {
                0 => {}
                // An aligned piece that is read in part lies in one allocation up to its last byte.
                _ if read < bytes && from[lane].is_multiple_of(bytes as u64) => {
                    let last = Request { address: from[lane] + read as u64 - 1, bytes: 1, ..request };
                    self.probe(core, common, &last);
                }
                _ => self.probe(core, common, &request),
            }
            self.start_copy(core, common, c, (from[lane], to[lane], source[lane]), lane, pc);
        }
    }

    fn start_copy(
        &mut self,
        core: &mut Core<'_>,
        common: &mut Peers,
        c: &CopyAsync,
        (from, to, source): (u64, u64, u32),
        lane: usize,
        pc: u32,
    ) {
        let who = Actor { warp: self.index, lane: lane as u32, pc };
        let mark = if core.races { core.mark_copy(common, who, to as u32, c.bytes.into()) } else { None };
        if core.races && source > 0 {
            core.note_line(common, who, from, source as usize);
        }
        let (lane, to, bytes, source_bytes) = (lane as u8, to as u32, c.bytes, source as u8);
        self.copies.start(Copy { lane, group: 0, from, to, bytes, source_bytes, mark });
    }

    /// Whether there is nothing to report of the addresses of a copy; what is to be noted of them then is.
    fn is_good(&self, core: &mut Core<'_>, common: &mut Peers, from: u64, to: u64, bytes: usize) -> bool {
        let shared = &mut common.shared;
        let aligned = (from | to).is_multiple_of(bytes as u64);
        if !aligned || to < SHARED_BASE.into() || to + bytes as u64 > shared.len() as u64 {
            return false;
        }
        let Some(a) = allocation(core, from, bytes) else { return false };
        // As every access that is judged ahead of its time.
        let _ = a.page_or_new(from - a.base);
        shared.stored(to as usize, bytes, self.writer());
        true
    }

    /// Reports an address that is no good.
    fn probe(&mut self, core: &mut Core<'_>, common: &mut Peers, request: &Request) {
        let _ = cell((self.index, &mut self.local), core, common, request, Intent::Write);
    }

    /// Completes the copies that lanes wait for.
    pub(super) fn wait_copies(&mut self, core: &mut Core<'_>, common: &mut Peers, mask: u32, pending: Option<u32>) {
        if self.copies.is_empty() {
            return;
        }
        for c in self.copies.wait(mask, pending) {
            core.waited(common, c.mark, self.index);
            if c.source_bytes == c.bytes && copy_whole(core, &mut common.shared, &c) {
                continue;
            }
            let mut data = [0u8; 16];
            let bytes = usize::from(c.bytes).min(data.len());
            let source = usize::from(c.source_bytes).min(bytes);
            let mut written = true;
            let from = core.memory.find(c.from).filter(|a| c.from + source as u64 <= a.end());
            if source > 0 {
                let Some(a) = from.filter(|_| c.from.is_multiple_of(bytes as u64)) else { continue };
                let offset = c.from - a.base;
                match a.page(offset) {
                    Some(page) => {
                        let at = offset as usize % crate::memory::PAGE;
                        page.read(at, &mut data[..source]);
                        written = (0..source).all(|i| page.written(at + i, 1));
                    }
                    None => written = false,
                }
            }
            let fits = c.to as usize + bytes <= common.shared.len() && (c.to as usize).is_multiple_of(bytes);
            if !fits || c.to < crate::memory::SHARED_BASE {
                continue;
            }
            for (i, byte) in data[..bytes].iter().enumerate() {
                common.shared.set(c.to as usize + i, 1, (*byte).into());
            }
            if !written {
                // What was never written does not become so by moving.
                common.shared.forget(c.to as usize, bytes);
            }
        }
    }
}

/// Moves all bytes of a copy, word by word, where nothing is wrong; false when not.
fn copy_whole(core: &mut Core<'_>, shared: &mut Flat, c: &Copy) -> bool {
    let (to, bytes) = (c.to as usize, usize::from(c.bytes));
    let aligned = c.from.is_multiple_of(bytes as u64) && to.is_multiple_of(bytes);
    if !aligned || to < SHARED_BASE as usize || to + bytes > shared.len() {
        return false;
    }
    let Some(a) = allocation(core, c.from, bytes) else { return false };
    let (Some(page), at) = (a.page(c.from - a.base), (c.from - a.base) as usize % PAGE) else { return false };
    if !page.written(at, bytes) {
        return false;
    }
    let words = page.words[at / 4..(at + bytes) / 4].iter();
    shared.words[to / 4..(to + bytes) / 4].iter_mut().zip(words).for_each(|(to, word)| *to = word.load(Relaxed));
    shared.init[to / 32] |= byte_bits(to, bytes);
    true
}

/// The allocation that holds some bytes.
fn allocation<'m>(core: &mut Core<'m>, address: u64, bytes: usize) -> Option<&'m Allocation> {
    let memory = core.memory;
    let holds = |a: &&Allocation| address >= a.base && address + bytes as u64 <= a.end();
    memory.get(core.recent).filter(holds).or_else(|| {
        core.recent = memory.index(address)?;
        memory.get(core.recent).filter(holds)
    })
}
