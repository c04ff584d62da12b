//! Kernels: a config, how it is launched, what it does; and the way from there to PTX.

use crate::args::{Arguments, Params};
use crate::argument_error::ArgumentError;
use crate::options::Tracing;
use crate::receiver::Receiver;
use crate::signature::Signature;
use crate::tma::TensorMap;
use crate::trace::trace_for;
use std::time::{Duration, Instant};
use warpsmith_ir::{Kernel as Program, LowerError, LowerOptions, Module, Verified, warnings};
use warpsmith_types::{Diagnostic, Report, Target};

/// How a kernel is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Launch {
    /// Blocks.
    pub grid: [usize; 3],
    /// Threads in a block.
    pub block: [usize; 3],
    /// Whether it may start before the launch before it has finished; the body must say [`wait_for_upstream`].
    ///
    /// [`wait_for_upstream`]: crate::wait_for_upstream
    pub pdl: bool,
    /// Blocks in a cluster, when there are clusters. The grid is a multiple of it.
    pub cluster: Option<[usize; 3]>,
    /// Whether all blocks must run at once, as a [`GridBarrier`](crate::GridBarrier) needs: more are refused.
    pub cooperative: bool,
    /// Registers that a thread may have (`.maxnreg`).
    pub max_registers: Option<usize>,
    /// Blocks that shall fit on a multiprocessor (`.minnctapersm`).
    pub min_blocks: Option<usize>,
    /// Whose blocks start first when several kernels wait for room: from −5, the most urgent, to 0.
    pub priority: i32,
}

impl Launch {
    /// A one-dimensional grid of blocks of 128 threads.
    pub fn grid(blocks: usize) -> Launch {
        Launch::grid_3d([blocks, 1, 1])
    }

    /// A three-dimensional grid of blocks of 128 threads.
    pub fn grid_3d(grid: [usize; 3]) -> Launch {
        let (cluster, max_registers, min_blocks) = (None, None, None);
        Launch {
            grid,
            block: [128, 1, 1],
            pdl: false,
            cluster,
            cooperative: false,
            max_registers,
            min_blocks,
            priority: 0,
        }
    }

    /// With three-dimensional blocks.
    pub fn block_3d(self, block: [usize; 3]) -> Launch {
        Launch { block, ..self }
    }

    /// In one-dimensional clusters of `blocks` (sm_90). One alone is no cluster.
    pub fn cluster(self, blocks: usize) -> Launch {
        self.cluster_3d([blocks, 1, 1])
    }

    /// In three-dimensional clusters (sm_90).
    pub fn cluster_3d(self, cluster: [usize; 3]) -> Launch {
        Launch { cluster: (cluster != [1, 1, 1]).then_some(cluster), ..self }
    }

    /// With all blocks at once.
    pub fn cooperative(self) -> Launch {
        Launch { cooperative: true, ..self }
    }

    /// With at most so many registers a thread.
    pub fn max_registers(self, registers: usize) -> Launch {
        Launch { max_registers: Some(registers), ..self }
    }

    /// With so many blocks on a multiprocessor at least.
    pub fn min_blocks(self, blocks: usize) -> Launch {
        Launch { min_blocks: Some(blocks), ..self }
    }

    /// Before kernels of a higher number, of those that wait for room: −5 to 0.
    pub fn priority(self, priority: i32) -> Launch {
        Launch { priority, ..self }
    }

    /// With one-dimensional blocks of `threads`.
    pub fn block(self, threads: usize) -> Launch {
        Launch { block: [threads, 1, 1], ..self }
    }

    /// As a programmatic dependent launch: it may start before the launch before it on the stream is over, and waits by
    /// `wait_for_upstream`. Its tensors are loaded as what others may still write, without `.nc`, but those that are
    /// [constant](crate::TensorArg::constant).
    pub fn pdl(self) -> Launch {
        Launch { pdl: true, ..self }
    }
}

/// A kernel. The value is its config, plain data: it is `Send + Sync`, so a handle can not hide in it.
pub trait Kernel: Send + Sync {
    /// The device's side of its arguments.
    type Args: Params;

    /// A name for PTX and reports; the same for equal configs.
    fn name(&self) -> String;

