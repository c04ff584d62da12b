//! Copies by ordinary loads and stores, as wide as both sides allow.

use super::coordinates::Predicates;
use super::copy::Side;
use super::global_part::Inside;
use super::register_tensor::word;
use super::shared_tensor::SmemTensor;
use crate::dim::gcd;
use crate::trace::{Handle, mistake, with};
use smallvec::SmallVec;
use std::panic::Location;
use warpsmith_ir::access::Access;
use warpsmith_ir::{Op, Space, Type};

/// The widest access of a thread, in bytes.
const WIDEST: i64 = 16;

/// A copy, in vectors of at most so many elements.
pub(crate) struct Move<'a> {
    pub(crate) from: Side<'a>,
    pub(crate) to: Side<'a>,
    pub(crate) vector: usize,
    pub(crate) predicates: Option<&'a Predicates>,
}

#[track_caller]
pub(crate) fn move_elements(m: &Move<'_>) {
    let dtype = m.from.dtype();
    let Some((_, per_word)) = word(dtype) else {
        return mistake(format!("a copy of {dtype} elements"), &[], "elements of 8, 16 and 32 bits");
    };
    let mut width = gcd(m.vector as i64, 1 << 10).min(WIDEST / dtype.bytes() as i64);
    while width > 1 && !(allows(m.from, width) && allows(m.to, width)) {
        width /= 2;
    }
    let registers = matches!(m.from, Side::Register(_)) || matches!(m.to, Side::Register(_));
    if dtype.bits() == 8 && width < per_word as i64 {
        let message = format!("8-bit elements from `{}` to `{}`, which share no words", m.from.name(), m.to.name());
        return mistake(message, &[], "let alignment and layout keep four elements together");
    }
    if registers && (width as usize) < per_word && !m.from.len().is_multiple_of(per_word) {
        return mistake("an odd number of 16-bit elements in registers", &[], "move pairs");
    }
    let words = read(m, width as usize);
    write(m, width as usize, words);
}

/// Whether every `width` elements are neighbours in memory, and aligned.
fn allows(side: Side<'_>, width: i64) -> bool {
    let bytes = width * side.dtype().bytes() as i64;
    match side {
        Side::Register(_) => true,
        Side::Shared(t) => t
            .layout
            .table()
            .unwrap_or_default()
            .chunks(width as usize)
            .all(|run| run.iter().enumerate().all(|(i, p)| *p == run[0] + i as i64) && t.run(run[0]) % width == 0),
        Side::Global(t) => {
            let Some(mode) = t.dense_mode() else { return false };
            t.steps().chunks(width as usize).all(|run| {
                let first = run[0];
                let along =
                    |(j, s): (usize, &[i64; 2])| s[mode] == first[mode] + j as i64 && s[1 - mode] == first[1 - mode];
                run.iter().enumerate().all(along)
                    && t.align(first) % bytes == 0
                    && t.extent_divisor(mode, first[mode]) % width == 0
            })
        }
    }
}

/// The type of a word of an access of `width` elements, and how many elements it holds.
fn words_of(side: Side<'_>, width: usize) -> (Type, usize) {
    match word(side.dtype()) {
        Some((ty, per_word)) if width >= per_word => (ty, per_word),
        _ => (Type::U16, 1),
    }
}

impl Move<'_> {
    /// What the predicates say of the vector that starts with element `i`.
    fn allowed(&self, i: usize) -> Inside {
        self.predicates.map_or(Inside::Always, |p| Inside::When(p.all[i / self.vector]))
    }
}

/// An access of shared memory.
fn shared(t: &SmemTensor, place: i64) -> (Handle, i32) {
    let (address, offset) = t.address_of(place, Location::caller());
    (address.h, offset)
}

