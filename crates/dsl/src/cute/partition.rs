//! What threads own of tensors: partitions by tiled copies and tiled matrix instructions.

use super::offset::{Offset, write};
use super::register_tensor::RmemTensor;
use super::shared_tensor::SmemTensor;
use crate::frag::{Frag, floats};
use crate::trace::{Loc, mistake};
use crate::value::{F32, U32};
use std::panic::Location;
use warpsmith_layout::atom::{Operand, TiledCopy, TiledMma};
use warpsmith_layout::{Facts, Int, Layout, LayoutError, Tiler};

/// A thread's values of a layout, and the offset of the first.
type Part = Result<(Layout, Int), LayoutError>;

/// How a tile is divided among threads, and the thread that asks.
pub struct Scheme<'a> {
    cut: &'a dyn Fn(&Layout, Int) -> Part,
    /// Extents of the tile that the threads share.
    tile: Vec<i64>,
    threads: i64,
    thread: U32,
    what: String,
}

/// Extents of a tiler's modes.
fn extents(tile: &Tiler) -> Vec<i64> {
    let extent = |t: &Tiler| match t {
        Tiler::Size(n) => n.value().unwrap_or(1),
        Tiler::Layout(l) => l.size().unwrap_or(1),
        _ => 1,
    };
    match tile {
        Tiler::Modes(modes) => modes.iter().map(extent).collect(),
        whole => vec![extent(whole)],
    }
}

/// Refuses a layout that is no whole number of tiles: its part would reach beyond it.
fn divides(tile: &[i64], layout: &Layout) -> Result<(), LayoutError> {
    for (i, extent) in tile.iter().enumerate() {
        let have = layout.mode(i)?.size()?;
        if have % extent != 0 {
            return Err(LayoutError::Unsupported(format!(
                "mode {i} has extent {have}, which {extent} does not divide"
            )));
        }
    }
    Ok(())
}

impl Scheme<'_> {
    /// The thread's part of a layout: its values, and the offset of the first.
    pub(crate) fn part(&self, layout: &Layout, at: Loc) -> Result<(Layout, Offset), LayoutError> {
        divides(&self.tile, layout)?;
        let thread = Int::variable(0, Facts::index(self.threads));
        let (values, offset) = (self.cut)(layout, thread)?;
        let first = write(&offset, &[Offset::below(self.thread, self.threads)], at)?;
        Ok((values, first))
    }

    pub(crate) fn help(&self) -> &str {
        &self.what
    }
}

/// Tensors of which threads own parts.
pub trait Partition {
    /// A thread's part: values first, then how often the tile repeats along each mode.
    type Part;

    #[doc(hidden)]
    fn partition(&self, scheme: &Scheme<'_>) -> Self::Part;
}

impl Partition for SmemTensor {
    type Part = SmemTensor;

    #[track_caller]
    fn partition(&self, scheme: &Scheme<'_>) -> SmemTensor {
        let at = Location::caller();
        match scheme.part(&self.layout, at) {
            Ok((layout, first)) => self.moved(layout, first, at),
            Err(e) => {
                let message = format!("`{}` of layout {} can not be partitioned so: {e}", self.name, self.layout);
                mistake(message, &[], scheme.help());
                self.clone()
            }
        }
    }
}

/// What tiled copies do in kernels. `t` is a global tile, a shared tensor, or [`identity`](super::identity).
pub trait ThreadCopy {
    /// What `thread` reads of `t`, as (values, repeats of the tile along each mode).
    #[track_caller]
    fn partition_s<T: Partition>(&self, t: &T, thread: U32) -> T::Part;
    /// What `thread` gets or writes of `t`.
    #[track_caller]
    fn partition_d<T: Partition>(&self, t: &T, thread: U32) -> T::Part;
    /// The registers of a fragment that this copy reads, in the order of its values.
    #[track_caller]
    fn retile_s(&self, fragment: &RmemTensor) -> RmemTensor;
    /// The registers of a fragment that this copy writes, in the order of its values.
    #[track_caller]
    fn retile_d(&self, fragment: &RmemTensor) -> RmemTensor;
    /// Threads that take part.
    fn thread_count(&self) -> usize;
}

impl ThreadCopy for TiledCopy {
    #[track_caller]
    fn partition_s<T: Partition>(&self, t: &T, thread: U32) -> T::Part {
        let cut = |layout: &Layout, thread: Int| self.partition_source(layout, thread);
        let what = format!("the copy moves tiles of {}", self.tile());
        let (tile, threads) = (extents(self.tile()), self.thread_count() as i64);
        t.partition(&Scheme { cut: &cut, tile, threads, thread, what })
    }

