//! Changes of tensor maps by kernels.

use super::arrive::Actor;
use super::cell::{Intent, Request, cell};
use super::core::Core;
use super::peers::Peers;
use super::races::Deed;
use super::span::addresses;
use super::warp::Warp;
use crate::finding::{AccessKind, FindingKind};
use crate::lanes::{LANES, each};
use crate::memory::{DevicePointer, Touch};
use crate::program::{Address, MapChange, MapField, Scope, Semantics, Space};
use crate::tensor_map::{Fill, Swizzle, TensorMap};
use warpsmith_types::DType;

/// The element types by PTX's numbers.
const TYPES: [DType; 12] = [
    DType::U8,
    DType::U16,
    DType::U32,
    DType::I32,
    DType::U64,
    DType::I64,
    DType::F16,
    DType::F32,
    DType::F32,
    DType::F64,
    DType::BF16,
    DType::F32,
];

/// Sets a field, or says why it can not be.
fn change(map: &mut TensorMap, field: MapField, value: u64) -> Result<(), String> {
    let small = value as u32;
    match field {
        MapField::Base => map.base = DevicePointer(value),
        MapField::Rank => map.rank = small as usize + 1,
        MapField::Box(mode) => map.box_extents[usize::from(mode)] = small,
        MapField::Extent(mode) => map.extents[usize::from(mode)] = value & 0xffff_ffff,
        MapField::Stride(mode) => match map.strides.get_mut(usize::from(mode) + 1) {
            Some(stride) => *stride = value,
            None => return Err(format!("there is no stride {mode}")),
        },
        MapField::ElementStride(mode) => map.element_strides[usize::from(mode)] = small,
        MapField::Type => {
            map.dtype = *TYPES.get(small as usize).ok_or_else(|| format!("there is no element type {small}"))?;
        }
        MapField::Interleave if small == 0 => {}
        MapField::Interleave => return Err(format!("interleave layout {small} is not emulated")),
        MapField::Swizzle => {
            let swizzle = Swizzle::ALL.get(small as usize);
            map.swizzle = *swizzle.ok_or_else(|| format!("there is no swizzle mode {small}"))?;
        }
        MapField::Fill => map.fill = if small == 0 { Fill::Zero } else { Fill::Nan },
    }
    Ok(())
}

impl Warp {
    /// `tensormap.replace`.
    pub(super) fn change_map(&mut self, core: &mut Core<'_>, peers: &mut Peers, c: &MapChange, active: u32, pc: u32) {
        let at = addresses(&self.registers, c.address.plane, c.address.wide, c.address.offset);
        for lane in each(active) {
            let value = match c.wide {
                true => self.registers.r64[c.value as usize][lane],
                false => self.registers.r32[c.value as usize][lane].into(),
            };
            self.note_map(core, peers, (c.space, at), (1 << lane, TensorMap::BYTES as u32), pc, true);
            let Some(bytes) = self.map_bytes(core, peers, (c.space, at[lane]), lane, pc, None) else { continue };
            let mut complaint = String::new();
            match TensorMap::parse(&bytes) {
                Ok(mut map) => match change(&mut map, c.field, value) {
                    Ok(()) => {
                        self.map_bytes(core, peers, (c.space, at[lane]), lane, pc, Some(&map.encode()));
                    }
                    Err(text) => complaint = text,
                },
                Err(error) => complaint = error.to_string(),
            }
            if !complaint.is_empty() {
                core.report_threads(peers, self.index, FindingKind::TensorMap, pc, 1 << lane, complaint);
            }
        }
    }

    /// `tensormap.cp_fenceproxy`: the lanes together copy one record.
    pub(super) fn copy_map(
        &mut self,
        core: &mut Core<'_>,
        peers: &mut Peers,
        (to, from, scope): (Address, Address, Scope),
        active: u32,
        pc: u32,
    ) {
        let Some(lane) = each(active).next() else { return };
        let at = |a: Address| addresses(&self.registers, a.plane, a.wide, a.offset)[lane];
        let (to, from) = (at(to), at(from));
        // Each lane copies a word of it.
        let words = |base: u64| std::array::from_fn(|lane| base + 4 * lane as u64);
        self.note_map(core, peers, (Space::Shared, words(from)), (active, 4), pc, false);
        self.note_map(core, peers, (Space::Global, words(to)), (active, 4), pc, true);
        core.publish_map(peers, to, Actor { warp: self.index, lane: lane as u32, pc }, scope);
        if let Some(bytes) = self.map_bytes(core, peers, (Space::Shared, from), lane, pc, None) {
            self.map_bytes(core, peers, (Space::Global, to), lane, pc, Some(&bytes));
        }
    }

    /// `fence.proxy.tensormap::generic.acquire`.
    pub(super) fn acquire_map(
        &self,
        core: &mut Core<'_>,
        peers: &Peers,
        (a, scope): (Address, Scope),
        active: u32,
        pc: u32,
    ) {
        let at = addresses(&self.registers, a.plane, a.wide, a.offset);
        for lane in each(active) {
            core.acquire_map(peers, at[lane], Actor { warp: self.index, lane: lane as u32, pc }, scope);
        }
    }

    /// Notes what lanes do to a record, for races.
    fn note_map(
        &self,
        core: &mut Core<'_>,
        peers: &mut Peers,
        (space, addresses): (Space, [u64; LANES]),
        (mask, bytes): (u32, u32),
        pc: u32,
        writes: bool,
    ) {
        if core.races {
            let touch = Touch { writes, strong: None, constant: false, asynchronous: false };
            let kind = if writes { AccessKind::Store } else { AccessKind::Load };
            let (warp, live, order, addresses) = (self.index, self.live, Semantics::default(), &addresses);
            core.note(peers, &Deed { warp, mask, pc, kind, space, addresses, bytes, touch, order, live, value: 0 });
        }
    }

    /// Reads or writes the record at an address, 16 bytes at a time; `None` where there is no memory.
    fn map_bytes(
        &mut self,
        core: &mut Core<'_>,
        peers: &mut Peers,
        (space, address): (Space, u64),
        lane: usize,
        pc: u32,
        new: Option<&[u8; TensorMap::BYTES]>,
    ) -> Option<[u8; TensorMap::BYTES]> {
        let mut bytes = [0; TensorMap::BYTES];
        let alone = core.alone;
        let (kind, intent) = match new {
            Some(_) => (AccessKind::Store, Intent::Write),
            None => (AccessKind::Load, Intent::Read),
        };
        for (n, piece) in bytes.chunks_exact_mut(16).enumerate() {
            let request = Request { kind, space, address: address + 16 * n as u64, bytes: 16, lane, pc };
            let mut cell = cell((self.index, &mut self.local), core, peers, &request, intent)?;
            for (i, byte) in piece.iter_mut().enumerate() {
                match new {
                    Some(new) => cell.set(i, 1, new[16 * n + i].into(), alone),
                    None => *byte = cell.get(i, 1) as u8,
                }
            }
        }
        Some(bytes)
    }
}
