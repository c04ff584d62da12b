//! Barriers in shared memory (PTX ISA §9.7.13.15).

use super::{Row, row};

const ARRIVED: &str = "d:T_, [a], count?:u32";

pub(super) const ROWS: &[Row] = &[
    row("mbarrier.init{<shared>}.b64", "[a], count:u32", "Makes a barrier for so many arrivals.").sm(80).writes(),
    row("mbarrier.inval{<shared>}.b64", "[a]", "Ends a barrier's life.").sm(80).writes(),
    row("mbarrier.expect_tx{<any_shared>}.b64", "[a], bytes:u32", "Expects bytes.").ptx(8, 0).sm(90).barrier(),
    row("mbarrier.complete_tx{<any_shared>}.b64", "[a], bytes:u32", "Counts bytes as come.").ptx(8, 0).sm(90).barrier(),
    row("mbarrier.expect_tx.relaxed(.cta|.cluster){<any_shared>}.b64", "[a], bytes:u32", "Expects bytes.")
        .ptx(8, 0)
        .sm(90)
        .barrier(),
    row("mbarrier.complete_tx.relaxed(.cta|.cluster){<any_shared>}.b64", "[a], bytes:u32", "Counts bytes as come.")
        .ptx(8, 0)
        .sm(90)
        .barrier(),
    row("mbarrier.arrive{<shared>}.b64", "d:T, [a]", "Arrives; d is the phase.").sm(80).barrier(),
    row("mbarrier.arrive{<any_shared>}.b64", ARRIVED, "Arrives; d is the phase.").ptx(7, 8).sm(90).barrier(),
    row("mbarrier.arrive.release(.cta|.cluster){<any_shared>}.b64", ARRIVED, "Arrives, in that order.")
        .ptx(8, 0)
        .sm(90)
        .barrier(),
    row("mbarrier.arrive.relaxed(.cta|.cluster){<any_shared>}.b64", ARRIVED, "Arrives, in that order.")
        .ptx(8, 6)
        .sm(90)
        .barrier(),
    row("mbarrier.arrive.noComplete{<shared>}.b64", "d:T, [a], count:u32", "Arrives without ending the phase.")
        .sm(80)
        .barrier(),
    row("mbarrier.arrive.expect_tx{<any_shared>}.b64", "d:T_, [a], bytes:u32", "Expects bytes, then arrives.")
        .ptx(8, 0)
        .sm(90)
        .barrier(),
    row(
        "mbarrier.arrive.expect_tx.release(.cta|.cluster){<any_shared>}.b64",
        "d:T_, [a], bytes:u32",
        "Expects bytes, then arrives.",
    )
    .ptx(8, 0)
    .sm(90)
    .barrier(),
    row(
        "mbarrier.arrive.expect_tx.relaxed(.cta|.cluster){<any_shared>}.b64",
        "d:T_, [a], bytes:u32",
        "Expects bytes, then arrives.",
    )
    .ptx(8, 6)
    .sm(90)
    .barrier(),
    row("mbarrier.arrive_drop{<shared>}.b64", "d:T, [a]", "Arrives, and leaves for later phases.").sm(80).barrier(),
    row("mbarrier.arrive_drop{<any_shared>}.b64", ARRIVED, "Arrives, and leaves for later phases.")
        .ptx(7, 8)
        .sm(90)
        .barrier(),
    row("mbarrier.arrive_drop.noComplete{<shared>}.b64", "d:T, [a], count:u32", "Leaves without ending the phase.")
        .sm(80)
        .barrier(),
    row("mbarrier.arrive_drop.expect_tx{<any_shared>}.b64", "d:T_, [a], bytes:u32", "Expects bytes, then leaves.")
        .ptx(8, 0)
        .sm(90)
        .barrier(),
    row("mbarrier.test_wait{<shared>}.b64", "p:pred, [a], state:T", "Whether the phase has ended.").sm(80).barrier(),
    row("mbarrier.test_wait.parity{<shared>}.b64", "p:pred, [a], parity:u32", "Whether the phase has ended.")
        .ptx(7, 1)
        .sm(80)
        .barrier(),
    row(
        "mbarrier.test_wait.acquire(.cta|.cluster){<shared>}.b64",
        "p:pred, [a], state:T",
        "Whether the phase has ended.",
    )
    .ptx(8, 0)
    .sm(90)
    .barrier(),
    row(
        "mbarrier.test_wait.relaxed(.cta|.cluster){<shared>}.b64",
        "p:pred, [a], state:T",
        "Whether the phase has ended.",
    )
    .ptx(8, 6)
    .sm(90)
    .barrier(),
    row(
        "mbarrier.test_wait.parity.acquire(.cta|.cluster){<shared>}.b64",
        "p:pred, [a], parity:u32",
        "Whether the phase has ended.",
    )
    .ptx(8, 0)
    .sm(90)
    .barrier(),
    row(
        "mbarrier.test_wait.parity.relaxed(.cta|.cluster){<shared>}.b64",
        "p:pred, [a], parity:u32",
        "Whether the phase has ended.",
    )
    .ptx(8, 6)
    .sm(90)
    .barrier(),
    row(
        "mbarrier.try_wait{<shared>}.b64",
        "p:pred, [a], state:T, hint?:u32",
        "Waits a while; whether the phase has ended.",
    )
    .ptx(7, 8)
    .sm(90)
    .barrier(),
    row(
        "mbarrier.try_wait.parity{<shared>}.b64",
        "p:pred, [a], parity:u32, hint?:u32",
        "Waits a while; whether the phase has ended.",
    )
    .ptx(7, 8)
    .sm(90)
    .barrier(),
    row(
        "mbarrier.try_wait.acquire(.cta|.cluster){<shared>}.b64",
        "p:pred, [a], state:T, hint?:u32",
        "Waits a while; whether the phase has ended.",
    )
    .ptx(8, 0)
    .sm(90)
    .barrier(),
    row(
        "mbarrier.try_wait.relaxed(.cta|.cluster){<shared>}.b64",
        "p:pred, [a], state:T, hint?:u32",
        "Waits a while; whether the phase has ended.",
    )
    .ptx(8, 6)
    .sm(90)
    .barrier(),
    row(
        "mbarrier.try_wait.parity.acquire(.cta|.cluster){<shared>}.b64",
        "p:pred, [a], parity:u32, hint?:u32",
        "Waits a while; whether the phase has ended.",
    )
    .ptx(8, 0)
    .sm(90)
    .barrier(),
    row(
        "mbarrier.try_wait.parity.relaxed(.cta|.cluster){<shared>}.b64",
        "p:pred, [a], parity:u32, hint?:u32",
        "Waits a while; whether the phase has ended.",
    )
    .ptx(8, 6)
    .sm(90)
    .barrier(),
    row("mbarrier.pending_count.b64", "d:u32, state:T", "Arrivals that a phase still lacked.").sm(80),
];
