//! Arithmetic as PTX defines it, on single values; decoding maps it over the lanes of a warp.

pub(crate) mod approximate;
pub(crate) mod double;
pub(crate) mod float;
pub(crate) mod half;
pub(crate) mod integer;
pub(crate) mod rounding;
