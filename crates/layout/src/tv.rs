//! Thread-value layouts: which thread holds which value of a tile.

use crate::convert::IntTuple;
use crate::error::{Context, LayoutError, Result};
use crate::layout::Layout;
use crate::tuple::Tuple;

/// The tile that threads with values cover, and the layout (thread, value) -> index in the tile.
///
/// `threads` arranges the threads over the tile, `values` the values of each; a thread's values are neighbours. Indices
/// in the tile are column by column. Refused where threads or values share an element.
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
        let inverse = tile.right_inverse()?;
        let (reached, all) = (inverse.extent()?, tile.extent()?);
        match reached.equals(&all) {
            Some(true) => Ok((Tuple::of(sizes), inverse.compose(&shape)?)),
            Some(false) => {
                Err(LayoutError::Unsupported(format!("of {all} threads and values, {reached} have a place")))
            }
            None => Err(LayoutError::Unknown(format!("whether {reached} = {all}"))),
        }
    };
    make().of("thread-value layout", &[threads, values])
}
