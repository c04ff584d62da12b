//! Every row of PTX's table as an operation of the IR: it verifies, survives the passes, lowers for each target that has
//! it, and assembles.

mod support;

use support::assemble::Assembler;
use warpsmith_ir::machine::{Machine, Opcode, PtxType, Slot};
use warpsmith_ir::{
    Comparison, Inst, Kernel, LocationId, LowerError, LowerOptions, Op, Param, RegisterId, Special, Type, Value, lower,
    optimize, verify,
};
use warpsmith_ptx::table::{Form, Presence, Role, Shape, ValueForm, forms};
use warpsmith_ptx::{Instruction, Modifier, Word};
use warpsmith_types::Target;

/// A kernel that has a value of each type, and a mutable register.
struct Builder {
    kernel: Kernel,
    values: Vec<Value>,
}

impl Builder {
    fn new() -> Builder {
        let kernel = Kernel { name: "every".into(), max_registers: Some(168), ..Kernel::default() };
        let mut builder = Builder { kernel, values: vec![] };
        for ty in Type::ALL {
            let v = if ty == Type::Bool {
                let lane = builder.push(Op::Special(Special::Lane), &[], &[Type::U32])[0];
                builder.push(Op::Compare(Comparison::Lt), &[lane, lane], &[ty])[0]
            } else {
                builder.kernel.params.push(Param::number(format!("p{ty}"), ty));
                builder.push(Op::Param(builder.kernel.params.len() as u32 - 1), &[], &[ty])[0]
            };
            builder.values.push(v);
            builder.kernel.registers.push(ty);
            builder.push(Op::Set(RegisterId(ty as u32)), &[v], &[]);
        }
        builder
    }

    fn push(&mut self, op: Op, args: &[Value], results: &[Type]) -> Vec<Value> {
        let results: Vec<Value> = results.iter().map(|&t| self.kernel.value(t)).collect();
        let (args, location) = (args.into(), LocationId::NONE);
        self.kernel.body.push(Inst { op, args, results: results.iter().copied().collect(), location });
        results
    }
}

/// An instruction that is put together.
#[derive(Clone)]
struct Parts {
    machine: Machine,
    args: Vec<Type>,
    results: Vec<Type>,
}

/// The type of the IR that stands for one of PTX.
fn ty(of: PtxType) -> Option<Type> {
    Some(match (of, of.bits()) {
        (PtxType::Pred, _) => Type::Bool,
        (PtxType::F32, _) => Type::F32,
        (PtxType::F64, _) => Type::F64,
        (_, 8 | 16) => Type::U16,
        (_, 32) => Type::U32,
        (_, 64) => Type::U64,
        _ => return None,
    })
}

/// A literal that the assembler takes where it takes few.
fn literal(opcode: Opcode, name: &str) -> i64 {
    match (opcode, name) {
        (Opcode::Cp, "size") => 16,
        (Opcode::Setmaxnreg, _) => 40,
        (_, "size") => 128,
        _ => 1,
    }
}

impl Parts {
    /// With the first choice of every modifier that must be there; `None` where the IR has no type for an operand.
    fn of(form: &Form) -> Option<Parts> {
        let chosen: Vec<Modifier> = form.slots.iter().filter(|s| !s.optional).map(|s| s.choices[0]).collect();
        if !form.takes_modifiers(&chosen) {
            return None;
        }
        let bare = Instruction::new(form.opcode, chosen.iter().copied(), []);
        let mut machine = Machine::new(form.opcode.name()).unwrap();
        machine.modifiers = chosen.into_iter().collect();
        let mut parts = Parts { machine, args: vec![], results: vec![] };
        for operand in &form.operands {
            if matches!(operand.presence, Presence::With(m) if !bare.modifiers.contains(&m)) {
                continue;
            }
            let literal = literal(form.opcode, operand.name);
            let slot = match operand.shape {
                Shape::Value(value) => parts.value(operand.role, &value, &bare, literal)?,
                Shape::Pair { first, second, .. } => {
                    let first = parts.value(operand.role, &first, &bare, literal)?;
                    Slot::pair(first, parts.value(operand.role, &second, &bare, literal)?)
                }
                Shape::Address { tensor: false } => Slot::at(parts.arg(Type::U64)),
                Shape::Address { tensor: true } => {
                    let base = parts.arg(Type::U64);
                    Slot::tensor(base, [parts.arg(Type::U32)])
                }
                _ => return None,
            };
            parts.machine.operands.push(slot);
        }
        Some(parts)
    }

