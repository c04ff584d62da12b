//! Everything that is enqueued, run to its end: launches that run at the same time on several devices, copies, and the
//! host, under one scheduler.

mod lines;
mod pick;
mod queue;
mod solo;
mod stuck;

pub(crate) use queue::{Condition, Operation, Queue, Signal};

use super::core::Shape;
use super::grid::{Grid, Step};
use super::launch::{Options, Outcome};
use super::races::{Clock, Flags, Parties, Party, Solo, Work};
use super::random::Random;
use crate::finding::{Finding, Findings};
use crate::memory::{DevicePointer, Global, Owner};
use lines::Line;
use pick::{Picker, Ready};
use rustc_hash::FxHashMap;
use solo::Copying;
use std::rc::Rc;
use warpsmith_types::Chip;

/// What a run needs.
pub(crate) struct Setting<'a> {
    pub memory: &'a Global,
    pub chips: &'a [Chip],
    pub queues: &'a [Queue],
    /// Addresses of each program's module variables on each device.
    pub variables: &'a FxHashMap<(u64, Owner), Vec<u64>>,
    pub options: &'a Options,
    /// How many results there are.
    pub results: usize,
}

/// Runs all that is enqueued. Gives what reads have read beside the outcome.
pub(crate) fn run(setting: &Setting<'_>) -> (Outcome, Vec<Vec<u8>>) {
    let shapes: Vec<Vec<Option<Shape>>> = setting.queues.iter().map(shapes).collect();
    let (parties, numbers) = parties(setting, &shapes);
    let mut run = Run::new(setting, Parties(&parties), &shapes, &numbers);
    run.go();
    run.finish()
}

fn shapes(queue: &Queue) -> Vec<Option<Shape>> {
    let shape = |operation: &Operation| match operation {
        Operation::Launch { launch, .. } => Some(Shape::of(launch)),
        _ => None,
    };
    queue.operations.iter().map(shape).collect()
}

/// Who takes part, and which number each operation has; all operations of a thread of the host have one.
fn parties<'a>(setting: &Setting<'a>, shapes: &'a [Vec<Option<Shape>>]) -> (Vec<Party<'a>>, Vec<Vec<usize>>) {
    let mut parties = vec![];
    let mut numbers = vec![];
    let name = |pointer: DevicePointer| match setting.memory.place(pointer.0).in_words("") {
        name if name.is_empty() => pointer.to_string(),
        name => name,
    };
    for (queue, shapes) in setting.queues.iter().zip(shapes) {
        if queue.owner == Owner::HOST {
            numbers.push(vec![parties.len(); queue.operations.len()]);
            let steps = queue.operations.iter().map(|o| o.in_words(name)).collect();
            parties.push(Party { owner: queue.owner, name: queue.name.clone(), work: Work::Steps(steps) });
            continue;
        }
        let mut own = vec![];
        let mut launches = 0;
        for (operation, shape) in queue.operations.iter().zip(shapes) {
            own.push(parties.len());
            let (name, work) = match (operation, shape) {
                (Operation::Launch { program, .. }, Some(shape)) => {
                    launches += 1;
                    (format!("launch {} of {}", launches - 1, queue.name), Work::Grid { program, shape })
                }
                _ => (queue.name.clone(), Work::Steps(vec![operation.in_words(name)])),
            };
            if operation.is_work() {
                parties.push(Party { owner: queue.owner, name, work });
            }
        }
        numbers.push(own);
    }
    (parties, numbers)
}

/// What goes on.
struct Run<'a> {
    setting: &'a Setting<'a>,
    parties: Parties<'a>,
    shapes: &'a [Vec<Option<Shape>>],
    numbers: &'a [Vec<usize>],
    lines: Vec<Line>,
    running: Vec<Running<'a>>,
    /// What is known where a queue has come to an operation that others wait for.
    recorded: FxHashMap<(usize, usize), Rc<Clock>>,
    /// What all share: flags, the number of strong writes, and the time, by instructions and steps of others.
    flags: Flags,
    signals: u64,
    executed: u64,
    picker: Picker,
    results: Vec<Vec<u8>>,
    /// Findings of copies and the host.
    findings: Findings,
    /// Of launches that are over: their numbers, what was found, what they printed.
    done: Vec<(usize, Vec<Finding>, String)>,
    /// Warp instructions.
    instructions: u64,
    /// Whether somebody was found waiting in vain since that was last looked at.
    vain: bool,
    /// When last an operation of the host, a copy or a launch was over.
    ended: u64,
    stopped: bool,
}

/// A launch or a copy on its way.
struct Running<'a> {
    queue: usize,
    index: usize,
    party: usize,
    start: Rc<Clock>,
    work: Active<'a>,
    /// Whether it can go on only when something else has happened.
    blocked: bool,
}

enum Active<'a> {
    Grid(Box<Grid<'a>>),
    Copy(Box<Copying>),
}

/// Who may run next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Candidate {
    /// By its place in [`Run::running`].
    Running(usize),
    /// A thread of the host, by its queue.
    Host(usize),
}

