//! The emulated machine: its memory, its module variables, its launches.

use crate::machine::{self, Launch, Options, Outcome};
use crate::memory::{DevicePointer, Global};
use crate::program::Program;
use crate::{Error, Manifest};
use rustc_hash::FxHashMap;
use warpsmith_types::Chip;

/// A machine with one address space and, for now, one chip.
#[derive(Debug)]
pub struct System {
    chip: Chip,
    memory: Global,
    /// Addresses of each program's module variables, made at its first launch.
    variables: FxHashMap<u64, Vec<u64>>,
}

impl System {
    /// A machine with that chip.
    pub fn new(chip: Chip) -> System {
        System { chip, memory: Global::default(), variables: FxHashMap::default() }
    }

    /// The chip.
    pub fn chip(&self) -> &Chip {
        &self.chip
    }

    /// Memory for `bytes`, 256-byte aligned and uninitialised, under a name for reports. It costs what is written to.
    pub fn allocate(&mut self, bytes: usize, name: &str) -> Result<DevicePointer, Error> {
        self.memory.allocate(bytes, name)
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

    /// Runs a kernel to its end. Faults of the kernel are findings of the outcome; an error is a launch that can not be.
    pub fn launch(
        &mut self,
        program: &Program,
        launch: &Launch,
        manifest: Option<&Manifest>,
        options: &Options,
    ) -> Result<Outcome, Error> {
        machine::check(program, launch, &self.chip)?;
        if !self.variables.contains_key(&program.id) {
            let mut addresses = vec![];
            for v in &program.globals {
                let pointer = self.memory.allocate(v.init.len(), &v.name)?;
                self.memory.write(pointer, &v.init)?;
                addresses.push(pointer.0);
            }
            self.variables.insert(program.id, addresses);
        }
        self.memory.begin_launch();
        let variables = self.variables.get(&program.id).map_or(&[][..], Vec::as_slice);
        Ok(machine::run(&self.memory, &self.chip, program, launch, variables, manifest, options))
    }
}
