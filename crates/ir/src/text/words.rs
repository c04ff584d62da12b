//! Words that are operations.

use crate::op::{Binary, Comparison, Op, Shuffle, Space, Unary};

/// An operation that its word says all about, or all but operands and blocks.
pub(super) fn simple(word: &str) -> Option<Op> {
    let op = match word {
        "fma" => Op::Fma,
        "select" => Op::Select,
        "convert" => Op::Convert,
        "bitcast" => Op::Bitcast,
        "pack.f16" => Op::Pack { bf16: false },
        "pack.bf16" => Op::Pack { bf16: true },
        "unpack" => Op::Unpack,
        "barrier" => Op::Barrier,
        "wait_for_upstream" => Op::WaitForUpstream,
        "launch_dependents" => Op::LaunchDependents,
        "if" => Op::If { then: vec![], otherwise: vec![] },
        "loop" => Op::Loop { body: vec![] },
        "break_if" => Op::BreakIf,
        "exit_if" => Op::ExitIf,
        _ => return dotted(word).or_else(|| arithmetic(word)),
    };
    Some(op)
}

fn dotted(word: &str) -> Option<Op> {
    let (head, rest) = word.split_once('.')?;
    match head {
        "shuffle" => Shuffle::from_name(rest).map(Op::Shuffle),
        "store" => Space::from_name(rest).map(|space| Op::Store { space, offset: 0, guarded: false }),
        "load" => {
            let (space, read_only) = match rest.strip_suffix(".read_only") {
                Some(space) => (space, true),
                None => (rest, false),
            };
            Space::from_name(space).map(|space| Op::Load { space, offset: 0, fill: None, read_only })
        }
        _ => None,
    }
}

fn arithmetic(word: &str) -> Option<Op> {
    let unary = Unary::from_name(word).map(Op::Unary);
    let binary = || Binary::from_name(word).map(Op::Binary);
    unary.or_else(binary).or_else(|| Comparison::from_name(word).map(Op::Compare))
}
