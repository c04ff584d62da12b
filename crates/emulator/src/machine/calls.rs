//! Calls and returns. Each lane has a stack of its own, so lanes may part inside functions and meet again anywhere.

use super::core::Core;
use super::interpret::Stop;
use super::peers::Peers;
use super::print::{Reader, format};
use super::warp::{Group, State, Warp};
use crate::finding::FindingKind;
use crate::lanes::{LANES, each};
use crate::program::{Argument, CallSite, Callee, Frame, Passed};

/// Calls inside calls, after which a thread is stopped.
const DEEPEST: usize = 1024;

/// A call that a lane has not returned from.
#[derive(Debug)]
pub(crate) struct Active {
    site: u32,
    /// Where the lane goes on.
    next: u32,
    /// What the function held when it was called while it ran already.
    saved: Option<Box<Saved>>,
}

#[derive(Debug)]
struct Saved {
    r32: Vec<u32>,
    r64: Vec<u64>,
    p: Vec<bool>,
    local: Vec<Option<u8>>,
}

/// The stacks of a warp's lanes.
#[derive(Debug, Default)]
pub(crate) struct Stacks(Vec<Vec<Active>>);

impl Stacks {
    pub(crate) fn clear(&mut self) {
        self.0.iter_mut().for_each(Vec::clear);
    }

    fn of(&mut self, lane: usize) -> &mut Vec<Active> {
        if self.0.is_empty() {
            self.0.resize_with(LANES, Vec::new);
        }
        &mut self.0[lane % LANES]
    }
}

impl Warp {
    pub(super) fn call(
        &mut self,
        core: &mut Core<'_>,
        peers: &mut Peers,
        (target, site): (u32, u32),
        group: &mut Group,
        active: u32,
    ) -> Option<Stop> {
        let program = core.program;
        let Some(call) = program.calls.get(site as usize) else { return Some(Stop::Gone) };
        let Callee::Function { place, recursive } = call.callee else {
            return self.built_in(core, peers, call, group, active);
        };
        let Some(frame) = program.frames.get(place as usize) else { return Some(Stop::Gone) };
        let rest = group.mask & !active;
        if rest != 0 {
            self.groups.push(Group { pc: group.pc + 1, mask: rest, state: State::Ready, ran: group.ran });
        }
        let mut too_deep = 0;
        for lane in each(active) {
            if self.stacks.of(lane).len() >= DEEPEST {
                too_deep |= 1 << lane;
                continue;
            }
            let arguments: Vec<_> = call.arguments.iter().map(|a| (a.at, self.taken(core, a, lane))).collect();
            let saved = recursive.then(|| Box::new(self.save(core, frame, lane)));
            self.stacks.of(lane).push(Active { site, next: group.pc + 1, saved });
            for (at, bytes) in arguments {
                self.put_local(core, at, &bytes, lane);
            }
        }
        group.pc = target;
        group.mask = active & !too_deep;
        if too_deep != 0 {
            let detail = format!("more than {DEEPEST} calls inside calls");
            let at = self.stacks.of(too_deep.trailing_zeros() as usize).last().map_or(0, |a| a.next - 1);
            core.report_threads(peers, self.index, FindingKind::CallDepth, at, too_deep, detail);
            // They end: the last instruction is the kernel's exit.
            let exit = program.code.len() as u32 - 1;
            self.groups.push(Group { pc: exit, mask: too_deep, state: State::Ready, ran: group.ran });
            if group.mask == 0 {
                return Some(Stop::Gone);
            }
        }
        (rest != 0 || too_deep != 0).then_some(Stop::Ready)
    }

    /// Lanes go back to where they were called from.
    pub(super) fn ret(&mut self, core: &Core<'_>, group: &Group, active: u32) -> Stop {
        let program = core.program;
        for lane in each(group.mask) {
            let mut pc = group.pc + 1;
            if active >> lane & 1 == 1 {
                pc = program.code.len() as u32 - 1;
                if let Some(call) = self.stacks.of(lane).pop() {
                    pc = call.next;
                    let site = program.calls.get(call.site as usize);
                    let results = site.map_or(&[][..], |s| s.results.as_slice());
                    let values: Vec<_> = results.iter().map(|r| self.local_bytes(core, r.at, r.bytes, lane)).collect();
                    if let (Some(saved), Some(Callee::Function { place, .. })) = (call.saved, site.map(|s| s.callee))
                        && let Some(frame) = program.frames.get(place as usize)
                    {
                        self.restore(core, frame, lane, *saved);
                    }
                    results.iter().zip(values).for_each(|(r, bytes)| self.give(core, r, &bytes, lane));
                }
            }
            match self.groups.iter_mut().find(|g| g.pc == pc && g.state == State::Ready) {
                Some(g) => g.mask |= 1 << lane,
                None => self.groups.push(Group { pc, mask: 1 << lane, state: State::Ready, ran: group.ran }),
            }
        }
        Stop::Gone
    }

