//! The ways to read rows, for operators that differ by what their bodies need.

use super::{Form, Room, RowPlan, form};
use crate::gate::{Implementation, Operator};
use warpsmith_dsl::TensorArg;

/// An operator over rows: the tensors that it reads and writes by rows, and what its body needs.
pub(crate) struct Ways;

impl Operator for Ways {
    type Arguments<'a> = (&'a [&'a TensorArg], Room);
    type Plan = RowPlan;
    const SPECIALISED: &'static [Implementation<Ways>] = &[
        Implementation {
            name: "registers",
            what: "a block reads its rows once and holds them in registers",
            supports: |(rows, room), chip| form(Form::Block, rows, *room, chip),
        },
        Implementation {
            name: "online",
            what: "blocks read rows once, tile by tile, where nothing is read again",
            supports: |(rows, room), chip| form(Form::Online, rows, *room, chip),
        },
        Implementation {
            name: "staged",
            what: "the blocks of a row copy it into shared memory once, and read it there",
            supports: |(rows, room), chip| form(Form::Staged, rows, *room, chip),
        },
        Implementation {
            name: "cluster",
            what: "the blocks of a cluster read a row once and hold it in registers",
            supports: |(rows, room), chip| form(Form::Cluster, rows, *room, chip),
        },
    ];
    const GENERAL: Implementation<Ways> = Implementation {
        name: "twice",
        what: "rows are read for the sums, and again for the output where there is one of as many elements",
        supports: |(rows, room), chip| form(Form::Streamed, rows, *room, chip),
    };
}
