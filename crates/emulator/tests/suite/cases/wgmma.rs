//! Products of a warpgroup: every kind and place of A, with small integers, whose products are exact.
//!
//! Shared memory is filled with elements without an order, so that only the card and the emulator say which of them
//! meet; the descriptors differ in swizzle.

use super::matrix::check;
use super::registers::{TARGET, combinations, stored};
use super::{BLOCK, Case, Check, Input, Values};
use warpsmith_ptx::table::{Form, Shape, forms_of};
use warpsmith_ptx::{Instruction, Modifier, Opcode, Type};
use warpsmith_types::PtxVersion;

/// Bytes of shared memory that a kernel has.
pub const TILE: usize = 16 << 10;

/// Words of it that a thread fills.
const WORDS: usize = TILE / 4 / BLOCK;

/// Layout, and bytes from unit to unit: swizzles of none, 32, 64 and 128 bytes.
const LAYOUTS: [(u64, u64); 4] = [(0, 128), (3, 256), (2, 512), (1, 1024)];

pub fn cases() -> Vec<Case> {
    let mut all = vec![];
    for form in forms_of(Opcode::Wgmma) {
        for modifiers in combinations(form) {
            let i = Instruction::new(form.opcode, modifiers, []);
            let Some(n) = columns(&i.modifiers) else { continue };
            if !form.is_on(TARGET, &i) || !matches!(n, 8 | 16) {
                continue;
            }
            let layouts = if n == 16 { 0..4 } else { 0..1 };
            all.extend(layouts.map(|layout| case(form, &i, layout, false)));
            if n == 16 && i.types().next() != Some(Type::S32) {
                all.push(case(form, &i, 0, true));
            }
        }
    }
    all
}

fn columns(modifiers: &[Modifier]) -> Option<u32> {
    modifiers.iter().find_map(|m| m.name().strip_prefix("m64n")?.split_once('k')?.0.parse().ok())
}

fn case(form: &Form, i: &Instruction, layout: usize, fractions: bool) -> Case {
    let types: Vec<Type> = i.types().collect();
    let (result, a, b) = (types[0], types[1], types[2]);
    let values = if fractions { Values::Unit } else { Values::Small };
    // The tile's words are for both operands; where they have two types, A's are read from B's bits.
    let mut inputs = vec![Input { register: Type::B32, values: values(if a == b { a } else { Type::E5M2 }) }; WORDS];
    let mut results = vec![];
    let (mut moves, mut operands) = (String::new(), vec![]);
    let (code, stride) = LAYOUTS[layout];
    // The bytes from unit to unit, in both directions: units of 8 lines lie one after another.
    let (leading, other) = if code == 0 { (stride, 2 * stride) } else { (stride, stride) };
    let descriptor = code << 62 | (other / 16) << 32 | (leading / 16) << 16;
    for operand in &form.operands {
        let Shape::Value(value) = operand.shape else { continue };
        let count = value.count_in(i);
        let register = stored(value.type_in(i).expect("a type"), &value);
        match (operand.name, count) {
            ("d", Some(count)) => {
                let from = inputs.len();
                inputs.extend(vec![Input { register, values: values(result) }; count]);
                results = vec![register; count];
                for n in 0..count {
                    moves += &format!("mov.b32 %d{n}, %a{};\n", from + n);
                }
                operands.push(format!("{{{}}}", (0..count).map(|n| format!("%d{n}")).collect::<Vec<_>>().join(", ")));
            }
            ("a", Some(count)) => {
                let from = inputs.len();
                inputs.extend(vec![Input { register, values: values(a) }; count]);
                let names: Vec<String> = (from..from + count).map(|n| format!("%a{n}")).collect();
                operands.push(format!("{{{}}}", names.join(", ")));
            }
            ("a", None) => operands.push("%left".into()),
            ("b", _) => operands.push("%right".into()),
            ("scale_d", _) => operands.push("1".into()),
            ("scale_a", _) => operands.push("-1".into()),
            ("scale_b", _) => operands.push("1".into()),
            // Without a swizzle, both ways of B; of A the usual one.
            ("transpose_b", _) => operands.push(u32::from(layout == 1).to_string()),
            _ => operands.push("0".into()),
        }
    }
    let instruction = format!("{} {};", i.name(), operands.join(", "));
    let mut body = String::from(
        ".reg .b32 %word, %start;\n.reg .b64 %left, %right;\nbar.sync 0;\nmad.lo.u32 %word, %thread, 4, %tile;\n",
    );
    for word in 0..WORDS {
        body += &format!("st.shared.b32 [%word+{}], %a{word};\n", 4 * BLOCK * word);
    }
    body += &format!(
        "{moves}fence.proxy.async.shared::cta;\nbar.sync 0;\nshr.u32 %start, %tile, 4;\ncvt.u64.u32 %left, %start;\n\
         or.b64 %left, %left, {descriptor:#x};\nadd.u64 %right, %left, 512;\nwgmma.fence.sync.aligned;\n\
         {instruction}\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nbar.sync 0;"
    );
    let kind = if fractions { "fractions" } else { "integers" };
    Case {
        group: "wgmma",
        name: format!("{instruction} {kind}, layout {code}"),
        version: form.floor(i).0.max(PtxVersion::new(8, 0)),
        inputs,
        results,
        body,
        check: if fractions { check(result, a) } else { Check::Exact },
    }
}
