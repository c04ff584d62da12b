//! Single elements in memory, and what an access promises and asks of the caches.

use crate::dim::{Dim, gcd};
use crate::flow::{branch, when};
use crate::machine::ptx;
use crate::narrow::{BF16, E4M3, E5M2, E8M0, F16, I8, I16, U8, U16};
use crate::packed::{BF16x2, E2M1x2, E4M3x2, E5M2x2, E8M0x2, F16x2, F32x2};
use crate::tensor::{Coordinates, Tensor};
use crate::trace::{Handle, Loc, mistake, poison, with};
use crate::value::{Bool, F32, F64, I32, I64, Scalar, U32, U64};
use smallvec::SmallVec;
use std::marker::PhantomData;
use std::panic::Location;
use warpsmith_ir::access::{Access, AccessKind, Cache, L1, L2, Prefetch, Scope};
use warpsmith_ir::{Op, Space, Type};
use warpsmith_types::DType;

/// What can lie in memory.
pub trait Element: Scalar {
    /// The dtype of a tensor that it is read from.
    const DTYPE: DType;
    /// How many elements of that dtype it holds.
    const COUNT: usize = 1;
    /// As PTX names it in an atomic operation.
    #[doc(hidden)]
    const PTX: &'static str;
}

macro_rules! elements {
    ($($t:ident $dtype:ident $count:literal $ptx:literal;)*) => {$(
        impl Element for $t {
            const DTYPE: DType = DType::$dtype;
            const COUNT: usize = $count;
            const PTX: &'static str = $ptx;
        }
    )*};
}
elements! {
    F64 F64 1 "f64"; F32 F32 1 "f32"; F16 F16 1 "f16"; BF16 BF16 1 "bf16"; E4M3 E4M3 1 "b8"; E5M2 E5M2 1 "b8"; E8M0 E8M0 1 "b8";
    U64 U64 1 "u64"; U32 U32 1 "u32"; U16 U16 1 "u16"; U8 U8 1 "u8"; I64 I64 1 "s64"; I32 I32 1 "s32"; I16 I16 1 "s16"; I8 I8 1 "s8";
    F16x2 F16 2 "f16x2"; BF16x2 BF16 2 "bf16x2"; E4M3x2 E4M3 2 "b16"; E5M2x2 E5M2 2 "b16"; E8M0x2 E8M0 2 "b16"; F32x2 F32 2 "b64";
    E2M1x2 E2M1x2 1 "b8";
}

/// What an ordered access orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Nothing but the accesses to this element.
    Relaxed,
    /// What follows stays after it.
    Acquire,
    /// What precedes stays before it.
    Release,
    /// Both; of atomic operations.
    AcquireRelease,
}

impl Order {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Order::Relaxed => "relaxed",
            Order::Acquire => "acquire",
            Order::Release => "release",
            Order::AcquireRelease => "acq_rel",
        }
    }
}

/// Where an element is, and how it is accessed: `x.at::<F32>((row, column)).acquire(Scope::Device).load()`.
///
/// Nothing is checked against the tensor's extents here; the emulator does when it runs.
#[derive(Clone, Copy)]
pub struct Pointer<T> {
    pub(crate) address: Handle,
    /// Added to the address, in bytes.
    pub(crate) offset: i32,
    pub(crate) space: Space,
    /// A number that divides the address with its offset for sure.
    align: i64,
    access: Access,
    pub(crate) order: Option<(Order, Scope)>,
    pub(crate) policy: Option<CachePolicy>,
    element: PhantomData<(T, *const ())>,
}

impl Tensor {
    /// The element at these coordinates. A `T` of several elements (`F16x2`) begins there.
    #[track_caller]
    pub fn at<T: Element>(&self, coordinates: impl Coordinates) -> Pointer<T> {
        let dims = coordinates.dims();
        if T::DTYPE != self.dtype {
            let message = format!("`{}` holds {}, and is accessed as {}", self.name, self.dtype, T::DTYPE);
            mistake(message, &[], "name the handle of its dtype: `x.at::<F32>(…)`");
        }
        if dims.len() != self.modes.len() {
            let message = format!("`{}` has {} modes, the coordinates {}", self.name, self.modes.len(), dims.len());
            mistake(message, &[], "give one coordinate a mode");
        }
        let bytes = self.dtype.bytes();
        let (mut address, mut align, mut offset) = (self.address, self.align, 0i64);
        for (mode, c) in self.modes.iter().zip(dims) {
            align = gcd(align, c.divisor().saturating_mul(mode.stride.divisor()).saturating_mul(bytes as i64));
            let known = c.known().and_then(|c| mode.stride.known()?.checked_mul(c)?.checked_mul(bytes as i64));
            match known.and_then(|k| offset.checked_add(k)).filter(|o| i32::try_from(*o).is_ok()) {
                Some(sum) => offset = sum,
                None => {
                    if let Some(span) = mode.stride.span(c, bytes) {
                        address = address + span;
                    }
                }
            }
        }
        let access = if self.read_only { Access::READ_ONLY } else { Access::PLAIN };
        Pointer { offset: offset as i32, access, ..Pointer::new(address.h, Space::Global, align) }
    }
}

