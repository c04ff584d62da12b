//! Loads and stores of `wmma` fragments: each lane moves its own elements.

use super::cell::{Intent, Request, cell};
use super::core::Core;
use super::peers::Peers;
use super::races::Deed;
use super::span::addresses;
use super::warp::Warp;
use crate::finding::AccessKind;
use crate::lanes::LANES;
use crate::memory::{POISON_WORD, Touch};
use crate::program::{Semantics, TileAccess};

impl Warp {
    /// Where each lane's element of a register is.
    fn tile_addresses(&self, t: &TileAccess, register: usize, element: usize) -> [u64; LANES] {
        let bases = addresses(&self.registers, t.address.plane, t.address.wide, t.address.offset);
        let strides = &self.registers.r32[t.stride as usize];
        std::array::from_fn(|lane| {
            let (row, column) = t.tile.place(register, element, lane);
            let (outer, inner) = if t.by_columns { (column, row) } else { (row, column) };
            let index = (outer as u64).wrapping_mul(strides[lane].into()).wrapping_add(inner as u64);
            bases[lane].wrapping_add(index.wrapping_mul(t.tile.bytes as u64))
        })
    }

    fn note_tile(
        &self,
        core: &mut Core<'_>,
        peers: &mut Peers,
        t: &TileAccess,
        addresses: &[u64; LANES],
        (pc, kind): (u32, AccessKind),
    ) {
        if !core.races {
            return;
        }
        let touch = Touch { writes: kind == AccessKind::Store, strong: None, constant: false, asynchronous: false };
        let (warp, live, space, order) = (self.index, self.live, t.space, Semantics::default());
        let (mask, bytes) = (u32::MAX, t.tile.bytes as u32);
        core.note(peers, &Deed { warp, mask, pc, kind, space, addresses, bytes, touch, order, live, value: 0 });
    }

    pub(super) fn load_tile(&mut self, core: &mut Core<'_>, peers: &mut Peers, t: &TileAccess, pc: u32) {
        let bytes = t.tile.bytes;
        let mut loaded = vec![[0u32; LANES]; t.tile.registers];
        for (register, values) in loaded.iter_mut().enumerate() {
            for element in 0..t.tile.each {
                let at = self.tile_addresses(t, register, element);
                self.note_tile(core, peers, t, &at, (pc, AccessKind::Load));
                for (lane, value) in values.iter_mut().enumerate() {
                    let kind = AccessKind::Load;
                    let request = Request { kind, space: t.space, address: at[lane], bytes, lane, pc };
                    let cell = cell((self.index, &mut self.local), core, peers, &request, Intent::Read);
                    let bits = cell.map_or(POISON_WORD, |cell| cell.get(0, bytes) as u32);
                    let bits = bits & (u32::MAX >> (32 - 8 * bytes));
                    *value |= bits << (8 * bytes * element);
                }
            }
        }
        // Registers beyond those that a fragment needs hold copies, as on the hardware.
        for (plane, values) in t.planes.iter().zip(loaded.iter().cycle()) {
            self.registers.r32[*plane as usize] = *values;
        }
    }

    pub(super) fn store_tile(&mut self, core: &mut Core<'_>, peers: &mut Peers, t: &TileAccess, pc: u32) {
        let (bytes, alone) = (t.tile.bytes, core.alone);
        for (register, plane) in t.planes.iter().take(t.tile.registers).enumerate() {
            let values = self.registers.r32[*plane as usize];
            for element in 0..t.tile.each {
                let at = self.tile_addresses(t, register, element);
                self.note_tile(core, peers, t, &at, (pc, AccessKind::Store));
                for (lane, value) in values.iter().enumerate() {
                    let kind = AccessKind::Store;
                    let request = Request { kind, space: t.space, address: at[lane], bytes, lane, pc };
                    if let Some(mut cell) = cell((self.index, &mut self.local), core, peers, &request, Intent::Write) {
                        cell.set(0, bytes, u64::from(value >> (8 * bytes * element)), alone);
                    }
                }
            }
        }
    }
}
