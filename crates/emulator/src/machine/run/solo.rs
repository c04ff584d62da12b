//! What is done without a kernel: copies on streams, and all that the host does.

use super::super::races::{Clock, Parties, Race, Range, Solo};
use super::queue::{Operation, Signal};
use super::{Run, Setting};
use crate::finding::{AccessKind, Finding, FindingKind, Findings, Storage};
use crate::memory::{Global, PAGE, Touch};
use crate::program::Scope;
use std::rc::Rc;

const WEAK: Touch = Touch { writes: false, strong: None, constant: false, asynchronous: false };

/// A copy on its way, page by page.
pub(super) struct Copying {
    operation: Operation,
    party: usize,
    solo: Solo,
    done: usize,
}

/// Who does something, and which of its steps it is.
#[derive(Clone, Copy)]
struct Doer {
    party: usize,
    step: u32,
}

impl Copying {
    pub(super) fn new(operation: Operation, party: usize, start: &Rc<Clock>) -> Copying {
        Copying { operation, party, solo: Solo::new(party, start), done: 0 }
    }

    /// Copies the next piece; true when that was the last.
    pub(super) fn step(
        &mut self,
        setting: &Setting<'_>,
        parties: Parties<'_>,
        findings: &mut Findings,
        results: &mut [Vec<u8>],
    ) -> bool {
        let doer = Doer { party: self.party, step: 0 };
        let mut world = World { setting, parties, findings };
        let piece = |at: u64, rest: usize| rest.min(PAGE - at as usize % PAGE);
        let done = self.done as u64;
        let (n, bytes) = match &self.operation {
            Operation::Copy { to, from, bytes } => {
                let (to, from) = (to.0 + done, from.0 + done);
                let n = piece(to, piece(from, bytes - self.done));
                world.touch(&self.solo, doer, (from, n), WEAK);
                world.touch(&self.solo, doer, (to, n), Touch { writes: true, ..WEAK });
                setting.memory.move_bytes(to, from, n);
                (n, *bytes)
            }
            Operation::Fill { to, byte, bytes } => {
                let n = piece(to.0 + done, bytes - self.done);
                world.write(&self.solo, doer, to.0 + done, &vec![*byte; n]);
                (n, *bytes)
            }
            Operation::Write { to, data } => {
                let n = piece(to.0 + done, data.len() - self.done);
                world.write(&self.solo, doer, to.0 + done, &data[self.done..self.done + n]);
                (n, data.len())
            }
            Operation::Read { from, bytes, result } => {
                let n = piece(from.0 + done, bytes - self.done);
                let data = world.read(&self.solo, doer, from.0 + done, n);
                if let Some(result) = results.get_mut(*result) {
                    result.extend(data);
                }
                (n, *bytes)
            }
            _ => return true,
        };
        self.done += n;
        self.done >= bytes
    }
}

/// Memory with its checks.
struct World<'s, 'a> {
    setting: &'s Setting<'a>,
    parties: Parties<'s>,
    findings: &'s mut Findings,
}

impl World<'_, '_> {
    fn memory(&self) -> &Global {
        self.setting.memory
    }

    fn touch(&mut self, solo: &Solo, doer: Doer, (address, bytes): (u64, usize), touch: Touch) {
        if !self.setting.options.checks.races {
            return;
        }
        let races = solo.touch(self.memory(), self.parties, Range { address, bytes, touch, step: doer.step });
        for race in races {
            self.report_race(solo, doer, bytes, touch, &race);
        }
    }

    fn write(&mut self, solo: &Solo, doer: Doer, address: u64, data: &[u8]) {
        self.touch(solo, doer, (address, data.len()), Touch { writes: true, ..WEAK });
        self.memory().copy_in(address, data, true);
    }

    fn read(&mut self, solo: &Solo, doer: Doer, address: u64, bytes: usize) -> Vec<u8> {
        self.touch(solo, doer, (address, bytes), WEAK);
        let mut data = vec![0; bytes];
        self.memory().copy_out(address, &mut data);
        let unwritten = (0..bytes as u64).find(|i| self.memory().copy_out(address + i, &mut [0]) != Some(true));
        if let Some(first) = unwritten.filter(|_| self.setting.options.checks.init) {
            let kind = FindingKind::UninitializedRead(Storage::Global);
            let (address, detail) = (address + first, self.memory().place(address + first).in_words(""));
            self.report(doer, kind, AccessKind::Load, (address, bytes), (0, 0), |f| f.detail = detail);
        }
        data
    }

    fn report_race(&mut self, solo: &Solo, doer: Doer, bytes: usize, touch: Touch, (old, lane, _, at): &Race) {
        let kind = if old.touch.constant { FindingKind::ConstantLoad } else { FindingKind::Race };
        let access = match (touch.strong.is_some(), touch.writes) {
            (true, true) => AccessKind::Atomic,
            (_, true) => AccessKind::Store,
            (_, false) => AccessKind::Load,
        };
        let other = self.parties.other(old, *lane, doer.party);
        let elsewhere = self.parties.program(old.block).map_or(1 + (old.block >> 8), |p| !p.id);
        let place = self.memory().place(*at).in_words("");
        let missing = solo.missing(self.parties, old, *lane);
        self.report(doer, kind, access, (*at, bytes), (elsewhere, old.pc), |finding| {
            finding.detail = format!("{place}; {missing}");
            finding.notes.push((other.in_words(), other.location.clone()));
            finding.other = Some(other);
        });
    }

