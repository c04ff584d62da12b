//! Each operation at each of its types, with its operands in registers and as constants, for each target.
//!
//! What an operation takes is asked of the verifier: whatever it lets through must lower to PTX that holds, or be an
//! error that names the first target that has it.

mod support;

use support::assemble::Assembler;
use warpsmith_ir::access::{Cache, L1, L2, Prefetch};
use warpsmith_ir::text::parse;
use warpsmith_ir::{
    Access, AccessKind, Binary, Comparison, Inst, Kernel, LocationId, LowerError, LowerOptions, Op, Param, Scope,
    Shuffle, Space, Special, Type, Unary, Value, lower, optimize, verify,
};
use warpsmith_types::Target;

fn push(kernel: &mut Kernel, op: Op, args: &[Value], results: &[Type]) -> Vec<Value> {
    let results: Vec<Value> = results.iter().map(|&t| kernel.value(t)).collect();
    let args = args.iter().copied().collect();
    kernel.body.push(Inst { op, args, results: results.iter().copied().collect(), location: LocationId::NONE });
    results
}

/// A kernel that has, of each type, a value in a register and a constant.
fn start() -> (Kernel, Vec<[Value; 2]>) {
    let mut kernel = Kernel { name: "every".into(), ..Kernel::default() };
    let mut operands = vec![];
    for ty in Type::ALL {
        let constant = push(&mut kernel, Op::Const(1), &[], &[ty])[0];
        let value = if ty == Type::Bool {
            let lane = push(&mut kernel, Op::Special(Special::Lane), &[], &[Type::U32])[0];
            push(&mut kernel, Op::Compare(Comparison::Lt), &[lane, lane], &[ty])[0]
        } else {
            kernel.params.push(Param::number(format!("p{ty}"), ty));
            let index = kernel.params.len() as u32 - 1;
            push(&mut kernel, Op::Param(index), &[], &[ty])[0]
        };
        operands.push([value, constant]);
    }
    (kernel, operands)
}

/// Each kind, and each hint with the kinds that may have it; most of them nonsense somewhere.
fn accesses() -> Vec<Access> {
    use AccessKind::{Acquire, Plain, ReadOnly, Relaxed, Release, Volatile};
    let ordered: [fn(Scope) -> AccessKind; 3] = [Relaxed, Acquire, Release];
    let scoped = ordered.iter().flat_map(|kind| Scope::ALL.iter().map(|&scope| kind(scope)));
    let mut all: Vec<Access> = [Plain, ReadOnly, Volatile].into_iter().chain(scoped).map(Access::of).collect();
    for kind in [Plain, ReadOnly, Volatile, Relaxed(Scope::Device), Acquire(Scope::Block), Release(Scope::System)] {
        let of = Access::of(kind);
        all.extend(Cache::ALL.iter().map(|&c| Access { cache: Some(c), ..of }));
        all.extend(L1::ALL.iter().map(|&l1| Access { l1: Some(l1), ..of }));
        all.extend(L2::ALL.iter().map(|&l2| Access { l2: Some(l2), ..of }));
        all.extend(Prefetch::ALL.iter().map(|&p| Access { prefetch: Some(p), ..of }));
        all.push(Access { policy: true, ..of });
        let (l1, prefetch) = (Some(L1::EvictFirst), Some(Prefetch::Bytes128));
        all.push(Access { l1, prefetch, policy: true, ..of });
        all.push(Access { l1, l2: Some(L2::EvictLast), policy: true, ..of });
    }
    all
}

