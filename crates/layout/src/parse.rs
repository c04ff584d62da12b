//! Reading what the other side prints: tuples, strides, coordinates, layouts, tilers, swizzles.

use crate::convert::{IntTuple, Strides};
use crate::coord::Index;
use crate::error::{LayoutError, Result};
use crate::int::Int;
use crate::layout::Layout;
use crate::step::{Basis, Step};
use crate::tuple::{Builder, Tuple};
use std::str::FromStr;

/// Nesting past this is refused.
const DEEPEST: usize = 64;

/// Text and where reading has come to. Blanks between tokens do not matter.
pub(crate) struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    /// Reads the whole text with `f`.
    pub(crate) fn whole<T>(text: &'a str, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let mut reader = Reader { text, at: 0 };
        let value = f(&mut reader)?;
        match reader.peek() {
            None => Ok(value),
            Some(_) => Err(reader.expected("the end")),
        }
    }

    pub(crate) fn expected(&self, expected: &'static str) -> LayoutError {
        LayoutError::Parse { text: self.text.to_string(), at: self.at, expected }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    pub(crate) fn peek(&mut self) -> Option<char> {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
        self.rest().chars().next()
    }

    /// Steps over `word` if it is next.
    pub(crate) fn take(&mut self, word: &str) -> bool {
        self.peek();
        let found = self.rest().starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    pub(crate) fn need(&mut self, word: &'static str) -> Result<()> {
        if self.take(word) { Ok(()) } else { Err(self.expected(word)) }
    }

    pub(crate) fn integer(&mut self) -> Result<i64> {
        self.peek();
        let rest = self.rest();
        let digits = rest.strip_prefix('-').unwrap_or(rest);
        let sign = rest.len() - digits.len();
        let end = sign + digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let value = rest.get(..end).and_then(|t| t.parse().ok()).ok_or_else(|| self.expected("an integer"))?;
        self.at += end;
        Ok(value)
    }

    fn tuple<T: Clone>(&mut self, leaf: &mut dyn FnMut(&mut Self) -> Result<T>) -> Result<Tuple<T>> {
        let mut out = Builder::new();
        self.tuple_into(leaf, &mut out, 0)?;
        Ok(out.finish())
    }

    fn tuple_into<T: Clone>(
        &mut self,
        leaf: &mut dyn FnMut(&mut Self) -> Result<T>,
        out: &mut Builder<T>,
        depth: usize,
    ) -> Result<()> {
        if !self.take("(") {
            out.leaf(leaf(self)?);
            return Ok(());
        }
        if depth == DEEPEST {
            return Err(self.expected("less nesting"));
        }
        out.open();
        while !self.take(")") {
            self.tuple_into(leaf, out, depth + 1)?;
            // A comma may trail, as in a tuple of one.
            if !self.take(",") {
                self.need(")")?;
                break;
            }
        }
        out.close();
        Ok(())
    }

    pub(crate) fn int_tuple(&mut self) -> Result<IntTuple> {
        self.tuple(&mut |r| r.integer().map(Int::Static))
    }

    fn step(&mut self) -> Result<Step> {
        let value = self.integer()?;
        let mut modes = Vec::new();
        while self.take("@") {
            let mode = self.integer()?;
            modes.push(usize::try_from(mode).map_err(|_| self.expected("a mode"))?);
        }
        let basis = modes.into_iter().rev().try_fold(Basis::default(), Basis::inside)?;
        Ok(Step::new(value, basis))
    }

    pub(crate) fn strides(&mut self) -> Result<Strides> {
        self.tuple(&mut |r| r.step())
    }

    pub(crate) fn coord(&mut self) -> Result<Tuple<Index>> {
        self.tuple(&mut |r| if r.take("_") { Ok(Index::All) } else { r.integer().map(Index::from) })
    }

    pub(crate) fn layout(&mut self) -> Result<Layout> {
        let shape = self.int_tuple()?;
        self.need(":")?;
        Layout::new(shape, self.strides()?)
    }
}

macro_rules! from_str {
    ($($t:ty: $read:ident)*) => {$(
        impl FromStr for $t {
            type Err = LayoutError;

            fn from_str(text: &str) -> Result<Self> {
                Reader::whole(text, |r| r.$read())
            }
        }
    )*};
}

from_str!(IntTuple: int_tuple  Strides: strides  Tuple<Index>: coord  Layout: layout  Step: step);
