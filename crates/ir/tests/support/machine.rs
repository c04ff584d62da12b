//! A reference evaluator: one thread, a memory of bytes, each operation as the PTX manual describes it. It shares no
//! code with the passes.
//!
//! Where PTX leaves a result open, it is fixed here to anything, so that a pass that relies on one is found out.

use std::collections::BTreeMap;
use warpsmith_ir::{Binary, Block, Comparison, Inst, Kernel, Op, Space, Type, Unary, Value};

/// What a run leaves behind.
#[derive(Default, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The bytes that were written.
    pub memory: BTreeMap<u64, u8>,
}

impl Outcome {
    fn read(&self, address: u64, bytes: u32) -> u64 {
        // Memory nobody wrote holds something that depends on the place.
        let byte = |a: u64| self.memory.get(&a).copied().unwrap_or((a.wrapping_mul(0x9e37_79b9) >> 16) as u8);
        (0..bytes).rev().fold(0, |bits, i| bits << 8 | u64::from(byte(address.wrapping_add(i.into()))))
    }

    fn write(&mut self, address: u64, bytes: u32, bits: u64) {
        for i in 0..bytes {
            self.memory.insert(address.wrapping_add(i.into()), (bits >> (8 * i)) as u8);
        }
    }
}

enum Flow {
    Next,
    Break,
    Continue,
    Exit,
}

struct Machine<'k> {
    kernel: &'k Kernel,
    params: &'k [u64],
    values: Vec<u64>,
    registers: Vec<u64>,
    outcome: Outcome,
    /// Instructions left to run.
    fuel: u32,
}

/// Runs a kernel as one thread.
pub fn run(kernel: &Kernel, params: &[u64]) -> Outcome {
    let values = vec![0; kernel.values.len()];
    let registers = vec![0; kernel.registers.len()];
    let mut machine = Machine { kernel, params, values, registers, outcome: Outcome::default(), fuel: 1 << 20 };
    machine.block(&kernel.body);
    machine.outcome
}

impl Machine<'_> {
    fn get(&self, v: Value) -> u64 {
        self.values[v.0 as usize]
    }

    fn block(&mut self, block: &Block) -> Flow {
        for inst in block {
            self.fuel = self.fuel.checked_sub(1).expect("the kernel ends");
            match self.inst(inst) {
                Flow::Next => {}
                flow => return flow,
            }
        }
        Flow::Next
    }

    fn inst(&mut self, inst: &Inst) -> Flow {
        let args: Vec<u64> = inst.args.iter().map(|&v| self.get(v)).collect();
        match &inst.op {
            Op::Load { space, offset, fill, .. } => {
                let runs = inst.condition().is_none_or(|c| self.get(c) == 1);
                for (i, &v) in inst.results.iter().enumerate() {
                    let ty = self.kernel.type_of(v);
                    let address = start(*space, args[0], *offset) + u64::from(ty.bytes()) * i as u64;
                    let bits = self.outcome.read(address, ty.bytes());
                    self.values[v.0 as usize] = if runs { bits } else { fill.unwrap() };
                }
            }
            Op::Store { space, offset, .. } => {
                if inst.condition().is_none_or(|c| self.get(c) == 1) {
                    for (i, &v) in inst.stored().iter().enumerate() {
                        let bytes = self.kernel.type_of(v).bytes();
                        let address = start(*space, args[0], *offset) + u64::from(bytes) * i as u64;
                        self.outcome.write(address, bytes, self.get(v));
                    }
                }
            }
            Op::Get(r) => self.values[inst.results[0].0 as usize] = self.registers[r.0 as usize],
            Op::Set(r) => self.registers[r.0 as usize] = args[0],
            Op::If { then, otherwise, .. } => return self.block(if args[0] == 1 { then } else { otherwise }),
            Op::For { index, body, .. } => {
                let mut i = args[0];
                while i < args[1] {
                    self.values[index.0 as usize] = i;
                    match self.block(body) {
                        Flow::Next | Flow::Continue => i += args[2],
                        Flow::Break => break,
                        Flow::Exit => return Flow::Exit,
                    }
                }
            }
            Op::Loop { body } => loop {
                match self.block(body) {
                    Flow::Next | Flow::Continue => {}
                    Flow::Break => break,
                    Flow::Exit => return Flow::Exit,
                }
            },
            Op::BreakIf if args[0] == 1 => return Flow::Break,
            Op::ContinueIf if args[0] == 1 => return Flow::Continue,
            Op::ExitIf if args[0] == 1 => return Flow::Exit,
            Op::BreakIf | Op::ContinueIf | Op::ExitIf | Op::Barrier => {}
            Op::Unpack => {
                self.values[inst.results[0].0 as usize] = args[0] & 0xffff;
                self.values[inst.results[1].0 as usize] = args[0] >> 16;
            }
            op => {
                let result = inst.results[0];
                let ty = self.kernel.type_of(result);
                let from = inst.args.get(usize::from(*op == Op::Select)).map_or(ty, |&v| self.kernel.type_of(v));
                let bits = match op {
                    Op::Const(bits) => *bits,
                    Op::Param(i) => self.params[*i as usize],
                    Op::SharedAddress(_) => 0x400,
                    _ => compute(op, from, ty, &args),
                };
                self.values[result.0 as usize] = bits & ty.mask();
            }
        }
        Flow::Next
    }
}

