//! The words of PTX: opcodes, modifiers, types, state spaces, special registers. Each is an enum whose names are the
//! words themselves.

mod modifier;
mod opcode;
mod special;
mod types;

pub use modifier::{Modifier, Word};
pub use opcode::Opcode;
pub use special::SpecialRegister;
pub use types::{StateSpace, Type};

/// An enum of words: each variant has its spelling, and parses from it.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)]
        pub enum $name { $($variant),* }

        impl $name {
            /// Every word.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The spelling in PTX.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text),* }
            }

            /// The word so spelt.
            pub fn from_name(name: &str) -> Option<$name> {
                match name { $($text => Some($name::$variant),)* _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
pub(crate) use words;