/// All elements, in words of an access.
#[track_caller]
fn read(m: &Move<'_>, width: usize) -> Vec<Handle> {
    let at = Location::caller();
    let (ty, per_word) = words_of(m.from, width);
    let types: SmallVec<[Type; 4]> = std::iter::repeat_n(ty, width / per_word).collect();
    let load = |space, address: Handle, offset, inside: Inside, read_only| {
        let condition = match inside {
            Inside::Always => None,
            Inside::When(c) => Some(c.h),
            Inside::Never => {
                let zero = with(|t| t.record(Op::Const(0), &[], &[ty], at)[0]);
                return types.iter().map(|_| zero).collect::<SmallVec<[Handle; 1]>>();
            }
        };
        let args: SmallVec<[Handle; 2]> = [address].into_iter().chain(condition).collect();
        let access = if read_only { Access::READ_ONLY } else { Access::PLAIN };
        let op = Op::Load { space, offset, fill: condition.map(|_| 0), access };
        with(|t| t.record(op, &args, &types, at))
    };
    match m.from {
        Side::Register(t) => {
            let words = t.get().data().words;
            if per_word == word(t.dtype()).map_or(1, |w| w.1) {
                return words;
            }
            let apart = |w: Handle| with(|t| t.record(Op::Unpack, &[w], &[Type::U16, Type::U16], at));
            words.into_iter().flat_map(apart).collect()
        }
        Side::Shared(t) => {
            let places = t.layout.table().unwrap_or_default();
            let firsts = places.into_iter().enumerate().step_by(width);
            firsts
                .flat_map(|(i, place)| {
                    let (address, offset) = shared(t, place);
                    load(Space::Shared, address, offset, m.allowed(i), false)
                })
                .collect()
        }
        Side::Global(t) => {
            let steps = t.steps();
            let firsts = steps.into_iter().enumerate().step_by(width);
            firsts
                .flat_map(|(i, step)| {
                    let inside = m.allowed(i).and(t.inside(0, step[0])).and(t.inside(1, step[1]));
                    let (address, offset) = t.address_of(step);
                    load(Space::Global, address.h, offset, inside, t.tensor.read_only)
                })
                .collect()
        }
    }
}

#[track_caller]
fn write(m: &Move<'_>, width: usize, words: Vec<Handle>) {
    let at = Location::caller();
    let (_, per_word) = words_of(m.from, width);
    let count = width / per_word;
    let store = |space, address: Handle, offset, inside: Inside, data: &[Handle]| {
        let condition = match inside {
            Inside::Always => None,
            Inside::When(c) => Some(c.h),
            Inside::Never => return,
        };
        let args: SmallVec<[Handle; 6]> = [address].into_iter().chain(data.iter().copied()).chain(condition).collect();
        let op = Op::Store { space, offset, guarded: condition.is_some(), access: Access::PLAIN };
        with(|t| t.record(op, &args, &[], at));
    };
    match m.to {
        Side::Register(t) => {
            let whole = word(t.dtype()).is_some_and(|w| w.1 == per_word);
            let words = if whole {
                words
            } else {
                let wide = |h: &Handle| with(|t| t.record(Op::Convert, &[*h], &[Type::U32], at)[0]);
                let pack = |pair: &[Handle]| {
                    let (low, high) =
                        (crate::value::U32 { h: wide(&pair[0]) }, crate::value::U32 { h: wide(&pair[1]) });
                    (low | (high << 16)).h
                };
                words.chunks_exact(2).map(pack).collect()
            };
            t.set_words(words, at);
        }
        Side::Shared(t) => {
            let places = t.layout.table().unwrap_or_default();
            for ((i, place), data) in places.into_iter().enumerate().step_by(width).zip(words.chunks(count)) {
                // From memory, what the predicate leaves out has been read as zero.
                let allowed = if matches!(m.from, Side::Register(_)) { m.allowed(i) } else { Inside::Always };
                let (address, offset) = shared(t, place);
                store(Space::Shared, address, offset, allowed, data);
            }
        }
        Side::Global(t) => {
            if t.tensor.read_only {
                let message = format!("`{}` is an input: it can not be stored to", t.name());
                return mistake(message, &[], "declare it as an output: `&mut TensorArg`");
            }
            let steps = t.steps();
            for ((i, step), data) in steps.into_iter().enumerate().step_by(width).zip(words.chunks(count)) {
                let inside = m.allowed(i).and(t.inside(0, step[0])).and(t.inside(1, step[1]));
                let (address, offset) = t.address_of(step);
                store(Space::Global, address.h, offset, inside, data);
            }
        }
    }
}
