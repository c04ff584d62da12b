//! What the tests share.
#![allow(dead_code, unreachable_pub)]

pub mod assemble;
pub mod generate;
pub mod machine;