impl<T> Pointer<T> {
    pub(crate) fn new(address: Handle, space: Space, align: i64) -> Pointer<T> {
        let access = Access::PLAIN;
        Pointer { address, offset: 0, space, align, access, order: None, policy: None, element: PhantomData }
    }

    /// The same place, seen as another element.
    pub fn cast<U: Element>(self) -> Pointer<U> {
        let Pointer { address, offset, space, align, access, order, policy, .. } = self;
        Pointer { address, offset, space, align, access, order, policy, element: PhantomData }
    }

    /// An access that is never merged with another or dropped (`.volatile`).
    pub fn volatile(mut self) -> Self {
        self.access.kind = AccessKind::Volatile;
        self
    }

    /// With an order, seen by a scope.
    pub fn ordered(mut self, order: Order, scope: Scope) -> Self {
        self.order = Some((order, scope));
        self
    }

    /// Whole and seen by the scope, in no order with other accesses.
    pub fn relaxed(self, scope: Scope) -> Self {
        self.ordered(Order::Relaxed, scope)
    }

    /// A load, or an atomic operation, that what follows stays after.
    pub fn acquire(self, scope: Scope) -> Self {
        self.ordered(Order::Acquire, scope)
    }

    /// A store, or an atomic operation, that what precedes stays before.
    pub fn release(self, scope: Scope) -> Self {
        self.ordered(Order::Release, scope)
    }

    /// A load of what nobody writes while the kernel runs (`ld.global.nc`).
    pub fn read_only(mut self) -> Self {
        self.access.kind = AccessKind::ReadOnly;
        self
    }

    /// Through these caches (`.ca`, `.cg`, `.cs` …).
    pub fn cache(mut self, cache: Cache) -> Self {
        self.access.cache = Some(cache);
        // Loads of what nobody writes have no such words; ordinary ones do.
        if matches!(cache, Cache::LastUse | Cache::Bypass) && self.access.kind == AccessKind::ReadOnly {
            self.access.kind = AccessKind::Plain;
        }
        self
    }

    /// With a hint to L1.
    pub fn l1(mut self, hint: L1) -> Self {
        self.access.l1 = Some(hint);
        self
    }

    /// With a hint to L2, for accesses of 256 bits (sm_100).
    pub fn l2(mut self, hint: L2) -> Self {
        self.access.l2 = Some(hint);
        self
    }

    /// A load that brings so much around it into L2.
    pub fn prefetching(mut self, bytes: Prefetch) -> Self {
        self.access.prefetch = Some(bytes);
        self
    }

    /// With a cache policy (`.L2::cache_hint`, sm_80).
    pub fn policy(mut self, policy: CachePolicy) -> Self {
        self.policy = Some(policy);
        self.access.policy = true;
        self
    }

    #[track_caller]
    fn access(&self, load: bool) -> Access {
        let kind = match self.order {
            None => self.access.kind,
            Some((Order::Relaxed, scope)) => AccessKind::Relaxed(scope),
            Some((Order::Acquire, scope)) if load => AccessKind::Acquire(scope),
            Some((Order::Release, scope)) if !load => AccessKind::Release(scope),
            Some((order, _)) => {
                let (what, help) = match load {
                    true => ("load", "a load acquires or is relaxed"),
                    false => ("store", "a store releases or is relaxed"),
                };
                mistake(format!("a {what} can not be `{}`", order.name()), &[], help);
                AccessKind::Plain
            }
        };
        Access { kind, ..self.access }
    }
}

impl<T: Element> Pointer<T> {
    /// An address in global memory, as a table of pointers holds it.
    pub fn global(address: U64) -> Pointer<T> {
        Pointer::new(address.h, Space::Global, T::TYPE.bytes().into())
    }

    /// An address in the block's shared memory.
    pub fn shared(address: U32) -> Pointer<T> {
        Pointer::new(address.h, Space::Shared, T::TYPE.bytes().into())
    }