/// Where an access starts; shared addresses have 32 bits, and a place of their own.
fn start(space: Space, base: u64, offset: i32) -> u64 {
    let address = base.wrapping_add_signed(offset.into());
    if space.address() == Type::U32 { address & 0xffff_ffff | 1 << 60 } else { address }
}

fn signed(ty: Type, bits: u64) -> i128 {
    match ty {
        Type::I8 => (bits as i8).into(),
        Type::I16 => (bits as i16).into(),
        Type::I32 => (bits as i32).into(),
        Type::I64 => (bits as i64).into(),
        _ => bits.into(),
    }
}

/// A float as an f64, exactly.
fn widen(ty: Type, bits: u64) -> f64 {
    let (fraction, exponent) = match ty {
        Type::F16 => (10, 5),
        Type::BF16 => (7, 8),
        Type::F32 => return f32::from_bits(bits as u32).into(),
        _ => return f64::from_bits(bits),
    };
    let sign = if bits >> 15 & 1 == 1 { -1.0 } else { 1.0 };
    let e = (bits >> fraction & ((1 << exponent) - 1)) as i32;
    let m = (bits & ((1 << fraction) - 1)) as f64 / f64::from(1 << fraction);
    let bias = (1 << (exponent - 1)) - 1;
    sign * if e == (1 << exponent) - 1 {
        if m == 0.0 { f64::INFINITY } else { f64::NAN }
    } else if e == 0 {
        m * 2f64.powi(1 - bias)
    } else {
        (1.0 + m) * 2f64.powi(e - bias)
    }
}

