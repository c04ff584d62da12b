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
        Nan = "NaN", XorSign = "xorsign", Abs = "abs", Lo = "lo", Hi = "hi", Wide = "wide", Cc = "cc",
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
        L1EvictNormal = "L1::evict_normal", L1EvictUnchanged = "L1::evict_unchanged",
        L1EvictFirst = "L1::evict_first", L1EvictLast = "L1::evict_last", L1NoAllocate = "L1::no_allocate",
        L2EvictFirst = "L2::evict_first", L2EvictLast = "L2::evict_last", L2EvictNormal = "L2::evict_normal",
        L2CacheHint = "L2::cache_hint", L2Prefetch64 = "L2::64B", L2Prefetch128 = "L2::128B",
        L2Prefetch256 = "L2::256B", L1 = "L1", L2 = "L2", Proxy = "proxy", Alias = "alias", Generic = "generic",
        Fractional = "fractional", MbarrierInit = "mbarrier_init",
        // vectors
        V2 = "v2", V4 = "v4", V8 = "v8",
        // conversions of addresses, packing
        To = "to", U = "u", F4e = "f4e", B4e = "b4e", Rc8 = "rc8", Ecl = "ecl", Ecr = "ecr", Rc16 = "rc16",
        L = "l", R = "r", Wrap = "wrap", Clamp = "clamp", Shiftamt = "shiftamt",
        // control
        Uni = "uni", Idx = "idx",
        // synchronisation and warps
        Sync = "sync", Arrive = "arrive", Wait = "wait", Aligned = "aligned", Warp = "warp", Up = "up", Down = "down",
        Bfly = "bfly", All = "all", Any = "any", Ballot = "ballot",
        LaunchDependents = "launch_dependents", Init = "init", Inval = "inval", TryWait = "try_wait",
        TestWait = "test_wait", Parity = "parity", ExpectTx = "expect_tx", CompleteTx = "complete_tx",
        NoComplete = "noComplete", PendingCount = "pending_count", ArriveDrop = "arrive_drop",
        // atomics
        Add = "add", Min = "min", Max = "max", Inc = "inc", Dec = "dec", Cas = "cas", Exch = "exch", Noftz = "noftz",
        // asynchronous copies
        Async = "async", CommitGroup = "commit_group", WaitGroup = "wait_group", WaitAll = "wait_all",
        Bulk = "bulk", Mbarrier = "mbarrier", Reduce = "reduce", Tensor = "tensor", Read = "read",
        MbarrierCompleteTxBytes = "mbarrier::complete_tx::bytes", BulkGroup = "bulk_group",
        MulticastCluster = "multicast::cluster", Tile = "tile", D1 = "1d", D2 = "2d", D3 = "3d", D4 = "4d", D5 = "5d",
        // matrices
        MmaAsync = "mma_async", M8n8 = "m8n8", X1 = "x1", X2 = "x2", X4 = "x4", Trans = "trans", Row = "row",
        Col = "col", M16n8k8 = "m16n8k8", M16n8k16 = "m16n8k16", M16n8k32 = "m16n8k32",
        M16n8k4 = "m16n8k4", Load = "load", Store = "store", Mma = "mma", M16n16k16 = "m16n16k16", A = "a", B = "b",
        C = "c", D = "d",
    }
}
