//! Nested tuples, stored flat: the leaves in one list, the nesting in another. Small ones allocate nothing.

use crate::error::{LayoutError, Result};
use smallvec::SmallVec;
use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Token {
    Leaf,
    Open,
    Close,
}

/// A leaf, or a tuple of such; CuTe's `HTuple`.
///
/// `7`, `(7)` and `((7))` are three different tuples.
///
/// ```
/// use warpsmith_layout::IntTuple;
/// let t = IntTuple::from((4, (2, 3)));
/// assert_eq!(t.to_string(), "(4,(2,3))");
/// assert_eq!((t.rank(), t.depth(), t.len()), (2, 2, 3));
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Tuple<T> {
    tokens: SmallVec<[Token; 24]>,
    leaves: SmallVec<[T; 8]>,
}

/// A tuple or a mode of one, borrowed.
pub struct View<'a, T> {
    tokens: &'a [Token],
    leaves: &'a [T],
}

impl<T> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for View<'_, T> {}

impl<T> Tuple<T> {
    /// A leaf by itself.
    pub fn leaf(value: T) -> Self {
        let mut leaves = SmallVec::new();
        leaves.push(value);
        Tuple { tokens: SmallVec::from_slice(&[Token::Leaf]), leaves }
    }

    /// The tuple of these modes; `()` when there are none.
    pub fn of(modes: impl IntoIterator<Item = Tuple<T>>) -> Self {
        let mut tokens = SmallVec::from_slice(&[Token::Open]);
        let mut leaves = SmallVec::new();
        for mode in modes {
            tokens.extend_from_slice(&mode.tokens);
            leaves.extend(mode.leaves);
        }
        tokens.push(Token::Close);
        Tuple { tokens, leaves }
    }

    /// The flat tuple of these leaves.
    pub fn flat(leaves: impl IntoIterator<Item = T>) -> Self {
        let leaves: SmallVec<[T; 8]> = leaves.into_iter().collect();
        let mut tokens = SmallVec::from_slice(&[Token::Open]);
        tokens.resize(leaves.len() + 1, Token::Leaf);
        tokens.push(Token::Close);
        Tuple { tokens, leaves }
    }

    /// The whole tuple, borrowed.
    pub fn view(&self) -> View<'_, T> {
        View { tokens: &self.tokens, leaves: &self.leaves }
    }

    /// The number of modes; 1 for a leaf.
    pub fn rank(&self) -> usize {
        self.view().rank()
    }

    /// The nesting: 0 for a leaf, else one more than the deepest mode.
    pub fn depth(&self) -> usize {
        self.view().depth()
    }

    /// The number of leaves.
    pub fn len(&self) -> usize {
        self.leaves.len()
    }

    /// Whether there are no leaves at all.
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    /// Whether this is a leaf and no tuple.
    pub fn is_leaf(&self) -> bool {
        self.view().is_leaf()
    }

    /// The leaf, where this is one.
    pub fn as_leaf(&self) -> Option<&T> {
        self.view().as_leaf()
    }

    /// All leaves, left to right.
    pub fn leaves(&self) -> &[T] {
        &self.leaves
    }

    /// The modes; a leaf is its own only mode.
    pub fn modes(&self) -> Modes<'_, T> {
        self.view().modes()
    }

    /// Mode `i`, borrowed.
    pub fn mode(&self, i: usize) -> Result<View<'_, T>>
    where
        T: fmt::Display,
    {
        self.view().mode(i)
    }

    /// Whether both have the same profile: the same nesting, whatever the leaves.
    pub fn is_congruent<U>(&self, other: &Tuple<U>) -> bool {
        self.tokens == other.tokens
    }

    /// Whether `self`'s profile is a truncation of `other`'s: each leaf of `self` may stand for a whole mode.
    pub fn is_weakly_congruent<U>(&self, other: &Tuple<U>) -> bool {
        fn go<T, U>(a: View<'_, T>, b: View<'_, U>) -> bool {
            a.is_leaf() || (!b.is_leaf() && a.rank() == b.rank() && a.modes().zip(b.modes()).all(|(a, b)| go(a, b)))
        }
        go(self.view(), other.view())
    }

    /// The same profile with other leaves.
    pub fn map<U>(&self, f: impl FnMut(&T) -> U) -> Tuple<U> {
        Tuple { tokens: self.tokens.clone(), leaves: self.leaves.iter().map(f).collect() }
    }

    /// The same profile with other leaves, where each may be refused.
    pub fn try_map<U>(&self, f: impl FnMut(&T) -> Result<U>) -> Result<Tuple<U>> {
        Ok(Tuple { tokens: self.tokens.clone(), leaves: self.leaves.iter().map(f).collect::<Result<_>>()? })
    }

    /// The same profile with the leaves of a list; refused when their number differs.
    pub(crate) fn with_leaves<U>(&self, leaves: impl IntoIterator<Item = U>) -> Option<Tuple<U>> {
        let leaves: SmallVec<[U; 8]> = leaves.into_iter().collect();
        (leaves.len() == self.leaves.len()).then(|| Tuple { tokens: self.tokens.clone(), leaves })
    }

    /// This tuple as the only mode of another: `t` becomes `(t)`.
    pub fn wrap(self) -> Self {
        Tuple::of([self])
    }
}

impl<T: Clone> Tuple<T> {
    /// One level: all leaves as modes. A leaf stays a leaf.
    pub fn flatten(&self) -> Self {
        if self.is_leaf() { self.clone() } else { Tuple::flat(self.leaves.iter().cloned()) }
    }

