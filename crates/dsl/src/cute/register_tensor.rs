//! Tensors in registers: mutable, with a layout, as copies fill them and matrix instructions take them.

use super::index::{Cut, cut};
use crate::dim::Dim;
use crate::frag::{Frag, Stored};
use crate::trace::{FragData, Handle, Loc, emit, mistake, type_of, with};
use std::panic::Location;
use warpsmith_ir::{Op, RegisterId, Type};
use warpsmith_layout::Layout;
use warpsmith_types::DType;

/// A thread's elements in mutable registers, and the layout of a view of them. Elements of 8 and 16 bits share 32-bit
/// registers, in the order of their offsets. Views are cheap; all of one tensor share its registers.
#[derive(Clone, Debug)]
pub struct RmemTensor {
    dtype: DType,
    first: RegisterId,
    /// Of the registers. Those of tf32 operands are untyped: `mma` takes no f32 registers for them.
    ty: Type,
    layout: Layout,
    offset: i64,
}

/// The type of a register, and how many elements it holds.
pub(crate) fn word(dtype: DType) -> Option<(Type, usize)> {
    match dtype {
        DType::F32 => Some((Type::F32, 1)),
        DType::I32 => Some((Type::I32, 1)),
        DType::U32 => Some((Type::U32, 1)),
        DType::F16 | DType::BF16 | DType::I16 | DType::U16 => Some((Type::U32, 2)),
        DType::E4M3 | DType::E5M2 | DType::I8 | DType::U8 => Some((Type::U32, 4)),
        _ => None,
    }
}

impl RmemTensor {
    /// New registers for a static layout, holding nothing yet.
    #[track_caller]
    pub fn new(dtype: DType, layout: Layout) -> RmemTensor {
        RmemTensor::of_type(dtype, word(dtype).map_or(Type::U32, |w| w.0), layout)
    }

    /// In registers without a type, as operands of matrix instructions are.
    #[track_caller]
    pub(crate) fn untyped(dtype: DType, layout: Layout) -> RmemTensor {
        RmemTensor::of_type(dtype, Type::U32, layout)
    }

    #[track_caller]
    fn of_type(dtype: DType, ty: Type, layout: Layout) -> RmemTensor {
        let elements = layout.cosize().and_then(|n| n.known()).unwrap_or_else(|e| {
            mistake(format!("registers of layout {layout}: {e}"), &[], "the layout of registers is static");
            1
        });
        let (_, per_word) = word(dtype).unwrap_or_else(|| {
            mistake(format!("a register tensor of {dtype}"), &[], "elements of 8, 16 and 32 bits");
            (Type::U32, 1)
        });
        let first = with(|t| {
            let first = t.kernel.registers.len() as u32;
            for _ in 0..(elements as usize).div_ceil(per_word) {
                t.register(ty);
            }
            first
        });
        RmemTensor { dtype, first: RegisterId(first), ty, layout, offset: 0 }
    }

    /// New registers of the same shape, for another dtype.
    #[track_caller]
    pub fn like(&self, dtype: DType) -> RmemTensor {
        let layout = Layout::compact(self.layout.shape().clone());
        RmemTensor::new(dtype, layout.unwrap_or_else(|_| self.layout.clone()))
    }

    /// The same registers seen through another layout.
    pub(crate) fn around(&self, layout: Layout) -> RmemTensor {
        RmemTensor { layout, ..self.clone() }
    }

