//! Clusters: blocks that run together and reach into each other's shared memory (sm_90).

use crate::atomic::Atomic;
use crate::machine::ptx;
use crate::mbarrier::RemoteMbarrier;
use crate::pointer::{Element, Pointer};
use crate::thread::Index3;
use crate::trace::{Handle, emit, mistake};
use crate::value::U32;
use warpsmith_ir::{Op, Space, Special, Type};

fn special(special: Special) -> U32 {
    U32 { h: emit(Op::Special(special), &[], Type::U32) }
}

macro_rules! positions {
    ($($(#[$doc:meta])* $name:ident => $x:ident $y:ident $z:ident;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        pub fn $name() -> Index3 {
            Index3 { x: special(Special::$x), y: special(Special::$y), z: special(Special::$z) }
        }
    )*};
}
positions! {
    /// The cluster in the grid.
    cluster_idx => ClusterX ClusterY ClusterZ;
    /// Clusters in the grid.
    cluster_count => ClustersX ClustersY ClustersZ;
    /// The block in its cluster.
    block_in_cluster => BlockInClusterX BlockInClusterY BlockInClusterZ;
    /// Blocks in a cluster, by direction.
    cluster_size => ClusterSizeX ClusterSizeY ClusterSizeZ;
}

/// The rank of this block in its cluster: what [`Pointer::in_block`] takes.
#[track_caller]
pub fn cluster_rank() -> U32 {
    special(Special::ClusterRank)
}

/// Blocks in the cluster.
#[track_caller]
pub fn cluster_blocks() -> U32 {
    special(Special::ClusterSize)
}

impl<T: Element> Pointer<T> {
    #[track_caller]
    fn remote(&self) -> bool {
        let remote = self.space == Space::SharedCluster;
        if !remote {
            mistake("an asynchronous store goes to a block of the cluster", &[], "`pointer.in_block(rank)`");
        }
        remote
    }

    /// Stores into another block without waiting; its bytes arrive at that block's barrier (`st.async`).
    #[track_caller]
    pub fn store_async(self, x: impl Into<T>, barrier: RemoteMbarrier) {
        self.store_async_vector([x.into()], barrier);
    }

    /// Stores `N` neighbours into another block in one access: up to 16 bytes.
    #[track_caller]
    pub fn store_async_vector<const N: usize>(self, values: [T; N], barrier: RemoteMbarrier) {
        if !self.remote() || !self.check_vector(N, std::panic::Location::caller()) {
            return;
        }
        let vector = if N == 1 { String::new() } else { format!(".v{N}") };
        let name = format!("st.async.shared::cluster.mbarrier::complete_tx::bytes{vector}.b{}", T::TYPE.bits());
        let store = ptx(name).at_offset(self.address, self.offset);
        let handles: [Handle; N] = values.map(|x| x.handle());
        let store = if let [one] = handles[..] { store.arg(one) } else { store.args(&handles) };
        store.at(barrier.address().h).emit();
    }

    /// Updates an integer in another block without waiting; its bytes arrive at that block's barrier (`red.async`).
    #[track_caller]
    pub fn reduce_async(self, op: Atomic, x: impl Into<T>, barrier: RemoteMbarrier) {
        let x = x.into();
        if !self.remote() {
            return;
        }
        let name = format!(
            "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{}.{}",
            op.name(),
            op.type_of::<T>()
        );
        ptx(name).at_offset(self.address, self.offset).arg(x.handle()).at(barrier.address().h).emit();
    }
}
