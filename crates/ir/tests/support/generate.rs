//! Random kernels that are right: of all types, with branches, loops, and accesses of every kind.

use smallvec::SmallVec;
use warpsmith_ir::access::{Cache, L1};
use warpsmith_ir::{
    Access, AccessKind, Binary, Block, Comparison, Inst, Kernel, LocationId, Op, Param, Pointer, RegisterId, Scope,
    SharedId, SharedVariable, Space, Type, Unary, Value,
};

/// The types of parameters, registers and most values; what loops and addresses need comes first.
pub const TYPES: [Type; 13] = [
    Type::U32,
    Type::U64,
    Type::I32,
    Type::F32,
    Type::I64,
    Type::U16,
    Type::I16,
    Type::U8,
    Type::I8,
    Type::F16,
    Type::BF16,
    Type::F64,
    Type::Bool,
];

/// Those that parameters and memory may have.
pub const STORED: usize = 12;

/// Where the stores begin that nothing hides, in bytes behind `out`.
const OWN: i32 = 0x1000;

/// Bytes of `out` and of `in` that a kernel may touch.
pub const BYTES: usize = 0x4000;

/// Bytes of shared memory.
const SHARED: u32 = 128;

/// Builds a kernel from a list of numbers: each step takes as many as it needs, and when they run out it is done.
struct Builder {
    choices: std::vec::IntoIter<u32>,
    kernel: Kernel,
    /// Values that can be read, block by block.
    scopes: Vec<Vec<Value>>,
    /// Memory that is written and read, memory that is only read, shared memory.
    out: Value,
    input: Value,
    shared: Value,
    stores: i32,
}

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

    /// One of a list.
    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.pick(of.len() as u32) as usize]
    }

    fn constant(&mut self, block: &mut Block, ty: Type) -> Value {
        let bits = match (ty, self.pick(10)) {
            (Type::F32, n) => {
                let odd_nan = f32::from_bits(0xffc0_1234);
                let special = [0.0, -0.0, 1.0, odd_nan, 4096.0, f32::INFINITY, 1e-40, 0.1, f32::MAX, 1.0];
                special[n as usize].to_bits().into()
            }
            (Type::F64, n) => {
                let odd_nan = f64::from_bits(0xfff8_0000_0000_1234);
                let special = [0.0, -0.0, 1.0, odd_nan, 4096.0, f64::INFINITY, 1e-310, 0.1, f64::MAX, 2.0];
                special[n as usize].to_bits()
            }
            (Type::F16, n) => [0, 0x8000, 0x3c00, 0xfe01, 0x6c00, 0x7c00, 1, 0x2e66, 0x7bff, 0x3c00][n as usize],
            (Type::BF16, n) => [0, 0x8000, 0x3f80, 0xffc1, 0x4580, 0x7f80, 1, 0x3dcd, 0x7f7f, 0x3f80][n as usize],
            (Type::Bool, n) => u64::from(n % 2),
            (_, 0) => 0,
            (_, 1) => 1,
            (_, 2) => u64::MAX,
            (_, 3) => 1 << (ty.bits() - 1),
            (_, 4) => 1 << self.pick(ty.bits()),
            (_, 5) => u64::from(self.pick(u32::MAX)),
            _ => u64::from(self.pick(40)),
        };
        self.number(block, ty, bits)
    }

    fn number(&mut self, block: &mut Block, ty: Type, bits: u64) -> Value {
        self.push(block, Op::Const(bits & ty.mask()), &[], Some(ty)).unwrap()
    }

    /// A value of a type: an old one, or a constant.
    fn value(&mut self, block: &mut Block, ty: Type) -> Value {
        let addresses = [self.out, self.input, self.shared];
        let fits = |v: &Value| self.kernel.type_of(*v) == ty && !addresses.contains(v);
        let old: Vec<Value> = self.scopes.iter().flatten().copied().filter(fits).collect();
        if old.is_empty() || self.pick(if ty == Type::Bool { 12 } else { 5 }) == 0 {
            return self.constant(block, ty);
        }
        // Recent values, more often: chains are where the rules meet.
        let back = if self.pick(2) == 0 { old.len().min(3) } else { old.len() };
        old[old.len() - 1 - self.pick(back as u32) as usize]
    }

    /// The common types, more often.
    fn ty(&mut self) -> Type {
        if self.pick(2) == 0 {
            self.one(&[Type::U32, Type::I32, Type::U64, Type::F32, Type::Bool])
        } else {
            self.one(&TYPES)
        }
    }

    fn arithmetic(&mut self, block: &mut Block) {
        let ty = self.ty();
        let (a, b) = (self.value(block, ty), self.value(block, ty));
        let numeric = ty.is_number();
        let wide = match ty {
            Type::U16 => Some(Type::U32),
            Type::I16 => Some(Type::I32),
            Type::U32 => Some(Type::U64),
            Type::I32 => Some(Type::I64),
            _ => None,
        };
        match self.pick(14) {
            0 if numeric => self.push(block, Op::Unary(Unary::Neg), &[a], Some(ty)),
            1 if ty == Type::Bool || ty.is_integer() && numeric => {
                self.push(block, Op::Unary(Unary::Not), &[a], Some(ty))
            }
            2 if ty.is_float() => {
                let c = self.value(block, ty);
                self.push(block, Op::Fma, &[a, b, c], Some(ty))
            }
            3 | 4 if numeric => {
                let comparison = self.one(Comparison::ALL);
                self.push(block, Op::Compare(comparison), &[a, b], Some(Type::Bool))
            }
            3 | 4 if ty == Type::Bool => {
                let comparison = self.one(&[Comparison::Eq, Comparison::Ne]);
                self.push(block, Op::Compare(comparison), &[a, b], Some(Type::Bool))
            }
            5 => {
                let condition = self.value(block, Type::Bool);
                self.push(block, Op::Select, &[condition, a, b], Some(ty))
            }
            6 | 7 if ty != Type::Bool => {
                let to = self.one(&TYPES[..STORED]);
                self.push(block, Op::Convert, &[a], Some(to))
            }
            8 if ty != Type::Bool => {
                let same: Vec<Type> = TYPES.into_iter().filter(|t| t.bits() == ty.bits()).collect();
                let to = self.one(&same);
                self.push(block, Op::Bitcast, &[a], Some(to))
            }
            9 if wide.is_some() => self.push(block, Op::Binary(Binary::MulWide), &[a, b], wide),
            10 if ty.is_signed() && numeric || ty.is_float() => self.push(block, Op::Unary(Unary::Abs), &[a], Some(ty)),
            11 if ty == Type::F64 => {
                let op = self.one(&[Unary::Sqrt, Unary::Rcp]);
                self.push(block, Op::Unary(op), &[a], Some(ty))
            }
            _ => self.binary(block, ty, a, b),
        };
    }

    fn binary(&mut self, block: &mut Block, ty: Type, a: Value, b: Value) -> Option<Value> {
        use Binary::{Add, And, Div, Max, Min, Mul, MulHi, Or, Rem, Shl, Shr, Sub, Xor};
        let op = match ty {
            Type::F32 | Type::F64 => self.one(&[Add, Sub, Mul, Div, Min, Max]),
            Type::F16 | Type::BF16 => self.one(&[Add, Sub, Mul, Min, Max]),
            Type::Bool => self.one(&[And, Or, Xor]),
            Type::U8 | Type::I8 => return None,
            _ => self.one(&[Add, Sub, Mul, MulHi, Div, Rem, Min, Max, And, Or, Xor, Shl, Shr, Add]),
        };
        let b = if matches!(op, Shl | Shr) { self.value(block, Type::U32) } else { b };
        self.push(block, Op::Binary(op), &[a, b], Some(ty))
    }

    /// A base plus constants and small multiples of 8, in any order; within 1024 bytes.
    fn address(&mut self, block: &mut Block, base: Value) -> Value {
        let mut address = base;
        let ty = Type::U64;
        for _ in 0..self.pick(4) {
            let index = self.value(block, ty);
            let seven = self.number(block, ty, 7);
            let small = self.push(block, Op::Binary(Binary::And), &[index, seven], Some(ty)).unwrap();
            let n = u64::from(self.pick(20));
            let n = self.number(block, ty, n);
            let sum = self.push(block, Op::Binary(Binary::Add), &[small, n], Some(ty)).unwrap();
            let eight = self.number(block, ty, 8);
            let scaled = self.push(block, Op::Binary(Binary::Mul), &[sum, eight], Some(ty)).unwrap();
            let term = match self.pick(4) {
                0 | 1 => scaled,
                2 => eight,
                _ => self.narrow_term(block),
            };
            address = self.push(block, Op::Binary(Binary::Add), &[address, term], Some(ty)).unwrap();
        }
        address
    }

    /// A multiple of 8 below 256 whose factor is computed in 16 or 32 bits, and wraps on the way, or does not.
    fn narrow_term(&mut self, block: &mut Block) -> Value {
        let (ty, wide) = self.one(&[(Type::U32, Type::U64), (Type::U32, Type::U64), (Type::U16, Type::U32)]);
        let binary =
            |b: &mut Builder, block: &mut Block, op, x, y| b.push(block, Op::Binary(op), &[x, y], Some(ty)).unwrap();
        let index = self.value(block, ty);
        let seven = self.number(block, ty, 7);
        let mut index = binary(self, block, Binary::And, index, seven);
        // A little less than nothing, and a little more than that.
        let wraps = self.pick(3) == 0;
        if wraps {
            let condition = self.value(block, Type::Bool);
            let [a, b] = [7, 15].map(|n| self.number(block, ty, ty.mask() - n));
            let most = self.push(block, Op::Select, &[condition, a, b], Some(ty)).unwrap();
            index = binary(self, block, Binary::Add, index, most);
        }
        let n = self.pick(8) + if wraps { 16 } else { 0 };
        let n = self.number(block, ty, n.into());
        index = binary(self, block, Binary::Add, index, n);
        let eight = self.number(block, ty, 8);
        let term = self.push(block, Op::Binary(Binary::MulWide), &[index, eight], Some(wide)).unwrap();
        if wide == Type::U64 { term } else { self.push(block, Op::Convert, &[term], Some(Type::U64)).unwrap() }
    }

    /// A place in shared memory, 8 bytes before its end at most.
    fn shared_address(&mut self, block: &mut Block) -> Value {
        let ty = Type::U32;
        let index = self.value(block, ty);
        let mask = self.number(block, ty, 7);
        let small = self.push(block, Op::Binary(Binary::And), &[index, mask], Some(ty)).unwrap();
        let n = u64::from(self.pick(6));
        let n = self.number(block, ty, n);
        let sum = self.push(block, Op::Binary(Binary::Add), &[small, n], Some(ty)).unwrap();
        let three = self.number(block, ty, 3);
        let scaled = self.push(block, Op::Binary(Binary::Shl), &[sum, three], Some(ty)).unwrap();
        self.push(block, Op::Binary(Binary::Add), &[self.shared, scaled], Some(ty)).unwrap()
    }

    /// A type, and how many of it are moved at once: 8 bytes at most.
    fn elements(&mut self) -> (Type, usize) {
        let ty = self.one(&TYPES[..STORED]);
        let most = (8 / ty.bytes() as usize).min(4);
        let count = self.one(&[1, 1, 2, 4]).min(most);
        (ty, count)
    }

    fn store(&mut self, block: &mut Block) {
        let (ty, count) = self.elements();
        let values: Vec<Value> = (0..count).map(|_| self.value(block, ty)).collect();
        let guard = (self.pick(3) == 0).then(|| self.value(block, Type::Bool));
        let (space, base, offset) = match self.pick(6) {
            // A place of its own, so that nothing hides it.
            0..=2 => {
                self.stores += 1;
                (Space::Global, self.out, OWN + 8 * self.stores)
            }
            3 => (Space::Shared, self.shared_address(block), 0),
            4 => (Space::Generic, self.address(block, self.out), 16),
            _ => (Space::Global, self.address(block, self.out), 8),
        };
        let kind = self.one(&[
            AccessKind::Plain,
            AccessKind::Plain,
            AccessKind::Volatile,
            AccessKind::Relaxed(Scope::Device),
            AccessKind::Release(Scope::System),
        ]);
        let l1 =
            (kind != AccessKind::Volatile && space != Space::Shared && self.pick(4) == 0).then_some(L1::EvictFirst);
        let access = Access { l1, ..Access::of(kind) };
        let args: Vec<Value> = [base].into_iter().chain(values).chain(guard).collect();
        self.push(block, Op::Store { space, offset, guarded: guard.is_some(), access }, &args, None);
    }

    fn load(&mut self, block: &mut Block) {
        let (ty, count) = self.elements();
        let (space, base, access) = match self.pick(6) {
            0 => (Space::Shared, self.shared_address(block), Access::PLAIN),
            1 => (Space::Generic, self.address(block, self.out), Access::of(AccessKind::Acquire(Scope::Device))),
            2 => (Space::Global, self.address(block, self.out), Access::of(AccessKind::Volatile)),
            3 => (Space::Global, self.address(block, self.input), Access::READ_ONLY),
            4 => {
                let cache = Some(Cache::Streaming);
                (Space::Global, self.address(block, self.input), Access { cache, ..Access::READ_ONLY })
            }
            _ => (Space::Global, self.address(block, self.out), Access::PLAIN),
        };
        let guard = (self.pick(2) == 0).then(|| self.value(block, Type::Bool));
        let args = SmallVec::from_iter([base].into_iter().chain(guard));
        let offset = if space == Space::Shared { 8 } else { 16 };
        let op = Op::Load { space, offset, fill: guard.map(|_| 1), access };
        let results: Vec<Value> = (0..count).map(|_| self.kernel.value(ty)).collect();
        self.scopes.last_mut().unwrap().extend(&results);
        let results = SmallVec::from_vec(results);
        block.push(Inst { op, args, results, location: LocationId::NONE });
    }

    fn inner(&mut self, depth: u32, breaks: bool) -> Block {
        self.scopes.push(vec![]);
        let steps = 1 + self.pick(10);
        let mut block = vec![];
        for _ in 0..steps {
            self.step(&mut block, depth + 1);
            if breaks && self.pick(6) == 0 {
                let condition = self.value(&mut block, Type::Bool);
                let op = if self.pick(2) == 0 { Op::BreakIf } else { Op::ContinueIf };
                self.push(&mut block, op, &[condition], None);
            }
        }
        self.scopes.pop();
        block
    }

    fn step(&mut self, block: &mut Block, depth: u32) {
        let register = RegisterId(self.pick(TYPES.len() as u32));
        let ty = TYPES[register.0 as usize];
        // In loops registers are what carries values on.
        let kinds = if depth > 0 { 14 } else { 40 };
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
                let uniform = self.pick(4) == 0;
                let then = self.inner(depth, false);
                let otherwise = if self.pick(2) == 0 { self.inner(depth, false) } else { vec![] };
                self.push(block, Op::If { uniform, then, otherwise }, &[condition], None);
            }
            5 | 9 if depth < 3 => {
                let bounds = [self.pick(2), self.pick(6), 1 + self.pick(2)];
                let bounds = bounds.map(|n| self.number(block, Type::U32, n.into()));
                let index = self.kernel.value(Type::U32);
                self.scopes.push(vec![index]);
                let unroll = self.one(&[None, None, Some(1), Some(2), Some(3), Some(4)]);
                let body = self.inner(depth, true);
                self.scopes.pop();
                self.push(block, Op::For { index, unroll, body }, &bounds, None);
            }
            6 | 7 => self.store(block),
            8 => self.load(block),
            _ => (0..1 + self.pick(4)).for_each(|_| self.arithmetic(block)),
        }
    }

    /// Stores a value where nothing hides it.
    fn show(&mut self, block: &mut Block, v: Value) {
        self.stores += 1;
        let (space, offset) = (Space::Global, OWN + 8 * self.stores);
        self.push(block, Op::Store { space, offset, guarded: false, access: Access::PLAIN }, &[self.out, v], None);
    }
}