    /// The dtype of its elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// From coordinates to places in the registers.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Elements of this view.
    pub fn len(&self) -> usize {
        self.layout.size().unwrap_or(0) as usize
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The view of what a coordinate leaves open; indices are Rust numbers, since registers have no addresses.
    #[track_caller]
    pub fn slice(&self, coordinate: impl Cut) -> RmemTensor {
        let Some(rest) = cut("registers", &self.layout, &coordinate.modes(), Location::caller()) else {
            return self.clone();
        };
        let Dim::Static(n) = rest.offset.value else {
            mistake(
                "registers are indexed at run time",
                &[],
                "unroll with a Rust loop, or keep the tensor in shared memory",
            );
            return self.clone();
        };
        RmemTensor { layout: rest.layout, offset: self.offset + rest.constant + n, ..self.clone() }
    }

    /// The registers of its elements, in the view's order; each holds a whole word of neighbours. None where the view
    /// takes words apart.
    pub(crate) fn words(&self) -> Option<Vec<RegisterId>> {
        let (_, per_word) = word(self.dtype)?;
        let places = self.layout.table().ok()?;
        let chunks = places.chunks(per_word).map(|chunk| {
            let first = chunk[0] + self.offset;
            let whole =
                first % per_word as i64 == 0 && chunk.iter().enumerate().all(|(i, p)| *p == chunk[0] + i as i64);
            whole.then_some(RegisterId(self.first.0 + (first / per_word as i64) as u32))
        });
        chunks.collect()
    }

    /// The registers, or a mistake.
    #[track_caller]
    pub(crate) fn whole_words(&self) -> Option<Vec<RegisterId>> {
        let words = self.words();
        if words.is_none() {
            let message = format!("this view takes words of {} apart: {}", self.dtype, self.layout);
            mistake(message, &[], "views of packed elements keep neighbours together");
        }
        words
    }

    /// Sets all elements to zero.
    #[track_caller]
    pub fn clear(&self) {
        let at = Location::caller();
        for register in self.whole_words().unwrap_or_default() {
            with(|t| {
                let zero = t.record(Op::Const(0), &[], &[self.ty], at)[0];
                t.record(Op::Set(register), &[zero], &[], at);
            });
        }
    }

    /// What the registers hold now, in the view's order.
    #[track_caller]
    pub fn get(&self) -> Frag {
        let at = Location::caller();
        let ty = word(self.dtype).map_or(Type::U32, |w| w.0);
        let words = self.whole_words().unwrap_or_default().into_iter();
        let read = |r| with(|t| t.record(Op::Get(r), &[], &[self.ty], at)[0]);
        let words = words.map(|r| self.cast(read(r), ty, at)).collect();
        Frag::new(FragData { dtype: self.dtype, elements: self.len(), words })
    }

    /// Replaces what they hold; the fragment has as many elements as the view, of its dtype.
    #[track_caller]
    pub fn set(&self, value: impl Into<Frag<Stored>>) {
        let (at, value) = (Location::caller(), value.into().data());
        if value.dtype != self.dtype || value.elements != self.len() {
            let message = format!(
                "{} elements of {} set to registers for {} of {}",
                value.elements,
                value.dtype,
                self.len(),
                self.dtype
            );
            return mistake(message, &[], "convert it with `.to(dtype)`; both sides have one shape");
        }
        if self.whole_words().is_some_and(|words| words.len() != value.words.len()) {
            return mistake(
                "elements that do not share words set to packed registers",
                &[],
                "load them by whole words",
            );
        }
        self.set_words(value.words, at);
    }

    /// Writes its registers, in the view's order.
    #[track_caller]
    pub(crate) fn set_words(&self, words: Vec<Handle>, at: Loc) {
        for (register, h) in self.whole_words().unwrap_or_default().into_iter().zip(words) {
            let h = self.cast(h, self.ty, at);
            with(|t| t.record(Op::Set(register), &[h], &[], at));
        }
    }

    /// The same bits as a word of another type.
    fn cast(&self, h: Handle, to: Type, at: Loc) -> Handle {
        if type_of(h).is_none_or(|ty| ty == to) { h } else { with(|t| t.record(Op::Bitcast, &[h], &[to], at)[0]) }
    }

    /// The elements as another dtype, in new registers of this shape.
    #[track_caller]
    pub fn to(&self, dtype: DType) -> RmemTensor {
        let out = self.like(dtype);
        out.set(self.get().f32().to(dtype));
        out
    }

    /// Changes each element of an f32 tensor in place.
    #[track_caller]
    pub fn update(&self, f: impl FnOnce(Frag<crate::value::F32>) -> Frag<crate::value::F32>) {
        self.set(f(self.get().f32()));
    }

    /// Rounds f32 elements to tf32, in place: to nearest, ties away from zero (`cvt.rna.tf32.f32`). Matrix instructions
    /// of tf32 cut the lower bits off otherwise.
    #[track_caller]
    pub fn round_to_tf32(&self) {
        for register in self.whole_words().unwrap_or_default() {
            let at = Location::caller();
            let x = self.cast(emit(Op::Get(register), &[], self.ty), Type::F32, at);
            let bits = crate::machine::ptx("cvt.rna.tf32.f32").result(Type::U32).arg(x).value();
            crate::trace::effect(Op::Set(register), &[self.cast(bits, self.ty, at)]);
        }
    }
}
