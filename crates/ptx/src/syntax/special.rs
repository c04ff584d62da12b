use super::{Type, words};

words! {
    /// A special register (PTX ISA §10), without its percent sign.
    SpecialRegister {
        TidX = "tid.x", TidY = "tid.y", TidZ = "tid.z",
        NtidX = "ntid.x", NtidY = "ntid.y", NtidZ = "ntid.z",
        CtaidX = "ctaid.x", CtaidY = "ctaid.y", CtaidZ = "ctaid.z",
        NctaidX = "nctaid.x", NctaidY = "nctaid.y", NctaidZ = "nctaid.z",
        LaneId = "laneid", WarpId = "warpid", NwarpId = "nwarpid", SmId = "smid", NsmId = "nsmid", GridId = "gridid",
        LanemaskEq = "lanemask_eq", LanemaskLe = "lanemask_le", LanemaskLt = "lanemask_lt",
        LanemaskGe = "lanemask_ge", LanemaskGt = "lanemask_gt",
        Clock = "clock", ClockHi = "clock_hi", Clock64 = "clock64", GlobalTimer = "globaltimer",
        GlobalTimerLo = "globaltimer_lo", GlobalTimerHi = "globaltimer_hi",
        ClusterIdX = "clusterid.x", ClusterIdY = "clusterid.y", ClusterIdZ = "clusterid.z",
        NclusterIdX = "nclusterid.x", NclusterIdY = "nclusterid.y", NclusterIdZ = "nclusterid.z",
        ClusterCtaidX = "cluster_ctaid.x", ClusterCtaidY = "cluster_ctaid.y", ClusterCtaidZ = "cluster_ctaid.z",
        ClusterNctaidX = "cluster_nctaid.x", ClusterNctaidY = "cluster_nctaid.y", ClusterNctaidZ = "cluster_nctaid.z",
        ClusterCtaRank = "cluster_ctarank", ClusterNctaRank = "cluster_nctarank",
        IsExplicitCluster = "is_explicit_cluster",
        EnvReg0 = "envreg0", EnvReg1 = "envreg1", EnvReg2 = "envreg2", EnvReg3 = "envreg3", EnvReg4 = "envreg4",
        EnvReg5 = "envreg5", EnvReg6 = "envreg6", EnvReg7 = "envreg7", EnvReg8 = "envreg8", EnvReg9 = "envreg9",
        EnvReg10 = "envreg10", EnvReg11 = "envreg11", EnvReg12 = "envreg12", EnvReg13 = "envreg13",
        EnvReg14 = "envreg14", EnvReg15 = "envreg15", EnvReg16 = "envreg16", EnvReg17 = "envreg17",
        EnvReg18 = "envreg18", EnvReg19 = "envreg19", EnvReg20 = "envreg20", EnvReg21 = "envreg21",
        EnvReg22 = "envreg22", EnvReg23 = "envreg23", EnvReg24 = "envreg24", EnvReg25 = "envreg25",
        EnvReg26 = "envreg26", EnvReg27 = "envreg27", EnvReg28 = "envreg28", EnvReg29 = "envreg29",
        EnvReg30 = "envreg30", EnvReg31 = "envreg31",
        AggrSmemSize = "aggr_smem_size", DynamicSmemSize = "dynamic_smem_size", TotalSmemSize = "total_smem_size",
    }
}

impl SpecialRegister {
    /// Its type.
    pub const fn ty(self) -> Type {
        match self {
            SpecialRegister::Clock64 | SpecialRegister::GlobalTimer | SpecialRegister::GridId => Type::U64,
            SpecialRegister::IsExplicitCluster => Type::Pred,
            _ => Type::U32,
        }
    }

    /// Whether it changes while a thread runs, or from reader to reader of the same thread.
    pub const fn is_volatile(self) -> bool {
        matches!(
            self,
            SpecialRegister::Clock
                | SpecialRegister::ClockHi
                | SpecialRegister::Clock64
                | SpecialRegister::GlobalTimer
                | SpecialRegister::GlobalTimerLo
                | SpecialRegister::GlobalTimerHi
                | SpecialRegister::WarpId
                | SpecialRegister::SmId
        )
    }
}
