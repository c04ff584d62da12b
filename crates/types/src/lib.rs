//! What every part of Warpsmith shares: dtypes, targets, chips, source locations, diagnostics.
