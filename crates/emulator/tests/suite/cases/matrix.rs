//! Products of a warp, and moves of matrices between registers and shared memory.
//!
//! Small integers have exact products; of others, the card adds up in an order and with a precision of its own.

use super::registers::{TARGET, Writer, combinations};
use super::{Case, Check, Input, Values};
use warpsmith_ptx::table::forms_of;
use warpsmith_ptx::{Instruction, Opcode, Type};
use warpsmith_types::PtxVersion;

pub fn cases() -> Vec<Case> {
    let mut all = vec![];
    for form in forms_of(Opcode::Mma) {
        for modifiers in combinations(form) {
            let i = Instruction::new(form.opcode, modifiers, []);
            if !form.is_on(TARGET, &i) {
                continue;
            }
            let types: Vec<Type> = i.types().collect();
            let [result, a, b, c] = types[..] else { continue };
            let plain = Case { group: "matrix", ..Writer::new(form, &i, 0).write() };
            // Which operand each register is of: a, b and c come in this order.
            let lanes = |n: usize| form.operands[n].shape_count(&i);
            let (na, nb) = (lanes(1), lanes(2));
            let with = |of: fn(Type) -> Values| -> Vec<Input> {
                let ty = |at: usize| {
                    if at < na {
                        a
                    } else if at < na + nb {
                        b
                    } else {
                        c
                    }
                };
                let inputs = plain.inputs.iter().enumerate();
                inputs.map(|(at, input)| Input { values: of(ty(at)), ..*input }).collect()
            };
            all.push(Case { inputs: with(Values::Small), ..plain.clone() });
            if result != Type::S32 {
                let check = check(result, a);
                let body = plain.body.clone();
                let name = format!("{} of fractions", plain.name);
                all.push(Case { name, body, inputs: with(Values::Unit), check, ..plain });
            }
        }
    }
    all.extend(moves());
    all
}

/// How many registers an operand has.
trait ShapeCount {
    fn shape_count(&self, i: &Instruction) -> usize;
}

impl ShapeCount for warpsmith_ptx::table::OperandForm {
    fn shape_count(&self, i: &Instruction) -> usize {
        match self.shape {
            warpsmith_ptx::table::Shape::Value(value) => value.count_in(i).unwrap_or(1),
            _ => 1,
        }
    }
}

/// Products of up to 32 numbers of magnitude 1: what their alignment to the largest may lose.
pub fn check(result: Type, element: Type) -> Check {
    let (ty, absolute, relative) = match (result, element) {
        (Type::F64, _) => (Type::F64, 2f64.powi(-48), 0.0),
        (Type::F16, Type::F16) => (Type::F16, 2f64.powi(-9), 2f64.powi(-9)),
        (Type::F16, _) => (Type::F16, 2f64.powi(-7), 2f64.powi(-9)),
        (_, Type::E4M3 | Type::E5M2) => (Type::F32, 2f64.powi(-7), 0.0),
        _ => (Type::F32, 2f64.powi(-17), 0.0),
    };
    Check::Near { ty, absolute, relative }
}

fn moves() -> Vec<Case> {
    let mut all = vec![];
    let words = |n: usize| vec![Input { register: Type::B32, values: Values::Of(Type::B32) }; n];
    let name = |prefix: &str, n: usize| {
        let list: Vec<String> = (0..n).map(|i| format!("%{prefix}{i}")).collect();
        format!("{{{}}}", list.join(", "))
    };
    let mut push = |name: String, body: String, inputs: usize, results: usize| {
        let version = PtxVersion::new(8, 0);
        let (inputs, results) = (words(inputs), vec![Type::B32; results]);
        all.push(Case { group: "matrix", name, version, inputs, results, body, check: Check::Exact });
    };
    let transpose = "movmatrix.sync.aligned.m8n8.trans.b16 %d0, %a0";
    push(transpose.into(), format!("{transpose};"), 1, 1);
    for count in [1, 2, 4] {
        for trans in ["", ".trans"] {
            // Each warp has 512 bytes; lane l gives the address of row l, of as many matrices as there are.
            let load = format!("ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {}, [%mine]", name("d", count));
            let fill = "bar.sync 0;\nst.shared.v4.b32 [%mine], {%a0, %a1, %a2, %a3};\nbar.sync 0;";
            push(load.clone(), format!("{fill}\n{load};"), 4, count);
            let n = 4 + count;
            let list: Vec<String> = (4..n).map(|i| format!("%a{i}")).collect();
            let store =
                format!("stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%mine], {{{}}}", list.join(", "));
            let read = "bar.sync 0;\nld.shared.v4.b32 {%d0, %d1, %d2, %d3}, [%mine];";
            push(store.clone(), format!("{fill}\n{store};\n{read}"), n, 4);
        }
    }
    all
}
