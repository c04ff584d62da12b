//! The kernel language.
//!
//! A kernel is a Rust function that runs once, when it is compiled, and writes down a GPU program. Two stages, told apart
//! by Rust's types: `usize`, `f32`, `bool`, [`DType`] are compile time; [`U32`], [`F32`],
//! [`Bool`], [`Frag`] are run time. A Rust `for` unrolls and a Rust `if` specialises; [`range`] and [`when`]
//! are loops and branches of the kernel.
//!
//! | module | what |
//! |---|---|
//! | [`trace`](mod@trace) | the trace, helpers, mistakes |
//! | [`value`], [`narrow`], [`packed`], [`bundle`], `math`, `precise`, `bits` | scalar handles and their functions; what may cross a branch |
//! | [`cast`], [`rounding`] | conversions, in every rounding |
//! | [`flow`] | `when`, `branch`, `select`, `var`, `range`, `repeat` |
//! | [`thread`] | where a thread is, how threads meet |
//! | [`dim`], [`tensor`], [`tv`], [`part`] | extents, views, thread-value layouts, a thread's part |
//! | [`frag`], [`shared`], [`reduce`] | registers, shared memory, reductions |
//! | [`pointer`](mod@pointer), [`atomic`], [`fence`](mod@fence), `multimem` | single elements: orders, scopes, hints, atomic operations |
//! | [`warp`], [`barrier`], [`mbarrier`], [`spin`](mod@spin), [`grid`] | what lanes do together; how threads, blocks and engines wait for each other |
//! | [`cluster`], [`bulk`], [`tensor_map`] | other blocks' shared memory; copies that go on by themselves |
//! | [`smem`], [`pipeline`], [`wgmma`], [`warpgroup`], [`roles`], [`schedule`], [`output`] | a Hopper matrix kernel: shared tiles, TMA rings, MMAs, warp roles, persistent tiles, the way out |
//! | [`cute`] | tensors with layouts, tiled copies, tiled matrix instructions |
//! | [`debug`], [`inline`] | messages, assertions; PTX text |
//! | [`args`], [`kernel`], [`options`] | arguments, signatures, the [`Kernel`] trait, compiling |

pub mod args;
mod argument_error;
pub mod atomic;
pub mod barrier;
mod bits;
pub mod bulk;
pub mod bundle;
pub mod cast;
pub mod cluster;
pub mod cute;
pub mod debug;
pub mod dim;
pub mod fence;
pub mod flow;
pub mod frag;
pub mod grid;
pub mod inline;
pub mod kernel;
mod machine;
mod math;
mod matrix_descriptor;
pub mod mbarrier;
mod multimem;
pub mod narrow;
pub mod options;
pub mod output;
pub mod packed;
mod packing;
pub mod part;
pub mod pipeline;
pub mod pointer;
mod precise;
mod receiver;
pub mod reduce;
mod replay;
pub mod roles;
pub mod rounding;
pub mod runs;
pub mod schedule;
pub mod shared;
mod signature;
pub mod smem;
mod software;
pub mod spin;
pub mod tensor;
mod tensor_arg;
pub mod tensor_map;
pub mod thread;
mod tma;
pub mod trace;
pub mod tv;
pub mod value;
pub mod warp;
pub mod warpgroup;
pub mod wgmma;

pub use args::{Arguments, Extent, Params};
pub use argument_error::ArgumentError;
pub use atomic::Atomic;
pub use barrier::{
    arrive_cluster, arrive_cluster_relaxed, arrive_named, sleep_nanoseconds, sync_cluster, sync_named,
    sync_threads_all, sync_threads_any, sync_threads_count, wait_cluster,
};
pub use bulk::{Bulk, commit_bulk, wait_bulk, wait_bulk_read};
pub use cast::Cast;
pub use cluster::{block_in_cluster, cluster_blocks, cluster_count, cluster_idx, cluster_rank, cluster_size};
pub use debug::Messages;
pub use dim::{Dim, Stride};
pub use fence::{
    Proxied, acquire_tensor_map, fence, fence_alias, fence_async, fence_async_shared, fence_barrier_init,
    fence_sequential, release_tensor_map,
};
pub use flow::{Var, branch, break_if, continue_if, exit_if, range, repeat, select, var, when, when_uniform};
pub use frag::{Frag, Stored};
pub use grid::GridBarrier;
pub use inline::{Effect, InlinePtx, inline_ptx};
pub use kernel::{CompileError, Compiled, Kernel, Launch, compile, compile_with, trace_kernel};
pub use mbarrier::{Mbarrier, Mbarriers, Phase, RemoteMbarrier};
pub use narrow::{BF16, E4M3, E5M2, E8M0, F16, I8, I16, U8, U16};
pub use options::{Tracing, target};
pub use output::TmaOutput;
pub use packed::{BF16x2, E2M1x2, E4M3x2, E5M2x2, E8M0x2, F16x2, F32x2};
pub use part::Part;
pub use pipeline::{Fill, Full, TmaRing};
pub use pointer::{CachePolicy, Element, Eviction, Order, Pointer};
pub use receiver::Receiver;
pub use reduce::{Reduce, RowGroup, row_reduce, warp_reduce};
pub use roles::{Group, Registers, warp_roles};
pub use rounding::{Pair, Rounded, Rounding, pair};
pub use schedule::{AtomicSchedule, TileAt, TileSchedule};
pub use shared::Shared;
pub use signature::{Argument, Signature};
pub use smem::SmemTile;
pub use spin::{Spin, spin};
pub use tensor::{Coordinates, Tensor};
pub use tensor_arg::{DeviceId, TensorArg};
pub use tensor_map::TensorMapCopy;
pub use thread::{
    block_idx, block_size, grid_size, lane_idx, launch_dependents, sync_threads, thread_idx, wait_for_upstream,
};
pub use tma::{Span, TensorMap, TmaTensor};
pub use trace::{helper, trace, trace_with};
pub use tv::Tv;
pub use value::{Bool, F32, F64, I32, I64, Number, Scalar, U32, U64};
pub use warp::{
    Lanes, active_lanes, all_lanes, any_lane, ballot, elect, is_uniform, lanes, lanes_below, match_all_lanes,
    match_lanes, shuffle_down, shuffle_from, shuffle_up, shuffle_xor, sync_warp, warp_idx,
};
pub use warpgroup::{RegisterA, WarpgroupMma};
pub use warpsmith_ir::access::{Cache, L1, L2, Prefetch, Scope};
pub use warpsmith_macros::KernelArgs;
pub use warpsmith_types::{DType, Report, Target};
pub use wgmma::{Acc, Mma, Pending};

