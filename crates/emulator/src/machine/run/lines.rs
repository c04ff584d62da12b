//! How far each queue has come, and what starts next.

use super::super::core::Core;
use super::super::grid::Grid;
use super::super::races::{Clock, Solo};
use super::super::space::Multiprocessors;
use super::queue::Operation;
use super::solo::Copying;
use super::{Active, Run, Running};
use crate::memory::{Owner, View};
use std::rc::Rc;

/// How far a queue has come.
pub(super) struct Line {
    /// The operation that starts next; of the host, the one that it is at.
    pub next: usize,
    /// Those that have started and are not over.
    running: Vec<usize>,
    /// What is known when all before is over.
    clock: Rc<Clock>,
    /// What the last launch knew when it started.
    last_start: Rc<Clock>,
    /// What is known since the last operation was over.
    last_over: Rc<Clock>,
    /// The thread of the host.
    pub host: Option<Solo>,
    /// While the host waits for a value: since when, and when it last looked.
    pub waits: Option<(u64, u64)>,
}

impl Line {
    pub(super) fn new(host: Option<Solo>) -> Line {
        Line {
            next: 0,
            running: vec![],
            clock: Rc::default(),
            last_start: Rc::default(),
            last_over: Rc::default(),
            host,
            waits: None,
        }
    }

    fn learns(&mut self, clock: &Rc<Clock>) {
        let mut joined = (*self.clock).clone();
        joined.join(clock);
        self.clock = Rc::new(joined);
    }

    /// An operation is over.
    pub(super) fn is_over(&mut self, index: usize, clock: &Rc<Clock>) {
        self.running.retain(|i| *i != index);
        self.learns(clock);
        self.last_over = Rc::clone(clock);
    }
}

impl<'a> Run<'a> {
    /// Whether a thread of the host has something to do.
    pub(super) fn can_run(&self, queue: usize, line: &Line) -> bool {
        let operation = self.setting.queues[queue].operations.get(line.next);
        line.host.is_some() && operation.is_some_and(Operation::is_work)
    }

    /// Starts what can start, and does what takes no time; false when there is nothing.
    pub(super) fn advance(&mut self) -> bool {
        let mut any = false;
        for queue in 0..self.lines.len() {
            let index = self.lines[queue].next;
            let Some(operation) = self.setting.queues[queue].operations.get(index) else { continue };
            let done = match operation {
                Operation::Record => self.record(queue, index),
                Operation::Wait { queue: other, index: at } => self.wait(queue, (*other, *at)),
                _ if self.lines[queue].host.is_some() => false,
                operation => self.start(queue, index, operation),
            };
            if done {
                self.lines[queue].next += 1;
                any = true;
            }
        }
        any
    }

    fn record(&mut self, queue: usize, index: usize) -> bool {
        let line = &mut self.lines[queue];
        let clock = match &mut line.host {
            Some(host) => host.release(),
            None if line.running.is_empty() => Rc::clone(&line.clock),
            None => return false,
        };
        self.recorded.insert((queue, index), clock);
        true
    }

    fn wait(&mut self, queue: usize, event: (usize, usize)) -> bool {
        let Some(clock) = self.recorded.get(&event) else { return false };
        let line = &mut self.lines[queue];
        match &mut line.host {
            Some(host) => host.acquire(clock),
            None => line.learns(clock),
        }
        true
    }

