//! Running what is enqueued.

use super::{Device, System};
use crate::Error;
use crate::machine::{self, Launch, Operation, Options, Outcome, Queue, Setting};
use crate::memory::{DevicePointer, Owner};
use crate::program::Program;

impl System {
    /// Runs all that is enqueued, to its end: launches of different streams at the same time, one scheduler for all.
    /// [`Options::schedule`] and [`Options::seed`] choose who runs when; [`Options::watch`] is for
    /// [`System::launch`]. Faults are findings; an error is an operation that can not be, and then nothing has run.
    /// Either way the streams are empty afterwards.
    pub fn run(&mut self, options: &Options) -> Result<Outcome, Error> {
        let operations: Vec<Vec<Operation>> =
            self.queues.iter_mut().map(|q| std::mem::take(&mut q.operations)).collect();
        self.events.fill(None);
        let queues: Vec<Queue> = self
            .queues
            .iter()
            .zip(operations)
            .map(|(q, operations)| Queue { owner: q.owner, name: q.name.clone(), operations })
            .collect();
        for queue in &queues {
            for operation in &queue.operations {
                self.check(queue.owner, operation)?;
            }
        }
        let busy: Vec<&Queue> = queues.iter().filter(|q| !q.operations.is_empty()).collect();
        match busy[..] {
            [only] if only.is_sequence() => self.run_sequence(only, options),
            _ => Ok(self.run_queues(&queues, options)),
        }
    }

    fn run_queues(&mut self, queues: &[Queue], options: &Options) -> Outcome {
        self.memory.begin_launch();
        let (outcome, results) = machine::run_all(&Setting {
            memory: &self.memory,
            chips: &self.chips,
            queues,
            variables: &self.variables,
            options,
            results: self.results.len(),
        });
        // Each of them has a number.
        self.memory.end_run(queues.iter().map(|q| q.operations.len()).sum());
        for (kept, new) in self.results.iter_mut().zip(results) {
            if !new.is_empty() {
                *kept = new;
            }
        }
        outcome
    }

    /// One stream alone: nothing runs beside it, so that launches can spread over the cores.
    fn run_sequence(&mut self, queue: &Queue, options: &Options) -> Result<Outcome, Error> {
        let mut all = Outcome::default();
        let mut launches = 0;
        for operation in &queue.operations {
            let left = options.budget.map(|budget| budget.saturating_sub(all.instructions));
            let options = Options { budget: left, ..*options };
            let outcome = match operation {
                Operation::Launch { program, launch, manifest } => {
                    let name = format!("launch {launches} of {}", queue.name);
                    launches += 1;
                    self.launch_as(queue.owner, &name, (program, launch, manifest.as_deref()), &options)?
                }
                Operation::Record | Operation::Wait { .. } => continue,
                operation => {
                    let one = Queue { operations: vec![operation.clone()], name: queue.name.clone(), ..*queue };
                    self.run_queues(std::slice::from_ref(&one), &options)
                }
            };
            all.instructions += outcome.instructions;
            all.findings.extend(outcome.findings);
            all.printed += &outcome.printed;
            all.stopped |= outcome.stopped;
            if all.stopped {
                break;
            }
        }
        Ok(all)
    }

    /// Whether a device can run a launch: the error that a run of it would give.
    pub fn check_launch(&self, device: Device, program: &Program, launch: &Launch) -> Result<(), Error> {
        machine::check(program, launch, self.chip_of(device)?)
    }

    /// Whether an operation can be.
    fn check(&mut self, owner: Owner, operation: &Operation) -> Result<(), Error> {
        match operation {
            Operation::Launch { program, launch, .. } => {
                let chip = self.chips[usize::from(owner.0)];
                machine::check(program, launch, &chip)?;
                self.make_variables(program, owner)
            }
            Operation::Copy { to, from, bytes } => {
                self.check_range(owner, *to, *bytes)?;
                self.check_range(owner, *from, *bytes)
            }
            Operation::Fill { to, bytes, .. } => self.check_range(owner, *to, *bytes),
            Operation::Write { to, data } => self.check_range(owner, *to, data.len()),
            Operation::Read { from, bytes, .. } => self.check_range(owner, *from, *bytes),
            Operation::Signal { at, bytes, .. } => {
                if !at.0.is_multiple_of(*bytes as u64) {
                    return Err(Error::Misaligned { pointer: *at, bytes: *bytes });
                }
                self.check_range(owner, *at, *bytes)
            }
            Operation::Record | Operation::Wait { .. } | Operation::Fence => Ok(()),
        }
    }

    /// Whether a range is within one allocation. Copies reach all memory; threads of the host what is mapped for it.
    fn check_range(&self, owner: Owner, pointer: DevicePointer, bytes: usize) -> Result<(), Error> {
        self.memory.check_range(pointer, bytes)?;
        let mapped = self.memory.find(pointer.0).map_or(u64::MAX, |a| a.mapped);
        if owner == Owner::HOST && mapped & owner.bit() == 0 {
            return Err(Error::NotMapped { pointer, name: self.memory.place(pointer.0).in_words("") });
        }
        Ok(())
    }
}

impl Queue {
    /// Whether each operation is over before the next one starts.
    fn is_sequence(&self) -> bool {
        let dependent = |o: &Operation| matches!(o, Operation::Launch { launch, .. } if launch.dependent);
        self.owner != Owner::HOST && !self.operations.iter().any(dependent)
    }
}
