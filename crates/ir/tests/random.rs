//! Random kernels: every pass keeps every bit that they store.
//!
//! Contraction is the exception, by design; so the kernel is contracted first, and what comes of it is compared.

mod support;

use proptest::prelude::*;
use smallvec::SmallVec;
use support::assemble::Assembler;
use support::machine;
use warpsmith_ir::text::parse;
use warpsmith_ir::{
    Access, Binary, Block, Comparison, Inst, Kernel, LocationId, LowerOptions, Op, Param, Pass, Pointer, RegisterId,
    Space, Type, Unary, Value, lower, optimize, verify,
};
use warpsmith_types::Target;

/// Builds a kernel from a list of numbers: each step takes as many as it needs, and when they run out it is done.
struct Builder {
    choices: std::vec::IntoIter<u32>,
    kernel: Kernel,
    /// Values that can be read, block by block.
    scopes: Vec<Vec<Value>>,
    out: Value,
    stores: i32,
}

const TYPES: [Type; 5] = [Type::U32, Type::I32, Type::U64, Type::F32, Type::Bool];

impl Builder {
    fn pick(&mut self, n: u32) -> u32 {
        self.choices.next().unwrap_or(0) % n
    }

    fn push(&mut self, block: &mut Block, op: Op, args: &[Value], ty: Option<Type>) -> Option<Value> {
        let result = ty.map(|t| self.kernel.value(t));
        let args = SmallVec::from_slice(args);
        block.push(Inst { op, args, results: result.into_iter().collect(), location: LocationId::NONE });
        self.scopes.last_mut().unwrap().extend(result);
        result
    }

    fn constant(&mut self, block: &mut Block, ty: Type) -> Value {
        let bits = match (ty, self.pick(10)) {
            (Type::F32, n) => {
                let odd_nan = f32::from_bits(0xffc0_1234);
                let special = [0.0, -0.0, 1.0, odd_nan, 4096.0, f32::INFINITY, 1e-40, 0.1, f32::MAX, 1.0];
                special[n as usize].to_bits().into()
            }
            (Type::Bool, n) => u64::from(n % 2),
            (_, 0) => 0,
            (_, 1) => 1,
            (_, 2) => u64::MAX,
            (_, 3) => 1 << (ty.bits() - 1),
            (_, 4) => 1 << self.pick(ty.bits()),
            (_, 5) => u64::from(self.pick(u32::MAX)),
            _ => u64::from(self.pick(40)),
        };
        self.push(block, Op::Const(bits & ty.mask()), &[], Some(ty)).unwrap()
    }

    /// A value of a type: an old one, or a constant.
    fn value(&mut self, block: &mut Block, ty: Type) -> Value {
        let old: Vec<Value> =
            self.scopes.iter().flatten().copied().filter(|&v| self.kernel.type_of(v) == ty && v != self.out).collect();
        if old.is_empty() || self.pick(4) == 0 {
            return self.constant(block, ty);
        }
        // Recent values, more often: chains are where the rules meet.
        let back = if self.pick(2) == 0 { old.len().min(3) } else { old.len() };
        old[old.len() - 1 - self.pick(back as u32) as usize]
    }

    fn arithmetic(&mut self, block: &mut Block) {
        let ty = TYPES[self.pick(5) as usize];
        let (a, b) = (self.value(block, ty), self.value(block, ty));
        use Binary::{Add, And, Div, Max, Min, Mul, MulHi, Or, Rem, Shl, Shr, Sub, Xor};
        let op = match ty {
            Type::F32 => [Add, Sub, Mul, Div, Min, Max][self.pick(6) as usize],
            Type::Bool => [And, Or, Xor][self.pick(3) as usize],
            _ => [Add, Sub, Mul, MulHi, Div, Rem, Min, Max, And, Or, Xor, Shl, Shr, Add][self.pick(14) as usize],
        };
        let b = if matches!(op, Shl | Shr) { self.value(block, Type::U32) } else { b };
        match self.pick(12) {
            0 if ty != Type::Bool => self.push(block, Op::Unary(Unary::Neg), &[a], Some(ty)),
            1 if ty != Type::F32 => self.push(block, Op::Unary(Unary::Not), &[a], Some(ty)),
            2 if ty == Type::F32 => {
                let c = self.value(block, ty);
                self.push(block, Op::Fma, &[a, b, c], Some(ty))
            }
            3 | 4 => {
                let n = if ty == Type::Bool { 2 } else { 6 };
                let comparison = Comparison::ALL[self.pick(n) as usize];
                let b = if self.kernel.type_of(b) == ty { b } else { a };
                self.push(block, Op::Compare(comparison), &[a, b], Some(Type::Bool))
            }
            5 => {
                let condition = self.value(block, Type::Bool);
                let b = if self.kernel.type_of(b) == ty { b } else { a };
                self.push(block, Op::Select, &[condition, a, b], Some(ty))
            }
            6 if ty != Type::Bool => {
                let to = TYPES[self.pick(4) as usize];
                self.push(block, Op::Convert, &[a], Some(to))
            }
            7 if ty.bits() == 32 => {
                let to = [Type::U32, Type::I32, Type::F32][self.pick(3) as usize];
                self.push(block, Op::Bitcast, &[a], Some(to))
            }
            8 if ty == Type::U32 => self.push(block, Op::Binary(Binary::MulWide), &[a, a], Some(Type::U64)),
            _ => self.push(block, Op::Binary(op), &[a, b], Some(ty)),
        };
    }

