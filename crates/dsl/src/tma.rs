//! TMA: the engine that copies tiles between global and shared memory.

use crate::dim::Dim;
use crate::machine::ptx;
use crate::smem::SmemTile;
use crate::tensor::{Coord, Coordinates, Tensor};
use crate::trace::{Handle, mistake, with};
use crate::value::{U32, U64};
use std::panic::Location;
use warpsmith_ir::{Op, Type};
use warpsmith_types::DType;

/// A tensor map that a kernel asks its launch for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorMap {
    /// The argument's name.
    pub tensor: String,
    /// The dtype of its elements.
    pub dtype: DType,
    /// Extents of the box that one copy moves, the innermost first.
    pub boxed: Vec<u32>,
    /// The span of the shared-memory swizzle in bytes.
    pub swizzle: u32,
}

/// The span that addresses in shared memory are swizzled in by a copy, so that rows do not meet bank conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Span {
    /// None: the box lies dense.
    None,
    /// CuTe's `Swizzle<1,4,3>`.
    Bytes32,
    /// CuTe's `Swizzle<2,4,3>`.
    Bytes64,
    /// CuTe's `Swizzle<3,4,3>`.
    Bytes128,
}

/// A tensor as TMA reads or writes it, in boxes: what [`Bulk::load_box`](crate::Bulk::load_box) and its kin take.
pub struct TmaTensor {
    map: Handle,
    rank: usize,
}

impl TmaTensor {
    /// Asks the launch for a map of `tensor` (a whole argument, rank 1 to 5) in boxes of these extents, in the order of
    /// its modes. Rows of a box are a multiple of 16 bytes, and at most the swizzle's span.
    #[track_caller]
    pub fn new<const N: usize>(tensor: &Tensor, extents: [usize; N], swizzle: Span) -> TmaTensor {
        let bytes = tensor.dtype.bytes();
        let span = match swizzle {
            Span::None => 0,
            Span::Bytes32 => 32,
            Span::Bytes64 => 64,
            Span::Bytes128 => 128,
        };
        let row = extents.last().map_or(0, |n| n * bytes);
        if tensor.is_view {
            let message = format!("`{}` is a view: TMA takes the whole argument", tensor.name);
            mistake(message, &[], "give the corner of the box instead");
        } else if N != tensor.modes.len() || N == 0 || N > 5 {
            let message = format!("`{}` has {} modes, the box {N}", tensor.name, tensor.modes.len());
            mistake(message, &[], "give one extent a mode; TMA takes 1 to 5");
        } else if extents.iter().any(|n| !(1..=256).contains(n)) {
            mistake(format!("a box of {extents:?}"), &[], "each extent is 1 to 256");
        } else if !row.is_multiple_of(16) || (span > 0 && row > span) {
            let message = format!("rows of a box have {row} bytes, and the swizzle spans {span}");
            mistake(message, &[], "a multiple of 16, and no more than the span of the swizzle");
        } else if tensor.align % 16 != 0
            || tensor.modes.iter().rev().skip(1).any(|m| m.stride.divisor().saturating_mul(bytes as i64) % 16 != 0)
        {
            let message = format!("`{}` is not known to be aligned to 16 bytes, rows included", tensor.name);
            mistake(message, &[], "TMA needs it: let the plan refuse such arguments");
        }
        let boxed = extents.iter().rev().map(|&n| n as u32).collect();
        let map = TensorMap { tensor: tensor.name.to_string(), dtype: tensor.dtype, boxed, swizzle: span as u32 };
        let at = Location::caller();
        let map = with(|t| {
            let param = t.tensor_map(map);
            t.record(Op::Param(param), &[], &[Type::U64], at)[0]
        });
        TmaTensor { map, rank: N }
    }

    /// The map of a tensor of `rank` modes in memory: one that was changed on the device.
    pub fn at(map: U64, rank: usize) -> TmaTensor {
        TmaTensor { map: map.h, rank }
    }

    /// The generic address of the map.
    pub fn address(&self) -> U64 {
        U64 { h: self.map }
    }

    /// Brings the map into its cache, before the first copy (`prefetch.tensormap`).
    #[track_caller]
    pub fn prefetch_map(&self) {
        ptx("prefetch.tensormap").at(self.map).emit();
    }

