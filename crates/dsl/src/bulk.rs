//! Bulk copies: one thread moves bytes, or boxes of a tensor, between memories while it goes on (TMA; sm_90).
//!
//! Copies into shared memory count their bytes at an [`Mbarrier`]; copies out of it form groups of this thread, which
//! [`commit_bulk`] closes and [`wait_bulk`] awaits. Shared addresses and sizes are multiples of 16 bytes.

use crate::atomic::Atomic;
use crate::dim::Dim;
use crate::machine::{Ptx, ptx};
use crate::mbarrier::{Mbarrier, RemoteMbarrier};
use crate::narrow::U16;
use crate::pointer::{CachePolicy, Element, Pointer};
use crate::tensor::Coordinates;
use crate::tma::TmaTensor;
use crate::trace::{Handle, mistake};
use crate::value::U32;
use warpsmith_ir::Space;

/// A bulk copy with its options: `Bulk::new().policy(p).load(&to, &from, 1024, barrier)`.
#[derive(Clone, Copy, Default)]
pub struct Bulk {
    policy: Option<CachePolicy>,
    multicast: Option<U16>,
}

impl Bulk {
    /// Without options.
    pub fn new() -> Bulk {
        Bulk::default()
    }

    /// With a cache policy.
    pub fn policy(mut self, policy: CachePolicy) -> Bulk {
        self.policy = Some(policy);
        self
    }

    /// Into every block of the cluster whose bit is set in the mask: to the same place, counted at the same barrier of
    /// each.
    pub fn multicast(mut self, blocks: impl Into<U16>) -> Bulk {
        self.multicast = Some(blocks.into());
        self
    }