    /// `out` plus constants and small multiples of 4, in any order.
    fn address(&mut self, block: &mut Block) -> Value {
        let mut address = self.out;
        for _ in 0..self.pick(4) {
            let index = self.value(block, Type::U64);
            let seven = self.push(block, Op::Const(7), &[], Some(Type::U64)).unwrap();
            let small = self.push(block, Op::Binary(Binary::And), &[index, seven], Some(Type::U64)).unwrap();
            let n = u64::from(self.pick(20));
            let n = self.push(block, Op::Const(n), &[], Some(Type::U64)).unwrap();
            let sum = self.push(block, Op::Binary(Binary::Add), &[small, n], Some(Type::U64)).unwrap();
            let eight = self.push(block, Op::Const(8), &[], Some(Type::U64)).unwrap();
            let scaled = self.push(block, Op::Binary(Binary::Mul), &[sum, eight], Some(Type::U64)).unwrap();
            let term = if self.pick(2) == 0 { scaled } else { eight };
            address = self.push(block, Op::Binary(Binary::Add), &[address, term], Some(Type::U64)).unwrap();
        }
        address
    }

    fn store(&mut self, block: &mut Block) {
        let ty = TYPES[self.pick(4) as usize];
        let v = self.value(block, ty);
        let guard = (self.pick(3) == 0).then(|| self.value(block, Type::Bool));
        let (base, offset) = match self.pick(3) {
            // A place of its own, so that nothing hides it.
            0 | 1 => {
                self.stores += 1;
                (self.out, 0x1_0000 + 8 * self.stores)
            }
            _ => (self.address(block), 8),
        };
        let args: Vec<Value> = [base, v].into_iter().chain(guard).collect();
        self.push(
            block,
            Op::Store { space: Space::Global, offset, guarded: guard.is_some(), access: Access::PLAIN },
            &args,
            None,
        );
    }

    fn load(&mut self, block: &mut Block) {
        let ty = TYPES[self.pick(4) as usize];
        let base = self.address(block);
        let guard = (self.pick(2) == 0).then(|| self.value(block, Type::Bool));
        let args: Vec<Value> = [base].into_iter().chain(guard).collect();
        let fill = guard.map(|_| 1);
        self.push(block, Op::Load { space: Space::Global, offset: 16, fill, access: Access::PLAIN }, &args, Some(ty));
    }

    fn inner(&mut self, depth: u32, breaks: bool) -> Block {
        self.scopes.push(vec![]);
        let steps = 1 + self.pick(10);
        let mut block = vec![];
        for _ in 0..steps {
            self.step(&mut block, depth + 1);
            if breaks && self.pick(6) == 0 {
                let condition = self.value(&mut block, Type::Bool);
                self.push(&mut block, Op::BreakIf, &[condition], None);
            }
        }
        self.scopes.pop();
        block
    }

    fn step(&mut self, block: &mut Block, depth: u32) {
        let register = RegisterId(self.pick(TYPES.len() as u32));
        let ty = TYPES[register.0 as usize];
        // In loops registers are what carries values on.
        let kinds = if depth > 0 { 10 } else { 16 };
        match self.pick(kinds) {
            0 | 1 => {
                let v = self.value(block, ty);
                self.push(block, Op::Set(register), &[v], None);
            }
            2 | 3 => {
                self.push(block, Op::Get(register), &[], Some(ty));
            }
            4 if depth < 3 => {
                let condition = self.value(block, Type::Bool);
                let then = self.inner(depth, false);
                let otherwise = if self.pick(2) == 0 { self.inner(depth, false) } else { vec![] };
                self.push(block, Op::If { then, otherwise }, &[condition], None);
            }
            5 | 9 if depth < 3 => {
                let bounds = [self.pick(2), self.pick(6), 1 + self.pick(2)];
                let bounds = bounds.map(|n| self.push(block, Op::Const(n.into()), &[], Some(Type::U32)).unwrap());
                let index = self.kernel.value(Type::U32);
                self.scopes.push(vec![index]);
                let body = self.inner(depth, true);
                self.scopes.pop();
                self.push(block, Op::For { index, body }, &bounds, None);
            }
            6 | 7 => self.store(block),
            8 => self.load(block),
            _ => self.arithmetic(block),
        }
    }
}

