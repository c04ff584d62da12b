//! Whether two answers are alike.

use crate::cases::{Case, Check, SETS};
use warpsmith_ptx::Type;
use warpsmith_types::convert::{bf16_to_f32, f16_to_f32};

/// What the first difference is, in words for people; `None` when the answers are alike.
pub(crate) fn difference(case: &Case, mine: &[u8], card: &[u8]) -> Option<String> {
    if card.len() != case.answer_bytes() {
        return Some(format!("{}: an answer of {} bytes, not {}", case.name, card.len(), case.answer_bytes()));
    }
    let mut at = 0;
    let mut first = None;
    let mut count = 0;
    for (index, ty) in case.results.iter().enumerate() {
        for set in 0..SETS {
            let (x, y) = (element(mine, at, set, *ty), element(card, at, set, *ty));
            if !alike(case.check, x, y) {
                count += 1;
                first.get_or_insert((index, set, x, y));
            }
        }
        at += SETS * ty.bits() as usize / 8;
    }
    let (index, set, x, y) = first?;
    let operands = case.operands_of(set);
    Some(format!(
        "{}: {count} of {}; %d{index} of set {set} is {x:#x}, on the card {y:#x}; operands {operands}",
        case.name,
        SETS * case.results.len()
    ))
}

fn element(answer: &[u8], at: usize, set: usize, ty: Type) -> u128 {
    if ty == Type::Pred {
        return (answer[at + set / 8] >> (set % 8) & 1).into();
    }
    let bytes = ty.bits() as usize / 8;
    answer[at + set * bytes..][..bytes].iter().rev().fold(0, |x, b| x << 8 | u128::from(*b))
}

fn alike(check: Check, x: u128, y: u128) -> bool {
    let Check::Near { ty, absolute, relative } = check else { return x == y };
    let near = |x: f64, y: f64| x == y || (x - y).abs() <= absolute + relative * y.abs();
    let both = |number: fn(u128) -> f64, x, y| x == y || near(number(x), number(y));
    let halves = |number: fn(u128) -> f64| {
        both(number, x & 0xffff, y & 0xffff) && both(number, x >> 16 & 0xffff, y >> 16 & 0xffff)
    };
    match ty {
        Type::F16 | Type::F16x2 => halves(|x| f16_to_f32(x as u16).into()),
        Type::BF16 | Type::BF16x2 => halves(|x| bf16_to_f32(x as u16).into()),
        Type::F64 => both(|x| f64::from_bits(x as u64), x, y),
        _ => both(|x| f32::from_bits(x as u32).into(), x, y),
    }
}
