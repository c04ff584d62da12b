//! Words that are operations.

use crate::access::Access;
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
        "if" => Op::If { uniform: false, then: vec![], otherwise: vec![] },
        "if.uniform" => Op::If { uniform: true, then: vec![], otherwise: vec![] },
        "loop" => Op::Loop { body: vec![] },
        "break_if" => Op::BreakIf,
        "continue_if" => Op::ContinueIf,
        "exit_if" => Op::ExitIf,
        "trap" => Op::Trap,
        _ => return dotted(word).or_else(|| arithmetic(word)),
    };
    Some(op)
}

fn dotted(word: &str) -> Option<Op> {
    let (head, rest) = word.split_once('.')?;
    match head {
        "shuffle" => Shuffle::from_name(rest).map(Op::Shuffle),
        "load" | "store" => {
            let mut words = rest.split('.');
            let space = Space::from_name(words.next()?)?;
            let access = Access::from_words(words)?;
            Some(match head {
                "load" => Op::Load { space, offset: 0, fill: None, access },
                _ => Op::Store { space, offset: 0, guarded: false, access },
            })
        }
        _ => None,
    }
}

fn arithmetic(word: &str) -> Option<Op> {
    let unary = Unary::from_name(word).map(Op::Unary);
    let binary = || Binary::from_name(word).map(Op::Binary);
    unary.or_else(binary).or_else(|| Comparison::from_name(word).map(Op::Compare))
}
