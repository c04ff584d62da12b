use super::types::Type;

/// A word after the opcode: `.rn`, `.global`, `.L1::no_allocate`, `.v4`, a type.
///
/// Types are [`Modifier::Type`]; every other word is a variant of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Modifier {
    /// A type.
    Type(Type),
    /// Any other word.
    Word(Word),
}

impl Modifier {
    /// The spelling in PTX, without its dot.
    pub const fn name(self) -> &'static str {
        match self {
            Modifier::Type(t) => t.name(),
            Modifier::Word(w) => w.name(),
        }
    }

    /// The modifier so spelt.
    pub fn from_name(name: &str) -> Option<Modifier> {
        Type::from_name(name).map(Modifier::Type).or_else(|| Word::from_name(name).map(Modifier::Word))
    }
}

impl From<Type> for Modifier {
    fn from(t: Type) -> Modifier {
        Modifier::Type(t)
    }
}

impl From<Word> for Modifier {
    fn from(w: Word) -> Modifier {
        Modifier::Word(w)
    }
}

super::words! {
    /// A modifier that is not a type.
    Word {
        // rounding
        Rn = "rn", Rz = "rz", Rm = "rm", Rp = "rp", Rna = "rna", Rni = "rni", Rzi = "rzi", Rmi = "rmi", Rpi = "rpi",
        // arithmetic
        Approx = "approx", Full = "full", Ftz = "ftz", Sat = "sat", Satfinite = "satfinite", Relu = "relu",
        Oob = "oob", Nan = "NaN", XorSign = "xorsign", Abs = "abs", Lo = "lo", Hi = "hi", Wide = "wide", Cc = "cc",
        // comparisons and boolean operations
        Eq = "eq", Ne = "ne", Lt = "lt", Le = "le", Gt = "gt", Ge = "ge", Ls = "ls", Hs = "hs",
        Equ = "equ", Neu = "neu", Ltu = "ltu", Leu = "leu", Gtu = "gtu", Geu = "geu", Num = "num", NanCompare = "nan",
        And = "and", Or = "or", Xor = "xor", Popc = "popc",
        Finite = "finite", Infinite = "infinite", Number = "number", NotANumber = "notanumber", Normal = "normal",
        Subnormal = "subnormal",
        // state spaces
        Const = "const", Global = "global", Local = "local", Param = "param", Shared = "shared",
        SharedCta = "shared::cta", SharedCluster = "shared::cluster", ParamEntry = "param::entry",
        ParamFunc = "param::func",
        // memory order, scope, proxies, caches
        Weak = "weak", Volatile = "volatile", Relaxed = "relaxed", Acquire = "acquire", Release = "release",
        AcqRel = "acq_rel", Sc = "sc", Mmio = "mmio", Cta = "cta", Cluster = "cluster", Gpu = "gpu", Sys = "sys",
        Gl = "gl", Nc = "nc", Ca = "ca", Cg = "cg", Cs = "cs", Lu = "lu", Cv = "cv", Wb = "wb", Wt = "wt",
        L2EvictUnchanged = "L2::evict_unchanged",
        L1EvictNormal = "L1::evict_normal", L1EvictUnchanged = "L1::evict_unchanged",
        L1EvictFirst = "L1::evict_first", L1EvictLast = "L1::evict_last", L1NoAllocate = "L1::no_allocate",
        L2EvictFirst = "L2::evict_first", L2EvictLast = "L2::evict_last", L2EvictNormal = "L2::evict_normal",
        L2CacheHint = "L2::cache_hint", L2Prefetch64 = "L2::64B", L2Prefetch128 = "L2::128B",
        L2Prefetch256 = "L2::256B", L1 = "L1", L2 = "L2", Proxy = "proxy", Alias = "alias", Generic = "generic",
        Fractional = "fractional", MbarrierInit = "mbarrier_init",
        Range = "range", Tensormap = "tensormap", TensormapGeneric = "tensormap::generic",
        LdReduce = "ld_reduce", Red = "red", St = "st", AccF32 = "acc::f32", AccF16 = "acc::f16",
        // vectors
        V2 = "v2", V4 = "v4", V8 = "v8",
        // conversions of addresses, packing
        To = "to", U = "u", F4e = "f4e", B4e = "b4e", Rc8 = "rc8", Ecl = "ecl", Ecr = "ecr", Rc16 = "rc16",
        L = "l", R = "r", Pack = "pack", Wrap = "wrap", Clamp = "clamp", Shiftamt = "shiftamt",
        // control
        Uni = "uni", Idx = "idx",
        // synchronisation and warps
        Sync = "sync", Arrive = "arrive", Wait = "wait", Aligned = "aligned", Warp = "warp", Up = "up", Down = "down",
        Bfly = "bfly", All = "all", Any = "any", Ballot = "ballot",
        Fence = "fence", LaunchDependents = "launch_dependents", Init = "init", Inval = "inval", TryWait = "try_wait",
        TestWait = "test_wait", Parity = "parity", ExpectTx = "expect_tx", CompleteTx = "complete_tx",
        NoComplete = "noComplete", PendingCount = "pending_count", ArriveDrop = "arrive_drop",
        // atomics
        Add = "add", Min = "min", Max = "max", Inc = "inc", Dec = "dec", Cas = "cas", Exch = "exch", Noftz = "noftz",
        // asynchronous copies
        Async = "async", CommitGroup = "commit_group", WaitGroup = "wait_group", WaitAll = "wait_all",
        Noinc = "noinc", Prefetch = "prefetch", Bulk = "bulk", Mbarrier = "mbarrier", Reduce = "reduce",
        Tensor = "tensor", Read = "read",
        MbarrierCompleteTxBytes = "mbarrier::complete_tx::bytes", BulkGroup = "bulk_group",
        MulticastCluster = "multicast::cluster", Tile = "tile", D1 = "1d", D2 = "2d", D3 = "3d", D4 = "4d", D5 = "5d",
        // matrices
        MmaAsync = "mma_async", M8n8 = "m8n8", X1 = "x1", X2 = "x2", X4 = "x4", Trans = "trans", Row = "row",
        Col = "col", M16n8k8 = "m16n8k8", M16n8k16 = "m16n8k16", M16n8k32 = "m16n8k32",
        M16n8k4 = "m16n8k4", Load = "load", Store = "store", Mma = "mma", M16n16k16 = "m16n16k16", A = "a", B = "b",
        C = "c", D = "d", M8n8k4 = "m8n8k4", M8n8k16 = "m8n8k16", M8n8k32 = "m8n8k32", M8n32k16 = "m8n32k16",
        M16n8k64 = "m16n8k64", M32n8k16 = "m32n8k16",
        M16n16k8 = "m16n16k8", KindF8f6f4 = "kind::f8f6f4", KindMxf4nvf4 = "kind::mxf4nvf4",
        BlockScale = "block_scale", ScaleVec2x = "scale_vec::2X", ScaleVec4x = "scale_vec::4X",
        // tensor maps, cluster launch control
        Replace = "replace", GlobalAddress = "global_address", Rank = "rank", BoxDim = "box_dim",
        GlobalDim = "global_dim", GlobalStride = "global_stride", ElementStride = "element_stride",
        Elemtype = "elemtype", InterleaveLayout = "interleave_layout", SwizzleMode = "swizzle_mode",
        FillMode = "fill_mode", B1024 = "b1024", CpFenceproxy = "cp_fenceproxy", TryCancel = "try_cancel",
        QueryCancel = "query_cancel", IsCanceled = "is_canceled", GetFirstCtaid = "get_first_ctaid",
        GetFirstCtaidX = "get_first_ctaid::x", GetFirstCtaidY = "get_first_ctaid::y",
        GetFirstCtaidZ = "get_first_ctaid::z", MulticastClusterAll = "multicast::cluster::all",
        // shapes of a warpgroup
        M64n8k8 = "m64n8k8", M64n16k8 = "m64n16k8", M64n24k8 = "m64n24k8", M64n32k8 = "m64n32k8",
        M64n40k8 = "m64n40k8", M64n48k8 = "m64n48k8", M64n56k8 = "m64n56k8", M64n64k8 = "m64n64k8",
        M64n72k8 = "m64n72k8", M64n80k8 = "m64n80k8", M64n88k8 = "m64n88k8", M64n96k8 = "m64n96k8",
        M64n104k8 = "m64n104k8", M64n112k8 = "m64n112k8", M64n120k8 = "m64n120k8", M64n128k8 = "m64n128k8",
        M64n136k8 = "m64n136k8", M64n144k8 = "m64n144k8", M64n152k8 = "m64n152k8", M64n160k8 = "m64n160k8",
        M64n168k8 = "m64n168k8", M64n176k8 = "m64n176k8", M64n184k8 = "m64n184k8", M64n192k8 = "m64n192k8",
        M64n200k8 = "m64n200k8", M64n208k8 = "m64n208k8", M64n216k8 = "m64n216k8", M64n224k8 = "m64n224k8",
        M64n232k8 = "m64n232k8", M64n240k8 = "m64n240k8", M64n248k8 = "m64n248k8", M64n256k8 = "m64n256k8",
        M64n8k16 = "m64n8k16", M64n16k16 = "m64n16k16", M64n24k16 = "m64n24k16", M64n32k16 = "m64n32k16",
        M64n40k16 = "m64n40k16", M64n48k16 = "m64n48k16", M64n56k16 = "m64n56k16", M64n64k16 = "m64n64k16",
        M64n72k16 = "m64n72k16", M64n80k16 = "m64n80k16", M64n88k16 = "m64n88k16", M64n96k16 = "m64n96k16",
        M64n104k16 = "m64n104k16", M64n112k16 = "m64n112k16", M64n120k16 = "m64n120k16", M64n128k16 = "m64n128k16",
        M64n136k16 = "m64n136k16", M64n144k16 = "m64n144k16", M64n152k16 = "m64n152k16", M64n160k16 = "m64n160k16",
        M64n168k16 = "m64n168k16", M64n176k16 = "m64n176k16", M64n184k16 = "m64n184k16", M64n192k16 = "m64n192k16",
        M64n200k16 = "m64n200k16", M64n208k16 = "m64n208k16", M64n216k16 = "m64n216k16", M64n224k16 = "m64n224k16",
        M64n232k16 = "m64n232k16", M64n240k16 = "m64n240k16", M64n248k16 = "m64n248k16", M64n256k16 = "m64n256k16",
        M64n8k32 = "m64n8k32", M64n16k32 = "m64n16k32", M64n24k32 = "m64n24k32", M64n32k32 = "m64n32k32",
        M64n40k32 = "m64n40k32", M64n48k32 = "m64n48k32", M64n56k32 = "m64n56k32", M64n64k32 = "m64n64k32",
        M64n72k32 = "m64n72k32", M64n80k32 = "m64n80k32", M64n88k32 = "m64n88k32", M64n96k32 = "m64n96k32",
        M64n104k32 = "m64n104k32", M64n112k32 = "m64n112k32", M64n120k32 = "m64n120k32", M64n128k32 = "m64n128k32",
        M64n136k32 = "m64n136k32", M64n144k32 = "m64n144k32", M64n152k32 = "m64n152k32", M64n160k32 = "m64n160k32",
        M64n168k32 = "m64n168k32", M64n176k32 = "m64n176k32", M64n184k32 = "m64n184k32", M64n192k32 = "m64n192k32",
        M64n200k32 = "m64n200k32", M64n208k32 = "m64n208k32", M64n216k32 = "m64n216k32", M64n224k32 = "m64n224k32",
        M64n232k32 = "m64n232k32", M64n240k32 = "m64n240k32", M64n248k32 = "m64n248k32", M64n256k32 = "m64n256k32",
    }
}