    /// A generic address.
    pub fn generic(address: U64) -> Pointer<T> {
        Pointer::new(address.h, Space::Generic, T::TYPE.bytes().into())
    }

    /// So many elements further.
    #[track_caller]
    pub fn offset(mut self, elements: impl Into<Dim>) -> Self {
        let (by, bytes) = (elements.into(), i64::from(T::TYPE.bytes()));
        self.align = gcd(self.align, by.divisor().saturating_mul(bytes));
        let near = by.known().and_then(|n| n.checked_mul(bytes)?.checked_add(self.offset.into()));
        if let Some(near) = near.and_then(|n| i32::try_from(n).ok()) {
            self.offset = near;
            return self;
        }
        self.address = match self.space.address() {
            Type::U64 => match crate::dim::Stride::Static(1).span(by, bytes as usize) {
                Some(span) => (U64 { h: self.address } + span).h,
                None => self.address,
            },
            _ => (U32 { h: self.address } + U32::from(by * bytes as usize)).h,
        };
        self
    }

    /// Its address in global memory, or its generic address.
    #[track_caller]
    pub fn address(self) -> U64 {
        match (self.space.address(), self.offset) {
            (Type::U64, 0) => U64 { h: self.address },
            (Type::U64, by) => U64 { h: self.address } + i64::from(by) as u64,
            _ => {
                mistake("an address in shared memory has 32 bits", &[], "take `shared_address`");
                U64 { h: poison() }
            }
        }
    }

    /// Its address in shared memory.
    #[track_caller]
    pub fn shared_address(self) -> U32 {
        match (self.space.address(), self.offset) {
            (Type::U32, 0) => U32 { h: self.address },
            (Type::U32, by) => U32 { h: self.address } + by as u32 as usize,
            _ => {
                mistake("an address in global memory has 64 bits", &[], "take `address`");
                U32 { h: poison() }
            }
        }
    }

    /// Promises that an address that was read from memory is aligned to so many bytes; the emulator checks. Of addresses
    /// in arguments the compiler knows itself.
    pub fn assume_aligned(mut self, bytes: usize) -> Self {
        self.align = gcd(self.align, 0).max(bytes as i64);
        self
    }

    /// The same place in the shared memory of block `rank` of the cluster (`mapa`, sm_90).
    #[track_caller]
    pub fn in_block(self, rank: impl Into<U32>) -> Pointer<T> {
        let rank = rank.into();
        if self.space != Space::Shared {
            mistake("only shared memory is another block's too", &[], "take a pointer of a `Shared`");
            return self;
        }
        let address = ptx("mapa.shared::cluster.u32").result(Type::U32).arg(self.address).arg(rank.h).value();
        Pointer { address, space: Space::SharedCluster, ..self }
    }

    /// Whether `count` elements may be accessed at once here.
    #[track_caller]
    pub(crate) fn check_vector(&self, count: usize, at: Loc) -> bool {
        let bytes = i64::from(T::TYPE.bytes()) * count as i64;
        if !count.is_power_of_two() || bytes > 32 || count > 4 && bytes < 16 {
            let message = format!("no access moves {count} elements of {} bits", T::TYPE.bits());
            with(|t| t.error(message, at, "", &[], "1, 2 or 4 elements, up to 16 bytes; 32 bytes on Blackwell"));
            return false;
        }
        if self.align % bytes != 0 {
            let known = gcd(self.align, 0);
            let message = format!("an access of {bytes} bytes at a place known to be aligned to {known} only");
            let help = "say so in the coordinate (`Dim::from(i) * 4`), or `assume_aligned`";
            with(|t| t.error(message, at, "", &[], help));
            return false;
        }
        true
    }

    #[track_caller]
    fn operands(&self) -> SmallVec<[Handle; 4]> {
        let mut args = SmallVec::from_slice(&[self.address]);
        args.extend(self.policy.map(|p| p.policy.h));
        args
    }

    /// What is there.
    #[track_caller]
    pub fn load(self) -> T {
        let [x] = self.load_vector();
        x
    }

    /// What is there when the condition holds, else `otherwise`; then memory is not touched.
    #[track_caller]
    pub fn load_if(self, condition: Bool, otherwise: impl Into<T>) -> T {
        let otherwise = otherwise.into();
        branch(condition, || self.load(), || otherwise)
    }

    /// Replaces what is there.
    #[track_caller]
    pub fn store(self, x: impl Into<T>) {
        self.store_vector([x.into()]);
    }

