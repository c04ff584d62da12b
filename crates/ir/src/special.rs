//! Values that the hardware knows.

use crate::machine::SpecialRegister;
use crate::op::named;
use crate::types::Type;
use warpsmith_ptx::Type as PtxType;

named! {
    /// Values that the hardware knows.
    Special {
        /// Thread in the block.
        ThreadX = "tid.x",
        /// Thread in the block.
        ThreadY = "tid.y",
        /// Thread in the block.
        ThreadZ = "tid.z",
        /// Block size.
        BlockSizeX = "ntid.x",
        /// Block size.
        BlockSizeY = "ntid.y",
        /// Block size.
        BlockSizeZ = "ntid.z",
        /// Block in the grid.
        BlockX = "ctaid.x",
        /// Block in the grid.
        BlockY = "ctaid.y",
        /// Block in the grid.
        BlockZ = "ctaid.z",
        /// Grid size in blocks.
        GridX = "nctaid.x",
        /// Grid size in blocks.
        GridY = "nctaid.y",
        /// Grid size in blocks.
        GridZ = "nctaid.z",
        /// Lane in the warp.
        Lane = "laneid",
        /// Warp in the block; may change while the thread runs.
        Warp = "warpid",
        /// Room for warps in a block.
        Warps = "nwarpid",
        /// The multiprocessor; may change while the thread runs.
        Multiprocessor = "smid",
        /// Room for multiprocessors; their numbers may have gaps.
        Multiprocessors = "nsmid",
        /// The launch, a `u64`.
        GridId = "gridid",
        /// The bit of this lane.
        LanemaskEq = "lanemask_eq",
        /// The bits of the lanes up to this one.
        LanemaskLe = "lanemask_le",
        /// The bits of the lanes before this one.
        LanemaskLt = "lanemask_lt",
        /// The bits of the lanes from this one on.
        LanemaskGe = "lanemask_ge",
        /// The bits of the lanes after this one.
        LanemaskGt = "lanemask_gt",
        /// A cycle counter's low half.
        Clock = "clock",
        /// A cycle counter's high half.
        ClockHi = "clock_hi",
        /// A cycle counter, a `u64`.
        Clock64 = "clock64",
        /// Nanoseconds, a `u64`.
        GlobalTimer = "globaltimer",
        /// Nanoseconds, low half.
        GlobalTimerLo = "globaltimer_lo",
        /// Nanoseconds, high half.
        GlobalTimerHi = "globaltimer_hi",
        /// Cluster in the grid.
        ClusterX = "clusterid.x",
        /// Cluster in the grid.
        ClusterY = "clusterid.y",
        /// Cluster in the grid.
        ClusterZ = "clusterid.z",
        /// Grid size in clusters.
        ClustersX = "nclusterid.x",
        /// Grid size in clusters.
        ClustersY = "nclusterid.y",
        /// Grid size in clusters.
        ClustersZ = "nclusterid.z",
        /// Block in the cluster.
        BlockInClusterX = "cluster_ctaid.x",
        /// Block in the cluster.
        BlockInClusterY = "cluster_ctaid.y",
        /// Block in the cluster.
        BlockInClusterZ = "cluster_ctaid.z",
        /// Cluster size in blocks.
        ClusterSizeX = "cluster_nctaid.x",
        /// Cluster size in blocks.
        ClusterSizeY = "cluster_nctaid.y",
        /// Cluster size in blocks.
        ClusterSizeZ = "cluster_nctaid.z",
        /// Rank of the block in its cluster.
        ClusterRank = "cluster_ctarank",
        /// Blocks in the cluster.
        ClusterSize = "cluster_nctarank",
        /// Whether the launch asked for clusters, a `bool`.
        IsExplicitCluster = "is_explicit_cluster",
        /// Bytes of dynamic shared memory.
        DynamicShared = "dynamic_smem_size",
        /// Bytes of shared memory of the block.
        TotalShared = "total_smem_size",
    }
}

impl Special {
    /// The register in PTX, when it has one of that name.
    pub fn register(self) -> Option<SpecialRegister> {
        SpecialRegister::from_name(self.name())
    }

    /// The type of its value.
    pub fn ty(self) -> Type {
        match self.register().map(SpecialRegister::ty) {
            Some(PtxType::U64) => Type::U64,
            Some(PtxType::Pred) => Type::Bool,
            _ => Type::U32,
        }
    }

    /// Whether it changes while a thread runs.
    pub fn is_volatile(self) -> bool {
        self.register().is_some_and(SpecialRegister::is_volatile)
    }
}
