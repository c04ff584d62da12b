//! Operations.

use crate::access::Access;
use crate::inline::{Effect, Inline};
use crate::kernel::{Block, RegisterId, SharedId, Value};
use crate::machine::{Machine, Word};
pub use crate::special::Special;
use crate::types::Type;
use std::borrow::Cow;

/// An enum of operations with the names they have in the text form.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$vdoc])* $variant),* }

        impl $name {
            /// Every one.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];
            /// The name in the text form.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text),* }
            }
            /// The one so named.
            pub fn from_name(name: &str) -> Option<$name> {
                match name { $($text => Some($name::$variant),)* _ => None }
            }
        }
    };
}

pub(crate) use named;

named! {
    /// One operand, result of the same type. Those called approximate are so for `f32`, and flush subnormals
    /// (`.approx.ftz`); `rcp` and `sqrt` of `f64` round correctly.
    Unary {
        /// −x.
        Neg = "neg",
        /// |x|.
        Abs = "abs",
        /// Bits, or truth, inverted.
        Not = "not",
        /// 1/x, approximate.
        Rcp = "rcp",
        /// 1/√x, approximate.
        Rsqrt = "rsqrt",
        /// √x, approximate.
        Sqrt = "sqrt",
        /// 2ˣ, approximate.
        Exp2 = "exp2",
        /// log₂x, approximate.
        Log2 = "log2",
    }
}

named! {
    /// Two operands of one type, result of the same type (twice as wide for `mul_wide`).
    Binary {
        /// Sum.
        Add = "add",
        /// Difference.
        Sub = "sub",
        /// Product; the lower half for integers.
        Mul = "mul",
        /// The upper half of an integer product.
        MulHi = "mul_hi",
        /// The whole product of two integers of 16 or 32 bits.
        MulWide = "mul_wide",
        /// Quotient: truncated for integers, correctly rounded for floats.
        Div = "div",
        /// Remainder, with the dividend's sign.
        Rem = "rem",
        /// The smaller; a NaN gives way to a number.
        Min = "min",
        /// The larger; a NaN gives way to a number.
        Max = "max",
        /// Bitwise, or of truth values.
        And = "and",
        /// Bitwise, or of truth values.
        Or = "or",
        /// Bitwise, or of truth values.
        Xor = "xor",
        /// Shift left by a `u32`; zero from the width on.
        Shl = "shl",
        /// Shift right by a `u32`, arithmetic for signed types.
        Shr = "shr",
    }
}

named! {
    /// Comparisons; false where a float operand is NaN, except `ne`.
    Comparison {
        /// Equal.
        Eq = "eq",
        /// Not equal, or unordered.
        Ne = "ne",
        /// Less.
        Lt = "lt",
        /// Less or equal.
        Le = "le",
        /// Greater.
        Gt = "gt",
        /// Greater or equal.
        Ge = "ge",
    }
}

named! {
    /// State spaces of an access.
    Space {
        /// Device memory; addresses are `u64`.
        Global = "global",
        /// The block's shared memory; addresses are `u32`.
        Shared = "shared",
        /// The shared memory of any block of the cluster; addresses are `u32`, of `mapa`.
        SharedCluster = "shared::cluster",
        /// Whatever the address says; addresses are `u64`.
        Generic = "generic",
    }
}

impl Space {
    /// The type of its addresses.
    pub const fn address(self) -> Type {
        match self {
            Space::Global | Space::Generic => Type::U64,
            Space::Shared | Space::SharedCluster => Type::U32,
        }
    }

    /// Its word in PTX; generic accesses have none.
    pub(crate) const fn word(self) -> Option<Word> {
        match self {
            Space::Global => Some(Word::Global),
            Space::Shared => Some(Word::Shared),
            Space::SharedCluster => Some(Word::SharedCluster),
            Space::Generic => None,
        }
    }
}

named! {
    /// Lane exchanges within a warp of 32, all lanes taking part.
    Shuffle {
        /// From lane `self xor b`.
        Xor = "xor",
        /// From lane `self + b`.
        Down = "down",
        /// From lane `self − b`.
        Up = "up",
        /// From lane `b`.
        Index = "index",
    }
}

