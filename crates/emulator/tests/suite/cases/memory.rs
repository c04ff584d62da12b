//! Loads, stores and atomic operations, each thread on 16 bytes of its own.

use super::registers::{TARGET, combinations};
use super::{Case, Check, Input, Values};
use warpsmith_ptx::table::forms_of;
use warpsmith_ptx::{Instruction, Modifier, Opcode, Type, Word};
use warpsmith_types::PtxVersion;

const VERSION: PtxVersion = PtxVersion::new(8, 1);

/// Where a thread's bytes are, by state space.
const PLACES: [(Word, &str); 2] = [(Word::Global, "%scratch"), (Word::Shared, "%mine")];

pub fn cases() -> Vec<Case> {
    let mut all = atomics();
    all.extend(copies());
    all
}

/// The type of a register that holds such a value.
fn register(ty: Type) -> Type {
    match ty {
        Type::F32 | Type::F64 => ty,
        _ => match ty.bits() {
            8 | 16 => Type::B16,
            32 => Type::B32,
            64 => Type::B64,
            _ => Type::B128,
        },
    }
}

fn list(prefix: &str, from: usize, count: usize) -> String {
    let names: Vec<String> = (from..from + count).map(|i| format!("%{prefix}{i}")).collect();
    if count == 1 { names[0].clone() } else { format!("{{{}}}", names.join(", ")) }
}

/// Every operation and type on global and on shared memory, without an order or a scope, and with.
fn atomics() -> Vec<Case> {
    let mut all = vec![];
    for form in forms_of(Opcode::Atom).iter().chain(forms_of(Opcode::Red)) {
        for modifiers in combinations(form) {
            let i = Instruction::new(form.opcode, modifiers, []);
            let has = |word| i.has(word);
            let ordered = [Word::Relaxed, Word::Acquire, Word::Release, Word::AcqRel].into_iter().any(has);
            let scoped = [Word::Cta, Word::Cluster, Word::Gpu, Word::Sys].into_iter().any(has);
            let usual = !ordered && !scoped || has(Word::Relaxed) && has(Word::Gpu);
            let place = PLACES.iter().find(|(word, _)| has(*word));
            let (Some((space, address)), true) = (place, usual && form.is_on(TARGET, &i)) else { continue };
            if has(Word::L2CacheHint) || has(Word::Async) {
                continue;
            }
            all.push(atomic(&i, space.name(), address));
        }
    }
    all
}

/// The memory before, the operation, the memory after.
fn atomic(i: &Instruction, space: &str, address: &str) -> Case {
    let ty = i.types().next().expect("a type");
    let lanes = [(Word::V2, 2), (Word::V4, 4), (Word::V8, 8)];
    let lanes = lanes.iter().find(|(word, _)| i.has(*word)).map_or(1, |(_, n)| *n);
    let (held, bits) = (register(ty), ty.bits());
    let swap = i.has(Word::Cas);
    let mut inputs = vec![Input { register: held, values: Values::Of(ty) }; lanes];
    inputs.extend((0..lanes).map(|lane| {
        let values = if swap { Values::OftenLike(lane, ty) } else { Values::Of(ty) };
        Input { register: held, values }
    }));
    let mut operands = list("a", lanes, lanes);
    if swap {
        inputs.push(Input { register: held, values: Values::Of(ty) });
        operands += &format!(", %a{}", inputs.len() - 1);
    }
    let (gives, results) =
        if i.opcode == Opcode::Atom { (lanes, list("d", 0, lanes) + ", ") } else { (0, String::new()) };
    let name = format!("{} {results}[{address}], {operands}", i.name());
    let each = |what: &dyn Fn(usize) -> String| (0..lanes).map(what).collect::<Vec<_>>().join("\n");
    let at = |lane: usize| format!("[{address}+{}]", lane as u32 * bits / 8);
    let before = each(&|lane| format!("st.{space}.b{bits} {}, %a{lane};", at(lane)));
    // Loads beside the first-level cache, which atomic operations on global memory leave as it is.
    let after = each(&|lane| format!("ld.relaxed.gpu.{space}.b{bits} %d{}, {};", gives + lane, at(lane)));
    Case {
        group: "atomic",
        version: if bits == 128 { PtxVersion::new(8, 3) } else { VERSION },
        inputs,
        results: vec![held; gives + lanes],
        body: format!("{before}\n{name};\n{after}"),
        name,
        check: Check::Exact,
    }
}

