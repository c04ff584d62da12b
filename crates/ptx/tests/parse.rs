//! What a file holds, read.

use warpsmith_ptx::*;
use warpsmith_types::{PtxVersion, Target};

const TEXT: &str = include_str!("data/everything.ptx");

fn everything() -> Module {
    parse(TEXT).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn header_and_variables() {
    let module = everything();
    assert_eq!((module.version, module.target), (PtxVersion::new(8, 0), Target::SM_90A));
    assert_eq!(module.files, [File { index: 1, path: "/src/kernel.rs".into() }]);
    let [dynamic, counter, halves, text] = module.variables.as_slice() else { panic!("{:?}", module.variables) };
    assert_eq!((dynamic.space, dynamic.linkage, dynamic.align), (StateSpace::Shared, Linkage::Extern, 128));
    assert_eq!((dynamic.count, dynamic.bytes()), (None, 0));
    assert_eq!((counter.count, counter.init.as_slice()), (Some(1), &[Immediate::Integer(7)][..]));
    assert_eq!(halves.init, [Immediate::F64(0.5f64.to_bits()), Immediate::F64(0.25f64.to_bits())]);
    assert_eq!((text.count, text.bytes()), (Some(6), 6));
    assert_eq!(text.init, [104, 105, 0, 58, 105, 0].map(Immediate::Integer));
}

#[test]
fn heads_of_functions() {
    let module = everything();
    let helper = &module.functions[0];
    assert_eq!((helper.kind, helper.linkage), (FunctionKind::Device, Linkage::Extern));
    assert_eq!((helper.results.len(), helper.parameters.len()), (1, 2));
    let kernel = module.entry("everything").unwrap();
    let [pointer, map, scale] = kernel.parameters.as_slice() else { panic!() };
    assert_eq!((pointer.ty, pointer.pointer), (Type::U64, Some((StateSpace::Global, 16))));
    assert_eq!((map.array, map.count, map.align), (true, 128, 64));
    assert_eq!((scale.array, scale.count, scale.align), (false, 1, 4));
    assert_eq!(kernel.directives.reqntid, Some([128, 1, 1]));
    assert_eq!(kernel.directives.reqnctapercluster, Some([2, 1, 1]));
    assert_eq!(kernel.directives.minnctapersm, Some(1));
}

#[test]
fn scopes_may_shadow() {
    let module = everything();
    let kernel = module.entry("everything").unwrap();
    let names: Vec<&str> = kernel.registers.iter().map(|r| r.name.as_str()).filter(|n| n.starts_with("%p1")).collect();
    assert_eq!(names, ["%p1", "%p1_2", "%p1_3"]);
    let labels: Vec<&str> = kernel.labels.iter().map(|l| l.name.as_str()).collect();
    assert_eq!(labels, ["$L_loop", "$L_end", "WAIT", "WAIT_2", "DONE"]);
    let printed = module.to_string();
    assert!(printed.contains("@!%p1_2 bra WAIT;") && printed.contains("@%p1_3 bra DONE;"), "{printed}");
    assert!(printed.contains("setp.ne.and.s32 %p2|%p3, %r1, 0, !%p1;"), "{printed}");
}

#[test]
fn instructions_know_their_lines() {
    let module = everything();
    let kernel = module.entry("everything").unwrap();
    let lines: Vec<&str> = TEXT.lines().collect();
    for instruction in kernel.instructions() {
        let line = lines[instruction.line as usize - 1];
        assert!(line.contains(&instruction.name()), "{line}");
    }
}

#[test]
fn inlined_functions_have_their_names() {
    let module = everything();
    let kernel = module.entry("everything").unwrap();
    let inlined = kernel.body.iter().find_map(|s| match s {
        Statement::Source(line) => line.inlined_at.as_ref().map(|i| (line.line, i)),
        _ => None,
    });
    let call = InlinedAt { function: "square".into(), file: 1, line: 12, column: 7 };
    assert_eq!(inlined, Some((33, &call)));
}

#[test]
fn literals_take_the_width_of_their_operand() {
    let module = everything();
    let kernel = module.entry("everything").unwrap();
    let fma = kernel.instructions().find(|i| i.opcode == Opcode::Fma).unwrap();
    assert_eq!(fma.operands[3], Operand::Immediate(Immediate::F32(1.5f32.to_bits())));
}

#[test]
fn it_is_right_and_prints_back() {
    let module = everything();
    if let Err(errors) = module.verify() {
        panic!("{}", errors[0]);
    }
    assert_eq!(module.minimal_version(), PtxVersion::new(8, 0));
    let printed = module.to_string();
    assert_eq!(parse(&printed).unwrap().to_string(), printed);
}

#[test]
fn other_ways_to_write_an_instruction() {
    let kernel = |body: &str| {
        let head = ".version 8.0 .target sm_90a .visible .entry k() { .reg .b32 %r<4>; .reg .b64 %a; .reg .f32 %f<2>; ";
        parse(&format!("{head}{body}}}"))
    };
    let module = kernel("atom.add.release.gpu.global.u32 %r0, [%a], 1;").unwrap();
    let atom = module.functions[0].instructions().next().unwrap();
    assert_eq!(atom.name(), "atom.release.gpu.global.add.u32");
    // A vector of one is its element, as Triton writes it.
    let module = kernel("ld.global.b32 { %r0 }, [ %a + 0 ]; st.global.b32 [%a+4], { %r0 };").unwrap();
    let printed = module.to_string();
    assert!(
        printed.contains("ld.global.b32 %r0, [%a];") && printed.contains("st.global.b32 [%a+4], %r0;"),
        "{printed}"
    );
    assert!(kernel("ld.global.b32 { %r0, %r1 }, [%a];").is_err());
    // Types say different things in different places.
    assert!(kernel("cvt.f16.f32 %f0, %f1;").is_err());
}
