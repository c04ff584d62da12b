use super::Case;
pub const TILE: usize = 32 << 10;
pub fn cases() -> Vec<Case> { vec![] }
