//! Sets of modifiers that many rows share.

/// What `<name>` stands for in a row.
pub const SETS: &[(&str, &str)] = &[
    ("scope", ".cta|.cluster|.gpu|.sys"),
    ("space", ".const|.global|.local|.param|.shared|.shared::cta|.shared::cluster|.param::entry"),
    ("shared", ".shared|.shared::cta"),
    ("where", ".global|.shared|.shared::cta|.shared::cluster"),
    ("any_shared", ".shared|.shared::cta|.shared::cluster"),
    ("load_cache", ".ca|.cg|.cs|.lu|.cv"),
    ("store_space", ".global|.local|.param|.shared|.shared::cta|.shared::cluster|.param::func"),
    ("store_cache", ".wb|.cg|.cs|.wt"),
    ("L1", ".L1::evict_normal|.L1::evict_unchanged|.L1::evict_first|.L1::evict_last|.L1::no_allocate"),
    ("L2", ".L2::evict_last|.L2::evict_normal|.L2::evict_first|.L2::evict_unchanged"),
    ("prefetch", ".L2::64B|.L2::128B|.L2::256B"),
    ("L2_wide", ".L2::evict_last|.L2::evict_normal|.L2::evict_first"),
    ("vector", ".v2|.v4|.v8"),
    ("round", ".rn|.rz|.rm|.rp"),
    ("round_int", ".rni|.rzi|.rmi|.rpi"),
    ("int", ".u16|.u32|.u64|.s16|.s32|.s64"),
    ("any32", ".u32|.s32"),
    ("int32_64", ".u32|.s32|.u64|.s64"),
    ("signed", ".s16|.s32|.s64"),
    ("bits", ".b16|.b32|.b64"),
    ("cvt_int", ".u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64"),
    ("selectable", ".b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64"),
    (
        "k8",
        ".m64n8k8|.m64n16k8|.m64n24k8|.m64n32k8|.m64n40k8|.m64n48k8|.m64n56k8|.m64n64k8|.m64n72k8|.m64n80k8\
         |.m64n88k8|.m64n96k8|.m64n104k8|.m64n112k8|.m64n120k8|.m64n128k8|.m64n136k8|.m64n144k8|.m64n152k8\
         |.m64n160k8|.m64n168k8|.m64n176k8|.m64n184k8|.m64n192k8|.m64n200k8|.m64n208k8|.m64n216k8|.m64n224k8\
         |.m64n232k8|.m64n240k8|.m64n248k8|.m64n256k8",
    ),
    (
        "k16",
        ".m64n8k16|.m64n16k16|.m64n24k16|.m64n32k16|.m64n40k16|.m64n48k16|.m64n56k16|.m64n64k16|.m64n72k16\
         |.m64n80k16|.m64n88k16|.m64n96k16|.m64n104k16|.m64n112k16|.m64n120k16|.m64n128k16|.m64n136k16\
         |.m64n144k16|.m64n152k16|.m64n160k16|.m64n168k16|.m64n176k16|.m64n184k16|.m64n192k16|.m64n200k16\
         |.m64n208k16|.m64n216k16|.m64n224k16|.m64n232k16|.m64n240k16|.m64n248k16|.m64n256k16",
    ),
    (
        "k32",
        ".m64n8k32|.m64n16k32|.m64n24k32|.m64n32k32|.m64n40k32|.m64n48k32|.m64n56k32|.m64n64k32|.m64n72k32\
         |.m64n80k32|.m64n88k32|.m64n96k32|.m64n104k32|.m64n112k32|.m64n120k32|.m64n128k32|.m64n136k32\
         |.m64n144k32|.m64n152k32|.m64n160k32|.m64n168k32|.m64n176k32|.m64n184k32|.m64n192k32|.m64n200k32\
         |.m64n208k32|.m64n216k32|.m64n224k32|.m64n232k32|.m64n240k32|.m64n248k32|.m64n256k32",
    ),
    (
        "k32_int",
        ".m64n8k32|.m64n16k32|.m64n24k32|.m64n32k32|.m64n48k32|.m64n64k32|.m64n80k32|.m64n96k32|.m64n112k32\
         |.m64n128k32|.m64n144k32|.m64n160k32|.m64n176k32|.m64n192k32|.m64n208k32|.m64n224k32|.m64n240k32\
         |.m64n256k32",
    ),
    ("memory", ".b8|.b16|.b32|.b64|.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64|.f32|.f64"),
    ("compare_int", ".eq|.ne|.lt|.le|.gt|.ge"),
    ("compare_unsigned", ".lo|.ls|.hi|.hs"),
    ("compare_float", ".eq|.ne|.lt|.le|.gt|.ge|.equ|.neu|.ltu|.leu|.gtu|.geu|.num|.nan"),
    ("bool", ".and|.or|.xor"),
    ("layout", ".row|.col"),
    ("wmma", ".m16n16k16|.m32n8k16|.m8n32k16"),
    ("f8f6f4", ".e4m3|.e5m2|.e2m3|.e3m2|.e2m1"),
    ("dim", ".1d|.2d|.3d|.4d|.5d"),
    ("order", ".relaxed|.acquire|.release|.acq_rel"),
    ("strong_load", ".relaxed|.acquire"),
    ("strong_store", ".relaxed|.release"),
    ("multimem_st", ".b32|.b64|.u32|.u64|.s32|.s64|.f32|.f64|.f16x2|.bf16x2"),
];
