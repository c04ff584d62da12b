//! Instructions in which the lanes of a warp read each other's registers, with every lane there.

use super::registers::{TARGET, combinations};
use super::{Case, Check, Input, Values};
use warpsmith_ptx::table::{Convergence, Effect, forms};
use warpsmith_ptx::{Instruction, Opcode, Type, Word};
use warpsmith_types::PtxVersion;

const VERSION: PtxVersion = PtxVersion::new(8, 0);

fn case(name: String, inputs: Vec<Input>, results: Vec<Type>) -> Case {
    let body = format!("{name};");
    Case { group: "warp", name, version: VERSION, inputs, results, body, check: Check::Exact }
}

pub fn cases() -> Vec<Case> {
    let mut all = vec![];
    for form in forms().iter().filter(|f| f.row.convergence == Convergence::Mask && f.row.effect == Effect::None) {
        for modifiers in combinations(form) {
            let i = Instruction::new(form.opcode, modifiers, []);
            if !form.is_on(TARGET, &i) {
                continue;
            }
            let name = i.name();
            let ty = i.types().next().unwrap_or(Type::B32);
            let input = |register, values| Input { register, values };
            match form.opcode {
                Opcode::Shfl => {
                    let low = if i.has(Word::Up) { 0 } else { 0x1f };
                    for width in [32u32, 16, 8, 4] {
                        let (c, a) = ((32 - width) << 8 | low, input(Type::B32, Values::Of(Type::B32)));
                        let text = format!("{name} %d0|%d1, %a0, %a1, {c:#x}, 0xffffffff");
                        let results = vec![Type::B32, Type::Pred];
                        all.push(case(text, vec![a, input(Type::B32, Values::Below(40))], results.clone()));
                        let text = format!("{name} %d0|%d1, %a0, {}, {c:#x}, 0xffffffff", width / 2 - 1);
                        all.push(case(text, vec![a], results));
                    }
                    let text = format!("{name} %d0|%d1, %a0, %a1, %a2, 0xffffffff");
                    let c = input(Type::B32, Values::Below(0x2000));
                    let a = input(Type::B32, Values::Of(Type::B32));
                    all.push(case(text, vec![a, input(Type::B32, Values::Amount), c], vec![Type::B32, Type::Pred]));
                }
                Opcode::Vote => {
                    let result = if ty == Type::Pred { Type::Pred } else { Type::B32 };
                    for a in ["%a0", "!%a0"] {
                        let text = format!("{name} %d0, {a}, 0xffffffff");
                        all.push(case(text, vec![input(Type::Pred, Values::Alike(2))], vec![result]));
                    }
                }
                Opcode::Match => {
                    let a = input(if ty == Type::B64 { Type::B64 } else { Type::B32 }, Values::Alike(5));
                    let (pair, results) = match i.has(Word::All) {
                        true => ("%d0|%d1", vec![Type::B32, Type::Pred]),
                        false => ("%d0", vec![Type::B32]),
                    };
                    all.push(case(format!("{name} {pair}, %a0, 0xffffffff"), vec![a], results));
                }
                Opcode::Redux => {
                    let a = input(Type::B32, Values::Of(ty));
                    all.push(case(format!("{name} %d0, %a0, 0xffffffff"), vec![a], vec![Type::B32]));
                }
                Opcode::Elect => {
                    all.push(case(format!("{name} %d0|%d1, 0xffffffff"), vec![], vec![Type::B32, Type::Pred]));
                }
                _ => {}
            }
        }
    }
    // The halves of a warp by themselves.
    let a = Input { register: Type::B32, values: Values::Of(Type::U32) };
    for instruction in ["redux.sync.add.u32 %d0, %a0", "redux.sync.max.s32 %d0, %a0", "match.any.sync.b32 %d0, %a0"] {
        let name = format!("{instruction}, %half");
        let body = format!(
            ".reg .b32 %half;\n.reg .pred %low;\nand.b32 %half, %thread, 16;\nsetp.eq.u32 %low, %half, 0;\n\
             selp.b32 %half, 0xffff, 0xffff0000, %low;\n@%low bra LOW;\n{name};\nbra DONE;\nLOW:\n{name};\nDONE:\n\
             bar.warp.sync 0xffffffff;"
        );
        all.push(Case { body, ..case(name, vec![a], vec![Type::B32]) });
    }
    all
}
