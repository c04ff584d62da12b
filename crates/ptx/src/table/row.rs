//! A row as it is written down.

use warpsmith_types::{PtxVersion, Target};

/// What an operation does besides computing its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Nothing: it may be moved, merged or dropped.
    None,
    /// It reads memory (or a clock, or a register that others change).
    Reads,
    /// It writes memory.
    Writes,
    /// It reads and writes memory in one step.
    Atomic,
    /// It starts work that completes later, or waits for such work.
    Asynchronous,
    /// It orders memory or waits for other threads.
    Barrier,
    /// It decides what runs next, or stops or delays the thread.
    Control,
}

/// Which threads of a warp must come to it together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Convergence {
    /// Each thread by itself.
    Any,
    /// `.sync`: the threads in its mask operand.
    Mask,
    /// `.aligned`: all threads of the warp, at the same instruction.
    Aligned,
}

/// One row of the table, in text.
///
/// `syntax` is the notation of the PTX ISA manual: `add{.rn|.rz}{.ftz}.f32` has two optional modifiers and a type.
/// `(.a|.b)` is a choice that must be made, `<name>` stands for a set of [`sets`](super::sets).
///
/// `operands` lists what follows: `d:T, a:T, b:U`. `T`, `U` and `V` are the first, second and third type of the
/// instruction, `W` is `T` at double width, anything else is a type itself. `d`, `p` and `q` are results, every other
/// name is read, `d+` is both.
///
/// | written | meaning |
/// |---|---|
/// | `d:vT` | a scalar, or a vector when the instruction says `.v2`, `.v4`, `.v8` |
/// | `d:xT` | a vector of 1, 2 or 4 by `.x1`, `.x2`, `.x4` |
/// | `d:4*T` | a vector of four |
/// | `d:n*T` | a vector of a warpgroup's accumulator, by the shape and the first type |
/// | `d:T..` | a register of `T`, or wider |
/// | `d:T\|p?:pred` | `d\|p`, or just `d` |
/// | `c?:T` | may be left out |
/// | `c@L2::cache_hint:b64` | there exactly when that modifier is |
/// | `#n:T` | a literal |
/// | `a:T&` | may also be a special register or the address of a variable |
/// | `d:T_` | may also be the sink `_` |
/// | `[a]` | a memory operand |
/// | `[a, c]` | a tensor and its coordinates |
/// | `t:label` | a place to jump to |
/// | `f:function` | a function |
/// | `(a)` | what a call passes |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Opcode and modifiers.
    pub syntax: &'static str,
    /// Operands.
    pub operands: &'static str,
    /// What it does, in a line.
    pub doc: &'static str,
    /// The smallest `.version`; 7.0 also stands for all before it.
    pub version: PtxVersion,
    /// The first target.
    pub target: Target,
    /// Other chips that have it, when it is of single chips (`sm_100a`, `sm_120a`).
    pub also: &'static [u16],
    /// Effect on memory and control.
    pub effect: Effect,
    /// Who must come together.
    pub convergence: Convergence,
}

/// A row that is there on every target and has no effect.
pub(super) const fn row(syntax: &'static str, operands: &'static str, doc: &'static str) -> Row {
    Row {
        syntax,
        operands,
        doc,
        version: PtxVersion::new(7, 0),
        target: Target { number: 50, specific: false },
        also: &[],
        effect: Effect::None,
        convergence: Convergence::Any,
    }
}

impl Row {
    /// From that `.version` on.
    pub(super) const fn ptx(mut self, major: u8, minor: u8) -> Row {
        self.version = PtxVersion::new(major, minor);
        self
    }

    /// From that target on.
    pub(super) const fn sm(mut self, number: u16) -> Row {
        self.target = Target { number, specific: false };
        self
    }

    /// On those chips alone: `sm_90a`.
    pub(super) const fn only(mut self, numbers: &'static [u16]) -> Row {
        if let [first, rest @ ..] = numbers {
            self.target = Target { number: *first, specific: true };
            self.also = rest;
        }
        self
    }

    pub(super) const fn reads(mut self) -> Row {
        self.effect = Effect::Reads;
        self
    }

    pub(super) const fn writes(mut self) -> Row {
        self.effect = Effect::Writes;
        self
    }

    pub(super) const fn atomic(mut self) -> Row {
        self.effect = Effect::Atomic;
        self
    }

    pub(super) const fn asynchronous(mut self) -> Row {
        self.effect = Effect::Asynchronous;
        self
    }

    pub(super) const fn barrier(mut self) -> Row {
        self.effect = Effect::Barrier;
        self
    }

    pub(super) const fn control(mut self) -> Row {
        self.effect = Effect::Control;
        self
    }

    /// Its mask says who comes.
    pub(super) const fn mask(mut self) -> Row {
        self.convergence = Convergence::Mask;
        self
    }

    /// The whole warp comes.
    pub(super) const fn aligned(mut self) -> Row {
        self.convergence = Convergence::Aligned;
        self
    }
}
