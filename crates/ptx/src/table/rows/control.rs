//! Control (PTX ISA §9.7.12) and what concerns the whole thread.

use super::{Row, row};

pub(super) const ROWS: &[Row] = &[
    row("bra{.uni}", "t:label", "Jumps.").control(),
    row("brx.idx{.uni}", "a:u32, (t)", "Jumps to the label of a table that an index picks.").ptx(6, 0).control(),
    row("ret{.uni}", "", "Returns; ends a kernel's thread.").control(),
    row("call{.uni}", "f:function, (a)?", "Calls a function.").control(),
    row("call{.uni}", "(r), f:function, (a)?", "Calls a function; r is where its result goes.").control(),
    row("exit", "", "Ends the thread.").control(),
    row("trap", "", "Aborts the grid with an error.").control(),
    row("brkpt", "", "Stops for a debugger.").control(),
    row("nanosleep.u32", "a:T", "Sleeps about so long.").sm(70).control(),
    row("griddepcontrol.launch_dependents", "", "Lets the next grid start.").ptx(7, 8).sm(90).barrier(),
    row("griddepcontrol.wait", "", "Waits for the grids before.").ptx(7, 8).sm(90).barrier(),
    row("setmaxnreg(.inc|.dec).sync.aligned.u32", "#n:T", "Takes or gives registers of the warpgroup.")
        .ptx(8, 0)
        .only(&[90, 100, 103])
        .control()
        .aligned(),
];
