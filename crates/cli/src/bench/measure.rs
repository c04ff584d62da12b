//! Times on a card: medians with a cold level-two cache, short kernels several to a graph.

use super::peak::{MatrixLoop, MatrixLoopArgs};
use super::record::{Beside, SettingsRecord, Spread, Timed};
use crate::case::{Case, Role, Tensors};
use crate::failure::Failure;
use std::collections::HashMap;
use std::time::Duration;
use warpsmith::kernels::compare::encode;
use warpsmith::kernels::random::Random;
use warpsmith::runtime::bench::{Settings, Timing, copied, measure};
use warpsmith::runtime::{Bound, Buffer, Device, Error, Jit, LaunchError, Tensor};
use warpsmith_types::DType;

/// Kernels shorter than this are measured several to a graph: launching takes a part of their time that graphs take away,
/// and events are not exact enough.
const SHORT: Duration = Duration::from_micros(50);
/// How long a graph shall take, about, and how many launches it has at most.
const GRAPH: Duration = Duration::from_micros(400);
const MOST_LAUNCHES: f64 = 64.0;
/// Different random bytes; what is larger repeats them.
const PATTERN: usize = 16 << 20;
/// How long the loop of matrix instructions shall take.
const LOOP: Duration = Duration::from_millis(2);

/// A card, and what has been measured on it.
pub(super) struct Bench {
    device: Device,
    settings: Settings,
    copies: HashMap<(u64, usize), Spread>,
    peaks: HashMap<DType, Option<f64>>,
    patterns: HashMap<DType, Vec<u8>>,
}

/// A case that was measured.
pub(super) struct Ran {
    pub(super) kernel: String,
    pub(super) planned: String,
    pub(super) registers: Option<u32>,
    pub(super) timed: Timed,
}

/// Tensors with their memory, and a kernel bound to them.
struct Placed {
    bound: Bound,
    planned: String,
    _memory: Vec<Tensor>,
}

impl Bench {
    pub(super) fn new(device: &Device, settings: Settings) -> Bench {
        let (copies, peaks, patterns) = (HashMap::new(), HashMap::new(), HashMap::new());
        Bench { device: device.clone(), settings, copies, peaks, patterns }
    }

    pub(super) fn device(&self) -> &Device {
        &self.device
    }

    /// Times the kernel that a call takes, and what it is measured against.
    pub(super) fn time(&mut self, case: &Case) -> Result<Ran, Failure> {
        let mut placed = vec![self.place(case)?];
        // What is wrong is told here, where no clock runs.
        placed[0].bound.launch(&self.device.default_stream())?;
        self.device.synchronize()?;
        let mut time = self.spread(&placed)?;
        let launches = launches(time.median);
        if launches > 1 {
            while placed.len() < launches {
                placed.push(self.place(case)?);
            }
            time = self.spread(&placed)?;
        }
        let loaded = placed[0].bound.loaded().cloned();
        let planned = placed[0].planned.clone();
        drop(placed);
        let (beside, share) = self.beside(case, &time)?;
        Ok(Ran {
            kernel: loaded.as_ref().map_or(String::new(), |l| l.compiled.entry.clone()),
            planned,
            registers: loaded.and_then(|l| l.function.report().registers),
            timed: Timed { time, beside, share },
        })
    }

    fn beside(&mut self, case: &Case, time: &Spread) -> Result<(Beside, f64), Failure> {
        if let Some(operations) = case.operations()
            && let Some(peak) = self.peak(case.dtype)?
        {
            let share = operations as f64 / (time.median * 1e-6) / peak;
            return Ok((Beside::MatrixInstructions { teraflops: peak / 1e12 }, share));
        }
        let copy = self.copy(case.bytes(), time.launches)?;
        Ok((Beside::Copy { microseconds: copy.median }, copy.median / time.median))
    }

    /// The tensors of a case on memory of their own, inputs random.
    fn place(&mut self, case: &Case) -> Result<Placed, Failure> {
        let mut memory = vec![];
        let mut tensors: Tensors = case.place(|part| -> Result<_, Error> {
            let tensor = Tensor::new(&self.device, part.name, part.dtype, &part.shape)?;
            match part.role {
                Role::Input | Role::Weight => {
                    let pattern = self.patterns.entry(part.dtype).or_insert_with(|| pattern(part.dtype));
                    fill(tensor.buffer(), pattern)?;
                }
                Role::Classes => tensor.buffer().upload(&case.classes())?,
                Role::Output => {}
            }
            let arg = tensor.arg().clone();
            memory.push(tensor);
            Ok(arg)
        })?;
        let (bound, planned) = case.bind(&mut tensors, &self.device)?;
        Ok(Placed { bound, planned, _memory: memory })
    }

