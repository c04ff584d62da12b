//! Loads and stores: all lanes of an access at once where they lie in one page and nothing is wrong, else lane by lane.

// Loops over lanes by index are what LLVM vectorises across several planes.
#![allow(clippy::needless_range_loop)]

use super::block::Common;
use super::core::Core;
use super::warp::Warp;
use crate::finding::{AccessKind, FindingKind, Storage};
use crate::lanes::{FULL, LANES, Raw, Registers, each, put, spread};
use crate::memory::{Flat, LOCAL_WINDOW, PAGE, PARAM_WINDOW, POISON_WORD, Page, SHARED_BASE, SHARED_WINDOW, WINDOW};
use crate::program::{Access, Space};
use std::sync::atomic::Ordering::Relaxed;

/// The addresses of an access, with what the fast paths must know of them.
pub(super) struct Span {
    /// By lane; those of inactive lanes are the first active one's.
    pub addresses: [u64; LANES],
    pub least: u64,
    pub greatest: u64,
    /// Whether each is aligned to the size of the access.
    pub aligned: bool,
    /// Whether the lanes are all active and lie side by side in order.
    pub unit_stride: bool,
}

impl Span {
    #[inline(always)]
    pub(super) fn new(mut addresses: [u64; LANES], mask: u32, bytes: usize) -> Span {
        if mask != FULL {
            let first = addresses[mask.trailing_zeros() as usize % LANES];
            let lanes = spread(mask);
            for l in 0..LANES {
                addresses[l] = u64::blend(lanes[l], addresses[l], first);
            }
        }
        let base = addresses[0];
        let (mut off, mut low) = (0, 0);
        for l in 0..LANES {
            off |= addresses[l] ^ base.wrapping_add((l * bytes) as u64);
            low |= addresses[l];
        }
        let unit_stride = off == 0 && mask == FULL;
        let (mut least, mut greatest) = (base, base);
        if unit_stride {
            greatest = addresses[LANES - 1];
        } else {
            for address in addresses {
                least = least.min(address);
                greatest = greatest.max(address);
            }
        }
        Span { addresses, least, greatest, aligned: low & (bytes as u64 - 1) == 0, unit_stride }
    }
}

/// The addresses that lanes compute.
#[inline(always)]
pub(super) fn addresses(r: &Registers, plane: u16, wide: bool, offset: i32) -> [u64; LANES] {
    let mut t = [0; LANES];
    if wide {
        let a = &r.r64[plane as usize];
        for l in 0..LANES {
            t[l] = a[l].wrapping_add(offset as i64 as u64);
        }
    } else {
        let a = &r.r32[plane as usize];
        for l in 0..LANES {
            t[l] = a[l].wrapping_add(offset as u32).into();
        }
    }
    t
}

/// Memory as words, wherever it is.
pub(super) trait Words {
    fn word(&self, index: usize) -> u32;
}

impl Words for &Page {
    #[inline(always)]
    fn word(&self, index: usize) -> u32 {
        self.words[index].load(Relaxed)
    }
}

impl Words for &Flat {
    #[inline(always)]
    fn word(&self, index: usize) -> u32 {
        self.words[index]
    }
}

/// Reads `N` words of each lane, all in a row, into `N` registers.
#[inline(always)]
fn read_row<const N: usize>(r: &mut Registers, list: &[u32], words: impl Iterator<Item = u32>) {
    let mut words = words;
    let mut t = [[0; LANES]; N];
    for l in 0..LANES {
        for register in &mut t {
            register[l] = words.next().unwrap_or(POISON_WORD);
        }
    }
    for (register, values) in list.iter().zip(&t) {
        *u32::plane_mut(r, *register as u16) = *values;
    }
}

/// The same for half words.
#[inline(always)]
fn read_halves(r: &mut Registers, register: u32, signed: bool, words: impl Iterator<Item = u32>) {
    let mut t = [0; LANES];
    for (pair, word) in t.chunks_exact_mut(2).zip(words) {
        pair[0] = extend(word, 2, signed);
        pair[1] = extend(word >> 16, 2, signed);
    }
    *u32::plane_mut(r, register as u16) = t;
}

