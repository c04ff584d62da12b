//! Data races, by happens-before over PTX's memory model (PTX ISA §8).
//!
//! Every thread has a clock of what it knows to be ordered before it; lanes of a warp share one while they agree. What
//! orders: `.sync` instructions, for the lanes that they name; barriers of blocks and clusters; `mbarrier` phases; and
//! flags, where a release pattern meets an acquire pattern and the scope of each includes the other. An access races
//! with an earlier one that touches the same bytes, is not ordered before it, and is not strong as it is.

mod access;
mod block;
mod clock;
mod engines;
mod exit;
mod flags;
mod later;
mod maps;
mod order;
mod parties;
mod proxies;
mod range;
mod report;
mod threads;
mod words;

pub(crate) use access::Deed;
pub(crate) use access::Race;
pub(crate) use block::{BlockRaces, ClusterRaces};
pub(crate) use clock::Clock;
pub(crate) use engines::{LineMark, Mark};
pub(crate) use flags::Flags;
pub(crate) use maps::Maps;
pub(crate) use parties::{MOST_BLOCKS, Parties, Party, Work, base_of};
pub(crate) use range::{Range, Solo};
pub(crate) use words::Words;
