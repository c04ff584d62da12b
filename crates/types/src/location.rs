//! Places in the user's source.

use std::fmt;
use std::sync::Arc;

/// A place in a source file, and where the code there was inlined from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    /// The path, as the compiler was given it.
    pub file: Arc<str>,
    /// From 1.
    pub line: u32,
    /// From 1; 0 when not known.
    pub column: u32,
    /// Set when this place is in a helper: who called it.
    pub inlined_at: Option<Arc<Inlined>>,
}

/// The call of a helper.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Inlined {
    /// The helper's name.
    pub function: Arc<str>,
    /// Where it was called.
    pub at: Location,
}

impl Location {
    /// A place without a call chain.
    pub fn new(file: impl Into<Arc<str>>, line: u32, column: u32) -> Location {
        Location { file: file.into(), line, column, inlined_at: None }
    }

    /// The place, and the calls of helpers that led to it: the last is the author's.
    pub fn with_calls(&self) -> String {
        let (mut text, mut place) = (self.to_string(), self);
        while let Some(call) = &place.inlined_at {
            text.push_str(&format!(", in `{}` called at {}", call.function, call.at));
            place = &call.at;
        }
        text
    }
}

impl From<&std::panic::Location<'_>> for Location {
    fn from(l: &std::panic::Location<'_>) -> Location {
        Location::new(l.file(), l.line(), l.column())
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        if self.column > 0 {
            write!(f, ":{}", self.column)?;
        }
        Ok(())
    }
}
