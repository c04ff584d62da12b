//! Tensors in shared memory: a dtype and a static layout, swizzled or not.

use super::index::{Cut, cut};
use super::offset::Offset;
use crate::dim::Dim;
use crate::frag::Frag;
use crate::pointer::{Element, Pointer};
use crate::trace::{FragData, Loc, emit, mistake, with};
use crate::value::{F32, U32};
use std::panic::Location;
use std::rc::Rc;
use warpsmith_ir::access::Access;
use warpsmith_ir::{Op, SharedVariable, Space, Type};
use warpsmith_layout::{ComposedLayout, Layout, LayoutError, Swizzle};
use warpsmith_types::DType;

/// A tensor in the block's shared memory, of any rank, or a view of one. Its layout is static: an offset is arithmetic
/// on run-time indices, a swizzle is one XOR of the address, constants are part of the access.
///
/// ```
/// # use warpsmith_dsl::prelude::*;
/// # use warpsmith_dsl::cute::*;
/// # trace("example", || {
/// // Three stages of 64 rows of 128 bytes, swizzled so that no eight rows of a column share a bank.
/// let tile = smem_layout(BF16, Major::K, SharedSwizzle::B128, (64, 64, 3));
/// let a = SmemTensor::new("a", BF16, tile);
/// for stage in range(0, 3) {
///     let here = a.slice((.., .., stage)); // (64, 64)
///     here.set((0, thread_idx().x), F32::from(1.0));
/// }
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct SmemTensor {
    pub(crate) name: Rc<str>,
    pub(crate) dtype: DType,
    /// A multiple of the swizzle's span.
    address: U32,
    /// The run-time part of the offset, in elements, that the swizzle works on.
    inner: Offset,
    /// `address`, and `inner` after the swizzle.
    start: U32,
    /// The constant part of the offset, in elements.
    constant: i64,
    swizzle: Swizzle,
    pub(crate) layout: Layout,
}

/// What a layout needs of memory: bytes, and their alignment.
pub(crate) fn footprint(dtype: DType, layout: &ComposedLayout) -> Result<(u32, u32), LayoutError> {
    let elements = layout.cosize()?.add(layout.offset())?.known()?;
    let swizzle = layout.swizzle();
    // A swizzle moves elements about in blocks as long as the highest bit that it changes.
    let block = if swizzle.is_identity() { 1 } else { 1 << (64 - swizzle.z().leading_zeros()) };
    let align = (span(swizzle) * dtype.bytes() as i64).max(128);
    let bytes = elements.unsigned_abs().next_multiple_of(block) * dtype.bytes() as u64;
    match (u32::try_from(bytes), u32::try_from(align)) {
        (Ok(bytes @ 1..), Ok(align @ ..=1024)) => Ok((bytes, align)),
        _ => Err(LayoutError::Unsupported(format!("{bytes} bytes aligned to {align} of shared memory"))),
    }
}

/// How many elements after another a swizzle repeats itself.
fn span(swizzle: Swizzle) -> i64 {
    if swizzle.is_identity() { 1 } else { 1 << (64 - (swizzle.y() | swizzle.z()).leading_zeros()) }
}

impl SmemTensor {
    /// Declares the memory; it holds nothing until it is written. Aligned to 128 bytes, or to what the swizzle repeats by.
    #[track_caller]
    pub fn new(name: &str, dtype: DType, layout: impl Into<ComposedLayout>) -> SmemTensor {
        let layout = layout.into();
        let (bytes, align) = footprint(dtype, &layout).unwrap_or_else(|e| {
            mistake(format!("shared `{name}` can not lie as {layout}: {e}"), &[], "its layout is static and not empty");
            (128, 128)
        });
        let id = with(|t| t.shared(SharedVariable { name: name.into(), bytes, align }));
        let address = U32 { h: emit(Op::SharedAddress(id), &[], Type::U32) };
        SmemTensor::at(name, dtype, layout, address)
    }

    /// At an address that is aligned to its swizzle's span.
    pub(crate) fn at(name: &str, dtype: DType, layout: ComposedLayout, address: U32) -> SmemTensor {
        SmemTensor {
            name: name.into(),
            dtype,
            address,
            inner: Offset::ZERO,
            start: address,
            constant: layout.offset().value().unwrap_or(0),
            swizzle: layout.swizzle(),
            layout: layout.layout().clone(),
        }
    }

    /// The dtype of its elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Where its elements lie, before the swizzle.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The swizzle, of offsets counted in elements.
    pub fn swizzle(&self) -> Swizzle {
        self.swizzle
    }

    /// The view of what a coordinate leaves open: `a.slice((.., .., stage))`.
    #[track_caller]
    pub fn slice(&self, coordinate: impl Cut) -> SmemTensor {
        let at = Location::caller();
        match cut(&self.name, &self.layout, &coordinate.modes(), at) {
            Some(rest) => {
                let mut t = self.moved(rest.layout, rest.offset, at);
                t.constant += rest.constant;
                t
            }
            None => self.clone(),
        }
    }