    #[track_caller]
    fn partition_d<T: Partition>(&self, t: &T, thread: U32) -> T::Part {
        let cut = |layout: &Layout, thread: Int| self.partition_target(layout, thread);
        let what = format!("the copy moves tiles of {}", self.tile());
        let (tile, threads) = (extents(self.tile()), self.thread_count() as i64);
        t.partition(&Scheme { cut: &cut, tile, threads, thread, what })
    }

    #[track_caller]
    fn retile_s(&self, fragment: &RmemTensor) -> RmemTensor {
        self.retile_d(fragment)
    }

    // Registers are numbered by the copy's reference layout, whichever side they are.
    #[track_caller]
    fn retile_d(&self, fragment: &RmemTensor) -> RmemTensor {
        match self.retile(fragment.layout()) {
            Ok(layout) => fragment.around(layout),
            Err(e) => {
                let message = format!("a fragment {} is not what `{}` moves: {e}", fragment.layout(), self.atom().name);
                mistake(message, &[], "make the copy for the matrix instruction: `make_tiled_copy_a` and its siblings");
                fragment.clone()
            }
        }
    }

    fn thread_count(&self) -> usize {
        self.tv().mode(0).and_then(|m| m.size()).unwrap_or(1) as usize
    }
}

/// What tiled matrix instructions do in kernels.
pub trait ThreadMma {
    /// What `thread` reads of a tile (M, K) of A.
    #[track_caller]
    fn partition_a<T: Partition>(&self, t: &T, thread: U32) -> T::Part;
    /// What `thread` reads of a tile (N, K) of B.
    #[track_caller]
    fn partition_b<T: Partition>(&self, t: &T, thread: U32) -> T::Part;
    /// What `thread` holds of a tile (M, N) of the result.
    #[track_caller]
    fn partition_c<T: Partition>(&self, t: &T, thread: U32) -> T::Part;
    /// Registers for this thread's part of a tile (M, K) of A.
    #[track_caller]
    fn make_fragment_a(&self, tile: [usize; 2]) -> RmemTensor;
    /// Registers for this thread's part of a tile (N, K) of B.
    #[track_caller]
    fn make_fragment_b(&self, tile: [usize; 2]) -> RmemTensor;
    /// Registers for this thread's part of the sums (M, N), all zero.
    #[track_caller]
    fn make_fragment_c(&self, tile: [usize; 2]) -> RmemTensor;
    /// What was computed from the accumulator of `of`, a tile (M, N), rounded to A's dtype, as the A operand of this
    /// product (flash attention's P): where both layouts put the same elements in the same thread, which is checked, it
    /// costs nothing but the rounding.
    #[track_caller]
    fn accumulator_as_a(&self, sums: Frag<F32>, of: &TiledMma, tile: [usize; 2]) -> RmemTensor;
    /// Threads that take part.
    fn thread_count(&self) -> usize;
}

/// A thread's part of an operand.
#[track_caller]
fn part<T: Partition>(mma: &TiledMma, operand: Operand, t: &T, thread: U32) -> T::Part {
    let cut = |layout: &Layout, thread: Int| mma.partition(operand, layout, thread);
    let tile = tile_of(mma, operand);
    let what = format!("the matrix instructions take tiles of {} × {} of {operand:?}", tile[0], tile[1]);
    t.partition(&Scheme { cut: &cut, tile: tile.into(), threads: mma.thread_count() as i64, thread, what })
}

/// Rows and columns of an operand's tile.
fn tile_of(mma: &TiledMma, operand: Operand) -> [i64; 2] {
    let tile = mma.tile_of(operand).ok();
    [0, 1].map(|i| tile.as_ref().and_then(|t| t.leaves().get(i)?.value()).unwrap_or(1))
}

#[track_caller]
fn fragment(mma: &TiledMma, operand: Operand, [rows, columns]: [usize; 2]) -> RmemTensor {
    let dtypes = super::instruction::dtypes_of(mma.atom());
    let layout = Layout::compact((rows as i64, columns as i64))
        .and_then(|tile| divides(&tile_of(mma, operand), &tile).map(|()| tile))
        .and_then(|tile| mma.partition(operand, &tile, 0))
        .and_then(|(part, _)| Layout::compact(part.shape().clone()));
    match (dtypes, layout) {
        (Ok([.., sums]), Ok(layout)) if operand == Operand::C => RmemTensor::new(sums, layout),
        (Ok(dtypes), Ok(layout)) => RmemTensor::untyped(dtypes[operand as usize], layout),
        (Err(problem), _) => {
            mistake(problem, &[], "see `mma_atom`");
            RmemTensor::new(warpsmith_types::DType::F32, Layout::one())
        }
        (_, Err(e)) => {
            let [m, n] = tile_of(mma, operand);
            let message = format!("a tile of {rows} × {columns} of {operand:?} is not whole tiles of {m} × {n}: {e}");
            mistake(message, &[], "choose a block tile that the tiled matrix instruction divides");
            RmemTensor::new(warpsmith_types::DType::F32, Layout::one())
        }
    }
}

impl ThreadMma for TiledMma {
    #[track_caller]
    fn partition_a<T: Partition>(&self, t: &T, thread: U32) -> T::Part {
        part(self, Operand::A, t, thread)
    }
    #[track_caller]
    fn partition_b<T: Partition>(&self, t: &T, thread: U32) -> T::Part {
        part(self, Operand::B, t, thread)
    }
    #[track_caller]
    fn partition_c<T: Partition>(&self, t: &T, thread: U32) -> T::Part {
        part(self, Operand::C, t, thread)
    }
    #[track_caller]
    fn make_fragment_a(&self, tile: [usize; 2]) -> RmemTensor {
        fragment(self, Operand::A, tile)
    }
    #[track_caller]
    fn make_fragment_b(&self, tile: [usize; 2]) -> RmemTensor {
        fragment(self, Operand::B, tile)
    }
    #[track_caller]
    fn make_fragment_c(&self, tile: [usize; 2]) -> RmemTensor {
        let sums = fragment(self, Operand::C, tile);
        sums.clear();
        sums
    }
    #[track_caller]
    fn accumulator_as_a(&self, sums: Frag<F32>, of: &TiledMma, tile: [usize; 2]) -> RmemTensor {
        let out = fragment(self, Operand::A, tile);
        match same_places(of, self, tile) {
            Ok(order) if order.len() == sums.len() => {
                let words = sums.data().words;
                out.set(floats(order.into_iter().map(|i| words[i]).collect()).to(out.dtype()));
            }
            Ok(order) => {
                let message = format!("sums of {} elements for a tile of {}", sums.len(), order.len());
                mistake(message, &[], "give the tile that the sums were made for");
            }
            Err(e) => {
                let [rows, columns] = tile;
                let message = format!(
                    "the sums of `{}` ({rows} × {columns}) are not where `{}` takes A from: {e}",
                    of.atom().name,
                    self.atom().name
                );
                mistake(message, &[], "go through shared memory, or use atoms of one family with all warps along M");
            }
        }
        out
    }
    fn thread_count(&self) -> usize {
        self.threads().size().unwrap_or(1) as usize
    }
}

/// For each value of A its place among the values of C, when every thread holds the same elements of the tile in both.
fn same_places(c: &TiledMma, a: &TiledMma, [rows, columns]: [usize; 2]) -> Result<Vec<usize>, LayoutError> {
    let tile = Layout::compact((rows as i64, columns as i64))?;
    let (of_c, of_a) = (c.partition(Operand::C, &tile, 0)?.0, a.partition(Operand::A, &tile, 0)?.0);
    let (values_c, values_a) = (of_c.table()?, of_a.table()?);
    let differ = |what: &str| LayoutError::Unsupported(what.into());
    let threads = c.thread_count();
    if threads != a.thread_count() {
        return Err(differ("they have different numbers of threads"));
    }
    // Offsets are sums of a thread's and a value's: comparing each by itself compares all.
    for thread in 0..threads as i64 {
        let first = |m: &TiledMma, o| m.partition(o, &tile, thread).map(|(_, offset)| offset);
        if first(c, Operand::C)? != first(a, Operand::A)? {
            return Err(differ(&format!("thread {thread} holds other elements")));
        }
    }
    let find = |v: &i64| values_c.iter().position(|w| w == v);
    let order = values_a.iter().map(find).collect::<Option<Vec<_>>>();
    order.filter(|o| o.len() == values_c.len()).ok_or_else(|| differ("threads hold other elements"))
}
