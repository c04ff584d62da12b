//! What the trace says of matrix kernels that are wrong.

use warpsmith_dsl::prelude::*;

fn said(body: impl Fn()) -> String {
    trace("test", body).err().map_or(String::new(), |r| r.to_string())
}

fn ring() -> TmaRing<2> {
    let tile = |rows| SmemTile { dtype: BF16, rows, columns: 64 };
    TmaRing::new(3, 1, [tile(64), tile(128)])
}

const MMA: Mma = Mma { n: 128, dtype: BF16 };

#[test]
fn a_right_consumer_is_right() {
    let right = said(|| {
        let (ring, mut total) = (ring(), MMA.accumulator());
        for _ in range(0, 4) {
            ring.drain(8, |_, [a, b]| total.mma(a, b));
        }
        total.update(|sums| sums * 0.5);
        let _ = total.finish().sum();
    });
    assert_eq!(right, "");
}

#[test]
fn an_mma_that_is_never_waited_for() {
    let said = said(|| {
        let (ring, acc) = (ring(), MMA.accumulator());
        ring.drain(8, |_, [a, b]| {
            let _ = acc.mma(a, b);
            acc.mma(a, b)
        });
    });
    assert!(said.contains("this MMA is never waited for") && said.contains("return it to `ring.drain`"), "{said}");
}

#[test]
fn tiles_that_do_not_fit_each_other() {
    let said = said(|| {
        let (ring, acc) = (ring(), Mma { n: 64, dtype: BF16 }.accumulator());
        ring.drain(8, |_, [a, b]| acc.mma(a, b));
    });
    assert!(said.contains("an MMA of 64 × 64 bf16 of tiles of 64 × 64 bf16 and 128 × 64 bf16"), "{said}");
}

#[test]
fn tiles_that_tma_does_not_take() {
    let said = said(|| {
        let narrow = SmemTile { dtype: BF16, rows: 60, columns: 32 };
        let _ = TmaRing::new(2, 1, [narrow]);
    });
    assert!(said.contains("a shared tile has 60 rows; expected a multiple of 8, up to 256"), "{said}");
}

#[test]
fn barriers_set_up_in_a_loop() {
    let said = said(|| {
        for _ in range(0, 4) {
            let _ = Mbarriers::new("full", 2);
        }
    });
    assert!(said.contains("barriers are set up inside a run-time loop"), "{said}");
}

#[test]
fn roles_that_take_too_many_registers() {
    let said = said(|| {
        warp_roles().producer(Registers(104), || ()).consumers(2, Registers(232), |_| ());
    });
    assert!(said.contains("the roles take 72704 registers, and a multiprocessor has 65536"), "{said}");
}
