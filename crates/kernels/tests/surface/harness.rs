//! One small kernel per operation: assembled for every target that has it, refused by name on the others, and run.

use crate::common::device;
use warpsmith_dsl::prelude::*;
use warpsmith_dsl::{CompileError, Extent, Receiver, Tracing, compile, trace_kernel};
use warpsmith_ir::{Inst, Op};
use warpsmith_kernels::random::Random;
use warpsmith_runtime::report::Assembler;
use warpsmith_runtime::{Bound, Device, Jit, Tensor as Memory};
use warpsmith_types::Chip;

/// An input `x` and an output `y`, dense, each of one mode, and a counter that was zero once.
pub struct CaseParams {
    pub x: Tensor,
    pub y: Tensor,
    pub counter: Tensor,
}

pub struct CaseArgs<'a> {
    pub x: &'a TensorArg,
    pub y: &'a mut TensorArg,
    pub counter: &'a mut TensorArg,
}

impl Params for CaseParams {
    type Host<'a> = CaseArgs<'a>;
    fn describe(host: &CaseArgs<'_>, a: &mut Arguments) {
        a.tensor("x", host.x, &[("n", Extent::Dynamic)], false);
        a.tensor("y", host.y, &[("m", Extent::Dynamic)], true);
        a.tensor("counter", host.counter, &[("one", Extent::Dynamic)], true);
    }
    fn receive(r: &mut Receiver) -> CaseParams {
        CaseParams { x: r.tensor(), y: r.tensor(), counter: r.tensor() }
    }
}

type Body = Box<dyn Fn(&CaseParams) + Send + Sync>;
type Check = Box<dyn Fn(&[u8], &[u8]) + Send + Sync>;
type Fill = Box<dyn Fn(&mut Random) -> Vec<u8> + Send + Sync>;

/// An operation, or a few that belong together.
pub struct Case {
    pub name: String,
    /// The targets that have it: from one on, or exactly some.
    has: fn(Target) -> bool,
    launch: Launch,
    input: DType,
    output: (DType, usize),
    fill: Fill,
    body: Body,
    check: Check,
    /// Why it is assembled only.
    pub assembled_only: Option<&'static str>,
}

impl Case {
    /// `body` reads `x`, whose bytes `fill` makes, and writes `len` elements of `y`; `check` sees both after.
    pub fn new(
        name: impl Into<String>,
        input: DType,
        (output, len): (DType, usize),
        fill: impl Fn(&mut Random) -> Vec<u8> + Send + Sync + 'static,
        body: impl Fn(&CaseParams) + Send + Sync + 'static,
        check: impl Fn(&[u8], &[u8]) + Send + Sync + 'static,
    ) -> Case {
        Case {
            name: name.into(),
            has: |_| true,
            launch: Launch::grid(1).block(32),
            input,
            output: (output, len),
            fill: Box::new(fill),
            body: Box::new(body),
            check: Box::new(check),
            assembled_only: None,
        }
    }

    pub fn on(mut self, has: fn(Target) -> bool) -> Case {
        self.has = has;
        self
    }

    pub fn launch(mut self, launch: Launch) -> Case {
        self.launch = launch;
        self
    }

    /// Listed by name: the emulator does not run it.
    pub fn assembled_only(mut self, why: &'static str) -> Case {
        self.assembled_only = Some(why);
        self
    }

    /// PTX for a target that has it, `None` for one that has it not and says so.
    pub fn ptx(&self, target: Target) -> Option<String> {
        match self.arguments(|arguments| compile(self, arguments, &self.launch, target)) {
            Ok(compiled) if (self.has)(target) => Some(compiled.module.to_string()),
            Ok(_) => panic!("{}: {target} is said not to have it, and the language compiles it", self.name),
            Err(CompileError::Lower(_)) if !(self.has)(target) => None,
            Err(e) => panic!("{} on {target}: {e}", self.name),
        }
    }