/// Hands over `N` words of each lane, all in a row.
#[inline(always)]
fn write_row<const N: usize>(r: &Registers, list: &[u32], mut put: impl FnMut(u32)) {
    let planes: [&[u32; LANES]; N] = std::array::from_fn(|e| u32::plane(r, list[e] as u16));
    for l in 0..LANES {
        for plane in planes {
            put(plane[l]);
        }
    }
}

/// The shapes of access that have a path of their own when all lanes lie side by side.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Row {
    Words(u8),
    Halves,
    Other,
}

impl Row {
    #[inline(always)]
    fn of(a: &Access, span: &Span) -> Row {
        match (span.unit_stride, a.wide, a.width, a.count) {
            (true, false, 4, n @ (1 | 2 | 4)) => Row::Words(n),
            (true, false, 2, 1) if span.least.is_multiple_of(4) => Row::Halves,
            _ => Row::Other,
        }
    }
}

/// Loads a row. `words` starts at the first lane's.
#[inline(always)]
fn load_row(r: &mut Registers, list: &[u32], a: &Access, row: Row, words: impl Iterator<Item = u32>) {
    match row {
        Row::Words(1) => read_row::<1>(r, list, words),
        Row::Words(2) => read_row::<2>(r, list, words),
        Row::Words(_) => read_row::<4>(r, list, words),
        _ => read_halves(r, list[0], a.signed, words),
    }
}

/// Stores a row, word by word in order.
#[inline(always)]
fn store_row(r: &Registers, list: &[u32], row: Row, mut put: impl FnMut(u32)) {
    match row {
        Row::Words(1) => write_row::<1>(r, list, put),
        Row::Words(2) => write_row::<2>(r, list, put),
        Row::Words(_) => write_row::<4>(r, list, put),
        _ => {
            let data = u32::plane(r, list[0] as u16);
            data.chunks_exact(2).for_each(|pair| put((pair[0] & 0xffff) | pair[1] << 16));
        }
    }
}

/// Reads the elements of every lane at `offsets` and writes them to the data registers.
#[inline(always)]
fn gather<W: Words>(r: &mut Registers, list: &[u32], a: &Access, mask: u32, words: W, span: &Span, start: u64) {
    let mut at = [0u32; LANES];
    for l in 0..LANES {
        at[l] = span.addresses[l].wrapping_sub(start) as u32;
    }
    for (e, register) in list.iter().enumerate() {
        let register = *register as u16;
        match (a.width, a.wide) {
            (4, false) => {
                let mut t = [0; LANES];
                for l in 0..LANES {
                    t[l] = words.word(at[l] as usize / 4 + e);
                }
                put(r, register, mask, &t);
            }
            (8, _) => {
                let mut t = [0; LANES];
                for l in 0..LANES {
                    let i = at[l] as usize / 4 + 2 * e;
                    t[l] = u64::from(words.word(i)) | u64::from(words.word(i + 1)) << 32;
                }
                put(r, register, mask, &t);
            }
            (width, wide) => {
                let mut t = [0; LANES];
                let width = u32::from(width);
                for l in 0..LANES {
                    let byte = at[l] + e as u32 * width;
                    t[l] = extend(words.word(byte as usize / 4) >> (8 * (byte & 3)), width, a.signed);
                }
                if wide {
                    // A signed value is extended to all of the register.
                    let t = t.map(|x| if a.signed { x as i32 as i64 as u64 } else { x.into() });
                    put(r, register, mask, &t);
                } else {
                    put(r, register, mask, &t);
                }
            }
        }
    }
}

/// The low bytes of a word as a 32-bit value.
#[inline(always)]
fn extend(x: u32, width: u32, signed: bool) -> u32 {
    let drop = 32 - 8 * width;
    if signed { (((x << drop) as i32) >> drop) as u32 } else { (x << drop) >> drop }
}

