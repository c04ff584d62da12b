//! Thread-value layouts: which thread holds which value of a tile.

use crate::convert::IntTuple;
use crate::error::{Context, Result};
use crate::layout::Layout;
use crate::tuple::Tuple;

/// The tile that threads with values cover, and the layout (thread, value) -> index in the tile.
///
/// `threads` arranges the threads over the tile, `values` the values of each; a thread's values are neighbours. Indices
/// in the tile are column by column.
///
/// ```
/// use warpsmith_layout::{Layout, make_layout_tv};
/// let (tiler, tv) = make_layout_tv(&Layout::new((4, 64), (64, 1))?, &Layout::new((4, 8), (8, 1))?)?;
/// assert_eq!(tiler.to_string(), "(16,512)");
/// assert_eq!(tv.to_string(), "((64,4),(8,4)):((128,4),(16,1))");
/// # Ok::<(), warpsmith_layout::LayoutError>(())
/// ```
pub fn make_layout_tv(threads: &Layout, values: &Layout) -> Result<(IntTuple, Layout)> {
    let make = || {
        let tile = threads.raked_product(values)?;
        let sizes = tile.modes().map(|mode| mode.extent().map(Tuple::leaf)).collect::<Result<Vec<_>>>()?;
        let shape = Layout::compact(Tuple::of([threads.extent()?.into(), values.extent()?.into()]))?;
        Ok((Tuple::of(sizes), tile.right_inverse()?.compose(&shape)?))
    };
    make().of("thread-value layout", &[threads, values])
}
