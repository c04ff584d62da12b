//! What an instruction that synchronises can be weakened to: dropped, of a weaker order, of a narrower scope, an arrival
//! fewer or more, a group less waited for.

use warpsmith_ptx::{Immediate, Instruction, Modifier, Opcode, Operand, RegisterId, Type, Word};

/// A weaker form of an instruction, and what makes it weaker.
#[derive(Clone, Debug)]
pub struct Weaker {
    pub change: String,
    /// What stands in its place.
    pub code: Vec<Instruction>,
}

impl Weaker {
    pub fn new(change: impl Into<String>, code: Vec<Instruction>) -> Weaker {
        Weaker { change: change.into(), code }
    }
}

/// Scopes, the widest first; `membar` has names of its own.
const SCOPES: [Word; 4] = [Word::Sys, Word::Gpu, Word::Cluster, Word::Cta];
const LEVELS: [Word; 3] = [Word::Sys, Word::Gl, Word::Cta];

/// What of a launch says which forms are weaker, and not the same.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Whether a cluster is more than a block.
    pub clustered: bool,
    /// Whether a block is more than a warp.
    pub warps: bool,
    /// Whether it may start before the launch before it has finished.
    pub programmatic: bool,
}

/// The weaker forms of an instruction; none of one that synchronises nothing. `scratch` is a free register of 32 bits.
pub fn weaker(i: &Instruction, scratch: RegisterId, place: Place) -> Vec<Weaker> {
    let clustered = place.clustered;
    match i.opcode {
        Opcode::Bar if i.has(Word::Warp) => [vec![dropped(i)], lane_fewer(i, 0, scratch)].concat(),
        Opcode::Barrier if i.has(Word::Cluster) => cluster_barrier(i),
        Opcode::Bar | Opcode::Barrier => block_barrier(i, place.warps),
        Opcode::Mbarrier => mbarrier(i, scratch),
        Opcode::Cp => copies(i),
        Opcode::Wgmma if !i.has(Word::MmaAsync) => groups(i),
        Opcode::Fence | Opcode::Membar => fence(i, clustered),
        Opcode::Ld | Opcode::St | Opcode::Atom | Opcode::Red if !i.has(Word::Async) => access(i, clustered),
        Opcode::Shfl | Opcode::Vote | Opcode::Match | Opcode::Redux if i.has(Word::Sync) => {
            lane_fewer(i, i.operands.len() - 1, scratch)
        }
        // Without programmatic launch it does nothing.
        Opcode::Griddepcontrol if i.has(Word::Wait) && place.programmatic => vec![dropped(i)],
        Opcode::Tensormap if i.has(Word::CpFenceproxy) => narrower(i, &SCOPES, clustered),
        _ => vec![],
    }
}

/// Nothing in its place; a result that is tested reads as if the wait were over, any other as zero.
fn dropped(i: &Instruction) -> Weaker {
    let Some(Operand::Register(d)) = i.operands.first().filter(|_| gives_a_result(i)) else {
        return Weaker::new("dropped", vec![]);
    };
    let number = |n: i64| Operand::Immediate(Immediate::Integer(n));
    let predicate = i.has(Word::TryWait) || i.has(Word::TestWait) || i.types().any(|t| t == Type::Pred);
    let mut code = if predicate {
        // Waits are over; votes at a barrier are lost.
        let verdict = if i.opcode == Opcode::Mbarrier { Word::Eq } else { Word::Ne };
        let words = [Modifier::Word(verdict), Modifier::Type(Type::U32)];
        Instruction::new(Opcode::Setp, words, [Operand::Register(*d), number(0), number(0)])
    } else {
        let ty = i.types().last().unwrap_or(Type::U32);
        Instruction::new(Opcode::Mov, [Modifier::Type(ty)], [Operand::Register(*d), number(0)])
    };
    code.guard = i.guard;
    Weaker::new("dropped", vec![code])
}

fn gives_a_result(i: &Instruction) -> bool {
    let tests = i.has(Word::TryWait) || i.has(Word::TestWait);
    let arrives = i.opcode == Opcode::Mbarrier && (i.has(Word::Arrive) || i.has(Word::ArriveDrop));
    tests || arrives || matches!(i.opcode, Opcode::Bar | Opcode::Barrier) && i.has(Word::Red)
}

fn block_barrier(i: &Instruction, warps: bool) -> Vec<Weaker> {
    let mut all = vec![dropped(i)];
    if i.has(Word::Sync) && warps {
        let words = [Word::Warp, Word::Sync].map(Modifier::Word);
        let mask = Operand::Immediate(Immediate::Integer(0xffff_ffff));
        let mut code = Instruction::new(Opcode::Bar, words, [mask]);
        code.guard = i.guard;
        all.push(Weaker::new("of the warp only", vec![code]));
    }
    // `bar.sync a, b`: threads come in warps.
    if !i.has(Word::Red) && i.operands.len() == 2 {
        all.extend(by(i, 1, -32, "a warp fewer"));
        all.extend(by(i, 1, 32, "a warp more"));
    }
    all
}

