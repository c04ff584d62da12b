//! Warp roles: what each warpgroup of a block does, with its share of the registers.

use crate::flow::when;
use crate::machine::ptx;
use crate::trace::{mistake, with};
use crate::value::U32;
use crate::warp::{elect, warp_idx};

/// Registers of a thread, by `setmaxnreg`: a multiple of 8, 24 to 256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Registers(pub usize);

/// A consumer warpgroup: which one this is, at run time.
#[derive(Clone, Copy)]
pub struct Group {
    /// From 0.
    pub index: U32,
}

/// A block whose first warpgroup produces, and whose others consume.
pub struct Roles<P> {
    registers: Registers,
    producer: P,
}

/// Begins the description of a block's roles: [`Roles::producer`], then [`Roles::consumers`].
pub fn warp_roles() -> Roles<()> {
    Roles { registers: Registers(0), producer: () }
}

impl Roles<()> {
    /// What the producer does: one thread of the first warpgroup runs `body`; the warpgroup keeps `registers` a thread.
    pub fn producer<P: Fn()>(self, registers: Registers, body: P) -> Roles<P> {
        Roles { registers, producer: body }
    }
}

impl<P: Fn()> Roles<P> {
    /// What the `count` other warpgroups do, with `registers` a thread. The block has `128 (1 + count)` threads.
    #[track_caller]
    pub fn consumers(self, count: usize, registers: Registers, body: impl Fn(Group)) {
        let total = 128 * (self.registers.0 + count * registers.0);
        if total > 65536 {
            let message = format!("the roles take {total} registers, and a multiprocessor has 65536");
            mistake(message, &[], "give the producer 24 or 40, the consumers what is left");
        }
        with(|t| t.kernel.min_blocks = Some(1));
        let warp = warp_idx();
        when(warp.lt(4), || {
            ptx("setmaxnreg.dec.sync.aligned.u32").number(self.registers.0 as i64).emit();
            when(warp.eq(0), || {
                when(elect(), || (self.producer)());
            });
        })
        .otherwise(|| {
            ptx("setmaxnreg.inc.sync.aligned.u32").number(registers.0 as i64).emit();
            body(Group { index: warp / 4 - 1 });
        });
    }
}