/// What an instruction does. Operand and result types stand at the values.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// A constant: the bits of the result's type.
    Const(u64),
    /// A kernel parameter.
    Param(u32),
    /// A hardware value, of [`Special::ty`].
    Special(Special),
    /// The address of a shared variable, `u32`.
    SharedAddress(SharedId),
    /// One operand.
    Unary(Unary),
    /// Two operands.
    Binary(Binary),
    /// a·b + c, rounded once.
    Fma,
    /// Two operands to a `bool`.
    Compare(Comparison),
    /// `[condition, yes, no]`.
    Select,
    /// Between numeric types: widening is exact, floats round to nearest even, float to integer truncates.
    Convert,
    /// The same bits as another type of the same width.
    Bitcast,
    /// Two `f32` (low, high), rounded to `f16` or `bf16` (the flag: bf16), packed in a `u32`.
    Pack {
        /// bf16 rather than f16.
        bf16: bool,
    },
    /// A `u32` to its low and high 16 bits.
    Unpack,
    /// `[address]`, its policy if it has one, and a condition if it has a fill: as many elements as results, all of
    /// one type.
    Load {
        /// Where from.
        space: Space,
        /// Added to the address, in bytes.
        offset: i32,
        /// The bits each element has where the condition is false; set exactly when there is a condition.
        fill: Option<u64>,
        /// What it orders, and its hints.
        access: Access,
    },
    /// `[address, values…]`; a policy stands after the address, and a condition last when `guarded`.
    Store {
        /// Where to.
        space: Space,
        /// Added to the address, in bytes.
        offset: i32,
        /// The last operand is a condition.
        guarded: bool,
        /// What it orders, and its hints.
        access: Access,
    },
    /// `[x, b]`: 32-bit exchange between lanes.
    Shuffle(Shuffle),
    /// All threads of the block meet, and see each other's memory (`bar.sync 0`).
    Barrier,
    /// Waits for the kernels this one depends on (`griddepcontrol.wait`).
    WaitForUpstream,
    /// Lets dependent kernels start (`griddepcontrol.launch_dependents`).
    LaunchDependents,
    /// Reads a mutable register.
    Get(RegisterId),
    /// Writes a mutable register.
    Set(RegisterId),
    /// `[condition]`.
    If {
        /// Its author promises that all threads of the block that come here take the same way.
        uniform: bool,
        /// Runs where the condition holds.
        then: Block,
        /// Runs where it does not.
        otherwise: Block,
    },
    /// `[from, to, step]`, `u32`: the body runs for `from, from + step, …` below `to`.
    For {
        /// The counter, defined in the body.
        index: Value,
        /// How many bodies the author wants in one trip ([`Pass::Unroll`](crate::Pass::Unroll)).
        unroll: Option<u32>,
        /// The body.
        body: Block,
    },
    /// Runs until [`Op::BreakIf`].
    Loop {
        /// The body.
        body: Block,
    },
    /// `[condition]`: leaves the innermost loop.
    BreakIf,
    /// `[condition]`: leaves the rest of the innermost loop's body, and goes on with its next trip.
    ContinueIf,
    /// `[condition]`: the thread ends.
    ExitIf,
    /// Prints its operands in a format of C's `printf` (the driver's `vprintf`).
    Print {
        /// The format.
        format: String,
    },
    /// Ends the launch with an error.
    Trap,
    /// An instruction of PTX, which says what its operands are.
    Machine(Box<Machine>),
    /// PTX text.
    Inline(Box<Inline>),
}

impl Op {
    /// The word that it starts with in the text form.
    pub const fn name(&self) -> &'static str {
        match self {
            Op::Const(_) => "const",
            Op::Param(_) => "param",
            Op::Special(_) => "special",
            Op::SharedAddress(_) => "shared_address",
            Op::Unary(op) => op.name(),
            Op::Binary(op) => op.name(),
            Op::Fma => "fma",
            Op::Compare(op) => op.name(),
            Op::Select => "select",
            Op::Convert => "convert",
            Op::Bitcast => "bitcast",
            Op::Pack { bf16: false } => "pack.f16",
            Op::Pack { bf16: true } => "pack.bf16",
            Op::Unpack => "unpack",
            Op::Load { .. } => "load",
            Op::Store { .. } => "store",
            Op::Shuffle(_) => "shuffle",
            Op::Barrier => "barrier",
            Op::WaitForUpstream => "wait_for_upstream",
            Op::LaunchDependents => "launch_dependents",
            Op::Get(_) => "get",
            Op::Set(_) => "set",
            Op::If { uniform: false, .. } => "if",
            Op::If { uniform: true, .. } => "if.uniform",
            Op::For { .. } => "for",
            Op::Loop { .. } => "loop",
            Op::BreakIf => "break_if",
            Op::ContinueIf => "continue_if",
            Op::ExitIf => "exit_if",
            Op::Print { .. } => "print",
            Op::Trap => "trap",
            Op::Machine(_) => "ptx",
            Op::Inline(_) => "inline",
        }
    }

    /// The same, or the whole name of an instruction of PTX: for messages.
    pub fn label(&self) -> Cow<'static, str> {
        match self {
            Op::Machine(machine) => Cow::Owned(machine.name()),
            op => Cow::Borrowed(op.name()),
        }
    }

    /// Whether it only computes: no effect, and the same result for the same operands.
    pub fn is_pure(&self) -> bool {
        match self {
            Op::Machine(machine) => return machine.is_pure(),
            Op::Inline(inline) => return inline.effect == Effect::None,
            Op::Special(special) => return !special.is_volatile(),
            _ => {}
        }
        matches!(
            self,
            Op::Const(_)
                | Op::Param(_)
                | Op::SharedAddress(_)
                | Op::Unary(_)
                | Op::Binary(_)
                | Op::Fma
                | Op::Compare(_)
                | Op::Select
                | Op::Convert
                | Op::Bitcast
                | Op::Pack { .. }
                | Op::Unpack
        )
    }

    /// Whether it may be dropped when nobody reads its results.
    pub fn is_removable(&self) -> bool {
        match self {
            Op::Machine(machine) => machine.is_removable(),
            Op::Get(_) | Op::Special(_) => true,
            Op::Load { access, .. } => access.is_removable(),
            op => op.is_pure(),
        }
    }

    /// The blocks inside.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        let (a, b) = match self {
            Op::If { then, otherwise, .. } => (Some(then), Some(otherwise)),
            Op::For { body, .. } | Op::Loop { body } => (Some(body), None),
            _ => (None, None),
        };
        a.into_iter().chain(b)
    }

    /// The blocks inside, to change.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        let (a, b) = match self {
            Op::If { then, otherwise, .. } => (Some(then), Some(otherwise)),
            Op::For { body, .. } | Op::Loop { body } => (Some(body), None),
            _ => (None, None),
        };
        a.into_iter().chain(b)
    }
}