/// A kernel of these choices. Its parameters are `out`, `in`, and one of each type that memory has.
pub fn random_kernel(choices: Vec<u32>) -> Kernel {
    let pointer = |name: &str| Param::pointer(name, Pointer { tensor: name.into(), align: 16 });
    let mut params = vec![pointer("out"), pointer("in")];
    params.extend(TYPES[..STORED].iter().map(|&ty| Param::number(format!("p{ty}"), ty)));
    let shared = vec![SharedVariable { name: "tile".into(), bytes: SHARED, align: 16 }];
    let registers = TYPES.to_vec();
    let kernel = Kernel { name: "random".into(), params, registers, shared, block: Some([1; 3]), ..Kernel::default() };
    let choices = choices.into_iter();
    let [out, input, shared] = [Value(0), Value(1), Value(2 + STORED as u32)];
    let mut b = Builder { choices, kernel, scopes: vec![vec![]], out, input, shared, stores: 0 };
    let mut body = vec![];
    for i in 0..b.kernel.params.len() as u32 {
        let ty = b.kernel.params[i as usize].ty;
        b.push(&mut body, Op::Param(i), &[], Some(ty));
    }
    b.push(&mut body, Op::SharedAddress(SharedId(0)), &[], Some(Type::U32));
    // Conditions that nobody knows.
    for i in 0..STORED as u32 {
        let (v, ty) = (Value(2 + i), TYPES[i as usize]);
        if ty.is_number() {
            let other = b.constant(&mut body, ty);
            b.push(&mut body, Op::Compare(Comparison::Lt), &[v, other], Some(Type::Bool));
        }
    }
    let zero = b.number(&mut body, Type::U64, 0);
    for offset in (0..SHARED as i32).step_by(16) {
        let op = Op::Store { space: Space::Shared, offset, guarded: false, access: Access::PLAIN };
        b.push(&mut body, op, &[shared, zero, zero], None);
    }
    for (i, ty) in TYPES.into_iter().enumerate() {
        let v = b.constant(&mut body, ty);
        b.push(&mut body, Op::Set(RegisterId(i as u32)), &[v], None);
    }
    while b.choices.len() > 0 {
        b.step(&mut body, 0);
    }
    // Most of what was computed is seen, some is dead.
    let all: Vec<Value> = b.scopes[0].iter().copied().enumerate().filter(|(i, _)| i % 4 != 0).map(|(_, v)| v).collect();
    for v in all {
        if b.kernel.type_of(v) != Type::Bool && ![out, input, shared].contains(&v) {
            b.show(&mut body, v);
        }
    }
    for (i, ty) in TYPES.into_iter().enumerate().take(STORED) {
        let v = b.push(&mut body, Op::Get(RegisterId(i as u32)), &[], Some(ty)).unwrap();
        b.show(&mut body, v);
    }
    b.kernel.body = body;
    b.kernel
}
