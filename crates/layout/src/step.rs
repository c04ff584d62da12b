//! The stride at a leaf: an integer, or a multiple of a unit vector (a basis stride).

use crate::convert::IntTuple;
use crate::error::{LayoutError, Result};
use crate::int::Int;
use crate::tuple::Tuple;
use std::fmt;

/// Which mode of a coordinate a stride walks: a path of mode numbers from the outside in; empty for a plain integer.
///
/// ```
/// use warpsmith_layout::*;
/// let step: Step = "1@0@1".parse()?;
/// assert_eq!((step.basis.path(), step.basis.to_string()), (&[1, 0][..], "@0@1".into()));
/// # Ok::<(), LayoutError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Basis {
    len: u8,
    path: [u8; 7],
}

impl Basis {
    /// The path, from the outside in.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let step: Step = "3@0@1".parse()?; // 3 steps along mode 0 of mode 1
    /// assert_eq!(step.basis.path(), [1, 0]);
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn path(&self) -> &[u8] {
        self.path.get(..usize::from(self.len)).unwrap_or(&[])
    }

    /// Whether this is the basis of plain integers.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let step: Step = "3@0@1".parse()?; // 3 steps along mode 0 of mode 1
    /// assert!(!step.basis.is_empty() && Step::from(3).basis.is_empty());
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The basis of mode `mode` inside this one. At most 7 levels of at most 256 modes.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert_eq!(Step::new(1, Basis::default().inside(1)?.inside(0)?).to_string(), "1@0@1");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn inside(mut self, mode: usize) -> Result<Basis> {
        match (self.path.get_mut(usize::from(self.len)), u8::try_from(mode)) {
            (Some(slot), Ok(mode)) => {
                *slot = mode;
                self.len += 1;
                Ok(self)
            }
            _ => Err(LayoutError::Unsupported(format!(
                "a basis has at most 7 levels of 256 modes: mode {mode} of {self}"
            ))),
        }
    }
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path().iter().rev().try_for_each(|mode| write!(f, "@{mode}"))
    }
}

/// A stride: `value` steps along `basis`.
///
/// ```
/// use warpsmith_layout::Step;
/// assert_eq!("2@0@1".parse::<Step>()?.to_string(), "2@0@1");
/// # Ok::<(), warpsmith_layout::LayoutError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Step {
    /// How far.
    pub value: Int,
    /// Along what.
    pub basis: Basis,
}

impl Step {
    /// The stride 0.
    ///
    /// ```
    /// # use warpsmith_layout::Step;
    /// assert_eq!(Step::ZERO.to_string(), "0");
    /// ```
    pub const ZERO: Step = Step { value: Int::ZERO, basis: Basis { len: 0, path: [0; 7] } };

    /// `value` steps along `basis`. Zero steps have no direction.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// assert_eq!(Step::new(3, Basis::default()), Step::from(3));
    /// ```
    pub fn new(value: impl Into<Int>, basis: Basis) -> Step {
        let value = value.into();
        let basis = if value.is(0) { Basis::default() } else { basis };
        Step { value, basis }
    }

    /// Whether this is the static stride 0.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let step: Step = "3@0@1".parse()?; // 3 steps along mode 0 of mode 1
    /// assert!(Step::ZERO.is_zero() && !step.is_zero());
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn is_zero(&self) -> bool {
        self.value.is(0)
    }

    /// The integer, where the stride is a plain one.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let step: Step = "3@0@1".parse()?; // 3 steps along mode 0 of mode 1
    /// assert_eq!((Step::from(3).as_int(), step.as_int()), (Some(&Int::from(3)), None));
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn as_int(&self) -> Option<&Int> {
        self.basis.is_empty().then_some(&self.value)
    }

    /// The integer; an error for a basis stride.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let step: Step = "3@0@1".parse()?; // 3 steps along mode 0 of mode 1
    /// assert_eq!(Step::from(3).int()?, &Int::from(3));
    /// assert!(step.int().is_err());
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn int(&self) -> Result<&Int> {
        self.as_int().ok_or_else(|| LayoutError::Unsupported(format!("the stride {self} is no integer")))
    }

    /// `n` times as far.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let step: Step = "3@0@1".parse()?; // 3 steps along mode 0 of mode 1
    /// assert_eq!(step.times(&Int::from(2))?.to_string(), "6@0@1");
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn times(&self, n: &Int) -> Result<Step> {
        Ok(Step::new(self.value.mul(n)?, self.basis))
    }

    /// Whether both are equal: `None` when that is not known.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let step: Step = "3@0@1".parse()?; // 3 steps along mode 0 of mode 1
    /// assert_eq!(step.equals(&"3@0@1".parse()?), Some(true));
    /// assert_eq!(step.equals(&Step::from(3)), None); // along another direction
    /// # Ok::<(), LayoutError>(())
    /// ```
    pub fn equals(&self, other: &Step) -> Option<bool> {
        if self.basis == other.basis { self.value.equals(&other.value) } else { (self == other).then_some(true) }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.value, self.basis)
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<T: Into<Int>> From<T> for Step {
    fn from(value: T) -> Step {
        Step { value: value.into(), basis: Basis::default() }
    }
}

/// A sum of steps along bases.
#[derive(Debug, Default)]
pub(crate) struct Vector {
    value: Option<Int>,
    modes: Vec<Vector>,
}

impl Vector {
    /// Adds `value` along a path.
    pub(crate) fn add(&mut self, path: &[u8], value: &Int) -> Result<()> {
        match path.split_first() {
            None => {
                self.value = Some(self.value.as_ref().unwrap_or(&Int::ZERO).add(value)?);
                Ok(())
            }
            Some((mode, inner)) => {
                let mode = usize::from(*mode);
                while self.modes.len() <= mode {
                    self.modes.push(Vector::default());
                }
                self.modes.get_mut(mode).map_or(Ok(()), |m| m.add(inner, value))
            }
        }
    }

    pub(crate) fn into_tuple(self) -> IntTuple {
        if self.modes.is_empty() {
            Tuple::leaf(self.value.unwrap_or(Int::ZERO))
        } else {
            Tuple::of(self.modes.into_iter().map(Vector::into_tuple))
        }
    }
}