fn cluster_barrier(i: &Instruction) -> Vec<Weaker> {
    let mut all = vec![dropped(i)];
    if i.has(Word::Arrive) && !i.has(Word::Relaxed) {
        let mut code = i.clone();
        code.modifiers.retain(|m| *m != Modifier::Word(Word::Release));
        let at = 1 + code.modifiers.iter().position(|m| *m == Modifier::Word(Word::Arrive)).unwrap();
        code.modifiers.insert(at, Modifier::Word(Word::Relaxed));
        all.push(Weaker::new("relaxed", vec![code]));
    }
    all
}

fn mbarrier(i: &Instruction, scratch: RegisterId) -> Vec<Weaker> {
    let mut all = vec![];
    if i.has(Word::Init) {
        all.push(dropped(i));
        all.extend(by(i, 1, -1, "an arrival fewer"));
        all.extend(by(i, 1, 1, "an arrival more"));
    } else if i.has(Word::ExpectTx) || i.has(Word::CompleteTx) {
        let bytes = i.operands.len() - 1;
        all.push(dropped(i));
        all.extend(by(i, bytes, -16, "16 bytes fewer"));
        all.extend(by(i, bytes, 16, "16 bytes more"));
        if i.has(Word::Arrive) {
            let mut code = without(i, Word::ExpectTx);
            code.operands.truncate(2);
            all.push(Weaker::new("without its bytes", vec![code]));
        }
    } else if i.has(Word::Arrive) || i.has(Word::ArriveDrop) {
        all.push(dropped(i));
        if i.operands.len() == 3 {
            all.extend(by(i, 2, -1, "an arrival fewer"));
            all.extend(by(i, 2, 1, "an arrival more"));
        } else if matches!(i.operands.first(), Some(Operand::Sink)) {
            let mut code = i.clone();
            code.operands.push(Operand::Immediate(Immediate::Integer(2)));
            all.push(Weaker::new("an arrival more", vec![code]));
        }
    } else if i.has(Word::TryWait) || i.has(Word::TestWait) {
        all.push(dropped(i));
        if i.has(Word::Parity) {
            all.extend(changed(i, 2, scratch, (Word::Xor, 1), "of the other phase"));
        }
    }
    // The default order of arrivals and waits is release and acquire, that of the scope the block.
    let ordered = [Word::Arrive, Word::TryWait, Word::TestWait].into_iter().find(|w| i.has(*w));
    if let Some(verb) = ordered.filter(|_| !i.has(Word::NoComplete) && !i.has(Word::Relaxed)) {
        let scope = if i.has(Word::Cluster) { Word::Cluster } else { Word::Cta };
        let mut code = i.clone();
        code.modifiers.retain(|m| ![Word::Release, Word::Acquire, scope].map(Modifier::Word).contains(m));
        let last = [Word::Parity, Word::ExpectTx].into_iter().find(|w| i.has(*w)).unwrap_or(verb);
        let at = 1 + code.modifiers.iter().position(|m| *m == Modifier::Word(last)).unwrap();
        code.modifiers.insert(at, Modifier::Word(scope));
        code.modifiers.insert(at, Modifier::Word(Word::Relaxed));
        all.push(Weaker::new("relaxed", vec![code]));
        if scope == Word::Cluster {
            all.push(Weaker::new("for the block only", vec![replaced(i, Word::Cluster, Word::Cta)]));
        }
    }
    all
}

/// Waits and ends of groups; `cp.async.mbarrier.arrive`.
fn copies(i: &Instruction) -> Vec<Weaker> {
    if i.has(Word::Mbarrier) && i.has(Word::Arrive) {
        let mut all = vec![dropped(i)];
        if i.has(Word::Noinc) {
            all.push(Weaker::new("counted in", vec![without(i, Word::Noinc)]));
        }
        return all;
    }
    groups(i)
}

fn groups(i: &Instruction) -> Vec<Weaker> {
    let waits = i.has(Word::WaitGroup);
    if !waits && ![Word::CommitGroup, Word::WaitAll, Word::Fence].into_iter().any(|w| i.has(w)) {
        return vec![];
    }
    let mut all = vec![dropped(i)];
    if waits {
        all.extend(by(i, 0, 1, "a group more left"));
        if i.has(Word::Bulk) && !i.has(Word::Read) {
            let mut code = i.clone();
            code.modifiers.push(Modifier::Word(Word::Read));
            all.push(Weaker::new("of the sources only", vec![code]));
        }
    }
    all
}

