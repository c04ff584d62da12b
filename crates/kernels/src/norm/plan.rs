//! How rows that are normalised are read.

use crate::gate::{Implementation, Operator, Refusal};
use crate::rows::{EVEN, Form, PORTABLE, Room, RowPlan, Staging, form};
use warpsmith_dsl::TensorArg;
use warpsmith_types::Chip;

/// What a plan is chosen by.
pub(crate) struct Call<'a> {
    /// What is read or written by rows, the widest dtype among them deciding an access; inputs first.
    pub(crate) rows: Vec<&'a TensorArg>,
    /// How many of them are read.
    pub(crate) inputs: usize,
    /// Whether there is a weight.
    pub(crate) weight: bool,
    /// Whether that is all: such bodies do with few registers.
    pub(crate) plain: bool,
    /// The same, and a weight needs no conversion: such do with fewer.
    pub(crate) light: bool,
    /// Bytes of an element of all that goes with every row.
    pub(crate) vectors: usize,
}

/// The ways.
pub(crate) struct Ways;

impl Operator for Ways {
    type Arguments<'a> = Call<'a>;
    type Plan = RowPlan;
    const SPECIALISED: &'static [Implementation<Ways>] = &[
        Implementation {
            name: "registers",
            what: "a block reads its rows once and holds them in registers",
            supports: |call, chip| call.by(Form::Block, chip),
        },
        Implementation {
            name: "ring",
            what: "clusters go over rows that come ahead into shared memory, and keep the weight in registers",
            supports: |call, chip| {
                let dim = call.dim();
                if !call.weight || !call.plain {
                    return Err(Refusal::Weight);
                }
                if dim <= RINGED {
                    return Err(Refusal::Short { argument: "x", least: RINGED + 1, got: dim });
                }
                call.by(Form::Ring, chip)
            },
        },
        Implementation {
            name: "staged",
            what: "the blocks of a row copy it into shared memory once, and read it there",
            supports: |call, chip| {
                // Two inputs of longer rows leave room for too few blocks.
                let (dim, most) = (call.dim(), STAGED / call.inputs);
                if call.inputs > 1 && dim > most {
                    return Err(Refusal::RowLength { argument: "x", most, got: dim });
                }
                call.by(Form::Staged, chip)
            },
        },
        Implementation {
            name: "cluster",
            what: "the blocks of a cluster read a row once and hold it in registers",
            supports: |call, chip| call.by(Form::Cluster, chip),
        },
    ];
    const GENERAL: Implementation<Ways> = Implementation {
        name: "twice",
        what: "rows are read for each reduction, and for the output",
        supports: |call, chip| call.by(Form::Streamed, chip),
    };
}

/// The longest row whose weight is read from the level-two cache for each row.
const RINGED: usize = 131_072;

/// Bytes of an element of what goes with every row, with which it takes longer to come than a row.
const HEAVY: usize = 8;

/// Lengths of rows that no tile divides of which a block has half as much as of others.
const FEWER: std::ops::RangeInclusive<usize> = 49_153..=98_304;

/// The longest row that a warp stages.
const WARP: usize = 1024;
/// Threads of a block with a few accesses each.
const BLOCK: usize = 128;

/// The longest row that one block stages, with as many threads as there are.
const ALONE: usize = 8192;

/// The longest row that is staged where several tensors come by rows, in elements of all of them.
const STAGED: usize = 131_072;

impl Call<'_> {
    fn dim(&self) -> usize {
        self.rows.first().map_or(0, |x| x.dim(x.shape.len().saturating_sub(1)))
    }

    fn by(&self, way: Form, chip: &Chip) -> Result<RowPlan, Refusal> {
        // What goes with every row comes from level one only where rows go past it, and then too rather to few blocks.
        let much = self.vectors >= HEAVY;
        let heavy = much && self.inputs == 1;
        let uneven = self.plain && self.dim() <= ALONE && !self.dim().is_power_of_two();
        let whole = self.dim().is_multiple_of(BLOCK * 8);
        let room = Room {
            tensors: 1,
            threads: if self.plain { 1024 } else { 512 },
            inputs: self.inputs,
            // Few threads with more accesses: what goes with every row then comes from level one.
            accesses: match self.dim() {
                _ if heavy => [2, 8],
                dim if uneven && whole => [2, dim / (BLOCK * 8)],
                _ => [2, 4],
            },
            held: match self.dim() {
                _ if heavy => 1 << 10,
                _ if uneven && !whole => 8 << 10,
                dim if whole || dim.is_multiple_of(EVEN / 8) => 16 << 10,
                _ => 12 << 10,
            },
            held_wide: if heavy { 96 << 10 } else { PORTABLE },
            staging: if self.plain && FEWER.contains(&self.dim()) && !self.dim().is_multiple_of(EVEN) {
                Staging { threads: 224, blocks: 2, part: 16 << 10, most: 96, long_slices: 1 }
            } else if heavy {
                Staging {
                    threads: if self.dim() <= WARP { 32 } else { 64 },
                    blocks: 1,
                    part: 64 << 10,
                    most: 256,
                    long_slices: 4,
                }
            } else {
                Staging {
                    threads: match self.inputs {
                        1 => 128,
                        _ if much => 256,
                        _ => 192,
                    },
                    blocks: if uneven { 1 } else { 2 },
                    part: 32 << 10,
                    most: match self.inputs {
                        1 if uneven => 32,
                        1 if self.light && self.dim().is_multiple_of(EVEN) => 256,
                        1 if self.dim() > RINGED => 256,
                        1 => 128,
                        _ if much => 128,
                        _ => 192,
                    },
                    long_slices: if self.dim() > RINGED { 4 } else { 1 },
                }
            },
            cluster: match self.inputs {
                _ if self.plain => 1024,
                1 => 256,
                _ => 512,
            },
            once: false,
        };
        form(way, &self.rows, room, chip)
    }
}