    fn built_in(
        &mut self,
        core: &mut Core<'_>,
        peers: &mut Peers,
        call: &CallSite,
        group: &mut Group,
        active: u32,
    ) -> Option<Stop> {
        let asserts = call.callee == Callee::Assert;
        for lane in each(active) {
            let number = |this: &Warp, n: usize| -> u64 {
                let bytes = call.arguments.get(n).map(|a| this.taken(core, a, lane)).unwrap_or_default();
                bytes.iter().rev().fold(0, |x, b| x << 8 | u64::from(b.unwrap_or(crate::memory::POISON)))
            };
            let values: [u64; 4] = std::array::from_fn(|n| number(self, n));
            let reader = Reader { memory: core.memory, shared: &peers.shared, local: &self.local, lane, core };
            if asserts {
                let [message, file, function] = [0, 1, 3].map(|n| reader.text(values[n]));
                let detail =
                    format!("the assertion `{message}` of `{function}` at {file}:{} does not hold", values[2] as u32);
                core.report_threads(peers, self.index, FindingKind::Trap, group.pc, 1 << lane, detail);
                continue;
            }
            let (text, count) = format(&reader, values[0], values[1]);
            core.print(&text, peers.number);
            if let Some(result) = call.results.first() {
                let bytes: Vec<_> = count.to_le_bytes().into_iter().map(Some).collect();
                self.give(core, result, &bytes, lane);
            }
        }
        if asserts {
            return Some(self.exit_lanes(core, peers, group, active));
        }
        group.pc += 1;
        None
    }

    /// The bytes of an argument; `None` for one that was never written.
    fn taken(&self, core: &Core<'_>, a: &Argument, lane: usize) -> Vec<Option<u8>> {
        let value = match a.passed {
            Passed::Local(offset) => return self.local_bytes(core, offset, a.bytes, lane),
            Passed::R32(plane) => self.registers.r32[plane as usize][lane].into(),
            Passed::R64(plane) => self.registers.r64[plane as usize][lane],
        };
        value.to_le_bytes().into_iter().take(a.bytes as usize).map(Some).collect()
    }

    /// Hands a result over.
    fn give(&mut self, core: &Core<'_>, a: &Argument, bytes: &[Option<u8>], lane: usize) {
        let value = bytes.iter().rev().fold(0u64, |x, b| x << 8 | u64::from(b.unwrap_or(crate::memory::POISON)));
        match a.passed {
            Passed::Local(offset) => self.put_local(core, offset, bytes, lane),
            Passed::R32(plane) => self.registers.r32[plane as usize][lane] = value as u32,
            Passed::R64(plane) => self.registers.r64[plane as usize][lane] = value,
        }
    }

    fn local_bytes(&self, core: &Core<'_>, offset: u32, bytes: u32, lane: usize) -> Vec<Option<u8>> {
        let start = lane * core.program.local_bytes as usize + offset as usize;
        let byte = |at: usize| self.local.written(at, 1).then(|| self.local.get(at, 1) as u8);
        (start..start + bytes as usize).map(|at| if at < self.local.len() { byte(at) } else { None }).collect()
    }

    fn put_local(&mut self, core: &Core<'_>, offset: u32, bytes: &[Option<u8>], lane: usize) {
        let start = lane * core.program.local_bytes as usize + offset as usize;
        for (at, byte) in (start..self.local.len()).zip(bytes) {
            match byte {
                Some(byte) => self.local.set(at, 1, (*byte).into()),
                None => self.local.forget(at, 1),
            }
        }
    }

    fn save(&self, core: &Core<'_>, frame: &Frame, lane: usize) -> Saved {
        let [r32, r64, p] = frame.registers.clone();
        Saved {
            r32: r32.map(|n| self.registers.r32[n as usize][lane]).collect(),
            r64: r64.map(|n| self.registers.r64[n as usize][lane]).collect(),
            p: p.map(|n| self.registers.p[n as usize] >> lane & 1 == 1).collect(),
            local: self.local_bytes(core, frame.local.start, frame.local.len() as u32, lane),
        }
    }

    fn restore(&mut self, core: &Core<'_>, frame: &Frame, lane: usize, saved: Saved) {
        let [r32, r64, p] = frame.registers.clone();
        r32.zip(saved.r32).for_each(|(n, x)| self.registers.r32[n as usize][lane] = x);
        r64.zip(saved.r64).for_each(|(n, x)| self.registers.r64[n as usize][lane] = x);
        for (n, x) in p.zip(saved.p) {
            let plane = &mut self.registers.p[n as usize];
            *plane = *plane & !(1 << lane) | u32::from(x) << lane;
        }
        self.put_local(core, frame.local.start, &saved.local, lane);
    }
}

impl Core<'_> {
    /// Keeps what a kernel printed, up to a limit as the hardware has one.
    fn print(&mut self, text: &str, block: u64) {
        const MOST: usize = 1 << 20;
        let used: usize = self.printed.iter().map(|(_, text)| text.len()).sum();
        if used + text.len() > MOST {
            return;
        }
        match self.printed.last_mut() {
            Some((number, last)) if *number == block => last.push_str(text),
            _ => self.printed.push((block, text.into())),
        }
    }
}
