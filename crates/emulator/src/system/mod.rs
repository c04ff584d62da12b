//! The emulated machine: its devices and their memory, module variables, launches.

mod devices;
mod enqueue;
mod runs;

pub use devices::Device;
pub use enqueue::{Event, HostThread, OnHost, OnStream, Order, Stream, Ticket, Word};

use crate::machine::{self, Launch, Options, Outcome, Queue};
use crate::memory::{DevicePointer, Global, Owner, View};
use crate::program::Program;
use crate::{Error, Manifest};
use rustc_hash::FxHashMap;
use warpsmith_types::Chip;

/// A machine: devices with their memory in one address space, links between them, and the host.
///
/// [`System::launch`] runs one kernel at once. Work of several streams is enqueued with [`System::on`] and
/// [`System::host`], and [`System::run`] runs all of it.
#[derive(Debug)]
pub struct System {
    /// One for each device; never empty.
    chips: Vec<Chip>,
    /// Of each device, a bit for each that it is linked to, itself included.
    links: Vec<u64>,
    /// Of each device, a bit for each that can reach all of its memory.
    peers: Vec<u64>,
    memory: Global,
    /// Addresses of each program's module variables on each device, made at its first launch there.
    variables: FxHashMap<(u64, Owner), Vec<u64>>,
    queues: Vec<Queue>,
    /// Where each event was last recorded: the queue, and the operation.
    events: Vec<Option<(usize, usize)>>,
    /// What reads have read.
    results: Vec<Vec<u8>>,
}

impl System {
    /// A machine with one device, of that chip.
    pub fn new(chip: Chip) -> System {
        System {
            chips: vec![chip],
            links: vec![1],
            peers: vec![1],
            memory: Global::default(),
            variables: FxHashMap::default(),
            queues: vec![],
            events: vec![],
            results: vec![],
        }
    }

    /// The chip of the first device.
    pub fn chip(&self) -> &Chip {
        &self.chips[0]
    }

    /// Memory of the first device for `bytes`, 256-byte aligned and uninitialised, under a name for reports. It costs
    /// what is written to.
    pub fn allocate(&mut self, bytes: usize, name: &str) -> Result<DevicePointer, Error> {
        self.memory.allocate_for(Owner::default(), self.peers[0], bytes, name)
    }

    /// Gives an allocation back; `pointer` is what [`System::allocate`] returned.
    pub fn free(&mut self, pointer: DevicePointer) -> Result<(), Error> {
        self.memory.free(pointer)
    }

    /// Copies from the host.
    pub fn write(&mut self, pointer: DevicePointer, bytes: &[u8]) -> Result<(), Error> {
        self.memory.write(pointer, bytes)
    }

    /// Copies to the host. Bytes that were never written read as `0xCB`.
    pub fn read(&self, pointer: DevicePointer, bytes: &mut [u8]) -> Result<(), Error> {
        self.memory.read(pointer, bytes)
    }

    /// Whether every byte of a range was written.
    pub fn is_initialized(&self, pointer: DevicePointer, bytes: usize) -> Result<bool, Error> {
        self.memory.is_initialized(pointer, bytes)
    }

    /// Makes a range uninitialised again.
    pub fn poison(&mut self, pointer: DevicePointer, bytes: usize) -> Result<(), Error> {
        self.memory.poison(pointer, bytes)
    }

    /// Runs a kernel on the first device, to its end. Faults of the kernel are findings of the outcome; an error is a
    /// launch that can not be.
    pub fn launch(
        &mut self,
        program: &Program,
        launch: &Launch,
        manifest: Option<&Manifest>,
        options: &Options,
    ) -> Result<Outcome, Error> {
        self.launch_as(Owner::default(), "", (program, launch, manifest), options)
    }

    /// The same on a device, under a name for reports.
    fn launch_as(
        &mut self,
        owner: Owner,
        name: &str,
        (program, launch, manifest): (&Program, &Launch, Option<&Manifest>),
        options: &Options,
    ) -> Result<Outcome, Error> {
        let chip = self.chips[usize::from(owner.0)];
        machine::check(program, launch, &chip)?;
        self.make_variables(program, owner)?;
        self.memory.begin_launch();
        let variables = self.variables.get(&(program.id, owner)).map_or(&[][..], Vec::as_slice);
        let view = View::new(&self.memory, owner);
        Ok(machine::run((view, name), &chip, program, launch, variables, manifest, options))
    }

    /// Module variables live as long as the system, one set on each device.
    fn make_variables(&mut self, program: &Program, owner: Owner) -> Result<(), Error> {
        if self.variables.contains_key(&(program.id, owner)) {
            return Ok(());
        }
        let mut addresses = vec![];
        for v in &program.globals {
            let mapped = self.peers[usize::from(owner.0)];
            let pointer = self.memory.allocate_for(owner, mapped, v.init.len(), &v.name)?;
            self.memory.write(pointer, &v.init)?;
            addresses.push(pointer.0);
        }
        self.variables.insert((program.id, owner), addresses);
        Ok(())
    }
}