    /// The same memory with its modes in another order (CuTe's `select`): `v.select([1, 0])` is the transpose.
    #[track_caller]
    pub fn select<const N: usize>(&self, modes: [usize; N]) -> SmemTensor {
        match self.layout.select(&modes) {
            Ok(layout) => SmemTensor { layout, ..self.clone() },
            Err(e) => {
                mistake(format!("`{}` has no modes {modes:?}: {e}", self.name), &[], "name modes of the tensor");
                self.clone()
            }
        }
    }

    /// The same memory, `offset` elements on, with another layout.
    pub(crate) fn moved(&self, layout: Layout, offset: Offset, at: Loc) -> SmemTensor {
        let mut t = SmemTensor { layout, ..self.clone() };
        if let Dim::Static(n) = offset.value {
            t.constant += n;
            return t;
        }
        if self.swizzle.is_identity() {
            t.inner = self.inner.plus(offset, at);
            t.start = self.add_elements(self.start, offset, at);
        } else if offset.power_of_two() % span(self.swizzle) == 0 {
            // Whole spans leave the swizzle alone.
            t.address = self.add_elements(self.address, offset, at);
            t.start = self.add_elements(self.start, offset, at);
        } else {
            t.inner = self.inner.plus(offset, at);
            let swizzled = self.swizzled(t.inner, at);
            t.start = self.add_elements(t.address, swizzled, at);
        }
        t
    }

    fn add_elements(&self, address: U32, by: Offset, at: Loc) -> U32 {
        let bytes = scaled(by, self.dtype.bytes(), at);
        Offset { value: address.into(), bits: u64::MAX }.plus(bytes, at).value.into()
    }

    /// A run-time offset after the swizzle.
    fn swizzled(&self, x: Offset, at: Loc) -> Offset {
        let y = x.bits & self.swizzle.y() as u64;
        let Dim::Dynamic { value, .. } = x.value else { return x };
        if y == 0 || self.swizzle.is_identity() {
            return x;
        }
        let shift = self.swizzle.shift();
        use warpsmith_ir::Binary::{And, Shl, Shr, Xor};
        let picked = record(And, value, self.swizzle.y() as u32, at);
        let moved = record(if shift >= 0 { Shr } else { Shl }, picked, shift.unsigned_abs(), at);
        let all = with(|t| t.record(Op::Binary(Xor), &[value.h, moved.h], &[Type::U32], at)[0]);
        let bits = x.bits | if shift >= 0 { y >> shift } else { y << shift.unsigned_abs() };
        Offset { value: U32 { h: all }.into(), bits }
    }

    /// The address of the element `offset` further on, as a register and a constant.
    pub(crate) fn address_of(&self, offset: i64, at: Loc) -> (U32, i32) {
        let bytes = self.dtype.bytes() as i64;
        let total = self.constant + offset;
        if self.swizzle.is_identity() {
            return (self.start, (total * bytes) as i32);
        }
        let span = span(self.swizzle);
        let (far, near) = (total.div_euclid(span) * span, total.rem_euclid(span));
        if near as u64 & self.inner.bits != 0 {
            // The sum may carry into bits that the swizzle reads.
            let sum = self.inner.plus(Offset::known(near), at);
            let start = self.add_elements(self.address, self.swizzled(sum, at), at);
            return (start, (far * bytes) as i32);
        }
        // No bit in common: the sum is an XOR, and so the swizzle of the sum is the XOR of the swizzles.
        let y = self.inner.bits as i64 & self.swizzle.y();
        let shift = self.swizzle.shift();
        let moved = if shift >= 0 { y >> shift } else { y << shift.unsigned_abs() };
        let taken = self.inner.bits as i64 | moved;
        let constant = self.swizzle.apply(near);
        let (flip, add) = (constant & taken, constant & !taken);
        let start = match flip {
            0 => self.start,
            flip => record(warpsmith_ir::Binary::Xor, self.start, (flip * bytes) as u32, at),
        };
        (start, ((far + add) * bytes) as i32)
    }

    /// The address as descriptors of matrices take it, before the swizzle, which the hardware applies to addresses. Refused
    /// where the view starts amid the rows that the swizzle counts.
    #[track_caller]
    pub(crate) fn matrix_address(&self) -> Result<U32, String> {
        let (at, y) = (Location::caller(), self.swizzle.y());
        if (self.constant & y) != 0 || (self.inner.bits & y as u64) != 0 {
            return Err("it starts amid the eight rows of its swizzle".into());
        }
        let offset = self.inner.plus(Offset::known(self.constant), at);
        Ok(self.add_elements(self.address, offset, at))
    }

