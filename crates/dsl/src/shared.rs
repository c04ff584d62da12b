//! Shared memory: arrays of a size known when traced.

use crate::dim::Dim;
use crate::pointer::{Element, Pointer};
use crate::trace::{Handle, emit, with};
use crate::value::{Scalar, U32};
use std::marker::PhantomData;
use std::panic::Location;
use warpsmith_ir::{Access, Op, SharedId, SharedVariable, Space, Type};

/// An array in the block's shared memory. A declaration, so it may stand in a run-time loop: one array then, for all
/// iterations.
pub struct Shared<T> {
    id: SharedId,
    len: usize,
    align: u32,
    element: PhantomData<(T, *const ())>,
}

impl<T: Scalar> Shared<T> {
    /// Declares `len` elements; their contents are undefined until written.
    pub fn new(name: &str, len: usize) -> Self {
        Self::aligned(name, len, 16)
    }

    /// The same at a multiple of `align` bytes, a power of two: 128 for what bulk copies write.
    pub fn aligned(name: &str, len: usize, align: usize) -> Self {
        let bytes = T::TYPE.bytes();
        let align = bytes.max(align as u32);
        let variable = SharedVariable { name: name.into(), bytes: bytes * len as u32, align };
        Shared { id: with(|t| t.shared(variable)), len, align, element: PhantomData }
    }

    /// How many elements it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where an element is, for ordered accesses, atomic operations, vectors, copies and other blocks' sight.
    #[track_caller]
    pub fn at(&self, index: impl Into<Dim>) -> Pointer<T>
    where
        T: Element,
    {
        let base = U32 { h: emit(Op::SharedAddress(self.id), &[], Type::U32) };
        Pointer::new(base.h, Space::Shared, self.align.into()).offset(index)
    }

    #[track_caller]
    fn address(&self, index: Dim) -> (Handle, i32) {
        let base = U32 { h: emit(Op::SharedAddress(self.id), &[], Type::U32) };
        let bytes = T::TYPE.bytes() as usize;
        match index {
            Dim::Static(n) => (base.h, (n * bytes as i64) as i32),
            Dim::Dynamic { value, .. } => ((base + value * bytes).h, 0),
        }
    }

    /// Reads an element.
    #[track_caller]
    pub fn get(&self, index: impl Into<Dim>) -> T {
        let (address, offset) = self.address(index.into());
        let op = Op::Load { space: Space::Shared, offset, fill: None, access: Access::PLAIN };
        T::from_handle(emit(op, &[address], T::TYPE))
    }

    /// Writes an element.
    #[track_caller]
    pub fn set(&self, index: impl Into<Dim>, x: impl Into<T>) {
        let (address, offset) = self.address(index.into());
        let x = x.into();
        let at = Location::caller();
        let op = Op::Store { space: Space::Shared, offset, guarded: false, access: Access::PLAIN };
        with(|t| t.record(op, &[address, x.handle()], &[], at));
    }
}
