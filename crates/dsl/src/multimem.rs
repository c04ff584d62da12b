//! Memory of several devices behind one multicast address (PTX ISA §9.7.9.15; sm_90): one access reads, or updates, all
//! of them. The caller's memory must be mapped so; nothing here does it.

use crate::atomic::Atomic;
use crate::machine::{Ptx, ptx};
use crate::pointer::{Element, Order, Pointer};
use crate::trace::{Handle, mistake, poison};
use std::panic::Location;

impl<T: Element> Pointer<T> {
    #[track_caller]
    fn multimem(&self, what: &str, op: Option<Atomic>, more: &str, count: usize) -> Ptx {
        if !self.check_vector(count, Location::caller()) {
            return ptx("multimem.st.global.b32");
        }
        let order = match (self.order, what) {
            // A reduction has no weak form that says so.
            (None, "red") => String::new(),
            (None, _) => String::from(".weak"),
            (Some((order, scope)), _) => format!(".{}.{}", order.name(), scope.name()),
        };
        let vector = if count == 1 { String::new() } else { format!(".v{count}") };
        let op_name = op.map_or(String::new(), |op| format!(".{}", op.name()));
        let ty = op.map_or(T::PTX, |op| op.type_of::<T>());
        let ty = if ty == "s64" && what == "st" { "b64" } else { ty };
        ptx(format!("multimem.{what}{order}.global{op_name}{more}{vector}.{ty}"))
    }

    /// The devices' elements combined: `N` neighbours (`multimem.ld_reduce`). 16-bit floats are summed in binary32.
    #[track_caller]
    pub fn multimem_load<const N: usize>(self, op: Atomic) -> [T; N] {
        let wide = op == Atomic::Add && T::PTX.contains("f16");
        let load = self.multimem("ld_reduce", Some(op), if wide { ".acc::f32" } else { "" }, N);
        let load = if N == 1 { load.result(T::TYPE) } else { load.results(&[T::TYPE; N]) };
        let mut all = load.at_offset(self.address, self.offset).emit().into_iter();
        [(); N].map(|()| T::from_handle(all.next().unwrap_or_else(poison)))
    }

    /// Replaces `N` neighbours on all devices (`multimem.st`).
    #[track_caller]
    pub fn multimem_store<const N: usize>(self, values: [T; N]) {
        let handles: [Handle; N] = values.map(|x| x.handle());
        let store = self.multimem("st", None, "", N).at_offset(self.address, self.offset);
        (if let [one] = handles[..] { store.arg(one) } else { store.args(&handles) }).emit();
    }

    /// Updates `N` neighbours on all devices, each atomically (`multimem.red`).
    #[track_caller]
    pub fn multimem_reduce<const N: usize>(self, op: Atomic, values: [T; N]) {
        if matches!(self.order, Some((Order::Acquire | Order::AcquireRelease, _))) {
            return mistake("a reduction gives nothing back to acquire by", &[], "it is relaxed or releases");
        }
        let handles: [Handle; N] = values.map(|x| x.handle());
        let red = self.multimem("red", Some(op), "", N).at_offset(self.address, self.offset);
        (if let [one] = handles[..] { red.arg(one) } else { red.args(&handles) }).emit();
    }
}
