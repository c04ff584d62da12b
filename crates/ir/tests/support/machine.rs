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
            Op::If { then, otherwise } => return self.block(if args[0] == 1 { then } else { otherwise }),
            Op::For { index, body } => {
                let mut i = args[0];
                while i < args[1] {
                    self.values[index.0 as usize] = i;
                    match self.block(body) {
                        Flow::Next => i += args[2],
                        Flow::Break => break,
                        Flow::Exit => return Flow::Exit,
                    }
                }
            }
            Op::Loop { body } => loop {
                match self.block(body) {
                    Flow::Next => {}
                    Flow::Break => break,
                    Flow::Exit => return Flow::Exit,
                }
            },
            Op::BreakIf if args[0] == 1 => return Flow::Break,
            Op::ExitIf if args[0] == 1 => return Flow::Exit,
            Op::BreakIf | Op::ExitIf | Op::Barrier => {}
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
                    _ => compute(op, from, ty, &args),
                };
                self.values[result.0 as usize] = bits & ty.mask();
            }
        }
        Flow::Next
    }
}

/// Where an access starts; shared addresses have 32 bits.
fn start(space: Space, base: u64, offset: i32) -> u64 {
    let address = base.wrapping_add_signed(offset.into());
    if space.address() == Type::U32 { address & 0xffff_ffff } else { address }
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

fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// Arithmetic gives one NaN.
fn canonical(x: f32) -> u64 {
    if x.is_nan() { 0x7fff_ffff } else { x.to_bits().into() }
}

fn compute(op: &Op, from: Type, to: Type, a: &[u64]) -> u64 {
    match op {
        Op::Unary(op) => match (op, from) {
            (Unary::Neg, Type::F32) => a[0] ^ 0x8000_0000,
            (Unary::Abs, Type::F32) => a[0] & 0x7fff_ffff,
            (Unary::Neg, _) => a[0].wrapping_neg(),
            (Unary::Abs, _) => signed(from, a[0]).unsigned_abs() as u64,
            (Unary::Not, _) => !a[0],
            _ => panic!("approximate"),
        },
        Op::Binary(op) if from == Type::F32 => {
            let (x, y) = (f(a[0]), f(a[1]));
            let less = x < y || (x == y && x.is_sign_negative());
            match op {
                Binary::Add => canonical(x + y),
                Binary::Sub => canonical(x - y),
                Binary::Mul => canonical(x * y),
                Binary::Div => canonical(x / y),
                Binary::Min | Binary::Max => match (x.is_nan(), y.is_nan()) {
                    (true, true) => 0x7fff_ffff,
                    (true, false) => a[1],
                    (false, true) => a[0],
                    _ if less == (*op == Binary::Min) => a[0],
                    _ => a[1],
                },
                _ => panic!("{op:?} of f32"),
            }
        }
        Op::Binary(op) => integers(*op, from, a[0], a[1]),
        Op::Fma => canonical(f(a[0]).mul_add(f(a[1]), f(a[2]))),
        Op::Compare(op) => {
            let (lt, eq, ordered) = match from {
                Type::F32 => (f(a[0]) < f(a[1]), f(a[0]) == f(a[1]), !f(a[0]).is_nan() && !f(a[1]).is_nan()),
                _ => (signed(from, a[0]) < signed(from, a[1]), a[0] == a[1], true),
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
        Op::Convert => match (from, to) {
            (Type::F32, Type::F32) => a[0],
            (Type::F32, Type::U32) => (f(a[0]) as u32).into(),
            (Type::F32, Type::I32) => f(a[0]) as i32 as u64,
            (Type::F32, Type::U64) => f(a[0]) as u64,
            (_, Type::F32) => (signed(from, a[0]) as f32).to_bits().into(),
            _ => signed(from, a[0]) as u64,
        },
        _ => panic!("{op:?}"),
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
