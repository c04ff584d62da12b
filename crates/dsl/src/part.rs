//! A thread's part of a tile, and its accesses.

use crate::dim::{Dim, gcd};
use crate::frag::{Frag, Stored};
use crate::options::target;
use crate::packing::{regroup, repeated, word};
use crate::pointer::CachePolicy;
use crate::tensor::{Mode, Tensor};
use crate::trace::{FragData, Handle, Loc, mistake, with};
use crate::tv::{OfThread, Tv};
use crate::value::{Bool, U32, U64};
use smallvec::SmallVec;
use std::panic::Location;
use warpsmith_ir::{Op, Space, Type};
use warpsmith_types::{DType, convert};

/// The widest access of a thread on the target, in bytes.
fn widest() -> i64 {
    if target().number >= 100 { 32 } else { 16 }
}

/// A thread's part of a tile: where its first element is, and how its other elements lie to that.
pub struct Part {
    tensor: Tensor,
    tv: Tv,
    /// Row and column of its first element in the tile.
    first: [Dim; 2],
    /// The largest that the first column can be, over all threads.
    last_column: i64,
    /// Of its first element.
    address: U64,
    /// Columns of the tile that are in the tensor for sure.
    sure: i64,
    policy: Option<CachePolicy>,
    at: Loc,
}

/// One access of a few neighbouring elements.
struct Access {
    address: U64,
    offset: i32,
    condition: Condition,
}

#[derive(Clone, Copy)]
enum Condition {
    Always,
    Never,
    When(Bool),
}

impl Condition {
    #[track_caller]
    fn and(self, other: Condition) -> Condition {
        match (self, other) {
            (Condition::Never, _) | (_, Condition::Never) => Condition::Never,
            (Condition::Always, c) | (c, Condition::Always) => c,
            (Condition::When(a), Condition::When(b)) => Condition::When(a & b),
        }
    }
}

impl Part {
    #[track_caller]
    pub(crate) fn new(tensor: &Tensor, tv: &Tv, thread: U32, at: Loc) -> Part {
        let mut tensor = tensor.clone();
        if tensor.modes.len() != 2 {
            let message = format!("`{}` has {} modes; a thread-value layout covers 2", tensor.name, tensor.modes.len());
            mistake(message, &[], "tile it to (rows, columns) first; `broadcast` adds a mode");
            let mode = Mode { extent: Dim::Static(1), stride: crate::dim::Stride::Static(0), bound: None };
            tensor.modes.resize(2, mode);
        }
        let mut emit = OfThread { thread, at };
        let first = tv
            .first()
            .and_then(|(row, column)| Ok(([row.emit(&mut emit)?, column.emit(&mut emit)?], column.facts().upper)));
        let (first, last_column) = first.unwrap_or_else(|e| {
            mistake(format!("the thread-value layout {} can not be applied: {e}", tv.layout()), &[], "see `Tv::new`");
            ([Dim::Static(0); 2], 0)
        });
        let mut address = tensor.address;
        for (mode, at) in tensor.modes.iter().zip(first) {
            if let Some(span) = mode.stride.span(at, tensor.dtype.bytes()) {
                address = address + span;
            }
        }
        Part { tensor, tv: tv.clone(), first, last_column, address, sure: 0, policy: None, at }
    }

    /// Promises that the tile's first `columns` are in the tensor, wherever it is: they are accessed without being asked.
    ///
    /// ```
    /// # use warpsmith_dsl::prelude::*;
    /// # fn example(row: &Tensor, tv: &Tv, rank: U32) -> Frag {
    /// // Two blocks share a row of 8200: the second has 4096 columns and a few more.
    /// row.tile([1, 4104], (0, rank)).partition(tv, thread_idx().x).within(4096).load()
    /// # }
    /// ```
    pub fn within(self, columns: usize) -> Part {
        Part { sure: columns as i64, ..self }
    }

    /// Accesses with a cache policy (`.L2::cache_hint`, sm_80).
    ///
    /// ```
    /// # use warpsmith_dsl::prelude::*;
    /// # fn example(rows: &Tensor, tv: &Tv) -> Frag {
    /// let kept = CachePolicy::fractional(Eviction::Last, 1.0);
    /// rows.tile([1, 4096], (block_idx().x, 0)).partition(tv, thread_idx().x).policy(kept).load()
    /// # }
    /// ```
    pub fn policy(self, policy: CachePolicy) -> Part {
        Part { policy: Some(policy), ..self }
    }

