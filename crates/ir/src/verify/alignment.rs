//! What is known of addresses: which pointer they start from, and what divides the rest.

use crate::kernel::{Inst, Kernel, Value};
use crate::op::{Binary, Op};

/// Facts about the values so far.
pub(super) struct Alignment<'k> {
    kernel: &'k Kernel,
    facts: Vec<Fact<'k>>,
}

#[derive(Clone, Copy)]
struct Fact<'k> {
    /// Its definition, when that only computes.
    inst: Option<&'k Inst>,
    /// A power of two that divides it.
    divisor: u64,
}

/// Divides 0 and everything that matters.
const MAX_DIVISOR: u64 = 1 << 31;

/// Sums longer than this are left unproven.
const MAX_TERMS: usize = 64;

impl<'k> Alignment<'k> {
    pub(super) fn new(kernel: &'k Kernel) -> Alignment<'k> {
        Alignment { kernel, facts: vec![Fact { inst: None, divisor: 1 }; kernel.values.len()] }
    }

    /// Learns from a definition.
    pub(super) fn define(&mut self, inst: &'k Inst) {
        if let ([result], true) = (&inst.results[..], inst.op.is_pure()) {
            let integer = self.kernel.type_of(*result).is_integer();
            let divisor = if integer { self.divisor(inst).clamp(1, MAX_DIVISOR) } else { 1 };
            if let Some(fact) = self.facts.get_mut(result.0 as usize) {
                *fact = Fact { inst: Some(inst), divisor };
            }
        }
    }

    /// The bits of a constant.
    pub(super) fn constant(&self, v: Value) -> Option<u64> {
        match self.fact(v).inst?.op {
            Op::Const(bits) => Some(bits),
            _ => None,
        }
    }

    fn fact(&self, v: Value) -> Fact<'k> {
        self.facts.get(v.0 as usize).copied().unwrap_or(Fact { inst: None, divisor: 1 })
    }

    fn divisor(&self, inst: &Inst) -> u64 {
        let of = |i: usize| inst.args.get(i).map_or(1, |&v| self.fact(v).divisor);
        match inst.op {
            Op::Const(0) => MAX_DIVISOR,
            Op::Const(bits) => 1 << bits.trailing_zeros(),
            Op::Binary(Binary::Mul | Binary::MulWide) => of(0).saturating_mul(of(1)),
            Op::Binary(Binary::And) => of(0).max(of(1)),
            Op::Binary(Binary::Add | Binary::Sub | Binary::Or | Binary::Xor | Binary::Min | Binary::Max) => {
                of(0).min(of(1))
            }
            Op::Binary(Binary::Shl) => match self.constant(inst.args[1]) {
                Some(by @ 0..32) => of(0) << by,
                _ => of(0),
            },
            Op::Select => of(1).min(of(2)),
            // Of integers: floats have divisor 1.
            Op::Convert => of(0),
            _ => 1,
        }
    }

    /// Why an access may be misaligned, with the value that its address starts from; `None` where nothing is proven.
    pub(super) fn problem(&self, address: Value, offset: i32, width: u32) -> Option<(Value, String)> {
        let mut constant = i64::from(offset) as u64;
        let mut root = None;
        let mut terms = vec![address];
        let mut seen = 0;
        while let Some(v) = terms.pop() {
            seen += 1;
            if seen > MAX_TERMS {
                return None;
            }
            let fact = self.fact(v);
            match (fact.inst.map(|i| &i.op), fact.inst) {
                (Some(Op::Binary(Binary::Add)), Some(inst)) => terms.extend_from_slice(&inst.args),
                (Some(Op::Const(bits)), _) => constant = constant.wrapping_add(*bits),
                (Some(op), _) if self.root(op).is_some() => {
                    if root.replace((v, self.root(op)?)).is_some() {
                        return None;
                    }
                }
                _ if fact.divisor >= u64::from(width) => {}
                _ => return None,
            }
        }
        let (v, (name, align)) = root?;
        let rest = constant % u64::from(width);
        if rest != 0 {
            Some((v, format!("its address is `{name}` plus a multiple of {width} plus {rest}")))
        } else if align < width {
            Some((v, format!("`{name}` is only known to be aligned to {align} bytes")))
        } else {
            None
        }
    }

    /// The name and alignment of what a pointer or a shared address starts from.
    fn root(&self, op: &Op) -> Option<(&'k str, u32)> {
        match op {
            Op::Param(i) => {
                let p = self.kernel.params.get(*i as usize)?;
                let align = p.pointer.as_ref().map(|pointer| pointer.align).or(p.tensor_map.then_some(64));
                align.map(|align| (p.name.as_str(), align))
            }
            Op::SharedAddress(id) => self.kernel.shared.get(id.0 as usize).map(|s| (s.name.as_str(), s.align)),
            _ => None,
        }
    }
}