    /// The tile at `coordinate` when the tensor is cut by `tiler` (CuTe's `local_tile`); coordinates may be run-time
    /// numbers.
    #[track_caller]
    pub fn tile(&self, tiler: [usize; 2], coordinate: impl Cut) -> SmemTensor {
        let (at, modes) = (Location::caller(), coordinate.modes());
        let tiled = || -> Result<(Layout, Offset), LayoutError> {
            let extents = (0..2).map(|i| self.layout.mode(i)?.size()).collect::<Result<Vec<_>, _>>()?;
            let counts = Layout::compact((extents[0] / tiler[0] as i64, extents[1] / tiler[1] as i64))?;
            let (coord, variables) = super::index::coordinate(&counts, &modes)?;
            let (layout, offset) = self.layout.local_tile((tiler[0], tiler[1]), coord)?;
            Ok((layout, super::offset::write(&offset, &variables, at)?))
        };
        match tiled() {
            Ok((layout, offset)) => self.moved(layout, offset, at),
            Err(e) => {
                let message = format!("`{}` of {} has no such tile of {tiler:?}: {e}", self.name, self.layout);
                mistake(message, &[], "two modes, which the tile divides, and a coordinate of tiles");
                self.clone()
            }
        }
    }

    /// How many neighbours of memory from offset `offset` on are neighbours of the view too: a power of two that divides
    /// the place of the first.
    pub(crate) fn run(&self, offset: i64) -> i64 {
        let whole = if self.swizzle.is_identity() { 1 << 10 } else { 1 << self.swizzle.base() };
        let constant = Offset::known((self.constant + offset) & 0xffff_ffff).power_of_two();
        [constant, self.inner.power_of_two()].into_iter().filter(|&d| d != 0).fold(whole, i64::min)
    }

    /// One element, as stored.
    #[track_caller]
    pub fn get(&self, coordinate: impl Cut) -> Frag {
        let at = Location::caller();
        let element = self.slice(coordinate);
        let (address, offset) = element.address_of(0, at);
        let Some(ty) = element_type(self.dtype) else { return self.no_elements() };
        let op = Op::Load { space: Space::Shared, offset, fill: None, access: Access::PLAIN };
        let word = with(|t| t.record(op, &[address.h], &[ty], at)[0]);
        Frag::new(FragData { dtype: self.dtype, elements: 1, words: vec![word] })
    }

    /// Writes one element, rounded to the tensor's dtype.
    #[track_caller]
    pub fn set(&self, coordinate: impl Cut, x: impl Into<F32>) {
        self.put(coordinate, Frag::filled(1, x).to(self.dtype));
    }

    /// Writes one element of the tensor's dtype.
    #[track_caller]
    pub fn put(&self, coordinate: impl Cut, x: impl Into<Frag>) {
        let (at, x) = (Location::caller(), x.into().data());
        if x.dtype != self.dtype || x.elements != 1 {
            let message =
                format!("{} elements of {} stored to one of `{}`, {}", x.elements, x.dtype, self.name, self.dtype);
            return mistake(message, &[], "store one element of the tensor's dtype");
        }
        if element_type(self.dtype).is_none() {
            self.no_elements();
            return;
        }
        let (address, offset) = self.slice(coordinate).address_of(0, at);
        let op = Op::Store { space: Space::Shared, offset, guarded: false, access: Access::PLAIN };
        with(|t| t.record(op, &[address.h, x.words[0]], &[], at));
    }

    /// The address of an element, for atomics, bulk copies and TMA; a tensor copy that swizzles starts from a tile's
    /// first element.
    #[track_caller]
    pub fn pointer<T: Element>(&self, coordinate: impl Cut) -> Pointer<T> {
        let (address, offset) = self.slice(coordinate).address_of(0, Location::caller());
        Pointer::shared(if offset == 0 { address } else { address + offset as usize })
    }

    #[track_caller]
    fn no_elements(&self) -> Frag {
        let message = format!("`{}` holds {}, of which single elements have no register", self.name, self.dtype);
        mistake(message, &[], "copy it by a tiled copy");
        Frag::new(FragData { dtype: self.dtype, elements: 1, words: vec![crate::trace::poison()] })
    }
}

/// The register type of one element in memory; none for those of 8 and 64 bits.
pub(crate) fn element_type(dtype: DType) -> Option<Type> {
    match dtype {
        DType::F32 => Some(Type::F32),
        DType::I32 => Some(Type::I32),
        DType::U32 => Some(Type::U32),
        DType::F16 | DType::BF16 | DType::I16 | DType::U16 => Some(Type::U16),
        _ => None,
    }
}

fn scaled(x: Offset, by: usize, at: Loc) -> Offset {
    match x.value {
        Dim::Static(n) => Offset::known(n * by as i64),
        Dim::Dynamic { .. } if by == 1 => x,
        Dim::Dynamic { value, .. } => {
            Offset { value: record(warpsmith_ir::Binary::Mul, value, by as u32, at).into(), bits: u64::MAX }
        }
    }
}

fn record(op: warpsmith_ir::Binary, a: U32, b: u32, at: Loc) -> U32 {
    let h = with(|t| {
        let b = t.record(Op::Const(b.into()), &[], &[Type::U32], at)[0];
        t.record(Op::Binary(op), &[a.h, b], &[Type::U32], at)[0]
    });
    U32 { h }
}