    /// Whether its program has PTX text of its own.
    pub fn is_inline(&self) -> bool {
        fn any(block: &[Inst]) -> bool {
            block.iter().any(|i| matches!(i.op, Op::Inline(_)) || i.op.blocks().any(|b| any(b)))
        }
        let target = Target::ALL.into_iter().find(|t| (self.has)(*t)).unwrap();
        let options = Tracing { target, ..Tracing::default() };
        let program = self.arguments(|arguments| trace_kernel(self, arguments.signature(), &self.launch, options));
        any(&program.unwrap().0.body)
    }

    fn arguments<R>(&self, f: impl FnOnce(&Arguments) -> R) -> R {
        let x = TensorArg::new(1 << 40, DeviceId(0), self.input, &[self.len()]);
        let mut y = TensorArg::new(1 << 41, DeviceId(0), self.output.0, &[self.output.1]);
        let mut counter = TensorArg::new(1 << 42, DeviceId(0), DType::U32, &[1]);
        f(&Arguments::of::<CaseParams>(&CaseArgs { x: &x, y: &mut y, counter: &mut counter }))
    }

    fn len(&self) -> usize {
        (self.fill)(&mut Random::new(1)).len() / self.input.bytes()
    }

    /// Assembles it for every target that has it.
    pub fn assemble(&self, assembler: &Assembler) {
        let mut some = false;
        for target in Target::ALL {
            let Some(ptx) = self.ptx(target) else { continue };
            some = true;
            assembler.assemble(&ptx, target).unwrap_or_else(|e| panic!("{} on {target}: {e}\n{ptx}", self.name));
        }
        assert!(some, "{}: no target has it", self.name);
    }

    /// The device that runs it: the tests' own, or an emulated Blackwell where Hopper lacks it; `None` when none is here.
    fn device(&self) -> Option<Device> {
        let own = device();
        match ((self.has)(own.chip().target), own.is_emulated()) {
            (true, _) => Some(own),
            (false, true) => (self.has)(Target::SM_100A).then(|| Device::emulated(Chip::B200)),
            (false, false) => None,
        }
    }

    /// Whether it is run, not only assembled, on chips of a target.
    pub fn runs_on(&self, target: Target) -> bool {
        (self.has)(target) && self.assembled_only.is_none()
    }

    /// Its input.
    pub fn input(&self, random: &mut Random) -> Vec<u8> {
        (self.fill)(random)
    }

    /// Its launch on a device, and `x`, `y` and the counter there.
    pub fn bind(&self, device: &Device, input: &[u8]) -> (Bound, [Memory; 3]) {
        let x = Memory::from_bytes(device, "x", self.input, &[input.len() / self.input.bytes()], input).unwrap();
        let mut y = Memory::new(device, "y", self.output.0, &[self.output.1]).unwrap();
        y.buffer().poison().unwrap();
        let mut counter = Memory::from_bytes(device, "counter", DType::U32, &[1], &[0; 4]).unwrap();
        let host = CaseArgs { x: x.arg(), y: y.arg_mut(), counter: counter.arg_mut() };
        let bound = Jit::new(self).bind(&host, device).unwrap_or_else(|e| panic!("{}: {e}", self.name));
        (bound, [x, y, counter])
    }

    /// Runs it on fresh data and checks what comes out. Whether it ran.
    pub fn run(&self, random: &mut Random) -> bool {
        if self.assembled_only.is_some() {
            return false;
        }
        let Some(device) = self.device() else { return false };
        let input = self.input(random);
        let (bound, [_x, y, _counter]) = self.bind(&device, &input);
        let stream = device.default_stream();
        let outcome = bound.launch(&stream).unwrap_or_else(|e| panic!("{}: {e}", self.name));
        stream.synchronize().unwrap_or_else(|e| panic!("{}: {e}", self.name));
        let findings: Vec<_> = outcome.findings.iter().map(ToString::to_string).collect();
        assert!(findings.is_empty(), "{}: {}", self.name, findings.join("\n"));
        (self.check)(&input, &y.to_bytes().unwrap());
        true
    }
}