    /// Replaces what is there when the condition holds.
    #[track_caller]
    pub fn store_if(self, condition: Bool, x: impl Into<T>) {
        let x = x.into();
        when(condition, || self.store(x));
    }

    /// `N` neighbours in one access.
    #[track_caller]
    pub fn load_vector<const N: usize>(self) -> [T; N] {
        let at = Location::caller();
        if !self.check_vector(N, at) {
            return [(); N].map(|()| T::from_handle(poison()));
        }
        let (access, args) = (self.access(true), self.operands());
        let op = Op::Load { space: self.space, offset: self.offset, fill: None, access };
        let all = with(|t| t.record(op, &args, &[T::TYPE; N], at));
        let mut all = all.into_iter();
        [(); N].map(|()| T::from_handle(all.next().unwrap_or_else(poison)))
    }

    /// Replaces `N` neighbours in one access.
    #[track_caller]
    pub fn store_vector<const N: usize>(self, values: [T; N]) {
        let at = Location::caller();
        if self.access.kind == AccessKind::ReadOnly {
            return mistake("an input can not be stored to", &[], "declare it as an output: `&mut TensorArg`");
        }
        if !self.check_vector(N, at) {
            return;
        }
        let (access, mut args) = (self.access(false), self.operands());
        args.extend(values.iter().map(|x| x.handle()));
        let op = Op::Store { space: self.space, offset: self.offset, guarded: false, access };
        with(|t| t.record(op, &args, &[], at));
    }
}

/// How L2 treats what an access touches: made once, given to accesses with [`Pointer::policy`] or
/// [`Part::policy`](crate::Part::policy) (`createpolicy`, sm_80).
#[derive(Clone, Copy)]
pub struct CachePolicy {
    pub(crate) policy: U64,
}

/// A priority in L2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Eviction {
    /// Early.
    First,
    /// The default.
    Normal,
    /// Late.
    Last,
    /// As it is.
    Unchanged,
}

impl Eviction {
    const fn name(self) -> &'static str {
        match self {
            Eviction::First => "evict_first",
            Eviction::Normal => "evict_normal",
            Eviction::Last => "evict_last",
            Eviction::Unchanged => "evict_unchanged",
        }
    }
}

impl CachePolicy {
    /// For a share of the accesses, 0 to 1; the rest is left as it is.
    #[track_caller]
    pub fn fractional(eviction: Eviction, share: f32) -> CachePolicy {
        let instruction = ptx(format!("createpolicy.fractional.L2::{}.b64", eviction.name()));
        let share = F32::from(share);
        CachePolicy { policy: U64 { h: instruction.result(Type::U64).arg(share.h).value() } }
    }

    /// One of two.
    #[track_caller]
    pub fn select(condition: Bool, yes: CachePolicy, no: CachePolicy) -> CachePolicy {
        CachePolicy { policy: crate::flow::select(condition, yes.policy, no.policy) }
    }

    /// For `primary` bytes from a place in global memory on; the rest of `total` bytes is left as it is.
    #[track_caller]
    pub fn range<T: Element>(
        from: Pointer<T>,
        eviction: Eviction,
        primary: impl Into<U32>,
        total: impl Into<U32>,
    ) -> CachePolicy {
        let (primary, total) = (primary.into(), total.into());
        let instruction = ptx(format!("createpolicy.range.global.L2::{}.b64", eviction.name())).result(Type::U64);
        let instruction = instruction.at_offset(from.address, from.offset).arg(primary.h).arg(total.h);
        CachePolicy { policy: U64 { h: instruction.value() } }
    }
}

macro_rules! lines {
    ($($(#[$doc:meta])* $name:ident $text:literal $(, $bytes:literal)?;)*) => {
        impl<T: Element> Pointer<T> {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name(self) {
                ptx($text).at_offset(self.address, self.offset)$(.number($bytes))?.emit();
            }
        )*}
    };
}
lines! {
    /// Brings its line into L1 (`prefetch.global.L1`).
    prefetch_l1 "prefetch.global.L1";
    /// Brings its line into L2 (`prefetch.global.L2`).
    prefetch_l2 "prefetch.global.L2";
    /// Brings its line into L2, to stay long (sm_80).
    prefetch_l2_last "prefetch.global.L2::evict_last";
    /// Drops its 128 bytes from L2 without writing them back: what is there is undefined until written (sm_80).
    discard_l2 "discard.global.L2", 128;
    /// Gives its 128 bytes in L2 the normal priority again (sm_80).
    reset_priority "applypriority.global.L2::evict_normal", 128;
}