    /// How to launch it on these arguments. The block size may depend on what the [`Signature`] holds only.
    fn launch(&self, args: &<Self::Args as Params>::Host<'_>) -> Launch;

    /// What it does: runs when the kernel is traced.
    fn body(&self, args: Self::Args);

    /// The shell command that runs it on an emulated device, for the errors of a card; `{x}` in it stands for the extents of
    /// the argument `x`, as in `33x4096`. Without one, the errors advise to run the whole program there.
    fn command(&self) -> Option<String> {
        None
    }
}

/// Why a kernel could not be compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The arguments are not right.
    #[error("{}", join(.0))]
    Arguments(Vec<ArgumentError>),
    /// The body is not right; each mistake has its place in the author's source.
    #[error("{0}")]
    Body(Report),
    /// What was traced breaks a rule of the IR.
    #[error("{0}")]
    Invalid(Report),
    /// There is no PTX for it on this target.
    #[error(transparent)]
    Lower(#[from] LowerError),
}

fn join(errors: &[ArgumentError]) -> String {
    errors.iter().map(|e| e.to_string()).collect::<Vec<_>>().join("; ")
}

/// A kernel as PTX, and what it took.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The program after the passes.
    pub program: Program,
    /// The PTX module.
    pub module: Module,
    /// The kernel's name in it.
    pub entry: String,
    /// The tensor maps that a launch passes behind the arguments, in this order.
    pub tensor_maps: Vec<TensorMap>,
    /// What is right, and suspicious.
    pub warnings: Vec<Diagnostic>,
    /// Tracing and checking the body.
    pub trace_time: Duration,
    /// Verifying, passes, lowering.
    pub lower_time: Duration,
}

/// Traces a kernel for a signature and a target, without passes: the program, and the tensor maps that it asks for.
///
/// # Errors
/// A [`Report`] of the mistakes in the body.
pub fn trace_kernel<K: Kernel>(
    kernel: &K,
    signature: &Signature,
    launch: &Launch,
    options: Tracing,
) -> Result<(Program, Vec<TensorMap>), Report> {
    let name: String =
        kernel.name().chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    // Elsewhere launches follow each other.
    let overlaps = launch.pdl && options.target.has(Target::SM_90);
    let receiver = if overlaps { Receiver::beside_others } else { Receiver::new };
    let body = || kernel.body(K::Args::receive(&mut receiver(signature)));
    let (mut program, maps) = trace_for(&name, options, body)?;
    program.block = Some(launch.block.map(|n| n as u32));
    program.cluster = launch.cluster.map(|c| c.map(|n| n as u32)).or(program.cluster);
    program.max_registers = launch.max_registers.map(|n| n as u32).or(program.max_registers);
    program.min_blocks = launch.min_blocks.map(|n| n as u32).or(program.min_blocks);
    Ok((program, maps))
}

/// Compiles a kernel to PTX for the arguments of a launch.
///
/// # Errors
/// [`CompileError`] says whether the arguments, the body or the target are not right.
pub fn compile<K: Kernel>(
    kernel: &K,
    arguments: &Arguments,
    launch: &Launch,
    target: Target,
) -> Result<Compiled, CompileError> {
    compile_with(kernel, arguments, launch, Tracing { target, ..Tracing::default() })
}

/// The same, with messages and assertions if wanted.
///
/// # Errors
/// As [`compile`].
pub fn compile_with<K: Kernel>(
    kernel: &K,
    arguments: &Arguments,
    launch: &Launch,
    options: Tracing,
) -> Result<Compiled, CompileError> {
    if !arguments.errors().is_empty() {
        return Err(CompileError::Arguments(arguments.errors().to_vec()));
    }
    let start = Instant::now();
    let (program, tensor_maps) =
        trace_kernel(kernel, arguments.signature(), launch, options).map_err(CompileError::Body)?;
    let trace_time = start.elapsed();
    let start = Instant::now();
    let warnings = warnings(&program);
    let mut program = Verified::new(program).map_err(CompileError::Invalid)?;
    program.optimize();
    let module = program.lower(&LowerOptions { target: options.target, line_info: true })?;
    let program = program.into_kernel();
    let entry = program.name.clone();
    Ok(Compiled { program, module, entry, tensor_maps, warnings, trace_time, lower_time: start.elapsed() })
}
