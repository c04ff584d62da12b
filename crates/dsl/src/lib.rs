//! The kernel language.
//!
//! A kernel is a Rust function that runs once, when it is compiled, and writes down a GPU program. Two stages, told apart
//! by Rust's types: `usize`, `f32`, `bool`, [`DType`] are compile time; [`U32`], [`F32`](value::F32),
//! [`Bool`], [`Frag`] are run time. A Rust `for` unrolls and a Rust `if` specialises; [`range`] and [`when`]
//! are loops and branches of the kernel.
//!
//! | module | what |
//! |---|---|
//! | [`trace`](mod@trace) | the trace, helpers, mistakes |
//! | [`value`], [`bundle`], `math`, `bits` | scalar handles and their functions; what may cross a branch |
//! | [`flow`] | `when`, `branch`, `select`, `var`, `range`, `repeat` |
//! | [`thread`] | where a thread is, how threads meet |
//! | [`dim`], [`tensor`], [`tv`], [`part`] | extents, views, thread-value layouts, a thread's part |
//! | [`frag`], [`shared`], [`reduce`] | registers, shared memory, reductions |
//! | [`warp`], [`barrier`] | what lanes do together; how threads, blocks and engines wait for each other |
//! | [`smem`], [`pipeline`], [`wgmma`], [`warpgroup`], [`roles`], [`schedule`], [`output`] | a Hopper matrix kernel: shared tiles, TMA rings, MMAs, warp roles, persistent tiles, the way out |
//! | [`cute`] | tensors with layouts, tiled copies, tiled matrix instructions |
//! | [`args`], [`kernel`] | arguments, signatures, the [`Kernel`] trait, compiling |

pub mod args;
mod argument_error;
pub mod barrier;
mod bits;
pub mod bundle;
pub mod cute;
pub mod dim;
pub mod flow;
pub mod frag;
pub mod kernel;
mod machine;
mod math;
pub mod output;
pub mod part;
pub mod pipeline;
pub mod reduce;
mod replay;
pub mod roles;
pub mod schedule;
pub mod shared;
pub mod smem;
pub mod tensor;
pub mod thread;
mod tma;
pub mod trace;
pub mod tv;
pub mod value;
pub mod warp;
pub mod warpgroup;
pub mod wgmma;

pub use args::{Arguments, DeviceId, Extent, Params, Receiver, Signature, TensorArg};
pub use argument_error::ArgumentError;
pub use barrier::{
    Mbarrier, Mbarriers, arrive_named, fence_async_shared, fence_barrier_init, sleep_nanoseconds, sync_cluster,
    sync_named,
};
pub use dim::{Dim, Stride};
pub use flow::{Var, branch, break_if, exit_if, range, repeat, select, var, when};
pub use frag::{Frag, Stored};
pub use kernel::{CompileError, Compiled, Kernel, Launch, compile, trace_kernel};
pub use output::TmaOutput;
pub use part::Part;
pub use pipeline::{Fill, Full, TmaRing};
pub use reduce::{Reduce, RowGroup, row_reduce, warp_reduce};
pub use roles::{Group, Registers, warp_roles};
pub use schedule::{AtomicSchedule, TileAt, TileSchedule};
pub use shared::Shared;
pub use smem::SmemTile;
pub use tensor::Tensor;
pub use thread::{
    block_idx, block_size, grid_size, lane_idx, launch_dependents, sync_threads, thread_idx, wait_for_upstream,
};
pub use tma::TensorMap;
pub use trace::{helper, trace};
pub use tv::Tv;
pub use value::{Bool, I32, I64, Number, Scalar, U32, U64};
pub use warp::{
    active_lanes, all_lanes, any_lane, ballot, elect, match_lanes, shuffle_down, shuffle_from, shuffle_up, shuffle_xor,
    sync_warp, warp_idx,
};
pub use warpgroup::{RegisterA, WarpgroupMma};
pub use warpsmith_macros::KernelArgs;
pub use warpsmith_types::{DType, Report, Target};
pub use wgmma::{Acc, Mma, Pending};

/// The dtypes as constants: `F32` is a handle's type and, here, the dtype of the same name.
pub mod dtypes {
    pub use warpsmith_types::DType;

    /// binary32.
    pub const F32: DType = DType::F32;
    /// bfloat16.
    pub const BF16: DType = DType::BF16;
    /// binary16.
    pub const F16: DType = DType::F16;
}

/// What a kernel file imports. Nothing here may be called `Copy`, `Fn`, `Box`, …: a glob hides std's own prelude.
pub mod prelude {
    pub use crate::args::{Arguments, DeviceId, Params, TensorArg};
    pub use crate::barrier::{
        Mbarrier, Mbarriers, arrive_named, fence_async_shared, fence_barrier_init, sync_cluster, sync_named,
    };
    pub use crate::bundle::Bundle;
    pub use crate::dim::Dim;
    pub use crate::dtypes::{BF16, F16, F32};
    pub use crate::flow::{Var, branch, break_if, exit_if, range, repeat, select, var, when};
    pub use crate::frag::Frag;
    pub use crate::kernel::{Kernel, Launch};
    pub use crate::output::TmaOutput;
    pub use crate::pipeline::TmaRing;
    pub use crate::reduce::{Reduce, Reduce::*, RowGroup, row_reduce, warp_reduce};
    pub use crate::roles::{Group, Registers, warp_roles};
    pub use crate::schedule::{TileAt, TileSchedule};
    pub use crate::shared::Shared;
    pub use crate::smem::SmemTile;
    pub use crate::tensor::Tensor;
    pub use crate::thread::{
        block_idx, block_size, grid_size, lane_idx, launch_dependents, sync_threads, thread_idx, wait_for_upstream,
    };
    pub use crate::trace::{helper, trace};
    pub use crate::tv::Tv;
    pub use crate::value::{Bool, F32, I32, I64, U32, U64};
    pub use crate::warp::{
        active_lanes, all_lanes, any_lane, ballot, elect, match_lanes, shuffle_down, shuffle_from, shuffle_up,
        shuffle_xor, sync_warp, warp_idx,
    };
    pub use crate::warpgroup::{RegisterA, WarpgroupMma};
    pub use crate::wgmma::{Acc, Mma};
    pub use warpsmith_macros::KernelArgs;
    pub use warpsmith_types::DType;
}
