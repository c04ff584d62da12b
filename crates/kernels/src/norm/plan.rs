//! How rows that are normalised are read.

use crate::gate::{Implementation, Operator, Refusal};
use crate::rows::{BLOCK, EVEN, Form, Narrow, PORTABLE, Room, RowPlan, Staging, form};
use std::ops::RangeInclusive;
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
            name: "warps",
            what: "warps go over short rows that come ahead into shared memory, and keep what goes with each in registers",
            supports: |call, chip| {
                let (dim, most) = (call.dim(), call.longest_kept());
                if !call.weight {
                    return Err(Refusal::Weight);
                }
                // Beside rows of f32 a weight comes fast enough.
                if call.is_wide() && !call.is_heavy() {
                    let bytes = call.rows.iter().map(|x| x.dtype.bytes()).max().unwrap_or(4);
                    return Err(Refusal::Accesses { argument: "x", expected: "16-bit floats", bytes });
                }
                if dim > most {
                    return Err(Refusal::RowLength { argument: "x", most, got: dim });
                }
                call.by(Form::Warps, chip)
            },
        },
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
/// The longest row that is staged where several tensors come by rows, in elements of all of them.
const STAGED: usize = 131_072;
/// Bytes of an element of what goes with every row, with which it takes longer to come than the row.
const HEAVY: usize = 8;
/// The longest row whose vectors a warp keeps.
const SHORT: usize = 512;
/// The longest row that a warp stages.
const WARP: usize = 1024;
/// The longest row of no power of two that is not staged by several blocks, which cost a few rows more than many gain.
const ALONE: usize = 8192;
/// Threads of a block that holds such, by accesses of 8 elements.
const FEW: usize = 128;
/// Rows that two blocks stage rather than four, whose threads would have little to do in the end.
const FEWER: RangeInclusive<usize> = 65_537..=71_680;

impl Call<'_> {
    fn dim(&self) -> usize {
        self.rows.first().map_or(0, |x| x.dim(x.shape.len().saturating_sub(1)))
    }

    /// Whether a lot goes with every row of one input: it comes from the level-one cache only where rows go past that, and then
    /// rather to few blocks.
    fn is_heavy(&self) -> bool {
        self.vectors >= HEAVY && self.inputs == 1
    }

    /// Whether some rows are of f32.
    fn is_wide(&self) -> bool {
        self.rows.iter().any(|x| x.dtype.bytes() > 2)
    }

    /// The longest row with which warps keep what goes with each: they do better than blocks whose rows each ask for it.
    fn longest_kept(&self) -> usize {
        if self.is_heavy() { SHORT } else { SHORT / 2 }
    }

    /// Whether rows are those of a plain body, no longer than that, and of no power of two elements.
    fn is_uneven(&self) -> bool {
        self.plain && self.dim() <= ALONE && !self.dim().is_power_of_two()
    }

    fn by(&self, way: Form, chip: &Chip) -> Result<RowPlan, Refusal> {
        let (dim, whole) = (self.dim(), self.dim().is_multiple_of(FEW * 8));
        let room = Room {
            tensors: 1,
            threads: if self.plain { 1024 } else { 512 },
            inputs: self.inputs,
            block: BLOCK,
            // Few threads with more accesses: what goes with every row then comes from level one.
            accesses: match whole {
                _ if self.is_heavy() => [2, 8],
                true if self.is_uneven() => [2, dim / (FEW * 8)],
                // One of each input.
                _ if self.inputs > 1 && dim <= SHORT && !self.is_wide() => [1, 4],
                _ => [2, 4],
            },
            held: match whole {
                _ if self.is_heavy() => 1 << 10,
                false if !dim.is_multiple_of(EVEN / 8) => 12 << 10,
                _ => 16 << 10,
            },
            held_wide: if self.is_heavy() { 48 << 10 } else { PORTABLE },
            staging: self.staging(),
            cluster: match self.inputs {
                _ if self.plain => 1024,
                1 => 256,
                _ => 512,
            },
            once: false,
        };
        form(way, &self.rows, room, chip)
    }

    fn staging(&self) -> Staging {
        let (dim, much) = (self.dim(), self.vectors >= HEAVY);
        if self.is_heavy() {
            let threads = if dim <= WARP { 32 } else { 64 };
            return Staging { threads, blocks: 1, part: 64 << 10, most: 256, long_slices: 4, narrow: Narrow::USUAL };
        }
        let few = self.plain && FEWER.contains(&dim);
        Staging {
            threads: match self.inputs {
                1 => 128,
                _ if much => 256,
                _ => 192,
            },
            blocks: if self.is_uneven() { 1 } else { 2 },
            part: if few { 64 << 10 } else { 32 << 10 },
            most: match self.inputs {
                1 if self.is_uneven() => 32,
                1 if few => 160,
                1 if self.light && dim.is_multiple_of(EVEN) => 256,
                1 if dim > RINGED => 256,
                1 => 128,
                _ if much => 128,
                _ => 192,
            },
            long_slices: match dim {
                _ if few => 2,
                _ if dim > RINGED => 4,
                _ => 1,
            },
            narrow: Narrow::USUAL,
        }
    }
}