/// Word `k` of what a lane stores, for accesses of at least a word.
#[inline(always)]
fn word_of(r: &Registers, list: &[u32], a: &Access, k: usize, lane: usize) -> u32 {
    let element = |e: usize| -> u64 {
        let register = list[e] as usize;
        if a.wide { r.r64[register][lane] } else { r.r32[register][lane].into() }
    };
    match a.width {
        8 => (element(k / 2) >> (32 * (k % 2))) as u32,
        4 => element(k) as u32,
        2 => (element(2 * k) as u32 & 0xffff) | (element(2 * k + 1) as u32) << 16,
        _ => (0..4).fold(0, |w, i| w | (element(4 * k + i) as u32 & 0xff) << (8 * i)),
    }
}

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

impl Warp {
    pub(super) fn load(&mut self, core: &mut Core<'_>, common: &mut Common, a: &Access, mask: u32, pc: u32) {
        let simd = self.registers.simd;
        let addresses = addresses(&self.registers, a.address, a.address_wide, a.offset);
        let done = simd.run(
            #[inline(always)]
            || self.load_together(core, common, a, mask, addresses),
        );
        if !done {
            self.load_lanes(core, common, a, mask, pc, &addresses);
        }
    }

    /// Loads for all lanes at once, where nothing is wrong and one page has it all; false when not.
    #[inline(always)]
    fn load_together(
        &mut self,
        core: &mut Core<'_>,
        common: &Common,
        a: &Access,
        mask: u32,
        addresses: [u64; LANES],
    ) -> bool {
        let bytes = a.width as usize * a.count as usize;
        let list = registers(core, a);
        let init = core.options.checks.init;
        let span = Span::new(addresses, mask, bytes);
        let last = span.greatest.wrapping_add(bytes as u64);
        if !span.aligned || last <= span.greatest {
            return false;
        }
        let r = &mut self.registers;
        let row = Row::of(a, &span);
        match a.space {
            Space::Global | Space::Generic => {
                let Some((page, start)) = page(core, &span, last, false) else { return false };
                if init && !all_written_page(page, &span, start, bytes) {
                    return false;
                }
                if row == Row::Other {
                    gather(r, list, a, mask, page, &span, start);
                } else {
                    let first = (span.least - start) as usize / 4;
                    let words = &page.words[first..first + bytes * LANES / 4];
                    load_row(r, list, a, row, words.iter().map(|w| w.load(Relaxed)));
                }
            }
            Space::Shared => {
                let flat = &common.shared;
                if span.least < SHARED_BASE.into()
                    || last > flat.len() as u64
                    || (init && !all_written_flat(flat, &span, bytes))
                {
                    return false;
                }
                if row == Row::Other {
                    gather(r, list, a, mask, flat, &span, 0);
                } else {
                    let first = span.least as usize / 4;
                    let words = &flat.words[first..first + bytes * LANES / 4];
                    load_row(r, list, a, row, words.iter().copied());
                }
            }
            Space::Param if last <= core.parameters.len() as u64 => {
                gather(r, list, a, mask, &core.parameters, &span, 0);
            }
            Space::Param | Space::Local => return false,
        }
        true
    }

    /// The careful way.
    #[cold]
    #[inline(never)]
    fn load_lanes(
        &mut self,
        core: &mut Core<'_>,
        common: &mut Common,
        a: &Access,
        mask: u32,
        pc: u32,
        addresses: &[u64; LANES],
    ) {
        let (width, bytes) = (a.width as usize, a.width as usize * a.count as usize);
        let list = registers(core, a);
        for lane in each(mask) {
            let request = Request { kind: AccessKind::Load, space: a.space, address: addresses[lane], bytes, lane, pc };
            let found = cell((self.index, &mut self.local), core, common, &request, Intent::Read);
            for (e, register) in list.iter().enumerate() {
                let value = match &found {
                    Some(cell) => cell.get(e * width, width),
                    None => u64::from(POISON_WORD) << 32 | u64::from(POISON_WORD),
                };
                let register = *register as usize;
                if width == 8 {
                    self.registers.r64[register][lane] = value;
                    continue;
                }
                let value = extend(value as u32, width as u32, a.signed);
                match a.wide {
                    true if a.signed => self.registers.r64[register][lane] = value as i32 as i64 as u64,
                    true => self.registers.r64[register][lane] = value.into(),
                    false => self.registers.r32[register][lane] = value,
                }
            }
        }
    }

