//! One lane's access, with every check: where it leads, and what is wrong with it.

use super::core::Core;
use super::peers::Peers;
use crate::finding::{AccessKind, FindingKind, Storage};
use crate::memory::{
    Flat, LOCAL_WINDOW, PAGE, PARAM_WINDOW, POISON_WORD, Page, SHARED_BASE, SHARED_WINDOW, WINDOW, Writer,
};
use crate::program::Space;

/// A lane's memory, once its address is known to be good.
pub(super) enum Cell<'m> {
    Page(&'m Page, usize),
    Flat(&'m mut Flat, usize),
    /// A value of the parameters, at most 32 bytes.
    Parameter([u64; 4]),
    /// Device memory that nothing was ever written to.
    Untouched,
}

impl Cell<'_> {
    pub(super) fn get(&self, byte: usize, bytes: usize) -> u64 {
        match self {
            Cell::Page(page, at) => page.get(at + byte, bytes),
            Cell::Flat(flat, at) => flat.get(at + byte, bytes),
            Cell::Parameter(words) => words[byte / 8 % 4] >> (8 * (byte % 8)),
            Cell::Untouched => u64::from(POISON_WORD) << 32 | u64::from(POISON_WORD),
        }
    }

    pub(super) fn set(&mut self, byte: usize, bytes: usize, value: u64, alone: bool) {
        match self {
            Cell::Page(page, at) => page.set(*at + byte, bytes, value, alone),
            Cell::Flat(flat, at) => flat.set(*at + byte, bytes, value),
            Cell::Parameter(_) | Cell::Untouched => {}
        }
    }

    pub(super) fn written(&self, bytes: usize) -> bool {
        match self {
            Cell::Page(page, at) => page.written(*at, bytes),
            Cell::Flat(flat, at) => flat.written(*at, bytes),
            Cell::Parameter(_) => true,
            Cell::Untouched => false,
        }
    }
}

/// One lane's access, for checks and reports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub kind: AccessKind,
    pub space: Space,
    pub address: u64,
    pub bytes: usize,
    pub lane: usize,
    pub pc: u32,
}

/// What a lane means to do with a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    Read,
    /// Read what may be padding, which nobody needs to write.
    ReadPadding,
    Write,
    /// Read, then write.
    Update,
}

/// Where an address of a space leads: which memory, and the offset or address in it.
pub(super) fn resolve(space: Space, address: u64) -> (Storage, u64) {
    match space {
        Space::Global => (Storage::Global, address),
        Space::Shared => (Storage::Shared, address),
        Space::Local => (Storage::Local, address),
        Space::Param => (Storage::Parameter, address),
        Space::Generic => {
            let within = |window: u64| address.wrapping_sub(window) < WINDOW;
            if within(SHARED_WINDOW) {
                (Storage::Shared, address - SHARED_WINDOW)
            } else if within(LOCAL_WINDOW) {
                (Storage::Local, address - LOCAL_WINDOW)
            } else if within(PARAM_WINDOW) {
                (Storage::Parameter, address - PARAM_WINDOW)
            } else {
                (Storage::Global, address)
            }
        }
    }
}

/// The memory of one lane's access, or a report and nothing. A write makes the page; a read is checked for poison.
pub(super) fn cell<'m, 'g: 'm>(
    (warp, local): (u32, &'m mut Flat),
    core: &mut Core<'g>,
    common: &'m mut Peers,
    q: &Request,
    intent: Intent,
) -> Option<Cell<'m>> {
    let write = matches!(intent, Intent::Write | Intent::Update);
    let check = matches!(intent, Intent::Read | Intent::Update) && core.options.checks.init;
    let (storage, mut at) = resolve(q.space, q.address);
    let mut block = common.rank();
    let end = at.checked_add(q.bytes as u64);
    let bound = match storage {
        Storage::Global => {
            let memory = core.memory;
            let found = memory.find(at).filter(|a| end.is_some_and(|end| end <= a.end()));
            let Some(a) = found else {
                core.report_access(common, warp, q, storage, FindingKind::OutOfBounds);
                return None;
            };
            if !at.is_multiple_of(q.bytes as u64) {
                core.report_access(common, warp, q, storage, FindingKind::Misaligned);
                return None;
            }
            let offset = at - a.base;
            let page = if write { a.page_or_new(offset) } else { a.page(offset) };
            let cell = page.map_or(Cell::Untouched, |page| Cell::Page(page, offset as usize % PAGE));
            if check && !cell.written(q.bytes) {
                core.report_access(common, warp, q, storage, FindingKind::UninitializedRead(storage));
            }
            return Some(cell);
        }
        Storage::Shared => match common.locate(at) {
            Some((rank, offset)) => {
                (block, at) = (rank, offset.into());
                if common.blocks()[rank].live == 0 {
                    let detail = format!("block {rank} of the cluster has exited");
                    core.report_threads(common, warp, FindingKind::PeerExited, q.pc, 1 << (q.lane & 31), detail);
                    return None;
                }
                common.blocks()[rank].shared.len() as u64
            }
            None => 0,
        },
        Storage::Local => core.program.local_bytes.into(),
        Storage::Parameter | Storage::Register => core.parameters.len() as u64,
    };
    let start = if storage == Storage::Shared { u64::from(SHARED_BASE) } else { 0 };
    // Parameters are read-only; a generic store there is as far out as any.
    let end = at.checked_add(q.bytes as u64);
    let fits = at >= start && end.is_some_and(|end| end <= bound) && !(write && storage == Storage::Parameter);
    if !fits || !at.is_multiple_of(q.bytes as u64) {
        let kind = if fits { FindingKind::Misaligned } else { FindingKind::OutOfBounds };
        core.report_access(common, warp, q, storage, kind);
        return None;
    }
    let at = at as usize;
    if storage == Storage::Parameter {
        let mut words = [0; 4];
        for i in 0..q.bytes {
            words[i / 8 % 4] |= core.parameters.get(at + i, 1) << (8 * (i % 8));
        }
        return Some(Cell::Parameter(words));
    }
    let at = if storage == Storage::Local { at + q.lane * core.program.local_bytes as usize } else { at };
    let releases = common.releases.get(warp as usize).copied().unwrap_or_default();
    let flat = if storage == Storage::Local { &*local } else { &common.blocks()[block].shared };
    if check && !flat.written(at, q.bytes) {
        core.report_access(common, warp, q, storage, FindingKind::UninitializedRead(storage));
    }
    let flat = if storage == Storage::Local { local } else { &mut common.blocks_mut()[block].shared };
    if write {
        flat.stored(at, q.bytes, Writer::new(warp, releases));
    }
    Some(Cell::Flat(flat, at))
}