    /// One launch with a cold cache, or several in a graph. Each of these has memory of its own, which it finds as cold as
    /// the first does.
    fn spread(&self, placed: &[Placed]) -> Result<Spread, Failure> {
        let timing = measure(&self.device, &self.mode(placed.len()), |stream| {
            placed.iter().try_for_each(|p| match p.bound.launch(stream) {
                Ok(_) => Ok(()),
                Err(LaunchError::Device(e)) => Err(e),
                // The same launch went through before the clock started.
                Err(LaunchError::Compile(e)) => Err(Error::Ptx { entry: String::new(), message: e.to_string() }),
            })
        })?;
        Ok(Spread::of(&timing, placed.len()))
    }

    fn mode(&self, launches: usize) -> Settings {
        Settings { graph: launches > 1, ..self.settings }
    }

    /// A copy that moves as many bytes, measured the same way.
    fn copy(&mut self, bytes: u64, launches: usize) -> Result<Spread, Failure> {
        if let Some(known) = self.copies.get(&(bytes, launches)) {
            return Ok(*known);
        }
        let half = copied(bytes) as usize;
        let buffers = |name| (0..launches).map(|_| self.device.allocate(half, name)).collect::<Result<Vec<_>, _>>();
        let (from, to) = (buffers("copy source")?, buffers("copy target")?);
        from.iter().try_for_each(|b| b.fill(1, &self.device.default_stream()))?;
        let timing = measure(&self.device, &self.mode(launches), |stream| {
            to.iter().zip(&from).try_for_each(|(to, from)| to.copy_from(from, stream))
        })?;
        let spread = Spread::of(&timing, launches);
        self.copies.insert((bytes, launches), spread);
        Ok(spread)
    }

    /// Operations a second of matrix instructions alone; `None` where the card has none that we know.
    fn peak(&mut self, dtype: DType) -> Result<Option<f64>, Failure> {
        if let Some(known) = self.peaks.get(&dtype) {
            return Ok(*known);
        }
        let peak = match MatrixLoop::new(self.device.chip(), dtype) {
            Some(kernel) => Some(self.matrix_loop(kernel)?),
            None => None,
        };
        self.peaks.insert(dtype, peak);
        Ok(peak)
    }

    fn matrix_loop(&self, kernel: MatrixLoop) -> Result<f64, Failure> {
        let [a, b, y] = kernel.shapes();
        let random = |name, shape: &[usize], seed| {
            let numbers = Random::new(seed).normals(shape.iter().product(), 1.0);
            Tensor::from_bytes(&self.device, name, kernel.dtype, shape, &encode(kernel.dtype, &numbers))
        };
        let (a, b) = (random("a", &a, 1)?, random("b", &b, 2)?);
        let mut y = Tensor::new(&self.device, "y", DType::F32, &y)?;
        let jit = Jit::new(kernel);
        let mut time = |iterations| -> Result<f64, Failure> {
            let args = MatrixLoopArgs { a: a.arg(), b: b.arg(), y: y.arg_mut(), iterations };
            let bound = jit.bind(&args, &self.device)?;
            bound.launch(&self.device.default_stream())?;
            self.device.synchronize()?;
            let settings = Settings { cold: false, ..self.settings };
            let timing = measure(&self.device, &settings, |stream| match bound.launch(stream) {
                Err(LaunchError::Device(e)) => Err(e),
                _ => Ok(()),
            })?;
            Ok(timing.median().as_secs_f64())
        };
        let few = 64;
        let iterations = (LOOP.as_secs_f64() / time(few)? * few as f64).clamp(1.0, 1e6) as usize;
        let seconds = time(iterations)?;
        Ok(jit.kernel().operations(iterations) / seconds)
    }
}

impl Spread {
    fn of(timing: &Timing, launches: usize) -> Spread {
        let of = |time: Duration| micros(time) / launches as f64;
        Spread {
            median: of(timing.median()),
            fastest: of(timing.fastest()),
            tenth: of(timing.quantile(0.1)),
            ninetieth: of(timing.quantile(0.9)),
            repetitions: timing.repetitions(),
            launches,
        }
    }
}

impl SettingsRecord {
    pub(super) fn of(settings: &Settings) -> SettingsRecord {
        let Settings { warm_up, repetitions, cold, .. } = *settings;
        SettingsRecord { warm_up, repetitions, cold, graphs_below_microseconds: micros(SHORT) }
    }
}