fn fence(i: &Instruction, clustered: bool) -> Vec<Weaker> {
    let mut all = vec![dropped(i)];
    if i.has(Word::MbarrierInit) {
        return all;
    }
    if i.has(Word::Proxy) {
        if i.has(Word::TensormapGeneric) {
            all.extend(narrower(i, &SCOPES, clustered));
        } else if i.has(Word::Async) {
            let kinds = [Word::Global, Word::SharedCta, Word::SharedCluster];
            if !kinds.into_iter().any(|kind| i.has(kind)) {
                for (kind, change) in
                    [(Word::Global, "of global memory only"), (Word::SharedCta, "of shared memory only")]
                {
                    let mut code = i.clone();
                    code.modifiers.push(Modifier::Word(kind));
                    all.push(Weaker::new(change, vec![code]));
                }
            }
        }
        return all;
    }
    all.extend(narrower(i, if i.opcode == Opcode::Membar { &LEVELS } else { &SCOPES }, clustered));
    if i.has(Word::Sc) {
        all.push(Weaker::new("not sequential", vec![replaced(i, Word::Sc, Word::AcqRel)]));
    }
    if i.has(Word::AcqRel) {
        all.push(Weaker::new("release only", vec![replaced(i, Word::AcqRel, Word::Release)]));
        all.push(Weaker::new("acquire only", vec![replaced(i, Word::AcqRel, Word::Acquire)]));
    }
    all
}

fn access(i: &Instruction, clustered: bool) -> Vec<Weaker> {
    let mut all = vec![];
    if [Word::Relaxed, Word::Acquire, Word::Release, Word::AcqRel].into_iter().any(|w| i.has(w)) {
        all.extend(narrower(i, &SCOPES, clustered));
    }
    for order in [Word::Acquire, Word::Release] {
        if i.has(order) {
            all.push(Weaker::new("relaxed", vec![replaced(i, order, Word::Relaxed)]));
        }
    }
    if i.has(Word::AcqRel) {
        all.push(Weaker::new("release only", vec![replaced(i, Word::AcqRel, Word::Release)]));
        all.push(Weaker::new("acquire only", vec![replaced(i, Word::AcqRel, Word::Acquire)]));
    }
    if matches!(i.opcode, Opcode::Ld | Opcode::St) && (i.has(Word::Relaxed) || i.has(Word::Volatile)) {
        let mut code = i.clone();
        let words = [Word::Relaxed, Word::Volatile, Word::Sys, Word::Gpu, Word::Cluster, Word::Cta];
        code.modifiers.retain(|m| !words.map(Modifier::Word).contains(m));
        all.push(Weaker::new("weak", vec![code]));
    }
    all
}

/// The same for the next narrower scope that makes a difference.
fn narrower(i: &Instruction, scopes: &[Word], clustered: bool) -> Vec<Weaker> {
    let Some(at) = scopes.iter().position(|s| i.has(*s)) else { return vec![] };
    let next = scopes[at + 1..].iter().find(|s| clustered || **s != Word::Cluster);
    let form = |to: &Word| Weaker::new(format!("for {} only", to.name()), vec![replaced(i, scopes[at], *to)]);
    next.map(form).into_iter().collect()
}

/// The member mask without the last lane.
fn lane_fewer(i: &Instruction, mask: usize, scratch: RegisterId) -> Vec<Weaker> {
    match i.operands.get(mask) {
        Some(Operand::Immediate(Immediate::Integer(n))) => {
            let mut code = i.clone();
            code.operands[mask] = Operand::Immediate(Immediate::Integer(n & 0x7fff_ffff));
            vec![Weaker::new("a lane fewer", vec![code])]
        }
        _ => changed(i, mask, scratch, (Word::And, 0x7fff_ffff), "a lane fewer"),
    }
}

/// A literal operand of another size, unless it would be none, or less.
fn by(i: &Instruction, operand: usize, step: i64, change: &str) -> Vec<Weaker> {
    let Some(Operand::Immediate(Immediate::Integer(n))) = i.operands.get(operand) else { return vec![] };
    if n + step <= 0 && step < 0 {
        return vec![];
    }
    let mut code = i.clone();
    code.operands[operand] = Operand::Immediate(Immediate::Integer(n + step));
    vec![Weaker::new(change, vec![code])]
}

/// An operand combined with a number before.
fn changed(
    i: &Instruction,
    operand: usize,
    scratch: RegisterId,
    (op, number): (Word, i64),
    change: &str,
) -> Vec<Weaker> {
    let opcode = if op == Word::And { Opcode::And } else { Opcode::Xor };
    let from = match i.operands.get(operand) {
        Some(Operand::Register(from)) => Operand::Register(*from),
        Some(Operand::Immediate(Immediate::Integer(n))) => {
            let mut code = i.clone();
            code.operands[operand] = Operand::Immediate(Immediate::Integer(n ^ number));
            return vec![Weaker::new(change, vec![code])];
        }
        _ => return vec![],
    };
    let number = Operand::Immediate(Immediate::Integer(number));
    let before = Instruction::new(opcode, [Modifier::Type(Type::B32)], [Operand::Register(scratch), from, number]);
    let mut code = i.clone();
    code.operands[operand] = Operand::Register(scratch);
    vec![Weaker::new(change, vec![before, code])]
}

fn replaced(i: &Instruction, from: Word, to: Word) -> Instruction {
    let mut code = i.clone();
    code.modifiers.iter_mut().filter(|m| **m == Modifier::Word(from)).for_each(|m| *m = Modifier::Word(to));
    code
}

fn without(i: &Instruction, word: Word) -> Instruction {
    let mut code = i.clone();
    code.modifiers.retain(|m| *m != Modifier::Word(word));
    code
}
