//! Matrix products of a warpgroup (PTX ISA §9.7.15).

use super::{Row, row};

pub(super) const ROWS: &[Row] = &[
    row("wgmma.fence.sync.aligned", "", "Orders register accesses with those of wgmma.")
        .ptx(8, 0)
        .only(&[90])
        .barrier()
        .aligned(),
    row("wgmma.commit_group.sync.aligned", "", "Closes the group of products.")
        .ptx(8, 0)
        .only(&[90])
        .asynchronous()
        .aligned(),
    row("wgmma.wait_group.sync.aligned", "#n:u32", "Waits until n groups are left.")
        .ptx(8, 0)
        .only(&[90])
        .asynchronous()
        .aligned(),
];