/// Launches in a graph, for a kernel that took so many microseconds alone; 1 is no graph.
fn launches(alone: f64) -> usize {
    let fitting = (micros(GRAPH) / alone.max(0.1)).ceil().clamp(1.0, MOST_LAUNCHES);
    if alone < micros(SHORT) { fitting as usize } else { 1 }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Normal random numbers: zeros would run faster, since fewer bits flip.
fn pattern(dtype: DType) -> Vec<u8> {
    encode(dtype, &Random::new(1).normals(PATTERN / dtype.bytes(), 1.0))
}

fn fill(buffer: &Buffer, pattern: &[u8]) -> Result<(), Error> {
    let ends = (0..buffer.len()).step_by(pattern.len().max(1));
    ends.into_iter().try_for_each(|at| buffer.upload_at(at, &pattern[..pattern.len().min(buffer.len() - at)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_types::Chip;

    #[test]
    fn short_kernels_are_launched_several_times() {
        assert_eq!([1000.0, 50.0, 49.9, 10.0, 2.0, 0.0].map(launches), [1, 1, 9, 40, 64, 64]);
    }

    #[test]
    fn a_pattern_fills_memory_of_any_size() {
        let device = Device::emulated(Chip::H200);
        for len in [0, 1, 3, 4, 9] {
            let buffer = device.allocate(len, "b").unwrap();
            fill(&buffer, &[1, 2, 3]).unwrap();
            let expected: Vec<u8> = [1, 2, 3].into_iter().cycle().take(len).collect();
            assert_eq!(buffer.to_vec().unwrap(), expected);
        }
    }

    #[test]
    fn the_loop_of_matrix_instructions_multiplies() {
        let kernel = MatrixLoop::new(&Chip { multiprocessors: 2, ..Chip::H200 }, DType::BF16).unwrap();
        assert_eq!(MatrixLoop::new(&Chip::A100, DType::BF16), None);
        let device = Device::emulated(Chip::H200);
        let [a, b, y] = kernel.shapes();
        let (columns, operations) = (a[1], kernel.operations(3));
        let tensor = |name, shape: &[usize], seed: u64| {
            // Small whole numbers: exact sums.
            let mut random = Random::new(seed);
            let numbers: Vec<f64> = (0..shape.iter().product()).map(|_| random.below(3) as f64 - 1.0).collect();
            let bytes = encode(DType::BF16, &numbers);
            (Tensor::from_bytes(&device, name, DType::BF16, shape, &bytes).unwrap(), numbers)
        };
        let ((a, in_a), (b, in_b)) = (tensor("a", &a, 1), tensor("b", &b, 2));
        let mut y = Tensor::new(&device, "y", DType::F32, &y).unwrap();
        let args = MatrixLoopArgs { a: a.arg(), b: b.arg(), y: y.arg_mut(), iterations: 3 };
        let outcome = Jit::new(kernel).launch(&args, &device.default_stream()).unwrap();
        assert_eq!(outcome.findings, []);
        // The sum of all products is that of sums of columns.
        let column = |all: &[f64], k: usize| all.iter().skip(k).step_by(columns).sum::<f64>();
        let product: f64 = (0..columns).map(|k| column(&in_a, k) * column(&in_b, k)).sum();
        let sums = warpsmith::kernels::compare::decode(DType::F32, &y.to_bytes().unwrap());
        assert_eq!(sums.len(), 512);
        for warpgroup in sums.chunks(128) {
            assert_eq!(warpgroup.iter().sum::<f64>(), 3.0 * product);
        }
        assert_eq!(operations, 2.0 * 3.0 * 4.0 * (64 * 256 * 256) as f64);
    }

    /// One stray move between the instructions and the assembler would wait after each of them.
    #[test]
    #[allow(clippy::print_stdout, reason = "a skip is printed")]
    fn the_loop_of_matrix_instructions_is_assembled_without_warnings() {
        use warpsmith::dsl::{Arguments, DeviceId, Kernel, TensorArg, compile};
        use warpsmith::runtime::report::{Assembler, ToolError};
        let assembler = match Assembler::find() {
            Err(e @ ToolError::Missing { .. }) => return println!("skipped: {e}"),
            other => other.unwrap(),
        };
        let kernel = MatrixLoop::new(&Chip::H200, DType::F16).unwrap();
        let [a, b, y] = kernel.shapes();
        let tensor = |address, dtype, shape: &[usize]| TensorArg::new(address, DeviceId(0), dtype, shape);
        let (a, b) = (tensor(1 << 20, DType::F16, &a), tensor(1 << 21, DType::F16, &b));
        let mut y = tensor(1 << 22, DType::F32, &y);
        let host = MatrixLoopArgs { a: &a, b: &b, y: &mut y, iterations: 3 };
        let (arguments, launch) = (Arguments::of::<<MatrixLoop as Kernel>::Args>(&host), kernel.launch(&host));
        let compiled = compile(&kernel, &arguments, &launch, Chip::H200.target).unwrap();
        let cubin = assembler.assemble(&compiled.module.to_string(), Chip::H200.target).unwrap();
        let report = cubin.report(&compiled.entry);
        assert_eq!((&report.warnings[..], report.uses_local_memory()), (&[][..], Some(false)));
        let resident = report.residency(&Chip::H200, 256, compiled.program.dynamic_shared());
        assert_eq!(resident.map(|r| r.blocks), Some(1), "{report:?}");
    }
}