    pub(crate) fn map(&self) -> Handle {
        self.map
    }

    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// The coordinates as the instruction takes them: the innermost first.
    #[track_caller]
    pub(crate) fn corner(&self, corner: impl Coordinates) -> Vec<Handle> {
        let dims = corner.dims();
        if dims.len() != self.rank {
            let message = format!("{} coordinates of a box of {} modes", dims.len(), self.rank);
            mistake(message, &[], "give one coordinate a mode");
        }
        dims.into_iter().rev().map(|d| U32::from(d).h).collect()
    }
}

/// A tensor as TMA reads or writes it, in boxes of one panel of a shared tile.
pub(crate) struct Mapped {
    map: Handle,
    tile: SmemTile,
}

impl Mapped {
    /// Asks the host for a map of `tensor` in boxes of `tile`'s panels. The launch builds it from the argument.
    #[track_caller]
    pub(crate) fn new(tensor: &Tensor, tile: SmemTile) -> Mapped {
        let bytes = tensor.dtype.bytes() as i64;
        if tensor.is_view {
            mistake(
                format!("`{}` is a view: TMA takes the whole argument", tensor.name),
                &[],
                "give coordinates of tiles",
            );
        }
        if tensor.modes.len() != 2 || tensor.dtype != tile.dtype {
            let message = format!("`{}` has {} modes of {}", tensor.name, tensor.modes.len(), tensor.dtype);
            mistake(message, &[], "a shared tile is filled from a (rows, columns) tensor of its dtype");
        } else if tensor.align % 16 != 0 || tensor.modes[0].stride.divisor() * bytes % 16 != 0 {
            let message = format!("`{}` is not known to be aligned to 16 bytes, rows included", tensor.name);
            mistake(message, &[], "TMA needs it: let the plan refuse such arguments");
        }
        if let Some(problem) = tile.problem() {
            mistake(problem, &[], "see `SmemTile`");
        }
        let map = TensorMap {
            tensor: tensor.name.to_string(),
            dtype: tile.dtype,
            boxed: vec![tile.panel_columns() as u32, tile.rows as u32],
            swizzle: crate::smem::PANEL as u32,
        };
        let at = Location::caller();
        let map = with(|t| {
            let param = t.tensor_map(map);
            t.record(Op::Param(param), &[], &[Type::U64], at)[0]
        });
        Mapped { map, tile }
    }

    /// First element of panel `panel` of the tile at `place`: (column, row).
    #[track_caller]
    fn corner(&self, place: [Dim; 2], panel: usize) -> [Handle; 2] {
        let column = place[1] * self.tile.columns + panel * self.tile.panel_columns();
        let row = place[0] * self.tile.rows;
        [U32::from(column).h, U32::from(row).h]
    }

    /// Copies the tile at `place` to shared memory; its bytes arrive at `barrier`. By one thread. What lies outside of the
    /// tensor arrives as zeros.
    #[track_caller]
    pub(crate) fn load(&self, to: U32, place: impl Coord<2>, barrier: U32) {
        let place = place.dims();
        for panel in 0..self.tile.panels() {
            let corner = self.corner(place, panel);
            let to = if panel == 0 { to } else { to + panel * self.tile.panel_bytes() };
            ptx("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes")
                .at(to.h)
                .at_coordinates(self.map, &corner)
                .at(barrier.h)
                .emit();
        }
    }

    /// Copies a tile from shared memory to `place`, as one group of this thread. What lies outside of the tensor is not
    /// written.
    #[track_caller]
    pub(crate) fn store(&self, from: U32, place: impl Coord<2>) {
        let place = place.dims();
        for panel in 0..self.tile.panels() {
            let corner = self.corner(place, panel);
            let from = if panel == 0 { from } else { from + panel * self.tile.panel_bytes() };
            ptx("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group")
                .at_coordinates(self.map, &corner)
                .at(from.h)
                .emit();
        }
        ptx("cp.async.bulk.commit_group").emit();
    }
}

/// Waits until this thread's stores have read their shared memory (`cp.async.bulk.wait_group.read 0`).
#[track_caller]
pub(crate) fn wait_stores_read() {
    ptx("cp.async.bulk.wait_group.read").number(0).emit();
}