impl Kernel for &Case {
    type Args = CaseParams;
    fn name(&self) -> String {
        (*self).name()
    }
    fn launch(&self, _: &CaseArgs<'_>) -> Launch {
        self.launch
    }
    fn body(&self, args: CaseParams) {
        (self.body)(&args)
    }
}

impl Kernel for Case {
    type Args = CaseParams;
    fn name(&self) -> String {
        self.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
    }
    fn launch(&self, _: &CaseArgs<'_>) -> Launch {
        self.launch
    }
    fn body(&self, args: CaseParams) {
        (self.body)(&args)
    }
}

/// Numbers of the host that lie in memory as a handle's do.
pub trait Host: Copy + std::fmt::Debug + Send + Sync + 'static {
    fn read(bytes: &[u8]) -> Vec<Self>;
    fn write(all: &[Self]) -> Vec<u8>;
}

macro_rules! hosts {
    ($($t:ty),*) => {$(
        impl Host for $t {
            fn read(bytes: &[u8]) -> Vec<$t> {
                bytes.chunks_exact(size_of::<$t>()).map(|c| <$t>::from_le_bytes(c.try_into().unwrap())).collect()
            }
            fn write(all: &[$t]) -> Vec<u8> {
                all.iter().flat_map(|x| x.to_le_bytes()).collect()
            }
        }
    )*};
}
hosts!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

/// Words of random bits, with the special values of floats and integers among them.
pub fn words<H: Host>(count: usize) -> impl Fn(&mut Random) -> Vec<u8> + Send + Sync + 'static {
    move |random| {
        let mut bytes: Vec<u8> = (0..count * size_of::<H>()).map(|_| random.below(256) as u8).collect();
        for (i, special) in [0u64, u64::MAX, 1, 1 << 63, i64::MAX as u64].into_iter().enumerate().take(count) {
            let top = special >> (64 - 8 * size_of::<H>());
            let low = special & (u64::MAX >> (64 - 8 * size_of::<H>()));
            let word = if i == 3 || i == 4 { top } else { low };
            bytes[i * size_of::<H>()..(i + 1) * size_of::<H>()].copy_from_slice(&word.to_le_bytes()[..size_of::<H>()]);
        }
        bytes
    }
}

/// Ordinary floats, some of them special.
pub fn floats(count: usize) -> impl Fn(&mut Random) -> Vec<u8> + Send + Sync + 'static {
    move |random| {
        let special = [0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-40, 6e4, 7e4, 449.0, -2.5];
        let any =
            |i: usize, r: &mut Random| special.get(i).copied().unwrap_or_else(|| (r.uniform() * 20.0 - 10.0) as f32);
        let all: Vec<f32> = (0..count).map(|i| any(i, random)).collect();
        f32::write(&all)
    }
}

/// A function of one element: 32 threads, one each.
pub fn unary<A: Element, B: Element, HA: Host, HB: Host + PartialEq>(
    name: impl Into<String>,
    fill: impl Fn(&mut Random) -> Vec<u8> + Send + Sync + 'static,
    f: impl Fn(A) -> B + Send + Sync + 'static,
    expected: impl Fn(HA) -> HB + Send + Sync + 'static,
) -> Case {
    let label: String = name.into();
    let said = label.clone();
    let body = move |a: &CaseParams| {
        let i = thread_idx().x;
        a.y.at::<B>((Dim::from(i) * B::COUNT,)).store(f(a.x.at::<A>((Dim::from(i) * A::COUNT,)).load()));
    };
    let check = move |x: &[u8], y: &[u8]| {
        for (x, y) in HA::read(x).into_iter().zip(HB::read(y)) {
            let right = expected(x);
            let (same, nan) = (HB::write(&[right]) == HB::write(&[y]), right != right && y != y);
            assert!(same || nan, "{said} of {x:?}: {y:?} and not {right:?}");
        }
    };
    Case::new(label, A::DTYPE, (B::DTYPE, 32 * B::COUNT), fill, body, check)
}