/// The nearest of a type, ties to even. Arithmetic gives one NaN.
fn narrow(ty: Type, x: f64) -> u64 {
    let (fraction, exponent) = match ty {
        Type::F16 => (10, 5),
        Type::BF16 => (7, 8),
        Type::F32 if x.is_nan() => return 0x7fff_ffff,
        Type::F32 => return (x as f32).to_bits().into(),
        _ if x.is_nan() => return 0x7fff_ffff_ffff_ffff,
        _ => return x.to_bits(),
    };
    if x.is_nan() {
        return 0x7fff;
    }
    let sign = u64::from(x.is_sign_negative()) << 15;
    let bias = (1 << (exponent - 1)) - 1;
    let least = 1 - bias;
    // The exponent of its last bit; what is smaller than all normal numbers has theirs.
    let e = ((x.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(least);
    let unit = 2f64.powi(e - fraction);
    let steps = (x.abs() / unit).round_ties_even();
    let bits = if x.is_infinite() { u64::MAX >> 1 } else { steps as u64 + (((e - least) as u64) << fraction) };
    sign | bits.min(((1 << exponent) - 1) << fraction)
}

/// A float by f64, which rounds sums and products of the narrower ones once or by the same bits each time.
fn floats(op: Binary, ty: Type, a: u64, b: u64) -> u64 {
    let (x, y) = (widen(ty, a), widen(ty, b));
    let once = |wide: f64, single: f32| match ty {
        Type::F32 if single.is_nan() => 0x7fff_ffff,
        Type::F32 => single.to_bits().into(),
        _ => narrow(ty, wide),
    };
    let (s, t) = (x as f32, y as f32);
    let less = x < y || (x == y && x.is_sign_negative());
    match op {
        Binary::Add => once(x + y, s + t),
        Binary::Sub => once(x - y, s - t),
        Binary::Mul => once(x * y, s * t),
        Binary::Div => once(x / y, s / t),
        Binary::Min | Binary::Max => match (x.is_nan(), y.is_nan()) {
            (true, true) => narrow(ty, f64::NAN),
            (true, false) => b,
            (false, true) => a,
            _ if less == (op == Binary::Min) => a,
            _ => b,
        },
        _ => panic!("{op:?} of {ty}"),
    }
}

fn compute(op: &Op, from: Type, to: Type, a: &[u64]) -> u64 {
    match op {
        Op::Unary(op) => match op {
            Unary::Neg if from.is_float() => a[0] ^ 1 << (from.bits() - 1),
            Unary::Abs if from.is_float() => a[0] & from.mask() >> 1,
            Unary::Neg => a[0].wrapping_neg(),
            Unary::Abs => signed(from, a[0]).unsigned_abs() as u64,
            Unary::Not => !a[0],
            Unary::Sqrt if from == Type::F64 => narrow(from, widen(from, a[0]).sqrt()),
            Unary::Rcp if from == Type::F64 => narrow(from, 1.0 / widen(from, a[0])),
            _ => panic!("approximate"),
        },
        Op::Binary(op) if from.is_float() => floats(*op, from, a[0], a[1]),
        Op::Binary(op) => integers(*op, from, a[0], a[1]),
        Op::Fma => {
            let [x, y, z] = [a[0], a[1], a[2]].map(|bits| widen(from, bits));
            match from {
                Type::F32 => narrow(from, f64::from((x as f32).mul_add(y as f32, z as f32))),
                _ => narrow(from, x.mul_add(y, z)),
            }
        }
        Op::Compare(op) => {
            let (lt, eq, ordered) = match from.is_float() {
                true => {
                    let (x, y) = (widen(from, a[0]), widen(from, a[1]));
                    (x < y, x == y, !x.is_nan() && !y.is_nan())
                }
                false => (signed(from, a[0]) < signed(from, a[1]), a[0] == a[1], true),
            };
            let holds = match op {
                Comparison::Eq => eq,
                Comparison::Ne => !eq,
                Comparison::Lt => lt,
                Comparison::Le => lt || eq,
                Comparison::Gt => ordered && !lt && !eq,
                Comparison::Ge => ordered && !lt,
            };
            holds.into()
        }
        Op::Select => a[if a[0] == 1 { 1 } else { 2 }],
        Op::Bitcast => a[0],
        Op::Convert => convert(from, to, a[0]),
        _ => panic!("{op:?}"),
    }
}

fn convert(from: Type, to: Type, bits: u64) -> u64 {
    match (from.is_float(), to.is_float()) {
        _ if from == to => bits,
        (true, true) => narrow(to, widen(from, bits)),
        (false, true) => match (to, signed(from, bits)) {
            (Type::F32, n) => (n as f32).to_bits().into(),
            (_, n) => narrow(to, n as f64),
        },
        (false, false) => signed(from, bits) as u64,
        (true, false) => {
            let (least, most) = match to.is_signed() {
                true => (-1i128 << (to.bits() - 1), (1i128 << (to.bits() - 1)) - 1),
                false => (0, to.mask().into()),
            };
            (widen(from, bits) as i128).clamp(least, most) as u64
        }
    }
}

fn integers(op: Binary, ty: Type, a: u64, b: u64) -> u64 {
    let (x, y) = (signed(ty, a), signed(ty, b));
    match op {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::MulWide => x.wrapping_mul(y) as u64,
        Binary::MulHi if ty == Type::U64 => ((u128::from(a) * u128::from(b)) >> 64) as u64,
        Binary::MulHi => ((x * y) >> ty.bits()) as u64,
        Binary::Div => x.checked_div(y).unwrap_or(0x1234) as u64,
        Binary::Rem => x.checked_rem(y).unwrap_or(0x4321) as u64,
        Binary::Min => {
            if x < y {
                a
            } else {
                b
            }
        }
        Binary::Max => {
            if x > y {
                a
            } else {
                b
            }
        }
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::Shl => {
            if b >= u64::from(ty.bits()) {
                0
            } else {
                a << b
            }
        }
        Binary::Shr => (x >> b.min(u64::from(ty.bits()))) as u64,
    }
}
