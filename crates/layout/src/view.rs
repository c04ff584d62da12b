//! Layouts borrowed mode by mode, and written leaf by leaf, without copies in between.

use crate::error::Result;
use crate::int::Int;
use crate::layout::Layout;
use crate::step::Step;
use crate::tuple::{Builder, View};

/// A layout or a mode of one, borrowed.
#[derive(Clone, Copy)]
pub(crate) struct LayoutView<'a> {
    pub(crate) shape: View<'a, Int>,
    pub(crate) stride: View<'a, Step>,
}

impl<'a> LayoutView<'a> {
    pub(crate) fn modes(self) -> impl Iterator<Item = LayoutView<'a>> {
        self.shape.modes().zip(self.stride.modes()).map(|(shape, stride)| LayoutView { shape, stride })
    }

    /// Size and stride, where this is a leaf.
    pub(crate) fn as_leaf(self) -> Option<(&'a Int, &'a Step)> {
        Some((self.shape.as_leaf()?, self.stride.as_leaf()?))
    }

    pub(crate) fn is_leaf(self) -> bool {
        self.shape.is_leaf()
    }

    pub(crate) fn to_layout(self) -> Layout {
        Layout::from_parts(self.shape.to_tuple(), self.stride.to_tuple())
    }
}

/// Writes a layout down from left to right.
pub(crate) struct LayoutBuilder {
    shape: Builder<Int>,
    stride: Builder<Step>,
}

impl LayoutBuilder {
    pub(crate) fn new() -> Self {
        LayoutBuilder { shape: Builder::new(), stride: Builder::new() }
    }

    /// Writes a tuple of what `inside` writes.
    pub(crate) fn tuple(&mut self, inside: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.open();
        inside(self)?;
        self.close();
        Ok(())
    }

    pub(crate) fn open(&mut self) {
        self.shape.open();
        self.stride.open();
    }

    pub(crate) fn close(&mut self) {
        self.shape.close();
        self.stride.close();
    }

    pub(crate) fn leaf(&mut self, size: Int, stride: Step) {
        self.shape.leaf(size);
        self.stride.leaf(stride);
    }

    pub(crate) fn view(&mut self, view: LayoutView<'_>) {
        self.shape.view(view.shape);
        self.stride.view(view.stride);
    }

    pub(crate) fn layout(&mut self, layout: Layout) {
        let (shape, stride) = layout.into_parts();
        self.shape.tuple(shape);
        self.stride.tuple(stride);
    }

    /// What was written; the caller has written exactly one layout.
    pub(crate) fn finish(self) -> Layout {
        Layout::from_parts(self.shape.finish(), self.stride.finish())
    }
}
