//! Each operation at each of its types, with its operands in registers and as constants, for each target.
//!
//! What an operation takes is asked of the verifier: whatever it lets through must lower to PTX that holds, or be an
//! error that names the first target that has it.

mod support;

use support::assemble::Assembler;
use warpsmith_ir::{
    Binary, Comparison, Inst, Kernel, LocationId, LowerError, LowerOptions, Op, Param, Shuffle, Space, Special, Type,
    Unary, Value, lower, verify,
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
        for (space, address) in [(Space::Global, Type::U64), (Space::Shared, Type::U32)] {
            for elements in [1, 2, 4, 8] {
                for read_only in [false, true] {
                    let load = |fill| Op::Load { space, offset: 32, fill, read_only };
                    push(load(None), &[address], &vec![a; elements]);
                    push(load(Some(1)), &[address, Type::Bool], &vec![a; elements]);
                }
                for guarded in [false, true] {
                    let values = std::iter::once(address).chain(vec![a; elements]);
                    let args: Vec<Type> = values.chain(guarded.then_some(Type::Bool)).collect();
                    push(Op::Store { space, offset: -32, guarded }, &args, &[]);
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
    all
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
            let masks = [0, u32::MAX].into_iter().chain((0..args.len().min(3)).map(|i| 1 << i));
            for mask in masks {
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
