//! Operands and results of each operation.

use crate::kernel::Kernel;
use crate::op::{Binary, Comparison, Op, Space, Unary};
use crate::types::Type;

/// Checks numbers and types; the error says what the operation takes and what it was given.
pub(super) fn check(kernel: &Kernel, op: &Op, args: &[Type], results: &[Type]) -> Result<(), String> {
    if let Op::Machine(machine) = op {
        return super::machine::check(kernel, machine, args, results);
    }
    if let Op::Inline(inline) = op {
        return inline.parse(results, args).map(|_| ()).map_err(|e| e.to_string());
    }
    if let Op::Print { format } = op {
        return match results {
            [] => super::format::check(format, args),
            _ => Err("`print` gives nothing".into()),
        };
    }
    let (fits, wants) = rule(kernel, op, args, results);
    if fits {
        return Ok(());
    }
    let list = |types: &[Type]| types.iter().map(|t| t.name()).collect::<Vec<_>>().join(", ");
    Err(format!("`{}` takes {wants}; here ({}) -> ({})", op.name(), list(args), list(results)))
}

/// Whether the types fit, and in words which would.
fn rule(kernel: &Kernel, op: &Op, args: &[Type], results: &[Type]) -> (bool, &'static str) {
    use Type::{Bool, F32, I32, U32};
    match op {
        Op::Const(bits) => {
            let fits = matches!((args, results), ([], [ty]) if bits & !ty.mask() == 0);
            (fits, "no operand and gives one value, whose type holds all its bits")
        }
        Op::Param(i) => {
            let declared = kernel.params.get(*i as usize).map(|p| p.ty);
            (args.is_empty() && results.len() == 1 && declared == Some(results[0]), "a parameter and gives its type")
        }
        Op::Special(special) => {
            (args.is_empty() && results == [special.ty()], "nothing and gives a u32, for some values a u64 or a bool")
        }
        Op::SharedAddress(id) => {
            let exists = (id.0 as usize) < kernel.shared.len();
            (exists && args.is_empty() && results == [U32], "a shared variable and gives a u32")
        }
        Op::Unary(op) => unary(*op, args, results),
        Op::Binary(op) => binary(*op, args, results),
        Op::Fma => {
            let fits = matches!((args, results), ([a, b, c], [d]) if a.is_float() && [b, c, d].iter().all(|t| *t == a));
            (fits, "three floats of one type and gives the same")
        }
        Op::Compare(op) => {
            let ordered = !matches!(op, Comparison::Eq | Comparison::Ne);
            let compares = |t: Type| t.is_number() || t == Bool && !ordered;
            let fits = matches!((args, results), ([a, b], [Bool]) if a == b && compares(*a));
            (fits, "two values of one type, not of 8 bits, and gives a bool")
        }
        Op::Select => {
            (matches!((args, results), ([Bool, a, b], [d]) if a == b && a == d), "a bool and two values of one type")
        }
        Op::Convert => {
            (matches!((args, results), ([a], [d]) if *a != Bool && *d != Bool), "a number and gives a number")
        }
        Op::Bitcast => {
            let fits = matches!((args, results), ([a], [d]) if *a != Bool && *d != Bool && a.bits() == d.bits());
            (fits, "a value and gives one of the same width")
        }
        Op::Pack { .. } => (args == [F32, F32] && results == [U32], "two f32 and gives a u32"),
        Op::Unpack => {
            let fits = args == [U32] && results.len() == 2 && results.iter().all(|t| t.bits() == 16);
            (fits, "a u32 and gives two values of 16 bits")
        }
        Op::Load { space, fill, access, .. } => {
            let uniform = results.first().is_some_and(|t| *t != Bool && results.iter().all(|r| r == t));
            let fits = match (opened(*space, access.policy, args), fill, results.first()) {
                (Some([]), None, _) => true,
                (Some([Bool]), Some(bits), Some(ty)) => bits & !ty.mask() == 0,
                _ => false,
            };
            (
                fits && uniform,
                "an address (u64 for global and generic, u32 for shared), a u64 if it has a policy and, exactly with a \
                 fill of the elements' type, a bool; it gives values of one type",
            )
        }
        Op::Store { space, guarded, access, .. } => {
            let fits = match opened(*space, access.policy, args) {
                Some([values @ .., Bool]) if *guarded => stored(values),
                Some(values) if !guarded => stored(values),
                _ => false,
            };
            (
                fits && results.is_empty(),
                "an address (u64 for global and generic, u32 for shared), a u64 if it has a policy, values of one type \
                 and, if guarded, a bool",
            )
        }
        Op::Shuffle(_) => {
            let fits = matches!((args, results), ([x, U32], [d]) if x == d && matches!(x, U32 | I32 | F32));
            (fits, "32 bits and a u32 lane, and gives the type of the first")
        }
        Op::Barrier | Op::WaitForUpstream | Op::LaunchDependents => {
            (args.is_empty() && results.is_empty(), "and gives nothing")
        }
        Op::Get(r) => {
            let declared = kernel.registers.get(r.0 as usize);
            (args.is_empty() && results.len() == 1 && declared == results.first(), "a register and gives its type")
        }
        Op::Set(r) => {
            let declared = kernel.registers.get(r.0 as usize);
            (args.len() == 1 && results.is_empty() && declared == args.first(), "a register and a value of its type")
        }
        Op::For { index, .. } => {
            let counts = kernel.values.get(index.0 as usize) == Some(&U32);
            (counts && args == [U32, U32, U32] && results.is_empty(), "three u32 and counts in a u32")
        }
        Op::Loop { .. } => (args.is_empty() && results.is_empty(), "and gives nothing"),
        // PTX's table says what they take.
        Op::Machine(_) | Op::Inline(_) | Op::Print { .. } => (true, ""),
        Op::Trap => (args.is_empty() && results.is_empty(), "and gives nothing"),
        Op::If { .. } | Op::BreakIf | Op::ContinueIf | Op::ExitIf => (args == [Bool] && results.is_empty(), "a bool"),
    }
}

