//! Runs in which nobody can go on: who waits for whom, on which device.

use super::super::stuck::Note;
use super::queue::Operation;
use super::{Active, Run};

const DETAIL: &str = "nobody in this run can go on: each waits for another";

impl Run<'_> {
    /// Whether all threads of all launches wait, or poll what nobody will write, and nothing else is to start.
    pub(super) fn is_stuck(&mut self) -> bool {
        if !std::mem::take(&mut self.vain) {
            return false;
        }
        let (mut since, mut seen) = (self.ended, u64::MAX);
        for (queue, line) in self.lines.iter().enumerate() {
            if !self.can_run(queue, line) {
                continue;
            }
            let Some(waits) = line.waits else { return false };
            (since, seen) = (waits.0.max(since), waits.1.min(seen));
        }
        let full: Vec<bool> = (0..self.running.len()).map(|place| self.room(place) == 0).collect();
        for (running, full) in self.running.iter_mut().zip(full) {
            let Active::Grid(grid) = &mut running.work else { return false };
            // One without threads is about to be over.
            if grid.resident() == 0 && grid.waiting() == 0 || !full && grid.waiting() > 0 {
                return false;
            }
            let Some((a, b)) = grid.stuck_since() else { return false };
            (since, seen) = (a.max(since), b.min(seen));
        }
        since < seen
    }

    /// Reports who waits for what, and gives all of it up.
    #[cold]
    pub(super) fn deadlock(&mut self) {
        let mut notes: Vec<Note> = vec![];
        for running in &mut self.running {
            if let Active::Grid(grid) = &mut running.work {
                // They know who wrote what is waited for.
                std::mem::swap(&mut grid.core.flags, &mut self.flags);
                notes.extend(grid.waits());
                std::mem::swap(&mut grid.core.flags, &mut self.flags);
            }
        }
        let mut first = None;
        for (queue, line) in self.lines.iter().enumerate() {
            let Some(operation) = self.setting.queues[queue].operations.get(line.next) else { continue };
            first = first.or(Some(queue));
            let name = &self.setting.queues[queue].name;
            let text = match operation {
                Operation::Wait { queue: other, .. } => {
                    format!("{name} waits for an event of {}", self.setting.queues[*other].name)
                }
                _ if line.host.is_some() => {
                    let block = super::super::races::base_of(self.numbers[queue][line.next]);
                    let step = self.parties.line(block, line.next as u32);
                    format!("{step} has not been done")
                }
                _ => continue,
            };
            notes.push((text, None));
        }
        let reported = self.running.iter_mut().any(|running| match &mut running.work {
            Active::Grid(grid) => grid.report_deadlock(DETAIL, notes.clone()),
            Active::Copy(_) => false,
        });
        if let Some(queue) = first.filter(|_| !reported) {
            self.report_idle(queue, DETAIL.into(), notes);
        }
        self.stopped = true;
    }
}
