//! Modifiers and special registers that need a later version or target than their row does.

use super::rules::width;
use crate::instruction::Instruction;
use crate::syntax::{Modifier, Opcode, SpecialRegister, Type, Word};
use warpsmith_types::{PtxVersion, Target};

const fn sm(number: u16) -> Target {
    Target { number, specific: false }
}

/// The smallest version and target of a modifier wherever it stands, when they are above the usual.
pub(super) fn of_modifier(instruction: &Instruction, modifier: Modifier) -> Option<(PtxVersion, Target)> {
    let opcode = instruction.opcode;
    let (major, minor, target) = match modifier {
        Modifier::Word(word) => match word {
            Word::Cta if matches!(opcode, Opcode::Bar | Opcode::Barrier) => (7, 8, sm(50)),
            Word::Release | Word::Relaxed | Word::Acquire if opcode == Opcode::Barrier => (8, 0, sm(90)),
            Word::SharedCluster if opcode == Opcode::Mbarrier => (8, 0, sm(90)),
            // `cp.async` had it as its way to say `.shared`.
            Word::SharedCta if opcode == Opcode::Cp && !instruction.has(Word::Mbarrier) => return None,
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

/// The smallest version and target of an access by its width: 256 bits at once, or 128 as one across devices.
pub(super) fn of_width(instruction: &Instruction) -> Option<(PtxVersion, Target)> {
    match width(&instruction.modifiers) {
        256.. => Some((PtxVersion::new(8, 8), sm(100))),
        128 if instruction.has(Word::Sys) && instruction.types().next() == Some(Type::B128) => {
            Some((PtxVersion::new(8, 4), sm(70)))
        }
        _ => None,
    }
}

/// The smallest version and target of a special register, when they are above the usual.
pub(super) fn of_special(special: SpecialRegister) -> Option<(PtxVersion, Target)> {
    let name = special.name();
    let of_clusters = ["clusterid", "nclusterid", "cluster_", "is_explicit_cluster"];
    of_clusters.iter().any(|p| name.starts_with(p)).then_some((PtxVersion::new(7, 8), sm(90)))
}
