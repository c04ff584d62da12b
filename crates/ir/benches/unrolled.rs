//! How long a long kernel takes from the IR to PTX text: a Hopper GEMM's main loop, unrolled to ten thousand lines.
//! `cargo bench -p warpsmith-ir`.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]

use smallvec::{SmallVec, smallvec};
use std::time::{Duration, Instant};
use warpsmith_ir::machine::{Machine, Slot};
use warpsmith_ir::{
    Binary, Inst, Kernel, LocationId, LowerOptions, Op, Param, Pass, RegisterId, SharedId, SharedVariable, Type, Value,
    Verified, lower, verify,
};
use warpsmith_types::{Location, Target};

/// Accumulators of a thread for 64 × 256.
const ACCUMULATORS: u32 = 128;
/// Tiles along K; each is 4 products.
const TILES: u64 = 364;

/// A kernel that is put together instruction by instruction, each with a line of its own.
struct Builder {
    kernel: Kernel,
}

impl Builder {
    fn push(&mut self, op: Op, args: &[Value], results: &[Type]) -> SmallVec<[Value; 1]> {
        let results: SmallVec<[Value; 1]> = results.iter().map(|&t| self.kernel.value(t)).collect();
        self.kernel.body.push(self.inst(op, args, results.clone()));
        results
    }

    fn inst(&self, op: Op, args: &[Value], results: SmallVec<[Value; 1]>) -> Inst {
        let location = LocationId((self.kernel.body.len() % self.kernel.locations.len()) as u32);
        Inst { op, args: args.into(), results, location }
    }

    fn value(&mut self, op: Op, args: &[Value], ty: Type) -> Value {
        self.push(op, args, &[ty])[0]
    }

    fn number(&mut self, n: u64, ty: Type) -> Value {
        self.value(Op::Const(n), &[], ty)
    }

    fn binary(&mut self, op: Binary, a: Value, b: Value) -> Value {
        self.value(Op::Binary(op), &[a, b], self.kernel.type_of(a))
    }

    fn machine(&mut self, machine: Machine, args: &[Value]) {
        self.push(Op::Machine(Box::new(machine)), args, &[]);
    }
}

fn machine(name: &str) -> Machine {
    Machine::new(name).unwrap()
}

fn gemm() -> Kernel {
    let shared = |name: &str, bytes, align| SharedVariable { name: name.into(), bytes, align };
    let kernel = Kernel {
        name: "unrolled".into(),
        params: vec![Param::number("c", Type::U64)],
        registers: vec![Type::F32; ACCUMULATORS as usize],
        shared: vec![shared("tiles", 196_608, 1024), shared("full", 32, 8)],
        block: Some([128, 1, 1]),
        locations: (1..400).map(|line| Location::new("gemm.rs", line, 9)).collect(),
        ..Kernel::default()
    };
    let mut b = Builder { kernel };
    let c = b.value(Op::Param(0), &[], Type::U64);
    let zero = b.number(0, Type::F32);
    for r in 0..ACCUMULATORS {
        b.push(Op::Set(RegisterId(r)), &[zero], &[]);
    }
    let yes = b.number(1, Type::Bool);
    for tile in 0..TILES {
        let tiles = b.value(Op::SharedAddress(SharedId(0)), &[], Type::U32);
        let full = b.value(Op::SharedAddress(SharedId(1)), &[], Type::U32);
        let at = b.number(8 * (tile % 4), Type::U32);
        let barrier = b.binary(Binary::Add, full, at);
        let phase = b.number(tile / 4 % 2, Type::U32);
        let done = b.kernel.value(Type::Bool);
        let wait = machine("mbarrier.try_wait.parity.shared::cta.b64")
            .with(Slot::Result(0))
            .with(Slot::at(0))
            .with(Slot::Arg(1));
        let wait = b.inst(Op::Machine(Box::new(wait)), &[barrier, phase], smallvec![done]);
        let leave = b.inst(Op::BreakIf, &[done], smallvec![]);
        b.push(Op::Loop { body: vec![wait, leave] }, &[], &[]);
        b.machine(machine("wgmma.fence.sync.aligned"), &[]);
        for step in 0..4 {
            let mut descriptors = vec![];
            for part in 0..2 {
                let offset = b.number(tile % 4 * 49_152 + part * 16_384, Type::U32);
                let address = b.binary(Binary::Add, tiles, offset);
                let sixteen = b.number(16, Type::U32);
                let unit = b.binary(Binary::Div, address, sixteen);
                let wide = b.value(Op::Convert, &[unit], Type::U64);
                let swizzle = b.number(1 << 62 | 64 << 32 | 1 << 16, Type::U64);
                let base = b.binary(Binary::Or, wide, swizzle);
                let advance = b.number(2 * step, Type::U64);
                descriptors.push(b.binary(Binary::Add, base, advance));
            }
            let product = machine("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16")
                .with(Slot::registers((0..ACCUMULATORS).map(RegisterId)))
                .with(Slot::Arg(0))
                .with(Slot::Arg(1))
                .with(Slot::Arg(2));
            let product = [1, 1, 0, 0].into_iter().fold(product, |m, n| m.with(Slot::number(n)));
            b.machine(product, &[descriptors[0], descriptors[1], yes]);
        }
        b.machine(machine("wgmma.commit_group.sync.aligned"), &[]);
        b.machine(machine("wgmma.wait_group.sync.aligned").with(Slot::number(1)), &[]);
    }
    b.machine(machine("wgmma.wait_group.sync.aligned").with(Slot::number(0)), &[]);
    for r in 0..ACCUMULATORS {
        let x = b.value(Op::Get(RegisterId(r)), &[], Type::F32);
        let access = warpsmith_ir::Access::PLAIN;
        let space = warpsmith_ir::Space::Global;
        b.push(Op::Store { space, offset: 4 * r as i32, guarded: false, access }, &[c, x], &[]);
    }
    b.kernel
}

fn main() {
    let kernel = gemm();
    let options = LowerOptions::new(Target::SM_90A);
    println!("{} instructions of the IR", kernel.len());
    let mut steps: Vec<(&str, Vec<Duration>)> = vec![];
    let mut text = String::new();
    for _ in 0..21 {
        let mut times = vec![];
        let start = Instant::now();
        let mut lap = Instant::now();
        let mut step = |name, times: &mut Vec<(&'static str, Duration)>| {
            times.push((name, lap.elapsed()));
            lap = Instant::now();
        };
        let kernel = gemm();
        step("build", &mut times);
        let mut kernel = Verified::new(kernel).unwrap();
        step("verify", &mut times);
        kernel.optimize();
        step("passes", &mut times);
        let module = kernel.lower(&options).unwrap();
        step("lower", &mut times);
        text = module.to_string();
        step("print", &mut times);
        times.push(("in all", start.elapsed()));
        for (i, (name, time)) in times.into_iter().enumerate() {
            if steps.len() <= i {
                steps.push((name, vec![]));
            }
            steps[i].1.push(time);
        }
    }
    println!("{} lines of PTX", text.lines().count());
    for (name, times) in &mut steps {
        times.sort_unstable();
        println!("{name:<10} {:>10.2?} least {:>10.2?} median", times[0], times[times.len() / 2]);
    }
    let mut kernel = gemm();
    for pass in Pass::ORDER {
        let start = Instant::now();
        pass.run(&mut kernel);
        let with_check = start.elapsed();
        let start = Instant::now();
        verify(&kernel).unwrap();
        let check = start.elapsed();
        println!("  {:<10} {:>10.2?}", pass.name(), with_check.saturating_sub(check));
    }
    assert!(lower(&kernel, &options).is_ok());
}
