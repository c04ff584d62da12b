//! Laws over random layouts: rank up to 4, depth up to 3, sizes up to 2^60, so nothing enumerates; indices are sampled.
//! `PROPTEST_CASES` sets how many of each are tried.

mod arbitrary;
mod functions;
mod hostile;
mod refusals;
mod run_time;
