//! Waiting for a condition that other threads bring about.

use crate::barrier::sleep_nanoseconds;
use crate::flow::{break_if, repeat, var, when};
use crate::trace::helper;
use crate::value::{Bool, U32};

/// A loop that waits: what for, how long, how eagerly.
#[derive(Clone, Copy)]
#[must_use = "it waits when it is told until what"]
pub struct Spin {
    what: &'static str,
    tries: Option<usize>,
    sleep: Option<usize>,
}

/// Begins a loop that waits. `what` it waits for is the name under which reports show it.
///
/// ```
/// # use warpsmith_dsl::prelude::*;
/// # trace("example", || {
/// let flag = Shared::<U32>::new("flag", 1);
/// spin("the neighbour's flag").at_most(1 << 20).until(|| flag.at(0).acquire(Scope::Block).load().eq(1));
/// # }).unwrap();
/// ```
pub fn spin(what: &'static str) -> Spin {
    Spin { what, tries: None, sleep: None }
}

impl Spin {
    /// Gives up after so many tries: the kernel ends with an error that says what it waited for, where device messages
    /// are compiled in; with a trap in any case.
    pub fn at_most(mut self, tries: usize) -> Spin {
        self.tries = Some(tries);
        self
    }

    /// Sleeps about so long between tries.
    pub fn sleeping(mut self, nanoseconds: usize) -> Spin {
        self.sleep = Some(nanoseconds);
        self
    }

    /// Tries until the condition holds.
    #[track_caller]
    pub fn until(self, condition: impl Fn() -> Bool) {
        helper(self.what, || {
            let tries = self.tries.map(|_| var(U32::from(0)));
            repeat(|| {
                break_if(condition());
                if let (Some(limit), Some(tries)) = (self.tries, tries) {
                    tries.add(1);
                    when(tries.get().ge(limit), || crate::debug::give_up(self.what));
                }
                if let Some(nanoseconds) = self.sleep {
                    sleep_nanoseconds(nanoseconds);
                }
            });
        });
    }
}
