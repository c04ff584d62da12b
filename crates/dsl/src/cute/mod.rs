//! CuTe's shapes: tensors with layouts in shared memory and registers, tiled copies and tiled matrix instructions.
//!
//! A block's kernel reads as a page of CuTe. Atoms are data, [`warpsmith_layout::atom`] builds tiled instructions from
//! them, and here they meet memory:
//!
//! | CuTe | here |
//! |---|---|
//! | `make_tensor(make_smem_ptr(…), layout)` | [`SmemTensor::new`] with [`smem_layout`] |
//! | `local_tile(A, …)` | [`Tensor::tile`](crate::Tensor::tile) |
//! | `make_tiled_copy`, `make_tiled_copy_A` … | [`make_tiled_copy`], [`make_tiled_copy_a`] … |
//! | `thr_copy.partition_S`, `retile_D` | [`ThreadCopy::partition_s`], [`ThreadCopy::retile_d`] |
//! | `partition_fragment_A`, `partition_fragment_C` | [`ThreadMma::make_fragment_a`], [`ThreadMma::make_fragment_c`] |
//! | `make_identity_tensor`, `copy_if` | [`identity`], [`copy_if`] |
//! | `copy`, `gemm`, `clear` | [`copy()`], [`gemm()`], [`RmemTensor::clear`] |
//! | `cp_async_fence`, `cp_async_wait<N>` | [`cp_async_fence`], [`cp_async_wait`], or a ring |

mod arena;
mod coordinates;
mod copy;
mod gemm;
mod global_part;
mod index;
mod instruction;
mod make;
mod offset;
mod partition;
mod pipeline;
mod plain;
mod register_tensor;
mod ring;
mod shared_tensor;

pub use arena::SmemArena;
pub use coordinates::{Coordinates, Identity, Predicates, identity};
pub use copy::{CopySide, Side, autovec_copy, copy, copy_if, cp_async_fence, cp_async_wait};
pub use gemm::gemm;
pub use global_part::GmemPart;
pub use index::{At, Cut};
pub use make::{
    IntoLayout, copy_atom, make_tiled_copy, make_tiled_copy_a, make_tiled_copy_b, make_tiled_copy_c, make_tiled_mma,
    mma_atom, smem_layout,
};
pub use partition::{Partition, Scheme, ThreadCopy, ThreadMma};
pub use pipeline::{Acquired, Pipeline, Ready};
pub use register_tensor::RmemTensor;
pub use ring::CpAsyncRing;
pub use shared_tensor::SmemTensor;
pub use warpsmith_layout::atom::{CopyAtom, Major, MmaAtom, SharedSwizzle, TiledCopy, TiledMma};