    /// Starts a launch or a copy, unless it must wait.
    fn start(&mut self, queue: usize, index: usize, operation: &'a Operation) -> bool {
        let party = self.numbers[queue][index];
        let line = &self.lines[queue];
        let upstream = self.upstream(queue, index, operation);
        let mut start = Rc::clone(&line.clock);
        let mut over = None;
        if let Some(before) = upstream {
            start = Rc::clone(&line.last_start);
            let running = self.running.iter().find(|r| r.party == before);
            match running.map(|r| &r.work) {
                Some(Active::Grid(grid)) if !grid.has_triggered() => return false,
                Some(_) => {}
                None if line.running.contains(&(index - 1)) => return false,
                None => over = Some(Rc::clone(&line.last_over)),
            }
        } else if !line.running.is_empty() {
            return false;
        }
        let work = match operation {
            Operation::Launch { .. } => {
                let Some(grid) = self.grid((queue, index, party), operation, (&start, upstream, over)) else {
                    return false;
                };
                Active::Grid(Box::new(grid))
            }
            _ => Active::Copy(Box::new(Copying::new(operation.clone(), party, &start))),
        };
        let line = &mut self.lines[queue];
        line.running.push(index);
        line.last_start = Rc::clone(&start);
        self.running.push(Running { queue, index, party, start, work, blocked: false });
        true
    }

    /// The launch before, when this one may start before that is over.
    fn upstream(&self, queue: usize, index: usize, operation: &Operation) -> Option<usize> {
        let Operation::Launch { launch, .. } = operation else { return None };
        let before = index.checked_sub(1).filter(|_| launch.dependent)?;
        match &self.setting.queues[queue].operations[before] {
            Operation::Launch { program, .. } if program.launches_dependents() => Some(self.numbers[queue][before]),
            _ => None,
        }
    }

    /// A launch that starts; `None` while it is cooperative and its device has no room.
    fn grid(
        &self,
        (queue, index, party): (usize, usize, usize),
        operation: &'a Operation,
        (start, upstream, over): (&Rc<Clock>, Option<usize>, Option<Rc<Clock>>),
    ) -> Option<Grid<'a>> {
        let Operation::Launch { program, launch, manifest } = operation else { return None };
        let setting = self.setting;
        let owner = setting.queues[queue].owner;
        let chip = setting.chips.get(usize::from(owner.0))?;
        let shape = self.shapes[queue][index].as_ref()?;
        let variables = setting.variables.get(&(program.id, owner)).map_or(&[][..], Vec::as_slice);
        let view = View::new(setting.memory, owner);
        let manifest = manifest.as_deref();
        let mut core =
            Core::new(view, program, launch, shape, variables, manifest, setting.options, true, self.parties);
        (core.party, core.start, core.upstream, core.upstream_over) = (party, Rc::clone(start), upstream, over);
        let mut grid = Grid::new(core, chip, setting.options);
        grid.cooperative = launch.cooperative;
        let fits = || self.beside(owner, None, &grid).is_none_or(|room| room >= shape.clusters());
        (!launch.cooperative || fits()).then_some(grid)
    }

    /// How many clusters of a launch fit on a device beside others than one of those that run; `None` where there are none.
    fn beside(&self, owner: Owner, but: Option<usize>, grid: &Grid<'_>) -> Option<u64> {
        let chip = self.setting.chips.get(usize::from(owner.0))?;
        let needs = |grid: &Grid<'_>| grid.core.shape.needs(grid.core.program);
        let mut room: Option<Multiprocessors> = None;
        for (place, running) in self.running.iter().enumerate() {
            if let Active::Grid(other) = &running.work
                && Some(place) != but
                && self.setting.queues[running.queue].owner == owner
            {
                let blocks = other.claims() * u64::from(other.core.shape.cluster_blocks());
                room.get_or_insert_with(|| Multiprocessors::of(chip)).place(needs(other), blocks);
            }
        }
        Some(room?.holds(needs(grid)) / u64::from(grid.core.shape.cluster_blocks()))
    }

    /// How many more clusters of a launch may run now, where any wait.
    pub(super) fn room(&self, place: usize) -> u64 {
        let Some(running) = self.running.get(place) else { return 0 };
        let Active::Grid(grid) = &running.work else { return 0 };
        if grid.waiting() == 0 {
            return 0;
        }
        let owner = self.setting.queues[running.queue].owner;
        let most = self.beside(owner, Some(place), grid).map_or(grid.limit, |most| most.min(grid.limit));
        most.saturating_sub(grid.resident() as u64)
    }
}
