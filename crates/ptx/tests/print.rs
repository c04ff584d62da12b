//! What is printed, to the letter.

use warpsmith_ptx::*;
use warpsmith_types::{PtxVersion, Target};

fn register(name: &str, ty: Type) -> Register {
    Register { name: name.into(), ty }
}

#[test]
fn a_module() {
    let mut module = Module::new(PtxVersion::new(8, 0), Target::SM_90A);
    module.files.push(File { index: 1, path: "/src/scale.rs".into() });
    module.variables.push(Variable {
        name: "shared".into(),
        space: StateSpace::Shared,
        linkage: Linkage::Extern,
        align: 128,
        ty: Type::B8,
        count: None,
        init: vec![],
    });
    let mut kernel = Function::entry("scale");
    let pointer = Some((StateSpace::Global, 16));
    kernel.parameters.push(Parameter { name: "x".into(), ty: Type::U64, align: 8, count: 1, array: false, pointer });
    kernel.directives = Directives { reqntid: Some([128, 1, 1]), maxnreg: Some(64), ..Directives::default() };
    kernel.registers = vec![register("%rd0", Type::B64), register("%f0", Type::F32), register("%f1", Type::F32)];
    kernel.labels.push(Label { name: "$END".into() });
    let (rd0, f0, f1) = (RegisterId(0), RegisterId(1), RegisterId(2));
    let parameter = Address { base: Base::Symbol(Symbol::Parameter(0)), offset: 0, coordinates: vec![] };
    let element = Address { base: Base::Register(rd0), offset: -8, coordinates: vec![] };
    let inlined_at = Some(InlinedAt { function: "load".into(), file: 1, line: 3, column: 9 });
    kernel.body = vec![
        Statement::Source(SourceLine { file: 1, line: 7, column: 5, inlined_at }),
        Statement::Instruction(Instruction::new(
            Opcode::Ld,
            [Word::Param.into(), Type::U64.into()],
            [Operand::Register(rd0), Operand::Address(parameter)],
        )),
        Statement::Instruction(Instruction::new(
            Opcode::Ld,
            [Word::Global.into(), Word::V2.into(), Type::F32.into()],
            [Operand::Vector([Operand::Register(f0), Operand::Register(f1)].into()), Operand::Address(element)],
        )),
        Statement::Instruction(Instruction::new(
            Opcode::Mul,
            [Word::Rn.into(), Type::F32.into()],
            [Operand::Register(f0), Operand::Register(f0), Operand::Immediate(Immediate::F32((-0.5f32).to_bits()))],
        )),
        Statement::Label(LabelId(0)),
        Statement::Pragma("nounroll".into()),
        Statement::Instruction(Instruction::new(Opcode::Ret, [], [])),
    ];
    module.functions.push(kernel);
    let expected = "\
.version 8.0
.target sm_90a
.address_size 64

.extern .shared .align 128 .b8 shared[];

.visible .entry scale(
\t.param .u64 .ptr .global .align 16 x
)
.reqntid 128, 1, 1
.maxnreg 64
{
\t.reg .b64 %rd0;
\t.reg .f32 %f<2>;
\t.loc 1 3 9
\t.loc 1 7 5, function_name $L__info_string0, inlined_at 1 3 9
\tld.param.u64 %rd0, [x];
\tld.global.v2.f32 {%f0, %f1}, [%rd0+-8];
\tmul.rn.f32 %f0, %f0, 0fBF000000;
$END:
\t.pragma \"nounroll\";
\tret;
}

.file 1 \"/src/scale.rs\"

.section .debug_str
{
$L__info_string0:
\t.b8 108,111,97,100,0
}
";
    assert_eq!(module.to_string(), expected);
    let load = module.functions[0].instructions().nth(1).unwrap();
    assert_eq!(load.to_string(), "ld.global.v2.f32 {%1, %2}, [%0+-8];");
    assert_eq!(load.display(&module.functions[0], &module).to_string(), "ld.global.v2.f32 {%f0, %f1}, [%rd0+-8];");
}

#[test]
fn registers_by_type() {
    let mut kernel = Function::entry("k");
    let names = ["%r0", "%r1", "x", "%r10", "%r11", "%a0", "%a1", "%a3"];
    kernel.registers = names.iter().map(|n| register(n, Type::B32)).collect();
    kernel.registers.insert(1, register("%p", Type::Pred));
    let expected = "\
.visible .entry k()
{
\t.reg .b32 %r<2>;
\t.reg .b32 x, %r10, %r11;
\t.reg .b32 %a<2>;
\t.reg .b32 %a3;
\t.reg .pred %p;
}
";
    assert_eq!(kernel.to_string(), expected);
}

#[test]
fn functions_called_before_they_come_are_declared() {
    let text = "\
.version 7.0
.target sm_80
.address_size 64

.func (
\t.param .b32 result
) twice(
\t.param .b32 x
);

.visible .entry k()
{
\t.param .align 4 .b32 sent;
\t.param .align 4 .b32 got;
\tcall.uni (got), twice, (sent);
}

.func (
\t.param .b32 result
) twice(
\t.param .b32 x
)
{
\tret;
}
";
    let module = parse(text).unwrap();
    assert_eq!(module.verify(), Ok(()));
    assert_eq!(module.functions.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(), ["k", "twice"]);
    let call = module.functions[0].instructions().next().unwrap();
    assert_eq!(call.operands[1], Operand::Symbol(Symbol::Function(1), 0));
    assert_eq!(module.to_string(), text);
}