    /// How it accesses memory.
    fn access(&self) -> warpsmith_ir::Access {
        use warpsmith_ir::Access;
        let access = if self.tensor.read_only { Access::READ_ONLY } else { Access::PLAIN };
        Access { policy: self.policy.is_some(), ..access }
    }

    /// Elements in one access: as many of a run as extents, strides and alignment prove to lie together.
    fn width(&self) -> usize {
        let t = &self.tensor;
        let bytes = t.dtype.bytes() as i64;
        let mut together = gcd(t.align, 0);
        for (mode, first) in t.modes.iter().zip(self.first) {
            together = gcd(together, first.divisor().saturating_mul(mode.stride.divisor()) * bytes);
        }
        let column = &t.modes[1];
        if !matches!(column.stride, crate::dim::Stride::Static(1)) {
            return 1;
        }
        if let Some((from, extent)) = column.bound {
            together = gcd(together, gcd(from.divisor(), extent.divisor()) * bytes);
        }
        let mut width = self.tv.vector().next_power_of_two() as i64;
        for run in (0..self.tv.values()).step_by(self.tv.vector()) {
            let (row, col) = self.tv.value(run).unwrap_or((0, 0));
            together = gcd(together, row.saturating_mul(t.modes[0].stride.divisor()) * bytes);
            together = gcd(together, col * bytes);
        }
        while width > 1
            && (self.tv.vector() as i64 % width != 0 || width * bytes > widest() || together % (width * bytes) != 0)
        {
            width /= 2;
        }
        width as usize
    }

    /// Whether row `row` of the part is in the tensor.
    #[track_caller]
    fn inside(&self, mode: usize, step: i64, last: Option<i64>) -> Condition {
        let Some((from, extent)) = self.tensor.modes[mode].bound else { return Condition::Always };
        if let (Some(from), Some(extent), Some(last)) = (from.known(), extent.known(), last)
            && from + last < extent
        {
            return Condition::Always;
        }
        match (from + self.first[mode] + step).below(extent) {
            Ok(c) => Condition::When(c),
            Err(true) => Condition::Always,
            Err(false) => Condition::Never,
        }
    }

    /// The accesses that make up the part, in the order of its values.
    #[track_caller]
    fn accesses(&self, width: usize) -> Vec<Access> {
        let bytes = self.tensor.dtype.bytes() as i64;
        let [rows, columns] = [&self.tensor.modes[0], &self.tensor.modes[1]];
        let mut all = vec![];
        let mut row_inside: Option<(i64, Condition, U64, i64)> = None;
        for v in (0..self.tv.values()).step_by(width) {
            let (row, column) = self.tv.value(v).unwrap_or((0, 0));
            let (valid, address, row_offset) = match row_inside {
                Some((r, c, a, o)) if r == row => (c, a, o),
                _ => {
                    let c = self.inside(0, row, None);
                    let (a, o) = match (rows.stride, rows.stride.span(Dim::Static(row), bytes as usize)) {
                        (_, None) => (self.address, 0),
                        (crate::dim::Stride::Static(s), _) => (self.address, s * row * bytes),
                        (_, Some(span)) => (self.address + span, 0),
                    };
                    row_inside = Some((row, c, a, o));
                    (c, a, o)
                }
            };
            let last = self.last_column + column + width as i64 - 1;
            let condition = if last < self.sure { valid } else { valid.and(self.inside(1, column, Some(last))) };
            let far = row_offset + columns.stride.divisor() * column * bytes;
            let (address, offset) = match i32::try_from(far) {
                Ok(offset) => (address, offset),
                Err(_) => (address + far as u64, 0),
            };
            all.push(Access { address, offset, condition });
        }
        all
    }

    /// Loads the part; what lies outside the tensor reads as 0.
    #[track_caller]
    pub fn load(&self) -> Frag {
        self.load_or(0.0)
    }