fn random_kernel(choices: Vec<u32>) -> Kernel {
    let pointer = Some(Pointer { tensor: "out".into(), align: 16 });
    let mut params = vec![Param { pointer, ..Param::number("out", Type::U64) }];
    params.extend(TYPES[..4].iter().map(|&ty| Param::number(format!("p{ty}"), ty)));
    let kernel = Kernel { name: "random".into(), params, registers: TYPES.to_vec(), ..Kernel::default() };
    let mut b = Builder { choices: choices.into_iter(), kernel, scopes: vec![vec![]], out: Value(0), stores: 0 };
    let mut body = vec![];
    for i in 0..b.kernel.params.len() as u32 {
        let ty = b.kernel.params[i as usize].ty;
        b.push(&mut body, Op::Param(i), &[], Some(ty));
    }
    for (i, ty) in TYPES.into_iter().enumerate() {
        let v = b.constant(&mut body, ty);
        b.push(&mut body, Op::Set(RegisterId(i as u32)), &[v], None);
    }
    while b.choices.len() > 0 {
        b.step(&mut body, 0);
    }
    for ty in &TYPES[..4] {
        for _ in 0..4 {
            let v = b.value(&mut body, *ty);
            b.stores += 1;
            let op = Op::Store {
                space: Space::Global,
                offset: 0x1_0000 + 8 * b.stores,
                guarded: false,
                access: Access::PLAIN,
            };
            b.push(&mut body, op, &[b.out, v], None);
        }
    }
    for (i, ty) in TYPES.into_iter().enumerate().take(4) {
        let v = b.push(&mut body, Op::Get(RegisterId(i as u32)), &[], Some(ty)).unwrap();
        b.stores += 1;
        let op =
            Op::Store { space: Space::Global, offset: 0x1_0000 + 8 * b.stores, guarded: false, access: Access::PLAIN };
        b.push(&mut body, op, &[b.out, v], None);
    }
    b.kernel.body = body;
    b.kernel
}

fn choices() -> impl Strategy<Value = Vec<u32>> {
    proptest::collection::vec(any::<u32>(), 20..1200)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn passes_keep_every_bit(choices in choices(), x in any::<u32>(), wide in any::<u64>()) {
        let mut kernel = random_kernel(choices);
        prop_assert!(verify(&kernel).is_ok(), "{}\n{kernel}", verify(&kernel).unwrap_err());
        Pass::Dead.run(&mut kernel);
        Pass::Contract.run(&mut kernel);
        // So that contracting again finds nothing.
        Pass::Dead.run(&mut kernel);
        let params = [0x10_0000, x.into(), x.rotate_left(7).into(), wide, x.rotate_left(13).into()];
        let expected = machine::run(&kernel, &params);
        let check = |name: &str, after: Kernel| {
            prop_assert!(verify(&after).is_ok(), "{name}: {}\n{kernel}\n{after}", verify(&after).unwrap_err());
            prop_assert!(machine::run(&after, &params) == expected, "{name}\n{kernel}\n{after}");
            Ok(())
        };
        for pass in Pass::ALL {
            let mut after = kernel.clone();
            pass.run(&mut after);
            check(pass.name(), after)?;
        }
        let mut after = kernel.clone();
        optimize(&mut after);
        check("optimize", after)?;
    }

    #[test]
    fn text_round_trips(choices in choices()) {
        let kernel = random_kernel(choices);
        prop_assert_eq!(parse(&kernel.to_string()).unwrap(), kernel);
    }

    #[test]
    fn no_text_panics(text in "(kernel|[%$@;{}\\[\\](),:=+-]|[a-z_.]{1,8}|[0-9]{1,12}|\"|\n| ){0,60}") {
        let _ = parse(&text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ptx_assembles(choices in choices()) {
        let assembler = Assembler::find();
        let before = random_kernel(choices);
        let mut after = before.clone();
        optimize(&mut after);
        for (name, kernel) in [("before", before), ("after", after)] {
            let module = lower(&kernel, &LowerOptions::new(Target::SM_90A));
            assembler.check(&module.unwrap(), name);
        }
    }
}
