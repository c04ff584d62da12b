//! Atomic operations and reductions (PTX ISA §9.7.13): on global memory, shared memory, and other blocks' shared memory.
//!
//! Without an order they are relaxed, and seen by the device: `counter.fetch_add(1)`;
//! `flag.release(Scope::System).swap(1)`.

use crate::machine::{Ptx, ptx};
use crate::pointer::{Element, Order, Pointer};
use crate::trace::{Handle, mistake, poison};
use crate::value::U32;
use std::panic::Location;
use warpsmith_ir::Space;
use warpsmith_ir::access::Scope;

/// What an atomic operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Atomic {
    /// Sum.
    Add,
    /// The smaller.
    Min,
    /// The larger.
    Max,
    /// Bitwise.
    And,
    /// Bitwise.
    Or,
    /// Bitwise.
    Xor,
    /// Replaced.
    Swap,
    /// One more, or zero from the operand on.
    Increment,
    /// One less; the operand where it is zero or above the operand.
    Decrement,
}

impl Atomic {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Atomic::Add => "add",
            Atomic::Min => "min",
            Atomic::Max => "max",
            Atomic::And => "and",
            Atomic::Or => "or",
            Atomic::Xor => "xor",
            Atomic::Swap => "exch",
            Atomic::Increment => "inc",
            Atomic::Decrement => "dec",
        }
    }

    /// The type that PTX wants for it.
    pub(crate) fn type_of<T: Element>(self) -> &'static str {
        match (self, T::TYPE.bits()) {
            (Atomic::And | Atomic::Or | Atomic::Xor | Atomic::Swap, 32) => "b32",
            (Atomic::And | Atomic::Or | Atomic::Xor | Atomic::Swap, _) => "b64",
            // Two's complement: the same sum.
            (Atomic::Add, 64) if T::PTX == "s64" => "u64",
            _ => T::PTX,
        }
    }

    /// Sums of 16-bit floats say that they keep subnormals.
    pub(crate) fn modifiers<T: Element>(self) -> &'static str {
        if T::PTX.contains("f16") { ".noftz" } else { "" }
    }
}

impl<T: Element> Pointer<T> {
    #[track_caller]
    fn atomic(&self, opcode: &str, operation: &str, ty: &str) -> Ptx {
        let (order, scope) = self.order.unwrap_or((Order::Relaxed, Scope::Device));
        let space = match self.space {
            Space::Generic => String::new(),
            space => format!(".{}", space.name()),
        };
        ptx(format!("{opcode}.{}.{}{space}.{operation}.{ty}", order.name(), scope.name()))
    }

    #[track_caller]
    fn fetch(self, op: Atomic, x: Handle) -> T {
        let operation = format!("{}{}", op.name(), op.modifiers::<T>());
        let instruction = self.atomic("atom", &operation, op.type_of::<T>());
        T::from_handle(instruction.result(T::TYPE).at_offset(self.address, self.offset).arg(x).value())
    }

    /// Updates what is there, and does not wait for what was there (`red`).
    #[track_caller]
    pub fn reduce(self, op: Atomic, x: impl Into<T>) {
        let x = x.into();
        if matches!(self.order, Some((Order::Acquire | Order::AcquireRelease, _))) {
            return mistake(
                "a reduction gives nothing back to acquire by",
                &[],
                "it is relaxed or releases; or `fetch_…`",
            );
        }
        let operation = format!("{}{}", op.name(), op.modifiers::<T>());
        let instruction = self.atomic("red", &operation, op.type_of::<T>());
        instruction.at_offset(self.address, self.offset).arg(x.handle()).emit();
    }

    /// Stores `new` where `expected` is, compared by bits; gives what was there (`atom.cas`).
    #[track_caller]
    pub fn compare_swap(self, expected: impl Into<T>, new: impl Into<T>) -> T {
        let (expected, new) = (expected.into(), new.into());
        let instruction = self.atomic("atom", "cas", &format!("b{}", T::TYPE.bits()));
        let instruction = instruction.result(T::TYPE).at_offset(self.address, self.offset);
        T::from_handle(instruction.arg(expected.handle()).arg(new.handle()).value())
    }

    #[track_caller]
    fn vector(&self, opcode: &str, op: Atomic, count: usize) -> Option<Ptx> {
        if self.space != Space::Global {
            mistake("vectors are added in global memory only", &[], "one element at a time, elsewhere");
            return None;
        }
        if !self.check_vector(count, Location::caller()) {
            return None;
        }
        let operation = format!("{}{}.v{count}", op.name(), op.modifiers::<T>());
        Some(self.atomic(opcode, &operation, T::PTX))
    }

    /// Updates `N` neighbours, each atomically; gives what was there (sm_90: f32, 16-bit floats and pairs of them).
    #[track_caller]
    pub fn fetch_vector<const N: usize>(self, op: Atomic, values: [T; N]) -> [T; N] {
        let handles = values.map(|x| x.handle());
        let all = match self.vector("atom", op, N) {
            Some(i) => i.results(&[T::TYPE; N]).at_offset(self.address, self.offset).args(&handles).emit(),
            None => Default::default(),
        };
        let mut all = all.into_iter();
        [(); N].map(|()| T::from_handle(all.next().unwrap_or_else(poison)))
    }

    /// Updates `N` neighbours, each atomically (sm_90: f32, 16-bit floats and pairs of them).
    #[track_caller]
    pub fn reduce_vector<const N: usize>(self, op: Atomic, values: [T; N]) {
        let handles = values.map(|x| x.handle());
        if let Some(i) = self.vector("red", op, N) {
            i.at_offset(self.address, self.offset).args(&handles).emit();
        }
    }
}

macro_rules! fetches {
    ($($(#[$doc:meta])* $name:ident $op:ident;)*) => {
        impl<T: Element> Pointer<T> {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name(self, x: impl Into<T>) -> T {
                let x = x.into();
                self.fetch(Atomic::$op, x.handle())
            }
        )*}
    };
}
fetches! {
    /// Adds; gives what was there.
    fetch_add Add;
    /// Keeps the smaller; gives what was there.
    fetch_min Min;
    /// Keeps the larger; gives what was there.
    fetch_max Max;
    /// Bitwise and; gives what was there.
    fetch_and And;
    /// Bitwise or; gives what was there.
    fetch_or Or;
    /// Bitwise exclusive or; gives what was there.
    fetch_xor Xor;
    /// Replaces; gives what was there.
    swap Swap;
}

impl Pointer<U32> {
    /// Adds one, but from `last` on goes to zero; gives what was there (`atom.inc`).
    #[track_caller]
    pub fn fetch_increment(self, last: impl Into<U32>) -> U32 {
        let last = last.into();
        self.fetch(Atomic::Increment, last.h)
    }

    /// Takes one off, but from zero, or from above `last`, goes to `last`; gives what was there (`atom.dec`).
    #[track_caller]
    pub fn fetch_decrement(self, last: impl Into<U32>) -> U32 {
        let last = last.into();
        self.fetch(Atomic::Decrement, last.h)
    }
}
