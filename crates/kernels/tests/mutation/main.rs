//! Every synchronisation of our kernels counts: weakened, it is reported; as it is, nothing is.

#![allow(clippy::print_stdout, reason = "tables are printed")]
#![allow(unreachable_pub, dead_code, reason = "a test's modules, parts of which are shared")]
#![allow(clippy::eq_op, reason = "x ≠ x is how NaN is told")]

extern crate warpsmith_kernels as warpsmith;

#[path = "../surface/asynchronous.rs"]
mod asynchronous;
#[path = "../common/mod.rs"]
mod common;
#[path = "../surface/harness.rs"]
mod harness;
mod judge;
mod kernels;
mod mutants;
#[path = "../tiles/roles.rs"]
mod roles;
mod rows;
mod seeds;
mod subject;
#[path = "../surface/synchronisation.rs"]
mod synchronisation;
mod weaker;

use judge::{Argued, all_are_found};
use seeds::nothing_is_found;

/// The release of an arrival that announces bytes.
fn expects(kernels: &[&str]) -> Vec<Argued> {
    let of = |kernel: &&str| Argued {
        mutant: format!("{kernel} | mbarrier.arrive.expect_tx.shared::cta.b64 | relaxed"),
        why: "who waits for the phase reads what the copies bring, and those release by themselves; the thread that \
              arrives has written nothing. A relaxed arrival would do, but it needs PTX 8.6, and with it a newer driver \
              than anything else here",
    };
    kernels.iter().map(of).collect()
}

macro_rules! kernels {
    ($($from:ident $name:ident $quiet:ident $argued:expr;)*) => {$(
        #[test]
        fn $name() {
            all_are_found(&$from::$name(), &$argued);
        }

        #[test]
        fn $quiet() {
            nothing_is_found(&$from::$name());
        }
    )*};
}
kernels! {
    kernels softmax softmax_is_quiet expects(&["softmax 2 × 33000"]);
    kernels rms_norm rms_norm_is_quiet expects(&["rms_norm 2 × 33000"]);
    rows clusters clusters_are_quiet expects(&[
        "softmax 2000 over 2 blocks",
        "softmax 3200 over 4 blocks",
        "softmax 2051 over 2 blocks",
        "layer_norm 2000 over 2 blocks",
        "layer_norm 3200 over 4 blocks",
        "layer_norm 2051 over 2 blocks",
    ]);
    rows rings rings_are_quiet expects(&[
        "softmax 9 × 2000 through rings, 128 threads, 2 blocks",
        "softmax 3 × 2000 staged, 128 threads, 2 blocks",
        "softmax 2 × 2001 staged as it lies",
    ]);
    rows layer_norms layer_norms_are_quiet [];
    rows norm_gradients norm_gradients_are_quiet expects(&["layer_norm's gradients of 4 × 8200 in one part"]);
    rows losses losses_are_quiet [];
    kernels gemm gemm_is_quiet expects(&["gemm 128 × 192 × 320"]);
    kernels roles roles_are_quiet expects(&["doubled Bulk"]);
    kernels operations operations_are_quiet expects(&[
        "store_async",
        "store_async vector",
        "reduce_async",
        "bulk load",
        "bulk load policy",
        "bulk load in parts",
        "box load",
        "bulk multicast",
        "box multicast",
        "bulk send",
        "bulk send reduce",
        "tensor map changed",
    ]);
}