    fn arg(&mut self, ty: Type) -> u8 {
        self.args.push(ty);
        self.args.len() as u8 - 1
    }

    fn value(&mut self, role: Role, value: &ValueForm, bare: &Instruction, literal: i64) -> Option<Slot> {
        let ty = ty(value.type_in(bare)?)?;
        let mut one = || match role {
            _ if value.literal => Slot::number(literal),
            Role::Source => Slot::Arg(self.arg(ty)),
            Role::Both => Slot::Register(RegisterId(ty as u32)),
            Role::Result => {
                self.results.push(ty);
                Slot::Result(self.results.len() as u8 - 1)
            }
        };
        Some(match value.count_in(bare) {
            None => one(),
            Some(count) => Slot::vector((0..count).map(|_| one()).collect()),
        })
    }

    fn push(self, builder: &mut Builder) {
        let args: Vec<Value> = self.args.iter().map(|&t| builder.values[t as usize]).collect();
        let product = self.machine.has(Word::MmaAsync);
        builder.push(Op::Machine(Box::new(self.machine)), &args, &self.results);
        // The next one uses the same registers.
        if product {
            let wait = Machine::new("wgmma.wait_group.sync.aligned").unwrap().with(Slot::number(0));
            for machine in [Machine::new("wgmma.commit_group.sync.aligned").unwrap(), wait] {
                builder.push(Op::Machine(Box::new(machine)), &[], &[]);
            }
        }
    }
}

/// What the IR can not say: jumps have structure there, and no value has 4 or 8 bits.
fn is_left_out(form: &Form) -> bool {
    let narrow = |m: &Modifier| matches!(m, Modifier::Type(t) if t.bits() <= 8 && *t != PtxType::Pred);
    let cvt = form.opcode == Opcode::Cvt && form.slots.iter().filter(|s| !s.optional).any(|s| narrow(&s.choices[0]));
    matches!(form.opcode, Opcode::Ret | Opcode::Exit) || cvt
}

#[test]
fn everything_assembles() {
    let assembler = Assembler::find();
    let all: Vec<Parts> = forms().iter().filter(|f| !is_left_out(f)).filter_map(Parts::of).collect();
    assert!(all.len() > 500, "only {} rows", all.len());
    for target in Target::ALL {
        let options = LowerOptions::new(target);
        let mut builder = Builder::new();
        for parts in &all {
            let mut one = Builder::new();
            parts.clone().push(&mut one);
            assert_eq!(verify(&one.kernel), Ok(()), "{}", one.kernel);
            match lower(&one.kernel, &options) {
                Ok(_) => parts.clone().push(&mut builder),
                Err(LowerError::Unsupported { needs, .. }) => assert!(!target.has(needs), "{}", parts.machine),
                Err(e) => panic!("{e}"),
            }
        }
        let mut kernel = builder.kernel;
        assembler.check(&lower(&kernel, &options).unwrap(), &format!("every instruction for {target}"));
        optimize(&mut kernel);
        assembler.check(&lower(&kernel, &options).unwrap(), &format!("every instruction, optimised, for {target}"));
        let has = |word| all.iter().any(|p| p.machine.has(word));
        assert!(has(Word::MmaAsync) && has(Word::Tensor));
    }
}