    fn hint(&self) -> &'static str {
        if self.policy.is_some() { ".L2::cache_hint" } else { "" }
    }

    fn options(&self, mut instruction: Ptx) -> Ptx {
        if let Some(mask) = self.multicast {
            instruction = instruction.arg(mask.h);
        }
        if let Some(p) = self.policy {
            instruction = instruction.arg(p.policy.h);
        }
        instruction
    }

    #[track_caller]
    fn no_multicast(&self) {
        if self.multicast.is_some() {
            mistake("only loads from global memory go to several blocks", &[], "drop `multicast`");
        }
    }

    /// Copies `count` elements from global to this block's shared memory; their bytes arrive at the barrier.
    #[track_caller]
    pub fn load<T: Element>(self, to: Pointer<T>, from: Pointer<T>, count: impl Into<Dim>, barrier: Mbarrier) {
        if !spaces((&to, Space::Shared), (&from, Space::Global)) {
            return;
        }
        let size = bytes::<T>(count);
        let multicast = if self.multicast.is_some() { ".multicast::cluster" } else { "" };
        let name =
            format!("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes{multicast}{}", self.hint());
        let copy = ptx(name).at_offset(to.address, to.offset).at_offset(from.address, from.offset).arg(size);
        self.options(copy.at(barrier.address().h)).emit();
    }

    /// Copies `count` elements from this block's shared to global memory, as part of this thread's group.
    #[track_caller]
    pub fn store<T: Element>(self, to: Pointer<T>, from: Pointer<T>, count: impl Into<Dim>) {
        self.no_multicast();
        if !spaces((&to, Space::Global), (&from, Space::Shared)) {
            return;
        }
        let size = bytes::<T>(count);
        let copy = ptx(format!("cp.async.bulk.global.shared::cta.bulk_group{}", self.hint()));
        let copy = copy.at_offset(to.address, to.offset).at_offset(from.address, from.offset).arg(size);
        self.options(copy).emit();
    }

    /// Combines `count` elements of this block's shared memory into global memory, each atomically and relaxed, as part
    /// of this thread's group.
    #[track_caller]
    pub fn reduce<T: Element>(self, op: Atomic, to: Pointer<T>, from: Pointer<T>, count: impl Into<Dim>) {
        self.no_multicast();
        if !spaces((&to, Space::Global), (&from, Space::Shared)) {
            return;
        }
        let size = bytes::<T>(count);
        let noftz = if op == Atomic::Add { op.modifiers::<T>() } else { "" };
        let name = format!(
            "cp.reduce.async.bulk.global.shared::cta.bulk_group{}.{}{noftz}.{}",
            self.hint(),
            op.name(),
            op.type_of::<T>()
        );
        let copy = ptx(name).at_offset(to.address, to.offset).at_offset(from.address, from.offset).arg(size);
        self.options(copy).emit();
    }

    /// Copies `count` elements of this block's shared memory to another block's ([`Pointer::in_block`]); their bytes
    /// arrive at that block's barrier.
    #[track_caller]
    pub fn send<T: Element>(self, to: Pointer<T>, from: Pointer<T>, count: impl Into<Dim>, barrier: RemoteMbarrier) {
        self.no_multicast();
        if !spaces((&to, Space::SharedCluster), (&from, Space::Shared)) {
            return;
        }
        let size = bytes::<T>(count);
        let copy = ptx("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes");
        let copy = copy.at_offset(to.address, to.offset).at_offset(from.address, from.offset).arg(size);
        copy.at(barrier.address().h).emit();
    }

    /// Combines `count` integers of this block's shared memory into another block's; their bytes arrive at that block's
    /// barrier.
    #[track_caller]
    pub fn send_reduce<T: Element>(
        self,
        op: Atomic,
        to: Pointer<T>,
        from: Pointer<T>,
        count: impl Into<Dim>,
        barrier: RemoteMbarrier,
    ) {
        self.no_multicast();
        if !spaces((&to, Space::SharedCluster), (&from, Space::Shared)) {
            return;
        }
        let size = bytes::<T>(count);
        let name = format!(
            "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{}.{}",
            op.name(),
            op.type_of::<T>()
        );
        let copy = ptx(name).at_offset(to.address, to.offset).at_offset(from.address, from.offset).arg(size);
        copy.at(barrier.address().h).emit();
    }

    /// Brings `count` elements of global memory into L2.
    #[track_caller]
    pub fn prefetch<T: Element>(self, from: Pointer<T>, count: impl Into<Dim>) {
        self.no_multicast();
        let size = bytes::<T>(count);
        let fetch = ptx(format!("cp.async.bulk.prefetch.L2.global{}", self.hint()));
        self.options(fetch.at_offset(from.address, from.offset).arg(size)).emit();
    }

    /// Copies the box at `corner` (element coordinates, in the tensor's order of modes) to shared memory; its bytes
    /// arrive at the barrier. What lies outside of the tensor arrives as zeros.
    #[track_caller]
    pub fn load_box<T: Element>(self, to: Pointer<T>, from: &TmaTensor, corner: impl Coordinates, barrier: Mbarrier) {
        if !spaces((&to, Space::Shared), (&to, Space::Shared)) {
            return;
        }
        let corner = from.corner(corner);
        let multicast = if self.multicast.is_some() { ".multicast::cluster" } else { "" };
        let name = format!(
            "cp.async.bulk.tensor.{}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{multicast}{}",
            from.rank(),
            self.hint()
        );
        let copy = ptx(name).at_offset(to.address, to.offset).at_coordinates(from.map(), &corner);
        self.options(copy.at(barrier.address().h)).emit();
    }

    /// Copies shared memory to the box at `corner`, as part of this thread's group. What lies outside of the tensor is
    /// not written.
    #[track_caller]
    pub fn store_box<T: Element>(self, to: &TmaTensor, corner: impl Coordinates, from: Pointer<T>) {
        self.no_multicast();
        let corner = to.corner(corner);
        let name = format!("cp.async.bulk.tensor.{}d.global.shared::cta.tile.bulk_group{}", to.rank(), self.hint());
        let copy = ptx(name).at_coordinates(to.map(), &corner).at_offset(from.address, from.offset);
        self.options(copy).emit();
    }

    /// Combines shared memory into the box at `corner`, each element atomically and relaxed, as part of this thread's
    /// group.
    #[track_caller]
    pub fn reduce_box<T: Element>(self, op: Atomic, to: &TmaTensor, corner: impl Coordinates, from: Pointer<T>) {
        self.no_multicast();
        let corner = to.corner(corner);
        let name = format!(
            "cp.reduce.async.bulk.tensor.{}d.global.shared::cta.{}.tile.bulk_group{}",
            to.rank(),
            op.name(),
            self.hint()
        );
        let copy = ptx(name).at_coordinates(to.map(), &corner).at_offset(from.address, from.offset);
        self.options(copy).emit();
    }

    /// Brings the box at `corner` into L2.
    #[track_caller]
    pub fn prefetch_box(self, from: &TmaTensor, corner: impl Coordinates) {
        self.no_multicast();
        let corner = from.corner(corner);
        let name = format!("cp.async.bulk.prefetch.tensor.{}d.L2.global.tile{}", from.rank(), self.hint());
        self.options(ptx(name).at_coordinates(from.map(), &corner)).emit();
    }
}

#[track_caller]
fn spaces<T, U>(a: (&Pointer<T>, Space), b: (&Pointer<U>, Space)) -> bool {
    let right = |space: Space, wanted: Space| space == wanted;
    let fits = right(a.0.space, a.1) && right(b.0.space, b.1);
    if !fits {
        let message = format!(
            "a bulk copy to {} from {}, and not to {} from {}",
            a.1.name(),
            b.1.name(),
            a.0.space.name(),
            b.0.space.name()
        );
        mistake(message, &[], "see `Bulk` for the directions that there are");
    }
    fits
}

/// The size of `count` elements; a multiple of 16 bytes when known.
#[track_caller]
fn bytes<T: Element>(count: impl Into<Dim>) -> Handle {
    let size = count.into() * T::TYPE.bytes() as usize;
    if let Some(n) = size.known()
        && n % 16 != 0
    {
        mistake(format!("a bulk copy of {n} bytes"), &[], "it moves multiples of 16");
    }
    U32::from(size).h
}

/// Closes this thread's group of bulk copies out of shared memory.
#[track_caller]
pub fn commit_bulk() {
    ptx("cp.async.bulk.commit_group").emit();
}

/// Waits until at most `left` of this thread's groups are under way.
#[track_caller]
pub fn wait_bulk(left: usize) {
    ptx("cp.async.bulk.wait_group").number(left as i64).emit();
}

/// Waits until all but `left` of this thread's groups have read their shared memory: it may be written again.
#[track_caller]
pub fn wait_bulk_read(left: usize) {
    ptx("cp.async.bulk.wait_group.read").number(left as i64).emit();
}
