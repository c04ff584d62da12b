//! Nothing that is decoded or run panics: what is not understood is refused, and what is runs harmlessly.

mod support;

use proptest::prelude::*;
use support::{Arg::*, Buffers, kernel, launch, system};
use warpsmith_emulator::{DecodeError, Options, Program};
use warpsmith_ptx::{
    Address, Base, Function, Immediate, Instruction, Label, LabelId, Modifier, Module, Opcode, Operand, Parameter,
    Register, RegisterId, SpecialRegister, StateSpace, Statement, Symbol, Type, Variable, Word,
};
use warpsmith_types::{PtxVersion, Target};

const REGISTERS: [Type; 7] = [Type::Pred, Type::B16, Type::B32, Type::F32, Type::B64, Type::F64, Type::B128];

fn immediate() -> impl Strategy<Value = Immediate> {
    prop_oneof![
        any::<i64>().prop_map(Immediate::Integer),
        (-2i64..33).prop_map(Immediate::Integer),
        any::<u64>().prop_map(Immediate::Unsigned),
        any::<u32>().prop_map(Immediate::F32),
        any::<u64>().prop_map(Immediate::F64),
    ]
}

fn register() -> impl Strategy<Value = RegisterId> {
    (0..4 * REGISTERS.len() as u32 + 1).prop_map(RegisterId)
}

fn symbol() -> impl Strategy<Value = Symbol> {
    prop_oneof![
        (0..3u32).prop_map(Symbol::Parameter),
        (0..3u32).prop_map(Symbol::Local),
        (0..2u32).prop_map(Symbol::Global)
    ]
}

fn operand() -> impl Strategy<Value = Operand> {
    let base = prop_oneof![register().prop_map(Base::Register), symbol().prop_map(Base::Symbol), Just(Base::Absolute)];
    let leaf = prop_oneof![
        8 => register().prop_map(Operand::Register),
        3 => immediate().prop_map(Operand::Immediate),
        1 => proptest::sample::select(SpecialRegister::ALL).prop_map(Operand::Special),
        3 => (base, prop_oneof![-64i64..64, any::<i64>()]).prop_map(|(base, offset)| {
            Operand::Address(Address { base, offset, coordinates: vec![] })
        }),
        1 => (0..3u32).prop_map(|l| Operand::Label(LabelId(l))),
        1 => (symbol(), any::<i64>()).prop_map(|(s, offset)| Operand::Symbol(s, offset)),
        1 => register().prop_map(Operand::Not),
        1 => Just(Operand::Sink),
    ];
    leaf.prop_recursive(1, 4, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(|parts| Operand::Vector(parts.into())),
            (inner.clone(), inner).prop_map(|(a, b)| Operand::Pair(a.into(), b.into())),
        ]
    })
}

/// Few modifiers, so that many instructions mean something.
fn instruction() -> impl Strategy<Value = Instruction> {
    let modifier = prop_oneof![
        2 => proptest::sample::select(Type::ALL).prop_map(Modifier::Type),
        1 => proptest::sample::select(Word::ALL).prop_map(Modifier::Word),
    ];
    let guard = proptest::option::weighted(0.2, (register(), any::<bool>()));
    let modifiers = proptest::collection::vec(modifier, 0..4);
    let operands = proptest::collection::vec(operand(), 0..5);
    (proptest::sample::select(Opcode::ALL), modifiers, operands, guard).prop_map(
        |(opcode, modifiers, operands, guard)| {
            let i = Instruction::new(opcode, modifiers, operands);
            match guard {
                Some((register, negated)) => i.guarded(register, negated),
                None => i,
            }
        },
    )
}

fn module(instructions: Vec<Instruction>) -> Module {
    let mut f = Function::entry("k");
    for n in 0..4 * REGISTERS.len() {
        let ty = REGISTERS[n % REGISTERS.len()];
        f.registers.push(Register { name: format!("%r{n}"), ty });
    }
    f.parameters.push(Parameter { name: "x".into(), ty: Type::U64, align: 8, count: 1, array: false, pointer: None });
    f.parameters.push(Parameter { name: "n".into(), ty: Type::U32, align: 4, count: 1, array: false, pointer: None });
    for (space, name) in [(StateSpace::Shared, "tile"), (StateSpace::Local, "stack")] {
        f.variables.push(variable(space, name));
    }
    f.labels = (0..3).map(|n| Label { name: format!("L{n}") }).collect();
    f.body.push(Statement::Label(LabelId(0)));
    let half = instructions.len() / 2;
    for (n, i) in instructions.into_iter().enumerate() {
        if n == half {
            f.body.push(Statement::Label(LabelId(1)));
        }
        f.body.push(Statement::Instruction(i));
    }
    let mut module = Module::new(PtxVersion::new(8, 0), Target::SM_90A);
    module.variables.push(variable(StateSpace::Global, "counter"));
    module.functions.push(f);
    module
}