    /// Loads the part, in accesses as wide as layout and alignment prove; what lies outside the tensor reads as
    /// `outside`.
    #[track_caller]
    pub fn load_or(&self, outside: f32) -> Frag {
        let (t, at, width) = (&self.tensor, Location::caller(), self.width());
        let (word, per_word) = word(t.dtype, width);
        let fill = repeated(t.dtype, element(t.dtype, outside), per_word);
        let mut all = vec![];
        let access = self.access();
        for a in self.accesses(width) {
            let types: SmallVec<[Type; 8]> = std::iter::repeat_n(word, width / per_word).collect();
            let (mut args, mut filled): (SmallVec<[Handle; 4]>, _) = (SmallVec::from_slice(&[a.address.h]), None);
            args.extend(self.policy.map(|p| p.policy.h));
            match a.condition {
                Condition::Never => {
                    let made = with(|tr| tr.record(Op::Const(fill), &[], &[word], at)[0]);
                    all.extend(types.iter().map(|_| made));
                    continue;
                }
                Condition::When(c) => {
                    args.push(c.h);
                    filled = Some(fill);
                }
                Condition::Always => {}
            }
            let op = Op::Load { space: Space::Global, offset: a.offset, fill: filled, access };
            all.extend(with(|tr| tr.record(op, &args, &types, at)));
        }
        Frag::new(FragData { dtype: t.dtype, elements: self.tv.values(), words: all })
    }

    /// Stores a fragment to the part; what lies outside the tensor is not written.
    #[track_caller]
    pub fn store(&self, value: impl Into<Frag<Stored>>) {
        let (value, t, at) = (value.into().data(), &self.tensor, Location::caller());
        if value.dtype != t.dtype {
            let help = format!("store `….to({})`", t.dtype.name().to_uppercase());
            let message = format!("{} elements stored to `{}` of {}", value.dtype, t.name, t.dtype);
            return mistake(message, &[("the view", self.at)], &help);
        }
        if t.read_only {
            let message = format!("`{}` is an input: it can not be stored to", t.name);
            return mistake(message, &[("the view", self.at)], "declare it as an output: `&mut TensorArg`");
        }
        if value.elements != self.tv.values() {
            let message = format!("{} elements stored to a part of {}", value.elements, self.tv.values());
            return mistake(message, &[("the view", self.at)], "partition both by the same thread-value layout");
        }
        let width = self.width();
        let (_, per_word) = word(t.dtype, width);
        let held = value.elements / value.words.len().max(1);
        let stored = regroup(t.dtype, value.words, held, per_word, at);
        for (i, a) in self.accesses(width).into_iter().enumerate() {
            let count = width / per_word;
            let mut args: SmallVec<[Handle; 8]> = SmallVec::from_slice(&[a.address.h]);
            args.extend(self.policy.map(|p| p.policy.h));
            args.extend_from_slice(&stored[i * count..(i + 1) * count]);
            let guarded = match a.condition {
                Condition::Never => continue,
                Condition::Always => false,
                Condition::When(c) => {
                    args.push(c.h);
                    true
                }
            };
            let op = Op::Store { space: Space::Global, offset: a.offset, guarded, access: self.access() };
            with(|tr| tr.record(op, &args, &[], at));
        }
    }
}

/// The bits of an element that is `x`.
pub(crate) fn element(dtype: DType, x: f32) -> u64 {
    match dtype {
        DType::F64 => f64::from(x).to_bits(),
        DType::F32 => x.to_bits().into(),
        DType::F16 => convert::f32_to_f16(x).into(),
        DType::BF16 => convert::f32_to_bf16(x).into(),
        DType::E4M3 => convert::f32_to_e4m3(x).into(),
        DType::E5M2 => convert::f32_to_e5m2(x).into(),
        DType::E2M1x2 => 0x11 * u64::from(convert::f32_to_e2m1(x)),
        DType::E8M0 => convert::f32_to_e8m0(x, true).into(),
        DType::I64 => x as i64 as u64,
        DType::I32 => (x as i32 as u32).into(),
        DType::I16 => (x as i16 as u16).into(),
        DType::I8 => (x as i8 as u8).into(),
        DType::U64 => x as u64,
        DType::U32 => (x as u32).into(),
        DType::U16 => (x as u16).into(),
        DType::U8 => (x as u8).into(),
    }
}
