//! What a case does on the emulator: counts, which are the same each time, and no times.

use super::record::Counted;
use crate::case::{Case, Made, Part, Role, taken};
use crate::failure::Failure;
use warpsmith::dsl::{DeviceId, TensorArg};
use warpsmith::kernels::compare::encode;
use warpsmith::kernels::random::Random;
use warpsmith::runtime::{Device, Error, TensorMap};
use warpsmith_emulator::{Launch, Options, Program, Requests, System, Watch};
use warpsmith_types::{Chip, Severity};

/// A case that ran.
pub(super) struct Ran {
    pub(super) made: Made,
    pub(super) counted: Counted,
    /// What the sanitizer calls an error.
    pub(super) errors: Vec<String>,
}

/// Runs the kernel that a call takes, once.
pub(super) fn count(case: &Case, chip: &Chip) -> Result<Ran, Failure> {
    let mut system = System::new(*chip);
    let mut tensors = case.place(|part| put(&mut system, case, part))?;
    let ways = case.ways(&mut tensors, chip)?;
    let made = taken(ways)?;
    let parameters = parameters(&made, chip)?;
    let program = Program::decode(&made.compiled.module, &made.compiled.entry).map_err(Error::from)?;
    let narrow = |n: [usize; 3]| n.map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    let launch = Launch {
        grid: narrow(made.launch.grid),
        block: narrow(made.launch.block),
        cluster: narrow(made.launch.cluster.unwrap_or([1; 3])),
        dynamic_shared: made.compiled.program.dynamic_shared(),
        cooperative: made.launch.cooperative,
        dependent: made.launch.pdl,
        parameters,
    };
    let watch = Watch { profile: true, ..Watch::default() };
    let options = Options { watch, ..Options::default() };
    let outcome = system.launch(&program, &launch, None, &options).map_err(Error::from)?;
    let errors = outcome.findings.iter().map(|f| f.diagnostic()).filter(|d| d.severity == Severity::Error);
    let profile = outcome.profile.unwrap_or_default();
    let sum = |of: fn(&Requests) -> u64| profile.lines.iter().map(|l| of(&l.shared)).sum::<u64>();
    let counted = Counted {
        instructions: outcome.instructions,
        moved: profile.traffic.read_once + profile.traffic.written_once,
        asked: profile.traffic.read + profile.traffic.written,
        shared: [sum(|r| r.transactions), sum(|r| r.least)],
    };
    Ok(Ran { made, counted, errors: errors.map(|d| d.message).collect() })
}

/// A tensor in the emulated memory; inputs hold random numbers.
fn put(system: &mut System, case: &Case, part: &Part) -> Result<TensorArg, Error> {
    let elements = part.shape.iter().product::<usize>();
    let at = system.allocate(elements * part.dtype.bytes(), part.name)?;
    match part.role {
        Role::Input | Role::Weight => {
            system.write(at, &encode(part.dtype, &Random::new(1).normals(elements, 1.0)))?;
        }
        Role::Classes => system.write(at, &case.classes())?,
        Role::Output => {}
    }
    Ok(TensorArg::new(at.0, DeviceId(0), part.dtype, &part.shape))
}

/// The arguments, and behind them each tensor map.
fn parameters(made: &Made, chip: &Chip) -> Result<Vec<u8>, Error> {
    let mut bytes = made.arguments.bytes().to_vec();
    let encoder = Device::emulated(*chip);
    for map in &made.compiled.tensor_maps {
        let Some((_, t)) = made.arguments.tensors().find(|(name, _)| *name == map.tensor) else { continue };
        let width = t.dtype.bytes() as u64;
        let encoded = encoder.encode_tensor_map(&TensorMap {
            address: t.address,
            dtype: map.dtype,
            extents: t.shape.iter().rev().map(|&n| n as u64).collect(),
            strides: t.strides.iter().rev().skip(1).map(|&s| s as u64 * width).collect(),
            boxed: map.boxed.clone(),
            swizzle: map.swizzle,
        })?;
        bytes.resize(bytes.len().next_multiple_of(64), 0);
        bytes.extend_from_slice(&encoded);
    }
    Ok(bytes)
}
