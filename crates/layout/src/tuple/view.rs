//! A tuple or a mode of one, borrowed.

use super::{Token, Tuple};
use crate::error::{LayoutError, Result};
use smallvec::SmallVec;
use std::fmt;

/// A tuple or a mode of one, borrowed.
///
/// ```
/// use warpsmith_layout::*;
/// let t = IntTuple::from((4, (2, 3)));
/// assert_eq!(t.mode(1)?.to_tuple(), IntTuple::from((2, 3)));
/// # Ok::<(), LayoutError>(())
/// ```
pub struct View<'a, T> {
    pub(super) tokens: &'a [Token],
    pub(super) leaves: &'a [T],
}

impl<T> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for View<'_, T> {}

impl<'a, T> View<'a, T> {
    /// Whether this is a leaf.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let t = IntTuple::from((4, (2, 3)));
    /// let pair = t.mode(1)?;
    /// assert!(!pair.is_leaf());
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn is_leaf(self) -> bool {
        matches!(self.tokens, [Token::Leaf])
    }

    /// The leaf, where this is one.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let t = IntTuple::from((4, (2, 3)));
    /// let pair = t.mode(1)?;
    /// assert_eq!(pair.mode(0)?.as_leaf(), Some(&Int::from(2)));
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn as_leaf(self) -> Option<&'a T> {
        match (self.tokens, self.leaves) {
            ([Token::Leaf], [leaf]) => Some(leaf),
            _ => None,
        }
    }

    /// The number of modes; 1 for a leaf.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let t = IntTuple::from((4, (2, 3)));
    /// let pair = t.mode(1)?;
    /// assert_eq!(pair.rank(), 2);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn rank(self) -> usize {
        self.modes().count()
    }

    /// The nesting.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let t = IntTuple::from((4, (2, 3)));
    /// let pair = t.mode(1)?;
    /// assert_eq!(pair.depth(), 1);
    /// # Ok::<(), LayoutError>(())
    /// ```
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
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let t = IntTuple::from((4, (2, 3)));
    /// let pair = t.mode(1)?;
    /// assert_eq!(pair.leaves(), [2.into(), 3.into()]);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn leaves(self) -> &'a [T] {
        self.leaves
    }

    /// The modes; a leaf is its own only mode.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let t = IntTuple::from((4, (2, 3)));
    /// let pair = t.mode(1)?;
    /// assert_eq!(pair.modes().count(), 2);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn modes(self) -> Modes<'a, T> {
        let tokens = match self.tokens {
            [Token::Open, inner @ .., Token::Close] => inner,
            other => other,
        };
        Modes { rest: View { tokens, leaves: self.leaves } }
    }

    /// Mode `i`.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let t = IntTuple::from((4, (2, 3)));
    /// let pair = t.mode(1)?;
    /// assert_eq!(pair.mode(1)?.to_string(), "3");
    /// assert!(pair.mode(2).is_err());
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn mode(self, i: usize) -> Result<View<'a, T>>
    where
        T: fmt::Display,
    {
        self.modes().nth(i).ok_or_else(|| LayoutError::NoSuchMode { of: self.to_string(), mode: i, rank: self.rank() })
    }

    /// A tuple of its own.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let t = IntTuple::from((4, (2, 3)));
    /// let pair = t.mode(1)?;
    /// assert_eq!(pair.to_tuple(), IntTuple::from((2, 3)));
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn to_tuple(self) -> Tuple<T>
    where
        T: Clone,
    {
        Tuple { tokens: SmallVec::from_slice(self.tokens), leaves: self.leaves.iter().cloned().collect() }
    }
}

/// The modes of a tuple, in order.
///
/// ```
/// use warpsmith_layout::*;
/// let t = IntTuple::from((4, (2, 3)));
/// assert_eq!(t.modes().count(), 2);
/// ```
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