/// The dtypes as constants: `F32` is a handle's type and, here, the dtype of the same name.
#[allow(non_upper_case_globals)]
pub mod dtypes {
    pub use warpsmith_types::DType;

    macro_rules! constants {
        ($($(#[$doc:meta])* $name:ident)*) => {$(
            $(#[$doc])*
            pub const $name: DType = DType::$name;
        )*};
    }
    constants! {
        /// binary64.
        F64
        /// binary32.
        F32
        /// bfloat16.
        BF16
        /// binary16.
        F16
        /// 8-bit float, 4 exponent bits.
        E4M3
        /// 8-bit float, 5 exponent bits.
        E5M2
        /// Two 4-bit floats in a byte.
        E2M1x2
        /// A power of two.
        E8M0
        /// Signed, 64 bits.
        I64
        /// Signed, 32 bits.
        I32
        /// Signed, 16 bits.
        I16
        /// Signed, 8 bits.
        I8
        /// Unsigned, 64 bits.
        U64
        /// Unsigned, 32 bits.
        U32
        /// Unsigned, 16 bits.
        U16
        /// Unsigned, 8 bits.
        U8
    }
}

/// What a kernel file imports. Nothing here may be called `Copy`, `Fn`, `Box`, …: a glob hides std's own prelude.
pub mod prelude {
    pub use crate::args::{Arguments, Params};
    pub use crate::atomic::Atomic;
    pub use crate::barrier::{
        arrive_cluster, arrive_cluster_relaxed, arrive_named, sleep_nanoseconds, sync_cluster, sync_named,
        sync_threads_all, sync_threads_any, sync_threads_count, wait_cluster,
    };
    pub use crate::bulk::{Bulk, commit_bulk, wait_bulk, wait_bulk_read};
    pub use crate::bundle::Bundle;
    pub use crate::cast::Cast;
    pub use crate::cluster::{
        block_in_cluster, cluster_blocks, cluster_count, cluster_idx, cluster_rank, cluster_size,
    };
    pub use crate::dim::Dim;
    pub use crate::dtypes::*;
    pub use crate::fence::{
        Proxied, fence, fence_alias, fence_async, fence_async_shared, fence_barrier_init, fence_sequential,
    };
    pub use crate::flow::{
        Var, branch, break_if, continue_if, exit_if, range, repeat, select, var, when, when_uniform,
    };
    pub use crate::frag::Frag;
    pub use crate::grid::GridBarrier;
    pub use crate::inline::inline_ptx;
    pub use crate::kernel::{Kernel, Launch};
    pub use crate::mbarrier::{Mbarrier, Mbarriers, RemoteMbarrier};
    pub use crate::narrow::{BF16, E4M3, E5M2, E8M0, F16, I8, I16, U8, U16};
    pub use crate::options::target;
    pub use crate::output::TmaOutput;
    pub use crate::packed::{BF16x2, E2M1x2, E4M3x2, E5M2x2, E8M0x2, F16x2, F32x2};
    pub use crate::pipeline::TmaRing;
    pub use crate::pointer::{CachePolicy, Element, Eviction, Order, Pointer};
    pub use crate::reduce::{Reduce, Reduce::*, RowGroup, row_reduce, warp_reduce};
    pub use crate::roles::{Group, Registers, warp_roles};
    pub use crate::rounding::{Rounding, pair};
    pub use crate::schedule::{TileAt, TileSchedule};
    pub use crate::shared::Shared;
    pub use crate::smem::SmemTile;
    pub use crate::spin::spin;
    pub use crate::tensor::Tensor;
    pub use crate::tensor_arg::{DeviceId, TensorArg};
    pub use crate::tensor_map::TensorMapCopy;
    pub use crate::thread::{
        block_idx, block_size, grid_size, lane_idx, launch_dependents, sync_threads, thread_idx, wait_for_upstream,
    };
    pub use crate::tma::{Span, TmaTensor};
    pub use crate::trace::{helper, trace};
    pub use crate::tv::Tv;
    pub use crate::value::{Bool, F32, F64, I32, I64, U32, U64};
    pub use crate::warp::{
        Lanes, active_lanes, all_lanes, any_lane, ballot, elect, is_uniform, lanes, lanes_below, match_all_lanes,
        match_lanes, shuffle_down, shuffle_from, shuffle_up, shuffle_xor, sync_warp, warp_idx,
    };
    pub use crate::warpgroup::{RegisterA, WarpgroupMma};
    pub use crate::wgmma::{Acc, Mma};
    pub use crate::{device_assert, device_print};
    pub use warpsmith_ir::access::{Cache, L1, L2, Prefetch, Scope};
    pub use warpsmith_macros::KernelArgs;
    pub use warpsmith_types::Target;
}