    /// The only mode of a rank-1 tuple; all else as it is.
    pub fn unwrap_one(self) -> Self {
        if !self.is_leaf()
            && self.rank() == 1
            && let Some(mode) = self.modes().next()
        {
            return mode.to_tuple();
        }
        self
    }
}

impl<'a, T> View<'a, T> {
    /// Whether this is a leaf.
    pub fn is_leaf(self) -> bool {
        matches!(self.tokens, [Token::Leaf])
    }

    /// The leaf, where this is one.
    pub fn as_leaf(self) -> Option<&'a T> {
        match (self.tokens, self.leaves) {
            ([Token::Leaf], [leaf]) => Some(leaf),
            _ => None,
        }
    }

    /// The number of modes; 1 for a leaf.
    pub fn rank(self) -> usize {
        self.modes().count()
    }

    /// The nesting.
    pub fn depth(self) -> usize {
        let (mut now, mut most) = (0usize, 0);
        for token in self.tokens {
            match token {
                Token::Open => now += 1,
                Token::Close => now = now.saturating_sub(1),
                Token::Leaf => {}
            }
            most = most.max(now);
        }
        most
    }

    /// All leaves below.
    pub fn leaves(self) -> &'a [T] {
        self.leaves
    }

    /// The modes; a leaf is its own only mode.
    pub fn modes(self) -> Modes<'a, T> {
        let tokens = match self.tokens {
            [Token::Open, inner @ .., Token::Close] => inner,
            other => other,
        };
        Modes { rest: View { tokens, leaves: self.leaves } }
    }

    /// Mode `i`.
    pub fn mode(self, i: usize) -> Result<View<'a, T>>
    where
        T: fmt::Display,
    {
        self.modes().nth(i).ok_or_else(|| LayoutError::NoSuchMode { of: self.to_string(), mode: i, rank: self.rank() })
    }

    /// A tuple of its own.
    pub fn to_tuple(self) -> Tuple<T>
    where
        T: Clone,
    {
        Tuple { tokens: SmallVec::from_slice(self.tokens), leaves: self.leaves.iter().cloned().collect() }
    }
}

/// The modes of a tuple, in order.
pub struct Modes<'a, T> {
    rest: View<'a, T>,
}

impl<T> Clone for Modes<'_, T> {
    fn clone(&self) -> Self {
        Modes { rest: self.rest }
    }
}

impl<T: fmt::Display> fmt::Debug for Modes<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl<'a, T> Iterator for Modes<'a, T> {
    type Item = View<'a, T>;

    fn next(&mut self) -> Option<Self::Item> {
        let (mut level, mut leaves, mut end) = (0usize, 0, 0);
        for token in self.rest.tokens {
            end += 1;
            match token {
                Token::Open => level += 1,
                Token::Close => level = level.saturating_sub(1),
                Token::Leaf => leaves += 1,
            }
            if level == 0 {
                break;
            }
        }
        if end == 0 {
            return None;
        }
        let (tokens, rest) = self.rest.tokens.split_at(end);
        let (here, later) = self.rest.leaves.split_at(leaves);
        self.rest = View { tokens: rest, leaves: later };
        Some(View { tokens, leaves: here })
    }
}

impl<T: fmt::Display> fmt::Display for View<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut leaves = self.leaves.iter();
        let mut comma = false;
        for token in self.tokens {
            if comma && *token != Token::Close {
                f.write_str(",")?;
            }
            match token {
                Token::Open => f.write_str("(")?,
                Token::Close => f.write_str(")")?,
                Token::Leaf => {
                    if let Some(leaf) = leaves.next() {
                        write!(f, "{leaf}")?;
                    }
                }
            }
            comma = *token != Token::Open;
        }
        Ok(())
    }
}

impl<T: fmt::Display> fmt::Debug for View<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<T: fmt::Display> fmt::Display for Tuple<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.view(), f)
    }
}

impl<T: fmt::Display> fmt::Debug for Tuple<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.view(), f)
    }
}

impl<T> From<T> for Tuple<T> {
    fn from(leaf: T) -> Self {
        Tuple::leaf(leaf)
    }
}

/// Writes a tuple down from left to right.
pub(crate) struct Builder<T> {
    tuple: Tuple<T>,
}

impl<T: Clone> Builder<T> {
    pub(crate) fn new() -> Self {
        Builder { tuple: Tuple { tokens: SmallVec::new(), leaves: SmallVec::new() } }
    }

    pub(crate) fn open(&mut self) {
        self.tuple.tokens.push(Token::Open);
    }

    pub(crate) fn close(&mut self) {
        self.tuple.tokens.push(Token::Close);
    }

    pub(crate) fn leaf(&mut self, leaf: T) {
        self.tuple.tokens.push(Token::Leaf);
        self.tuple.leaves.push(leaf);
    }

    pub(crate) fn view(&mut self, view: View<'_, T>) {
        self.tuple.tokens.extend_from_slice(view.tokens);
        self.tuple.leaves.extend(view.leaves.iter().cloned());
    }

    pub(crate) fn tuple(&mut self, tuple: Tuple<T>) {
        self.tuple.tokens.extend_from_slice(&tuple.tokens);
        self.tuple.leaves.extend(tuple.leaves);
    }

    /// What was written; the caller has balanced its parentheses and written exactly one tuple.
    pub(crate) fn finish(self) -> Tuple<T> {
        self.tuple
    }
}
