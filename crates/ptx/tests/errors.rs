//! What people read when a text is wrong.

use warpsmith_ptx::*;
use warpsmith_types::{PtxVersion, Target};

/// A kernel around a body.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 a)\n{{\n\
         .reg .b32 %r<8>;\n.reg .b64 %rd<4>;\n.reg .f32 %f<4>;\n.reg .pred %p<4>;\n{body}\n}}\n"
    )
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    assert_eq!(parse(text).unwrap_err().to_string(), expected);
}

#[track_caller]
fn refused_in_body(body: &str, expected: &str) {
    refused(&kernel(body), expected);
}

#[track_caller]
fn wrong(body: &str, expected: &[&str]) {
    let mut module = parse(&kernel(body)).unwrap();
    module.files.push(File { index: 1, path: "a.rs".into() });
    let errors: Vec<String> = module.verify().unwrap_err().iter().map(|e| e.to_string()).collect();
    assert_eq!(errors, expected);
}

#[test]
fn instructions_that_do_not_exist_are_named() {
    refused_in_body("frobnicate.b32 %r1, %r2;", "unsupported instruction `frobnicate.b32` at line 10, column 1");
    refused_in_body("add.pink.s32 %r1, %r2, %r3;", "unsupported instruction `add.pink.s32` at line 10, column 1");
    refused_in_body(
        "add.rn.s32 %r1, %r2, %r3;",
        "unsupported instruction `add.rn.s32`; the closest is `add(.u16|.u32|.u64|.s16|.s32|.s64)` at line 10, column 1",
    );
    refused_in_body("call.uni foo, (%r1);", "`foo` is not declared at line 10, column 10");
}

#[test]
fn operands_that_do_not_fit_are_told() {
    refused_in_body("add.s32 %r1, %r2;", "`add.s32` takes `d:T, a:T, b:T` at line 10, column 1");
    refused_in_body(
        "mov.b64 %rd1, {%r1, %r2, %r3};",
        "`mov.b64` takes `d:T, a:T&` or `d:T, a:2*b32` or `d:T, a:4*b16` or `d:2*b32, a:T` or `d:4*b16, a:T` \
         at line 10, column 1",
    );
    refused_in_body(
        "ld.global.v4.f32 {%f0, %f1}, [%rd1];",
        "`ld.global.v4.f32` takes `d:vT.., [a], policy@L2::cache_hint:b64` at line 10, column 1",
    );
}

#[test]
fn syntax_errors_have_places() {
    refused("", "expected `.version`, found the end of the text at line 1, column 1");
    refused(".version 8.0\n.target sm_pink", "expected a target like `sm_90a`, found `sm_pink` at line 2, column 9");
    refused(
        ".version 8.0 .target sm_80 .address_size 32",
        "an address size other than 64 is not supported at line 1, column 42",
    );
    refused(".version 8.0 .target sm_80 /* no end", "comment without an end at line 1, column 28");
    refused(".version 8.0 .target sm_80 ?", "stray character `?` at line 1, column 28");
    refused_in_body("mov.u32 %r1, %nothing;", "`%nothing` is not declared at line 10, column 14");
    refused_in_body("bra NOWHERE;", "`NOWHERE` is not declared at line 10, column 5");
    refused_in_body(
        "mov.u32 %r1, 99999999999999999999;",
        "`99999999999999999999` is not a number of PTX, or too large at line 10, column 14",
    );
    refused_in_body("mov.u32 %r1 5;", "expected `;`, found `5` at line 10, column 13");
    refused_in_body(".reg .b32 %r1;", "`%r1` is declared twice at line 10, column 11");
    refused_in_body(".reg .b32 %q<9999999>;", "more than 262144 registers at line 10, column 11");
    refused_in_body(&"{".repeat(300), "more than 200 scopes inside one another at line 10, column 200");
    refused_in_body("T: .branchtargets A, B;", "`A` is not declared at line 10, column 19");
    refused_in_body("T: .branchtargets %r1;", "expected a label, found `%r1` at line 10, column 19");
    refused_in_body("brx.idx %r1, A;", "`A` is not declared at line 10, column 14");
    refused_in_body(".reg .v4 .f32 %v;", "a register of `.v4` is not supported at line 10, column 6");
    refused_in_body(
        "{ {",
        "expected an instruction, a declaration or `}`, found the end of the text at line 12, column 1",
    );
}