fn unary(op: Unary, args: &[Type], results: &[Type]) -> (bool, &'static str) {
    let same = |ok: fn(Type) -> bool| matches!((args, results), ([a], [d]) if a == d && ok(*a));
    match op {
        Unary::Neg | Unary::Abs => (same(Type::is_number), "a number of 16 bits or more and gives the same type"),
        Unary::Not => {
            let inverts = |t: Type| t == Type::Bool || t.is_integer() && t.is_number();
            (same(inverts), "an integer of 16 bits or more, or a bool, and gives the same type")
        }
        Unary::Rcp | Unary::Sqrt => {
            (same(|t| matches!(t, Type::F32 | Type::F64)), "an f32 or f64 and gives the same type")
        }
        _ => (same(|t| t == Type::F32), "an f32 and gives an f32"),
    }
}

fn binary(op: Binary, args: &[Type], results: &[Type]) -> (bool, &'static str) {
    let same = |ok: &dyn Fn(Type) -> bool| matches!((args, results), ([a, b], [d]) if a == b && a == d && ok(*a));
    let integer = |t: Type| t.is_integer() && t.is_number();
    match op {
        Binary::Add | Binary::Sub | Binary::Mul | Binary::Min | Binary::Max => {
            (same(&Type::is_number), "two numbers of one type of 16 bits or more and gives the same")
        }
        Binary::Div => {
            let divides = |t: Type| integer(t) || matches!(t, Type::F32 | Type::F64);
            (same(&divides), "two integers of 16 bits or more, f32 or f64 of one type and gives the same")
        }
        Binary::MulHi | Binary::Rem => {
            (same(&integer), "two integers of one type of 16 bits or more and gives the same")
        }
        Binary::MulWide => {
            let wide = [(Type::U16, Type::U32), (Type::I16, Type::I32), (Type::U32, Type::U64), (Type::I32, Type::I64)];
            let fits = matches!((args, results), ([a, b], [d]) if a == b && wide.contains(&(*a, *d)));
            (fits, "two integers of one type of 16 or 32 bits and gives the one of the same sign twice as wide")
        }
        Binary::And | Binary::Or | Binary::Xor => {
            let bits = |t: Type| t == Type::Bool || integer(t);
            (same(&bits), "two integers of 16 bits or more, or bools, of one type and gives the same")
        }
        Binary::Shl | Binary::Shr => {
            let fits = matches!((args, results), ([a, Type::U32], [d]) if a == d && integer(*a));
            (fits, "an integer of 16 bits or more and a u32, and gives the type of the first")
        }
    }
}

fn stored(values: &[Type]) -> bool {
    values.first().is_some_and(|t| *t != Type::Bool && values.iter().all(|v| v == t))
}

/// What follows the address and the policy.
fn opened(space: Space, policy: bool, args: &[Type]) -> Option<&[Type]> {
    match args {
        [address, Type::U64, rest @ ..] if policy => (*address == space.address()).then_some(rest),
        [address, rest @ ..] if !policy => (*address == space.address()).then_some(rest),
        _ => None,
    }
}