    fn report(
        &mut self,
        doer: Doer,
        kind: FindingKind,
        access: AccessKind,
        (address, bytes): (u64, usize),
        other_place: (u64, u32),
        more: impl FnOnce(&mut Finding),
    ) {
        let pc = doer.number();
        if self.findings.again(kind, None, (pc, other_place), 0) {
            return;
        }
        let mut finding = doer.finding(self.parties, kind);
        (finding.access, finding.storage, finding.address) = (Some(access), Some(Storage::Global), Some(address));
        (finding.bytes, finding.other_place) = (bytes as u32, other_place);
        more(&mut finding);
        self.findings.add(finding);
    }
}

impl Doer {
    /// Tells the steps of all parties apart.
    fn number(self) -> u32 {
        (self.party as u32) << 12 | (self.step & 0xfff)
    }

    /// A finding without particulars.
    fn finding(self, parties: Parties<'_>, kind: FindingKind) -> Finding {
        let block = super::super::races::base_of(self.party);
        Finding {
            kind,
            kernel: parties.get(block).map_or_else(String::new, |p| p.name.clone()),
            agent: Some(parties.line(block, self.step)),
            block: [0; 3],
            thread: [0; 3],
            access: None,
            storage: None,
            address: None,
            bytes: 0,
            tensor: None,
            detail: String::new(),
            other: None,
            notes: vec![],
            location: None,
            ptx_line: 0,
            count: 1,
            by_thread: false,
            pc: self.number(),
            other_place: (0, 0),
            block_number: self.party as u64,
        }
    }
}

impl Run<'_> {
    /// A thread of the host does its next step, or finds that it has to wait.
    pub(super) fn host(&mut self, queue: usize) {
        self.executed += 1;
        let setting = self.setting;
        let line = &mut self.lines[queue];
        let index = line.next;
        let (Some(solo), Some(operation)) = (&mut line.host, setting.queues[queue].operations.get(index)) else {
            return;
        };
        let doer = Doer { party: self.numbers[queue][index], step: index as u32 };
        let mut world = World { setting, parties: self.parties, findings: &mut self.findings };
        let mut done = true;
        match operation {
            Operation::Write { to, data } => world.write(solo, doer, to.0, data),
            Operation::Read { from, bytes, result } => {
                let data = world.read(solo, doer, from.0, *bytes);
                if let Some(result) = self.results.get_mut(*result) {
                    *result = data;
                }
            }
            Operation::Fence => solo.fence(),
            Operation::Signal { at, bytes, what, order } => {
                let mut value = [0; 8];
                let written = setting.memory.copy_out(at.0, &mut value[..*bytes]);
                let old = u64::from_le_bytes(value);
                let reads = !matches!(what, Signal::Store(_));
                let new = match what {
                    Signal::Store(new) => Some(*new),
                    Signal::Add(more, _) => Some(old.wrapping_add(*more)),
                    Signal::Load(_) | Signal::Until(_) => None,
                };
                if let Signal::Until(condition) = what {
                    done = condition.holds(old) && written == Some(true);
                }
                let waiting = line.waits;
                line.waits = if done { None } else { Some((waiting.map_or(self.executed, |w| w.0), self.executed)) };
                self.vain |= !done;
                // What has been polled before is no news.
                if done || waiting.is_none() {
                    let touch = Touch { writes: new.is_some(), strong: Some(Scope::Sys), ..WEAK };
                    world.touch(solo, doer, (at.0, *bytes), touch);
                }
                if setting.options.checks.races {
                    let place = (at.0, doer.step);
                    solo.signal(&mut self.flags, self.parties, place, *order, (reads, new.is_some()));
                }
                if let Some(new) = new {
                    setting.memory.copy_in(at.0, &new.to_le_bytes()[..*bytes], true);
                    self.signals += 1;
                }
                if let Signal::Load(result) | Signal::Add(_, result) = what
                    && let Some(result) = self.results.get_mut(*result)
                {
                    *result = value[..*bytes].to_vec();
                }
            }
            _ => {}
        }
        if done {
            self.lines[queue].next += 1;
            self.ended = self.executed;
            self.unblock();
        } else {
            self.picker.yields(doer.party);
        }
    }

    /// A finding of a deadlock in which no thread of a kernel takes part.
    pub(super) fn report_idle(&mut self, queue: usize, detail: String, notes: Vec<super::super::stuck::Note>) {
        let index = self.lines[queue].next;
        let Some(party) = self.numbers[queue].get(index) else { return };
        let step = if self.lines[queue].host.is_some() { index as u32 } else { 0 };
        let mut finding = Doer { party: *party, step }.finding(self.parties, FindingKind::Deadlock);
        finding.kernel = self.setting.queues[queue].name.clone();
        finding.agent = Some(finding.kernel.clone());
        (finding.detail, finding.notes) = (detail, notes);
        self.findings.add(finding);
    }
}