#[test]
fn types_are_checked() {
    wrong(
        "add.f32 %f0, %f1, %rd1;",
        &["`k`, `add.f32 %f0, %f1, %rd1;`: operand `b` is of type f32, but `%rd1` is a register of type b64"],
    );
    wrong("add.f32 %f0, %f1, 1;", &["`k`, `add.f32 %f0, %f1, 1;`: operand `b` is of type f32, which `1` is not"]);
    wrong("@%r1 ret;", &["`k`, `@%r1 ret;`: the guard `%r1` is not a predicate"]);
    wrong(
        "ld.global.b32 %r1, [%f0];",
        &["`k`, `ld.global.b32 %r1, [%f0];`: `%f0`, of type f32, can not hold an address"],
    );
    wrong(
        "mov.u32 %r1, %clock64;",
        &["`k`, `mov.u32 %r1, %clock64;`: operand `a` is of type u32, but `%clock64` is a register of type u64"],
    );
    wrong(".loc 7 1 1", &["`k`: `.loc` names file 7, which no `.file` declares"]);
}

#[test]
fn targets_and_versions_are_checked() {
    wrong(
        "redux.sync.min.f32 %f0, %f1, -1;",
        &[
            "`k`, `redux.sync.min.f32 %f0, %f1, -1;`: the first target that has it is sm_100a, the module is for sm_90a",
            "`k`, `redux.sync.min.f32 %f0, %f1, -1;`: it needs `.version` 8.6, the module says 8.0",
        ],
    );
    let mut module = parse(&kernel("mov.u32 %r1, %clusterid.x; elect.sync _|%p1, -1;")).unwrap();
    assert_eq!(module.verify(), Ok(()));
    assert_eq!(module.minimal_version(), PtxVersion::new(8, 0));
    module.target = Target::SM_89;
    assert_eq!(module.minimal_version(), PtxVersion::new(8, 0));
    assert_eq!(module.verify().unwrap_err().len(), 2);
    module.target = Target::SM_100A;
    assert_eq!(module.minimal_version(), PtxVersion::new(8, 6));
    assert_eq!(module.verify().unwrap_err()[0].to_string(), "sm_100a needs `.version` 8.6, the module says 8.0");
}

#[test]
fn what_hands_made_wrong_is_found() {
    let mut module = Module::new(PtxVersion::new(8, 0), Target::SM_90A);
    let mut function = Function::entry("k");
    function.labels.push(Label { name: "A".into() });
    function.labels.push(Label { name: "B".into() });
    function.registers.push(Register { name: "%h".into(), ty: Type::BF16 });
    function.registers.push(Register { name: "%h".into(), ty: Type::B16 });
    for operands in [vec![Operand::Label(LabelId(0))], vec![Operand::Label(LabelId(9))]] {
        function.body.push(Statement::Instruction(Instruction::new(Opcode::Bra, [], operands)));
    }
    function.body.push(Statement::Label(LabelId(1)));
    function.body.push(Statement::Label(LabelId(1)));
    let address = Address { base: Base::Symbol(Symbol::Global(3)), offset: 0, coordinates: vec![] };
    let load = [Operand::Register(RegisterId(7)), Operand::Address(address)];
    function.body.push(Statement::Instruction(Instruction::new(
        Opcode::Ld,
        [Word::Global.into(), Type::U32.into()],
        load,
    )));
    module.functions.push(function);
    let errors: Vec<String> = module.verify().unwrap_err().iter().map(|e| e.kind.to_string()).collect();
    assert_eq!(
        errors,
        [
            "`%h` is declared twice",
            "register `%h` can not be declared as bf16",
            "label 9 does not exist",
            "register 7 does not exist",
            "variable of the module 3 does not exist",
            "label `A` stands at 0 places",
            "label `B` stands at 2 places",
        ]
    );
}
