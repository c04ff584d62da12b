//! Nested tuples, stored flat: the leaves in one list, the nesting in another. Small ones allocate nothing.

mod view;

use crate::error::Result;
use smallvec::SmallVec;
use std::fmt;

pub use view::{Modes, View};

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

impl<T> Tuple<T> {
    /// A leaf by itself.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert_eq!(IntTuple::leaf(4.into()).to_string(), "4");
    /// ```
    pub fn leaf(value: T) -> Self {
        let mut leaves = SmallVec::new();
        leaves.push(value);
        Tuple { tokens: SmallVec::from_slice(&[Token::Leaf]), leaves }
    }

    /// The tuple of these modes; `()` when there are none.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert_eq!(IntTuple::of([4.into(), (2, 3).into()]).to_string(), "(4,(2,3))");
    /// ```
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
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert_eq!(IntTuple::flat([4.into(), 2.into()]).to_string(), "(4,2)");
    /// ```
    pub fn flat(leaves: impl IntoIterator<Item = T>) -> Self {
        let leaves: SmallVec<[T; 8]> = leaves.into_iter().collect();
        let mut tokens = SmallVec::from_slice(&[Token::Open]);
        tokens.resize(leaves.len() + 1, Token::Leaf);
        tokens.push(Token::Close);
        Tuple { tokens, leaves }
    }

    /// The whole tuple, borrowed.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let t = IntTuple::from((4, (2, 3)));
    /// assert_eq!(t.view().rank(), 2);
    /// ```
    pub fn view(&self) -> View<'_, T> {
        View { tokens: &self.tokens, leaves: &self.leaves }
    }

    /// The number of modes; 1 for a leaf.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let t = IntTuple::from((4, (2, 3)));
    /// assert_eq!(t.rank(), 2);
    /// ```
    pub fn rank(&self) -> usize {
        self.view().rank()
    }

    /// The nesting: 0 for a leaf, else one more than the deepest mode.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let t = IntTuple::from((4, (2, 3)));
    /// assert_eq!(t.depth(), 2);
    /// ```
    pub fn depth(&self) -> usize {
        self.view().depth()
    }

    /// The number of leaves.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let t = IntTuple::from((4, (2, 3)));
    /// assert_eq!(t.len(), 3);
    /// ```
    pub fn len(&self) -> usize {
        self.leaves.len()
    }

    /// Whether there are no leaves at all.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert!(IntTuple::of([]).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    /// Whether this is a leaf and no tuple.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let t = IntTuple::from((4, (2, 3)));
    /// assert!(!t.is_leaf() && IntTuple::from(4).is_leaf());
    /// ```
    pub fn is_leaf(&self) -> bool {
        self.view().is_leaf()
    }

    /// The leaf, where this is one.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert_eq!(IntTuple::from(4).as_leaf(), Some(&Int::from(4)));
    /// ```
    pub fn as_leaf(&self) -> Option<&T> {
        self.view().as_leaf()
    }

    /// All leaves, left to right.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let t = IntTuple::from((4, (2, 3)));
    /// assert_eq!(t.leaves(), [4.into(), 2.into(), 3.into()]);
    /// ```
    pub fn leaves(&self) -> &[T] {
        &self.leaves
    }

    /// The modes; a leaf is its own only mode.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let t = IntTuple::from((4, (2, 3)));
    /// assert_eq!(t.modes().map(|mode| mode.to_string()).collect::<Vec<_>>(), ["4", "(2,3)"]);
    /// ```
    pub fn modes(&self) -> Modes<'_, T> {
        self.view().modes()
    }

    /// Mode `i`, borrowed.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let t = IntTuple::from((4, (2, 3)));
    /// assert_eq!(t.mode(1)?.to_string(), "(2,3)");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn mode(&self, i: usize) -> Result<View<'_, T>>
    where
        T: fmt::Display,
    {
        self.view().mode(i)
    }

    /// Whether both have the same profile: the same nesting, whatever the leaves.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let t = IntTuple::from((4, (2, 3)));
    /// assert!(t.is_congruent(&IntTuple::from((1, (6, 1)))));
    /// ```
    pub fn is_congruent<U>(&self, other: &Tuple<U>) -> bool {
        self.tokens == other.tokens
    }

    /// Whether `self`'s profile is a truncation of `other`'s: each leaf of `self` may stand for a whole mode.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let t = IntTuple::from((4, (2, 3)));
    /// assert!(IntTuple::from((4, 6)).is_weakly_congruent(&t));
    /// assert!(!t.is_weakly_congruent(&IntTuple::from((4, 6))));
    /// ```
    pub fn is_weakly_congruent<U>(&self, other: &Tuple<U>) -> bool {
        fn go<T, U>(a: View<'_, T>, b: View<'_, U>) -> bool {
            a.is_leaf() || (!b.is_leaf() && a.rank() == b.rank() && a.modes().zip(b.modes()).all(|(a, b)| go(a, b)))
        }
        go(self.view(), other.view())
    }

    /// The same profile with other leaves.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let t = IntTuple::from((4, (2, 3)));
    /// assert_eq!(t.map(|n| n.is(4)).to_string(), "(true,(false,false))");
    /// ```
    pub fn map<U>(&self, f: impl FnMut(&T) -> U) -> Tuple<U> {
        Tuple { tokens: self.tokens.clone(), leaves: self.leaves.iter().map(f).collect() }
    }

    /// The same profile with other leaves, where each may be refused.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let t = IntTuple::from((4, (2, 3)));
    /// assert_eq!(t.try_map(|n| n.add(&Int::ONE))?.to_string(), "(5,(3,4))");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn try_map<U>(&self, f: impl FnMut(&T) -> Result<U>) -> Result<Tuple<U>> {
        Ok(Tuple { tokens: self.tokens.clone(), leaves: self.leaves.iter().map(f).collect::<Result<_>>()? })
    }

    /// The same profile with the leaves of a list; refused when their number differs.
    pub(crate) fn with_leaves<U>(&self, leaves: impl IntoIterator<Item = U>) -> Option<Tuple<U>> {
        let leaves: SmallVec<[U; 8]> = leaves.into_iter().collect();
        (leaves.len() == self.leaves.len()).then(|| Tuple { tokens: self.tokens.clone(), leaves })
    }

    /// This tuple as the only mode of another: `t` becomes `(t)`.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert_eq!(IntTuple::from(4).wrap().to_string(), "(4)");
    /// ```
    pub fn wrap(self) -> Self {
        Tuple::of([self])
    }
}

impl<T: Clone> Tuple<T> {
    /// One level: all leaves as modes. A leaf stays a leaf.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let t = IntTuple::from((4, (2, 3)));
    /// assert_eq!(t.flatten().to_string(), "(4,2,3)");
    /// ```
    pub fn flatten(&self) -> Self {
        if self.is_leaf() { self.clone() } else { Tuple::flat(self.leaves.iter().cloned()) }
    }

    /// The only mode of a rank-1 tuple; all else as it is.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert_eq!(IntTuple::from(4).wrap().unwrap_one().to_string(), "4");
    /// ```
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
