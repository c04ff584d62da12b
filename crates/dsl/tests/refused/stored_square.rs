//! expect E0277: arithmetic on a fragment as loaded
use warpsmith_dsl::prelude::*;
pub fn body(x: Frag) -> F32 {
    x.square().sum()
}