/// Loads and stores: every type and length, and every cache operator on one of them.
fn copies() -> Vec<Case> {
    let mut all = vec![];
    for opcode in [Opcode::Ld, Opcode::St] {
        for form in forms_of(opcode) {
            for modifiers in few(form, std::ptr::eq(*form, forms_of(opcode)[0])) {
                let i = Instruction::new(opcode, modifiers, []);
                let place = PLACES.iter().find(|(word, _)| i.has(*word));
                let (Some((space, address)), true) = (place, form.is_on(TARGET, &i)) else { continue };
                if !i.has(Word::L2CacheHint) && !i.has(Word::Nc) && form.takes_modifiers(&i.modifiers) {
                    all.push(copy(&i, space.name(), address));
                }
            }
        }
    }
    all
}

/// The first choices with each other choice of one slot; of the plain form, on each memory, type and length.
fn few(form: &warpsmith_ptx::table::Form, plain: bool) -> Vec<Vec<Modifier>> {
    let matters = |m: &Modifier| {
        matches!(m, Modifier::Type(_))
            || [Word::V2, Word::V4, Word::Global, Word::Shared].iter().any(|w| *m == Modifier::Word(*w))
    };
    let mut all: Vec<(Vec<Modifier>, usize)> = vec![(vec![], 0)];
    for slot in &form.slots {
        let mut more = vec![];
        for (some, rare) in &all {
            if slot.optional {
                more.push((some.clone(), *rare));
            }
            for (at, choice) in slot.choices.iter().enumerate() {
                let cost = usize::from(!matters(choice) && (slot.optional || at > 0));
                let with: Vec<Modifier> = some.iter().copied().chain([*choice]).collect();
                more.push((with, rare + cost));
            }
        }
        more.retain(|(_, rare)| *rare <= 1);
        all = more;
    }
    // A rare modifier is tried on one type.
    let b32 = |m: &[Modifier]| m.contains(&Modifier::Type(Type::B32)) || m.contains(&Modifier::Type(Type::S8));
    all.into_iter().filter(|(m, rare)| plain && *rare == 0 || b32(m)).map(|(m, _)| m).collect()
}

/// 16 bytes that are stored as words, a load, and what it gave; or a store over equal words, and the words after it.
fn copy(i: &Instruction, space: &str, address: &str) -> Case {
    let ty = i.types().next().expect("a type");
    let lanes = if i.has(Word::V4) {
        4
    } else if i.has(Word::V2) {
        2
    } else {
        1
    };
    // Bytes go to and from wider registers, and are extended by their sign.
    let held = if ty.bits() == 8 { Type::B32 } else { register(ty) };
    let fill = |what: &dyn Fn(usize) -> String| -> String {
        (0..4).map(|w| format!("st.{space}.b32 [{address}+{}], {};\n", 4 * w, what(w))).collect()
    };
    let (name, body, results, inputs);
    if i.opcode == Opcode::Ld {
        inputs = vec![Input { register: Type::B32, values: Values::Of(Type::B32) }; 4];
        name = format!("{} {}, [{address}]", i.name(), list("d", 0, lanes));
        body = format!("{}{name};", fill(&|w| format!("%a{w}")));
        results = vec![held; lanes];
    } else {
        let values = if ty.bits() == 8 { Values::Of(Type::B32) } else { Values::Of(ty) };
        inputs = vec![Input { register: held, values }; lanes];
        name = format!("{} [{address}], {}", i.name(), list("a", 0, lanes));
        let after: String = (0..4).map(|w| format!("ld.{space}.b32 %d{w}, [{address}+{}];\n", 4 * w)).collect();
        body = format!("{}{name};\n{after}", fill(&|_| "0x55555555".into()));
        results = vec![Type::B32; 4];
    }
    let version = if ty.bits() == 128 { PtxVersion::new(8, 3) } else { PtxVersion::new(8, 2) };
    Case { group: "memory", name, version, inputs, results, body, check: Check::Exact }
}