    pub(super) fn store(&mut self, core: &mut Core<'_>, common: &mut Common, a: &Access, mask: u32, pc: u32) {
        let simd = self.registers.simd;
        let addresses = addresses(&self.registers, a.address, a.address_wide, a.offset);
        let done = simd.run(
            #[inline(always)]
            || self.store_together(core, common, a, mask, addresses),
        );
        if !done {
            self.store_lanes(core, common, a, mask, pc, &addresses);
        }
    }

    /// Stores for all lanes at once, where nothing is wrong and one page has it all; false when not.
    #[inline(always)]
    fn store_together(
        &self,
        core: &mut Core<'_>,
        common: &mut Common,
        a: &Access,
        mask: u32,
        addresses: [u64; LANES],
    ) -> bool {
        let bytes = a.width as usize * a.count as usize;
        let list = registers(core, a);
        let span = Span::new(addresses, mask, bytes);
        let last = span.greatest.wrapping_add(bytes as u64);
        let row = Row::of(a, &span);
        if !span.aligned || last <= span.greatest || (bytes < 4 && row == Row::Other) {
            return false;
        }
        let r = &self.registers;
        match a.space {
            Space::Global | Space::Generic => {
                let Some((page, start)) = page(core, &span, last, true) else { return false };
                if row == Row::Other {
                    for k in 0..bytes / 4 {
                        for lane in each(mask) {
                            let at = (span.addresses[lane] - start) as usize / 4 + k;
                            page.words[at].store(word_of(r, list, a, k, lane), Relaxed);
                        }
                    }
                } else {
                    let first = (span.least - start) as usize / 4;
                    let mut words = page.words[first..first + bytes * LANES / 4].iter();
                    store_row(r, list, row, |x| words.next().into_iter().for_each(|w| w.store(x, Relaxed)));
                }
                mark_page(page, &span, start, bytes, mask);
            }
            Space::Shared if span.least >= SHARED_BASE.into() && last <= common.shared.len() as u64 => {
                let flat = &mut common.shared;
                if row == Row::Other {
                    for k in 0..bytes / 4 {
                        for lane in each(mask) {
                            let at = span.addresses[lane] as usize / 4 + k;
                            flat.words[at] = word_of(r, list, a, k, lane);
                        }
                    }
                } else {
                    let first = span.least as usize / 4;
                    let mut words = flat.words[first..first + bytes * LANES / 4].iter_mut();
                    store_row(r, list, row, |x| words.next().into_iter().for_each(|w| *w = x));
                }
                for lane in each(mask) {
                    let at = span.addresses[lane] as usize;
                    flat.init[at / 32] |= crate::memory::byte_bits(at, bytes);
                }
            }
            _ => return false,
        }
        true
    }

    /// The careful way.
    #[inline(never)]
    fn store_lanes(
        &mut self,
        core: &mut Core<'_>,
        common: &mut Common,
        a: &Access,
        mask: u32,
        pc: u32,
        addresses: &[u64; LANES],
    ) {
        let (width, bytes) = (a.width as usize, a.width as usize * a.count as usize);
        let alone = core.alone;
        for lane in each(mask) {
            let mut values = [0; 8];
            for (value, register) in values.iter_mut().zip(registers(core, a)) {
                let register = *register as usize;
                *value =
                    if a.wide { self.registers.r64[register][lane] } else { self.registers.r32[register][lane].into() };
            }
            let request =
                Request { kind: AccessKind::Store, space: a.space, address: addresses[lane], bytes, lane, pc };
            if let Some(mut cell) = cell((self.index, &mut self.local), core, common, &request, Intent::Write) {
                for (e, value) in values.iter().take(a.count as usize).enumerate() {
                    cell.set(e * width, width, *value, alone);
                }
            }
        }
    }
}

