//! Sets of modifiers that many rows share, and the modifiers that need more than their row does.

use crate::syntax::{Modifier, SpecialRegister, Type, Word};
use warpsmith_types::{PtxVersion, Target};

/// What `<name>` stands for in a row.
pub const SETS: &[(&str, &str)] = &[
    ("scope", ".cta|.cluster|.gpu|.sys"),
    ("space", ".const|.global|.local|.param|.shared|.shared::cta|.shared::cluster|.param::entry|.param::func"),
    ("shared", ".shared|.shared::cta"),
    ("where", ".global|.shared|.shared::cta|.shared::cluster"),
    ("any_shared", ".shared|.shared::cta|.shared::cluster"),
    ("load_cache", ".ca|.cg|.cs|.lu|.cv"),
    ("store_cache", ".wb|.cg|.cs|.wt"),
    ("L1", ".L1::evict_normal|.L1::evict_unchanged|.L1::evict_first|.L1::evict_last|.L1::no_allocate"),
    ("L2", ".L2::evict_last|.L2::evict_normal|.L2::evict_first|.L2::evict_unchanged"),
    ("prefetch", ".L2::64B|.L2::128B|.L2::256B"),
    ("vector", ".v2|.v4|.v8"),
    ("round", ".rn|.rz|.rm|.rp"),
    ("round_int", ".rni|.rzi|.rmi|.rpi"),
    ("int", ".u16|.u32|.u64|.s16|.s32|.s64"),
    ("int32_64", ".u32|.s32|.u64|.s64"),
    ("signed", ".s16|.s32|.s64"),
    ("bits", ".b16|.b32|.b64"),
    ("cvt_int", ".u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64"),
    ("selectable", ".b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64"),
    ("memory", ".b8|.b16|.b32|.b64|.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64|.f32|.f64"),
    ("compare_int", ".eq|.ne|.lt|.le|.gt|.ge"),
    ("compare_unsigned", ".lo|.ls|.hi|.hs"),
    ("compare_float", ".eq|.ne|.lt|.le|.gt|.ge|.equ|.neu|.ltu|.leu|.gtu|.geu|.num|.nan"),
    ("bool", ".and|.or|.xor"),
    ("dim", ".1d|.2d|.3d|.4d|.5d"),
    ("order", ".relaxed|.acquire|.release|.acq_rel"),
    ("multimem", ".f16|.f16x2|.bf16|.bf16x2|.f32|.f64"),
    ("multimem_st", ".b32|.b64|.u32|.u64|.s32|.s64|.f16|.f16x2|.bf16|.bf16x2|.f32|.f64"),
];

const fn sm(number: u16) -> Target {
    Target { number, specific: false }
}

/// The smallest version and target of a modifier wherever it stands, when they are above the usual.
pub fn modifier_floor(modifier: Modifier) -> Option<(PtxVersion, Target)> {
    let (major, minor, target) = match modifier {
        Modifier::Word(word) => match word {
            Word::SharedCta => (7, 8, sm(50)),
            Word::SharedCluster | Word::Cluster => (7, 8, sm(90)),
            Word::ParamEntry | Word::ParamFunc => (8, 3, sm(50)),
            Word::L1EvictNormal
            | Word::L1EvictUnchanged
            | Word::L1EvictFirst
            | Word::L1EvictLast
            | Word::L1NoAllocate => (7, 4, sm(70)),
            Word::L2CacheHint => (7, 4, sm(80)),
            Word::L2Prefetch64 | Word::L2Prefetch128 => (7, 4, sm(75)),
            Word::L2Prefetch256 => (7, 4, sm(80)),
            Word::V8 => (8, 8, sm(100)),
            Word::MulticastCluster => (8, 0, sm(90)),
            _ => return None,
        },
        Modifier::Type(ty) => match ty {
            Type::BF16 | Type::BF16x2 | Type::TF32 => (7, 0, sm(80)),
            Type::B128 => (8, 3, sm(70)),
            _ => return None,
        },
    };
    Some((PtxVersion::new(major, minor), target))
}

/// The smallest version and target of a special register, when they are above the usual.
pub fn special_floor(special: SpecialRegister) -> Option<(PtxVersion, Target)> {
    let name = special.name();
    let of_clusters = ["clusterid", "nclusterid", "cluster_", "is_explicit_cluster"];
    of_clusters.iter().any(|p| name.starts_with(p)).then_some((PtxVersion::new(7, 8), sm(90)))
}