/// Operations with the types of their operands and results; most of them nonsense.
fn candidates() -> Vec<(Op, Vec<Type>, Vec<Type>)> {
    let mut all = vec![];
    let mut push = |op: Op, args: &[Type], results: &[Type]| all.push((op, args.to_vec(), results.to_vec()));
    for a in Type::ALL {
        Unary::ALL.iter().for_each(|&op| push(Op::Unary(op), &[a], &[a]));
        for &op in Binary::ALL {
            push(Op::Binary(op), &[a, a], &[a]);
            push(Op::Binary(op), &[a, Type::U32], &[a]);
            push(Op::Binary(op), &[a, a], &[Type::U64]);
            push(Op::Binary(op), &[a, a], &[Type::I64]);
        }
        Comparison::ALL.iter().for_each(|&op| push(Op::Compare(op), &[a, a], &[Type::Bool]));
        Shuffle::ALL.iter().for_each(|&op| push(Op::Shuffle(op), &[a, Type::U32], &[a]));
        push(Op::Fma, &[a, a, a], &[a]);
        push(Op::Select, &[Type::Bool, a, a], &[a]);
        push(Op::Unpack, &[Type::U32], &[a, a]);
        for b in Type::ALL {
            push(Op::Convert, &[a], &[b]);
            push(Op::Bitcast, &[a], &[b]);
        }
        for &space in Space::ALL {
            for elements in [1, 2, 4, 8] {
                // A type for each width of memory will do for what is said of it.
                let hinted = matches!(a, Type::U8 | Type::U16 | Type::F32 | Type::U64);
                for access in accesses().into_iter().filter(|access| hinted || *access == Access::PLAIN) {
                    let head = [space.address(), Type::U64];
                    let head = &head[..1 + usize::from(access.policy)];
                    let load = |fill| Op::Load { space, offset: 32, fill, access };
                    push(load(None), head, &vec![a; elements]);
                    let guarded: Vec<Type> = head.iter().copied().chain([Type::Bool]).collect();
                    push(load(Some(1)), &guarded, &vec![a; elements]);
                    for guarded in [false, true] {
                        let values = head.iter().copied().chain(vec![a; elements]);
                        let args: Vec<Type> = values.chain(guarded.then_some(Type::Bool)).collect();
                        push(Op::Store { space, offset: -32, guarded, access }, &args, &[]);
                    }
                }
            }
        }
    }
    Special::ALL.iter().for_each(|&s| push(Op::Special(s), &[], &[Type::U32]));
    for bf16 in [false, true] {
        push(Op::Pack { bf16 }, &[Type::F32, Type::F32], &[Type::U32]);
    }
    for op in [Op::Barrier, Op::WaitForUpstream, Op::LaunchDependents] {
        push(op, &[], &[]);
    }
    push(Op::ExitIf, &[Type::Bool], &[]);
    push(Op::Trap, &[], &[]);
    for format in ["%d", "%llu", "%f"] {
        for a in Type::ALL {
            push(Op::Print { format: format.into() }, &[a], &[]);
        }
    }
    let format = "%d %f %c %p %hx\n".into();
    push(Op::Print { format }, &[Type::I8, Type::BF16, Type::Bool, Type::U64, Type::U16], &[]);
    push(Op::If { uniform: true, then: vec![], otherwise: vec![] }, &[Type::Bool], &[]);
    all
}

/// What has blocks, or must stand in one.
const CONTROL: &str = "
kernel control(p: u64 pointer p align 4, n: u32) {
  %0: u64 = param p
  %1: u32 = param n
  %2: u32 = const 2
  for %3: u32 in %2, %1, %2 unroll 4 {
    %4: bool = lt %3, %2
    continue_if %4
    if.uniform %4 {
      store.global [%0], %3
    } else {
      store.global [%0], %2
    }
    loop {
      %5: u32 = load.global.volatile [%0]
      %6: bool = eq %5, %3
      continue_if %6
      if %4 {
        break_if %6
      }
      exit_if %4
    }
  }
}";

#[test]
fn control_assembles() {
    let assembler = Assembler::find();
    let kernel = parse(CONTROL).unwrap();
    let mut unrolled = kernel.clone();
    optimize(&mut unrolled);
    for target in Target::ALL {
        for kernel in [&kernel, &unrolled] {
            assembler.check(&lower(kernel, &LowerOptions::new(target)).unwrap(), &format!("control for {target}"));
        }
    }
}

#[test]
fn everything_that_is_valid_assembles() {
    let assembler = Assembler::find();
    let valid: Vec<_> = candidates()
        .into_iter()
        .filter(|(op, args, results)| {
            let (mut kernel, operands) = start();
            let args: Vec<Value> = args.iter().map(|&t| operands[t as usize][0]).collect();
            push(&mut kernel, op.clone(), &args, results);
            verify(&kernel).is_ok()
        })
        .collect();
    assert!(valid.len() > 400, "only {} are valid", valid.len());
    for target in Target::ALL {
        let options = LowerOptions::new(target);
        let (mut all, operands) = start();
        let mut unsupported = vec![];
        for (op, args, results) in &valid {
            // Each operand in a register, each a constant, and each alone a constant.
            let masks: Vec<u32> = [0, u32::MAX].into_iter().chain((0..args.len().min(3)).map(|i| 1 << i)).collect();
            let hinted = match op {
                Op::Load { access, .. } | Op::Store { access, .. } => *access != Access::PLAIN,
                _ => false,
            };
            // How it treats memory says nothing of the operands' kinds.
            for &mask in if hinted { &masks[..1] } else { &masks[..] } {
                let pick = |(i, t): (usize, &Type)| operands[*t as usize][(mask >> i.min(31) & 1) as usize];
                let args: Vec<Value> = args.iter().enumerate().map(pick).collect();
                let (mut one, _) = start();
                push(&mut one, op.clone(), &args, results);
                match lower(&one, &options) {
                    Ok(_) => drop(push(&mut all, op.clone(), &args, results)),
                    Err(LowerError::Unsupported { what, needs, .. }) => {
                        assert!(!target.has(needs), "{what}");
                        unsupported.push(what);
                    }
                    Err(e) => panic!("{e}"),
                }
            }
        }
        assert!(!target.has(Target::SM_100A) || unsupported.is_empty(), "{unsupported:?}");
        assembler.check(&lower(&all, &options).unwrap(), &format!("every operation for {target}"));
    }
}