/// The memory of one lane's access, or a report and nothing. A write makes the page; a read is checked for poison.
pub(super) fn cell<'m, 'g: 'm>(
    (warp, local): (u32, &'m mut Flat),
    core: &mut Core<'g>,
    common: &'m mut Common,
    q: &Request,
    intent: Intent,
) -> Option<Cell<'m>> {
    let write = intent != Intent::Read;
    let check = intent != Intent::Write && core.options.checks.init;
    let (storage, at) = resolve(q.space, q.address);
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
        Storage::Shared => common.shared.len() as u64,
        Storage::Local => core.program.local_bytes.into(),
        Storage::Parameter | Storage::Register => core.parameters.len() as u64,
    };
    let start = if storage == Storage::Shared { u64::from(SHARED_BASE) } else { 0 };
    // Parameters are read-only; a generic store there is as far out as any.
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
    let flat = if storage == Storage::Local { &*local } else { &common.shared };
    if check && !flat.written(at, q.bytes) {
        core.report_access(common, warp, q, storage, FindingKind::UninitializedRead(storage));
    }
    let flat = if storage == Storage::Local { local } else { &mut common.shared };
    Some(Cell::Flat(flat, at))
}

/// The data registers of an access.
#[inline(always)]
fn registers<'p>(core: &Core<'p>, a: &Access) -> &'p [u32] {
    &core.program.lists[a.list as usize..a.list as usize + a.count as usize]
}

/// The page that all lanes are in, when there is one, and the address of its first byte.
#[inline(always)]
fn page<'m>(core: &mut Core<'m>, span: &Span, last: u64, write: bool) -> Option<(&'m Page, u64)> {
    let memory = core.memory;
    let mut a = memory.get(core.recent);
    if !a.is_some_and(|a| span.least >= a.base && last <= a.end()) {
        let index = memory.index(span.least)?;
        a = memory.get(index).filter(|a| last <= a.end());
        core.recent = index;
    }
    let a = a?;
    let (first, end) = (span.least - a.base, last - 1 - a.base);
    if first / PAGE as u64 != end / PAGE as u64 {
        return None;
    }
    let page = if write { a.page_or_new(first) } else { a.page(first) }?;
    Some((page, a.base + first / PAGE as u64 * PAGE as u64))
}

#[inline(always)]
fn all_written_page(page: &Page, span: &Span, start: u64, bytes: usize) -> bool {
    let first = (span.least - start) as usize;
    if span.unit_stride && first.is_multiple_of(32) {
        return page.init[first / 32..first / 32 + bytes].iter().all(|w| w.load(Relaxed) == u32::MAX);
    }
    span.addresses.iter().all(|a| page.written((a - start) as usize, bytes))
}

#[inline(always)]
fn all_written_flat(flat: &Flat, span: &Span, bytes: usize) -> bool {
    let first = span.least as usize;
    if span.unit_stride && first.is_multiple_of(32) {
        return flat.init[first / 32..first / 32 + bytes].iter().all(|w| *w == u32::MAX);
    }
    span.addresses.iter().all(|a| flat.written(*a as usize, bytes))
}

#[inline(always)]
fn mark_page(page: &Page, span: &Span, start: u64, bytes: usize, mask: u32) {
    let first = (span.least - start) as usize;
    if span.unit_stride && first.is_multiple_of(32) {
        for word in &page.init[first / 32..first / 32 + bytes] {
            word.store(u32::MAX, Relaxed);
        }
    } else {
        for lane in each(mask) {
            page.mark((span.addresses[lane] - start) as usize, bytes);
        }
    }
}