fn variable(space: StateSpace, name: &str) -> Variable {
    Variable {
        name: name.into(),
        space,
        linkage: warpsmith_ptx::Linkage::Internal,
        align: 8,
        ty: Type::B8,
        count: Some(64),
        init: vec![],
    }
}

/// Decodes, and runs what can be decoded on two partial warps.
fn survive(module: &Module) -> bool {
    let Ok(program) = Program::decode(module, "k") else { return false };
    let mut s = system();
    let x = s.u32s("x", &[1; 64]);
    let options = Options { budget: Some(3000), threads: 1, ..Options::default() };
    let launch = launch([2, 1, 1], [40, 1, 1], &[P(x), U(5)]);
    let outcome = s.launch(&program, &launch, None, &options).unwrap();
    for finding in &outcome.findings {
        finding.diagnostic().render();
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4000) })]

    #[test]
    fn one_random_instruction(i in instruction()) {
        survive(&module(vec![i]));
    }
}

/// Every form that decodes, found by trying each opcode with a few types and words, runs on wild operands.
#[test]
fn every_opcode_with_fitting_registers() {
    let mut decoded = std::collections::BTreeSet::new();
    let of = |ty: Type, n: u32| {
        let column = match ty.bits() {
            1 => 0,
            ..=16 => 1,
            17..=32 => 2,
            64 => 4,
            _ => 6,
        };
        Operand::Register(RegisterId(column + 7 * n))
    };
    let words: Vec<Option<Word>> = Word::ALL.iter().copied().map(Some).chain([None]).collect();
    let mut m = module(vec![]);
    for opcode in Opcode::ALL {
        for ty in Type::ALL {
            for word in &words {
                for operands in 1..5usize {
                    let modifiers = word.map(Modifier::Word).into_iter().chain([Modifier::Type(*ty)]);
                    let operands = (0..operands as u32).map(|n| of(*ty, n));
                    let instruction = Instruction::new(*opcode, modifiers, operands);
                    m.functions[0].body = vec![Statement::Instruction(instruction)];
                    if Program::decode(&m, "k").is_ok() && decoded.insert((*opcode, *ty, *word)) {
                        survive(&m);
                    }
                }
            }
        }
    }
    assert!(decoded.len() > 300, "{}", decoded.len());
}

#[test]
fn refusals_name_the_instruction_and_its_line() {
    let refuse = |body: &str| {
        let module = warpsmith_ptx::parse(&kernel("", "", body)).unwrap();
        Program::decode(&module, "k").unwrap_err().to_string()
    };
    assert_eq!(
        refuse("fma.rn.oob.f16 %h1, %h2, %h3, %h4;"),
        "unsupported instruction `fma.rn.oob.f16` at line 13: `.oob`"
    );
    let module = warpsmith_ptx::parse(&kernel("", "", "")).unwrap();
    let error = Program::decode(&module, "other").unwrap_err();
    assert!(matches!(error, DecodeError::NoEntry { .. }));
    assert_eq!(error.to_string(), "no kernel `other` in the module; it has `k`");
}

#[test]
fn launches_that_can_not_be() {
    let program = support::program(&kernel(".param .u64 x", "", ""), "k");
    let fail = |launch| system().launch(&program, &launch, None, &Options::default()).unwrap_err().to_string();
    let one = launch([1, 1, 1], [32, 1, 1], &[P(Default::default())]);
    assert_eq!(
        fail(launch([1, 1, 1], [2048, 1, 1], &[P(Default::default())])),
        "can not launch `k`: 2048 threads a block, but the H200 allows 1024"
    );
    assert_eq!(
        fail(launch([1, 1, 1], [32, 1, 1], &[])),
        "can not launch `k`: its parameters take 8 bytes, but 0 are given"
    );
    let mut large = one.clone();
    large.dynamic_shared = 300_000;
    assert!(fail(large).contains("300000 bytes of shared memory a block, but the H200 has 232448"));
    let mut empty = one;
    empty.grid = [0, 1, 1];
    assert!(fail(empty).contains("is empty"));
}
