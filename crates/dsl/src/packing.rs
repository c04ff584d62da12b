//! How elements lie in registers: one to a word, or as many as a word of 32 bits holds.

use crate::machine::ptx;
use crate::trace::{Handle, Loc, with};
use warpsmith_ir::{Binary, Op, Type};
use warpsmith_types::DType;

/// The type of a word of an access of `width` neighbours, and how many elements it holds.
pub(crate) fn word(dtype: DType, width: usize) -> (Type, usize) {
    match (dtype, width) {
        (DType::F64, _) => (Type::F64, 1),
        (DType::I64, _) => (Type::I64, 1),
        (DType::U64, _) => (Type::U64, 1),
        (DType::F32, _) => (Type::F32, 1),
        (DType::I32, _) => (Type::I32, 1),
        (DType::U32, _) => (Type::U32, 1),
        (DType::F16 | DType::BF16 | DType::U16 | DType::I16, 1) => (Type::U16, 1),
        (DType::F16 | DType::BF16 | DType::U16 | DType::I16, _) => (Type::U32, 2),
        // Bytes.
        (_, 1) => (Type::U8, 1),
        (_, 2) => (Type::U16, 2),
        (_, _) => (Type::U32, 4),
    }
}

/// The bits of a word in which each of `count` elements has these bits.
pub(crate) fn repeated(dtype: DType, element: u64, count: usize) -> u64 {
    (0..count).fold(0, |word, i| word | (element << ((i * dtype.bits()) % 64)))
}

/// Writes operations down as if by the author's call at a place.
struct At(Loc);

impl At {
    fn one(&self, op: Op, args: &[Handle], ty: Type) -> Handle {
        with(|t| t.record(op, args, &[ty], self.0)[0])
    }

    fn constant(&self, n: u64) -> Handle {
        self.one(Op::Const(n), &[], Type::U32)
    }

    /// The two halves of a word of 32 bits.
    fn halves(&self, word: Handle) -> [Handle; 2] {
        let halves = with(|t| t.record(Op::Unpack, &[word], &[Type::U16, Type::U16], self.0));
        [halves[0], halves[1]]
    }

    /// The two bytes of a half.
    fn bytes(&self, half: Handle) -> [Handle; 2] {
        let high = self.one(Op::Binary(Binary::Shr), &[half, self.constant(8)], Type::U16);
        [half, high].map(|h| self.one(Op::Convert, &[h], Type::U8))
    }

    fn word_of_halves(&self, halves: &[Handle]) -> Handle {
        ptx("mov.b32").result(Type::U32).args(halves).value()
    }

    fn half_of_bytes(&self, bytes: &[Handle]) -> Handle {
        let [low, high] = [0, 1].map(|i| self.one(Op::Convert, &[bytes[i]], Type::U16));
        let high = self.one(Op::Binary(Binary::Shl), &[high, self.constant(8)], Type::U16);
        self.one(Op::Binary(Binary::Or), &[low, high], Type::U16)
    }
}

/// Words of `from` elements each as words of `to` elements each. Both are what [`word`] gives; the elements are whole
/// words of either.
#[track_caller]
pub(crate) fn regroup(dtype: DType, words: Vec<Handle>, from: usize, to: usize, at: Loc) -> Vec<Handle> {
    let here = At(at);
    let bytes = dtype.bits() == 8;
    let mut words = words;
    let mut held = from;
    while held > to {
        words = match (bytes, held) {
            (true, 2) => words.into_iter().flat_map(|w| here.bytes(w)).collect(),
            _ => words.into_iter().flat_map(|w| here.halves(w)).collect(),
        };
        held /= 2;
    }
    while held < to {
        words = match (bytes, held) {
            (true, 1) => words.chunks_exact(2).map(|b| here.half_of_bytes(b)).collect(),
            _ => words.chunks_exact(2).map(|h| here.word_of_halves(h)).collect(),
        };
        held *= 2;
    }
    words
}
