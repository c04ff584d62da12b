//! TMA: the engine that copies tiles between global and shared memory.

use crate::dim::Dim;
use crate::machine::ptx;
use crate::smem::SmemTile;
use crate::tensor::{Coord, Tensor};
use crate::trace::{Handle, mistake, with};
use crate::value::U32;
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
