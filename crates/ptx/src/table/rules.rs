//! What holds for modifiers in every row.

use crate::syntax::{Modifier, Opcode, Word};

/// What no row says because it holds for all: hints about caches and accesses of 256 bits are for global memory, and
/// loads and stores have vectors of eight only to be that wide.
pub(super) fn go_together(opcode: Opcode, modifiers: &[Modifier]) -> bool {
    if !matches!(opcode, Opcode::Ld | Opcode::Ldu | Opcode::St | Opcode::Atom | Opcode::Red) {
        return true;
    }
    let has = |fits: fn(&Modifier) -> bool| modifiers.iter().any(fits);
    let elsewhere = has(|m| is_space(*m) && *m != Modifier::Word(Word::Global));
    let hint = has(|m| m.name().starts_with("L1::") || m.name().starts_with("L2::"));
    let eight = has(|m| *m == Modifier::Word(Word::V8)) && matches!(opcode, Opcode::Ld | Opcode::St);
    let width = width(modifiers);
    match width {
        ..256 => !(elsewhere && hint || eight),
        256 => !elsewhere && opcode != Opcode::Ldu,
        _ => false,
    }
}

/// Whether it names a state space.
pub(super) fn is_space(modifier: Modifier) -> bool {
    use Word::*;
    let Modifier::Word(word) = modifier else { return false };
    matches!(word, Const | Global | Local | Param | ParamEntry | ParamFunc | Shared | SharedCta | SharedCluster)
}

/// Bits of an access: the first type times the vector's length.
pub(super) fn width(modifiers: &[Modifier]) -> u32 {
    let bits = modifiers.iter().find_map(|m| match m {
        Modifier::Type(ty) => Some(ty.bits()),
        Modifier::Word(_) => None,
    });
    let lanes = [(Word::V2, 2), (Word::V4, 4), (Word::V8, 8)];
    let lanes = lanes.iter().find(|(word, _)| modifiers.contains(&Modifier::Word(*word))).map_or(1, |(_, n)| *n);
    lanes * bits.unwrap_or(0)
}
