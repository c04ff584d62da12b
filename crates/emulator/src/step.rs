//! Following one warp through a launch, instruction by instruction.

use crate::lanes::LANES;
use crate::record::optional_line;
use warpsmith_types::Location;

/// What to write down of a launch beside its findings. Nothing by default; it takes several times as long as not to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// Counts, line by line: [`Outcome::profile`](crate::Outcome::profile).
    pub profile: bool,
    /// A warp to follow: its block, and its number in it: [`Outcome::steps`](crate::Outcome::steps).
    pub warp: Option<([u32; 3], u32)>,
    /// How many instructions of it to write down.
    pub most_steps: u64,
}

/// An instruction that a warp came to.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Step {
    /// The line of source.
    #[serde(serialize_with = "optional_line")]
    pub at: Option<Location>,
    /// The line of PTX text; 0 where there is none.
    pub ptx_line: u32,
    /// The lanes that came to it together, a bit each.
    pub lanes: u32,
    /// Those of them that ran it: all, but where a predicate holds some back.
    pub active: u32,
    /// The registers that it read, and then those that it wrote.
    pub registers: Vec<StepRegister>,
}

/// A register of a [`Step`].
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct StepRegister {
    /// Its name in PTX.
    pub name: String,
    /// Whether these are the values after the instruction; before it otherwise.
    pub written: bool,
    /// 1 for a predicate, 32 for all up to 32 bits, or 64.
    pub bits: u32,
    /// The bits that it has in each lane.
    pub lanes: [u64; LANES],
}