impl<'a> Run<'a> {
    fn new(
        setting: &'a Setting<'a>,
        parties: Parties<'a>,
        shapes: &'a [Vec<Option<Shape>>],
        numbers: &'a [Vec<usize>],
    ) -> Run<'a> {
        let lines = setting.queues.iter().zip(numbers).map(|(queue, numbers)| {
            let party = numbers.first().copied().unwrap_or_default();
            Line::new((queue.owner == Owner::HOST).then(|| Solo::new(party, &Rc::default())))
        });
        Run {
            setting,
            parties,
            shapes,
            numbers,
            lines: lines.collect(),
            running: vec![],
            recorded: FxHashMap::default(),
            flags: Flags::default(),
            signals: 0,
            executed: 0,
            picker: Picker::new(setting, Random::new(setting.options.seed ^ 0x5ca1_ab1e)),
            results: vec![vec![]; setting.results],
            findings: Findings::default(),
            done: vec![],
            instructions: 0,
            vain: false,
            ended: 0,
            stopped: false,
        }
    }

    fn go(&mut self) {
        loop {
            while self.advance() {}
            if self.is_stuck() {
                self.deadlock();
                return;
            }
            let ready = self.ready();
            let Some(chosen) = self.picker.pick(&ready) else {
                let more = self.lines.iter().zip(self.setting.queues).any(|(l, q)| l.next < q.operations.len());
                if more || !self.running.is_empty() {
                    self.deadlock();
                }
                return;
            };
            match chosen {
                Candidate::Running(place) => self.step(place),
                Candidate::Host(queue) => self.host(queue),
            }
            if self.stopped {
                return;
            }
        }
    }

    /// Who can run.
    fn ready(&self) -> Vec<Ready> {
        let queues = self.setting.queues;
        let running = self.running.iter().enumerate().filter(|(_, r)| !r.blocked).map(|(place, r)| Ready {
            candidate: Candidate::Running(place),
            owner: queues[r.queue].owner,
            party: r.party,
        });
        let hosts = self.lines.iter().enumerate().filter(|(queue, line)| self.can_run(*queue, line));
        let hosts = hosts.map(|(queue, line)| Ready {
            candidate: Candidate::Host(queue),
            owner: Owner::HOST,
            party: self.numbers[queue][line.next],
        });
        running.chain(hosts).collect()
    }

    /// A launch or copy has its turn.
    fn step(&mut self, place: usize) {
        let room = self.room(place);
        let setting = self.setting;
        let running = &mut self.running[place];
        let grid = match &mut running.work {
            Active::Copy(copying) => {
                let over = copying.step(setting, self.parties, &mut self.findings, &mut self.results);
                self.executed += 1;
                if over {
                    self.over(place);
                }
                return;
            }
            Active::Grid(grid) => grid,
        };
        let core = &mut grid.core;
        core.elsewhere = self.executed - core.executed;
        core.signals = self.signals;
        std::mem::swap(&mut core.flags, &mut self.flags);
        let before = (core.executed, core.triggered, core.spins);
        let step = grid.turn(room);
        let core = &mut grid.core;
        std::mem::swap(&mut core.flags, &mut self.flags);
        self.signals = core.signals;
        self.executed += core.executed - before.0;
        self.instructions += core.executed - before.0;
        self.stopped |= core.stopped;
        let (party, vain, moved) = (running.party, core.spins != before.2, core.triggered != before.1);
        running.blocked = step == Step::Blocked;
        self.vain |= vain || step == Step::Blocked;
        if vain {
            self.picker.yields(party);
        }
        if step == Step::Over {
            self.over(place);
        } else if moved {
            self.unblock();
        }
    }

    /// Something has happened that others may have waited for.
    fn unblock(&mut self) {
        for running in &mut self.running {
            running.blocked = false;
            if let Active::Grid(grid) = &mut running.work {
                grid.may_go_on();
            }
        }
    }

    /// A launch or copy is over: what it did is known to whoever comes after.
    fn over(&mut self, place: usize) {
        let running = self.running.remove(place);
        self.ended = self.executed;
        let mut clock = (*running.start).clone();
        if let Active::Grid(grid) = &running.work {
            clock.join(&grid.core.left);
        }
        self.collect(running.party, running.work);
        clock.end(running.party);
        let clock = Rc::new(clock);
        self.lines[running.queue].is_over(running.index, &clock);
        for other in &mut self.running {
            if let Active::Grid(grid) = &mut other.work
                && grid.core.upstream == Some(running.party)
            {
                grid.upstream_is_over(&clock);
            }
        }
        self.unblock();
    }

    /// Keeps what a launch leaves.
    fn collect(&mut self, party: usize, work: Active<'a>) {
        let Active::Grid(grid) = work else { return };
        let core = grid.core;
        let mut findings = core.overlaps();
        let printed = core.printed.into_iter().map(|(_, text)| text).collect();
        findings.extend(core.findings.finish());
        self.done.push((party, findings, printed));
    }

    fn finish(mut self) -> (Outcome, Vec<Vec<u8>>) {
        for running in std::mem::take(&mut self.running) {
            self.collect(running.party, running.work);
        }
        self.done.sort_by_key(|(party, ..)| *party);
        let mut outcome = Outcome { instructions: self.instructions, stopped: self.stopped, ..Outcome::default() };
        for (_, findings, printed) in self.done {
            outcome.findings.extend(findings);
            outcome.printed += &printed;
        }
        outcome.findings.extend(self.findings.finish());
        (outcome, self.results)
    }
}
