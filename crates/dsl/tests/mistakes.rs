//! Staging mistakes that the trace finds, each at its line.

use std::cell::{Cell, RefCell};
use warpsmith_dsl::prelude::*;

/// What the trace says of a body; empty when it is right.
fn said(body: impl Fn()) -> String {
    trace("test", body).err().map_or(String::new(), |r| r.to_string())
}

#[test]
fn a_right_body_is_right() {
    let n = 16;
    let said = said(|| {
        let x = F32::from(1.0);
        let best = var(x);
        let mut unrolled = x;
        for i in 0..2 {
            unrolled = unrolled + i as f32; // a Rust loop: rebinding is what unrolling means
        }
        for i in range(0, n) {
            best.update(|b| b.max(x));
            for j in range(i, n).step(2) {
                when((i + j).lt(8), || best.add(unrolled)).otherwise(|| best.set(0.0));
            }
            exit_if(i.eq(3) & best.get().gt(0.0));
        }
    });
    assert_eq!(said, "");
}

#[test]
fn a_value_carried_from_iteration_to_iteration() {
    let line = line!() + 4;
    let said = said(|| {
        let mut best = F32::from(0.0);
        for _ in range(0, 16) {
            best = best.max(1.0);
        }
    });
    let at = format!("tests/mistakes.rs:{line}:");
    assert!(said.contains("a Rust variable carries this value from one run-time iteration to the next"), "{said}");
    assert!(said.contains(&at) && said.contains("best = best.max(1.0);"), "{said}");
    assert!(said.contains("keep it in a register: let v = var(first);"), "{said}");
}

#[test]
fn a_value_leaked_from_a_branch() {
    let line = line!() + 4;
    let said = said(|| {
        let kept = Cell::new(U32::from(0)); // a Cell gets past the `Fn` bound, not past the trace
        when(thread_idx().x.eq(0), || {
            kept.set(thread_idx().x * 2);
        });
        let _ = kept.get() + 1;
    });
    assert!(said.contains("this value was made inside a run-time block that is closed here"), "{said}");
    assert!(said.contains(&format!("tests/mistakes.rs:{}:", line + 2)), "where it is used: {said}");
    assert!(said.contains("made here") && said.contains("kept.set(thread_idx().x * 2);"), "where it was made: {said}");
    assert!(said.contains("keep it in a `var`, or let `branch` return it"), "{said}");
}

#[test]
fn a_counter_in_a_loop_and_one_used_after_it() {
    let inside = said(|| {
        let mut stage = 0;
        for i in range(0, 16) {
            let _ = i + stage;
            stage = (stage + 1) % 4;
        }
    });
    assert!(inside.contains("a Rust variable changes in its body"), "{inside}");
    let line = line!() + 7;
    let after = said(|| {
        let mut bytes = 0;
        for i in range(0, 16) {
            let _ = i * 2;
            bytes += 16;
        }
        let _ = thread_idx().x + bytes;
    });
    assert!(after.contains("this depends on how often a run-time loop is traced"), "{after}");
    assert!(after.contains(&format!("tests/mistakes.rs:{line}:")), "{after}");
}

#[test]
fn leaving_a_run_time_loop_by_rust() {
    let said = said(|| {
        for i in range(0, 16) {
            let _ = i + 1;
            if true {
                break;
            }
        }
        break_if(true.into());
    });
    assert!(said.contains("Rust's `break` or `return` left a run-time loop"), "{said}");
    assert!(said.contains("`break_if` outside of a run-time loop"), "all mistakes at once: {said}");
}

#[test]
fn a_value_of_another_kernel() {
    let leak = RefCell::new(None);
    assert_eq!(said(|| *leak.borrow_mut() = Some(thread_idx().x)), "");
    let said = said(|| _ = leak.borrow().unwrap() + 1);
    assert!(said.contains("this value belongs to another kernel's trace"), "{said}");
}

#[test]
fn a_panic_in_a_body() {
    let widths = [16, 32];
    let said = said(|| _ = thread_idx().x + widths[std::hint::black_box(7)]);
    assert!(said.contains("the body panicked: index out of bounds"), "{said}");
    assert!(said.contains("tests/mistakes.rs:"), "{said}");
}

#[test]
fn a_helpers_own_line_and_its_call() {
    #[track_caller]
    fn worst(x: F32) -> F32 {
        helper("worst", || {
            let mut m = x;
            for _ in range(0, 4) {
                m = m.max(x);
            }
            m
        })
    }
    let line = line!() + 1;
    let said = said(|| _ = worst(F32::from(1.0)));
    assert!(said.contains("m = m.max(x);"), "{said}");
    assert!(said.contains("in this call") && said.contains(&format!("tests/mistakes.rs:{line}")), "{said}");
}

#[test]
fn persistent_loop_over_a_shared_helper_is_fine() {
    let over = RowGroup { rows: 1, threads_per_row: 128 };
    let program = trace("persistent", || {
        for row in range(block_idx().x, 1000).step(grid_size().x) {
            let (m, s) = branch(row.lt(5), || (row, F32::from(1.0)), || (row + 1, F32::from(2.0)));
            let m = row_reduce(s, Max, &over) + select(m.eq(0), s, 0.0);
            let _ = warp_reduce((m, s), 32, |a, b| (a.0.max(b.0), a.1 + b.1 * 2.0));
        }
    });
    assert_eq!(program.unwrap().shared.len(), 1, "one allocation for the call, however often the body is traced");
}
