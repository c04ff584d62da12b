//! Tensor maps that a kernel changes: a copy of the launch's map with another address, extent or stride (sm_90a), as
//! grouped kernels need when each group is a tensor of its own.

use crate::fence::acquire_tensor_map;
use crate::flow::when;
use crate::machine::ptx;
use crate::narrow::U8;
use crate::pointer::Pointer;
use crate::shared::Shared;
use crate::thread::lane_idx;
use crate::tma::TmaTensor;
use crate::trace::helper;
use crate::value::{U32, U64};
use crate::warp::sync_warp;
use warpsmith_ir::access::Scope;

/// A tensor map being changed in shared memory. One warp works on it.
pub struct TensorMapCopy {
    memory: Shared<U64>,
    rank: usize,
}

const BYTES: i64 = 128;

impl TensorMapCopy {
    /// Copies a launch's map to shared memory; by one whole warp.
    #[track_caller]
    pub fn new(from: &TmaTensor) -> TensorMapCopy {
        helper("TensorMapCopy::new", || {
            let memory = Shared::aligned("tensor_map", BYTES as usize / 8, BYTES as usize);
            let (lane, map) = (lane_idx(), Pointer::<U64>::generic(from.address()));
            when(lane.lt(BYTES as usize / 8), || memory.at(lane).store(map.offset(lane).load()));
            sync_warp();
            TensorMapCopy { memory, rank: from.rank() }
        })
    }

    #[track_caller]
    fn replace(&self, field: &str, width: u32) -> crate::machine::Ptx {
        let at = self.memory.at(0);
        ptx(format!("tensormap.replace.tile.{field}.shared::cta.b1024.b{width}")).at_offset(at.address, at.offset)
    }

    /// Replaces the address of the first element; by one thread.
    #[track_caller]
    pub fn set_address(&self, address: U64) {
        self.replace("global_address", 64).arg(address.h).emit();
    }

    /// Replaces the extent of a mode, counted in the tensor's order; by one thread.
    #[track_caller]
    pub fn set_extent(&self, mode: usize, extent: impl Into<U32>) {
        let extent = extent.into();
        self.replace("global_dim", 32).number(self.innermost(mode)).arg(extent.h).emit();
    }

    /// Replaces the distance between neighbours of a mode, in bytes, counted in the tensor's order without the last mode,
    /// which is dense; by one thread.
    #[track_caller]
    pub fn set_stride(&self, mode: usize, bytes: U64) {
        self.replace("global_stride", 64).number(self.innermost(mode) - 1).arg(bytes.h).emit();
    }

    fn innermost(&self, mode: usize) -> i64 {
        self.rank as i64 - 1 - mode as i64
    }

    /// Writes the map to 128 bytes of global memory (aligned to 128) and makes it known to TMA; by the whole warp. What
    /// comes back is the map to copy through, in any block that has passed a barrier or a release since.
    #[track_caller]
    pub fn publish(&self, to: Pointer<U8>, scope: Scope) -> TmaTensor {
        helper("TensorMapCopy::publish", || {
            sync_warp();
            let from = self.memory.at(0);
            let copy = ptx(format!(
                "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.{}.sync.aligned",
                scope.name()
            ));
            copy.at_offset(to.address, to.offset).at_offset(from.address, from.offset).number(BYTES).emit();
            acquire_tensor_map(to, scope);
            TmaTensor::at(to.address(), self.rank)
        })
    }
}
