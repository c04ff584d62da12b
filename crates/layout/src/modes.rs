//! Modes taken, grouped, appended, replaced.

use crate::error::{LayoutError, Result};
use crate::layout::Layout;
use std::ops::Range;

impl Layout {
    /// One level: all leaves as modes.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert_eq!(Layout::new((4, (2, 3)), (6, (3, 1)))?.flatten().to_string(), "(4,2,3):(6,3,1)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn flatten(&self) -> Layout {
        Layout::from_parts(self.shape().flatten(), self.stride().flatten())
    }

    /// These modes, in this order; one may come twice.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert_eq!(Layout::new((4, 2, 3), (6, 3, 1))?.select(&[2, 0])?.to_string(), "(3,4):(1,6)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn select(&self, modes: &[usize]) -> Result<Layout> {
        Ok(Layout::of(modes.iter().map(|&i| self.mode(i)).collect::<Result<Vec<_>>>()?))
    }

    /// A range of modes; one alone stays a tuple.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert_eq!(Layout::new((4, 2, 3), (6, 3, 1))?.take(1..3)?.to_string(), "(2,3):(3,1)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn take(&self, range: Range<usize>) -> Result<Layout> {
        self.check(&range)?;
        Ok(Layout::of(self.modes().take(range.end).skip(range.start)))
    }

    /// The modes of a range as one mode.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert_eq!(Layout::new((4, 2, 3), (6, 3, 1))?.group(0..2)?.to_string(), "((4,2),3):((6,3),1)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn group(&self, range: Range<usize>) -> Result<Layout> {
        self.check(&range)?;
        let (start, end) = (range.start, range.end);
        let group = Layout::of(self.modes().take(end).skip(start));
        Ok(Layout::of(self.modes().take(start).chain([group]).chain(self.modes().skip(end))))
    }

    /// One more mode at the end.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let l = Layout::new((2, 3), (3, 1))?.append(&Layout::new(4, 6)?);
    /// assert_eq!(l.to_string(), "(2,3,4):(3,1,6)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn append(&self, mode: &Layout) -> Layout {
        Layout::of(self.modes().chain([mode.clone()]))
    }

    /// One more mode at the front.
    ///
    /// ```
    /// use warpsmith_layout::*;
    /// let l = Layout::new((2, 3), (3, 1))?.prepend(&Layout::new(4, 6)?);
    /// assert_eq!(l.to_string(), "(4,2,3):(6,3,1)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn prepend(&self, mode: &Layout) -> Layout {
        Layout::of([mode.clone()].into_iter().chain(self.modes()))
    }

    /// Another layout as mode `i`.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// assert_eq!(Layout::new((6, 7), (7, 1))?.replace(0, &Layout::one())?.to_string(), "(1,7):(0,1)");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn replace(&self, i: usize, mode: &Layout) -> Result<Layout> {
        self.mode(i)?;
        Ok(Layout::of(self.modes().enumerate().map(|(k, old)| if k == i { mode.clone() } else { old })))
    }

    /// `((a,b),(c,d))` becomes `((a,c),(b,d))`.
    ///
    /// ```
    /// use warpsmith_layout::Layout;
    /// let l: Layout = "((7,8),(2,4)):((16,2),(4,1))".parse()?;
    /// assert_eq!(l.zip()?.to_string(), "((7,2),(8,4)):((16,4),(2,1))");
    /// # Ok::<(), warpsmith_layout::LayoutError>(())
    /// ```
    pub fn zip(&self) -> Result<Layout> {
        let rows: Vec<Vec<Layout>> = self.modes().map(|mode| mode.modes().collect()).collect();
        let width = rows.first().map_or(0, Vec::len);
        if let Some(row) = rows.iter().find(|row| row.len() != width) {
            return Err(LayoutError::Rank { what: "modes to zip", left: width, right: row.len() });
        }
        Ok(Layout::of((0..width).map(|i| Layout::of(rows.iter().filter_map(|row| row.get(i).cloned())))))
    }

    fn check(&self, range: &Range<usize>) -> Result<()> {
        let rank = self.rank();
        if range.start > range.end || range.end > rank {
            return Err(LayoutError::NoSuchMode { of: self.to_string(), mode: range.end.max(range.start), rank });
        }
        Ok(())
    }
}
