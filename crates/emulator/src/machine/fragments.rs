//! Matrix fragments of one warp: `mma.sync`, `ldmatrix`, `stmatrix`, `movmatrix`.
//!
//! In a fragment of 8 × 8 elements of 16 bits, lane `l` holds those in row `l / 4` and columns `2 (l % 4)` and the next.

use super::block::Common;
use super::cell::{Intent, Request, cell};
use super::core::Core;
use super::peers::Peers;
use super::products::accumulate;
use super::races::Deed;
use super::span::addresses;
use super::warp::Warp;
use crate::finding::AccessKind;
use crate::lanes::LANES;
use crate::memory::{Flat, POISON_WORD, SHARED_BASE, Touch, byte_bits};
use crate::program::{Element, Fragments, MatrixAccess, Mma, MmaF64, Semantics, Space};

/// Eight rows of 16 bytes, as words.
type Eight = [[u32; 4]; 8];

impl Warp {
    pub(super) fn fragments(&mut self, core: &mut Core<'_>, peers: &mut Peers, f: &Fragments, pc: u32) {
        match f {
            Fragments::Load(a) => self.load_matrices(core, peers, a, pc),
            Fragments::Store(a) => self.store_matrices(core, peers, a, pc),
            Fragments::Transpose { d, a } => {
                let rows = transposed(&rows_of(&self.registers.r32[*a as usize]));
                self.registers.r32[*d as usize] = fragment_of(&rows);
            }
            Fragments::Product(m) => self.mma(core, m),
            Fragments::Doubles(m) => self.mma_f64(m),
            Fragments::LoadTile(t) => self.load_tile(core, peers, t, pc),
            Fragments::StoreTile(t) => self.store_tile(core, peers, t, pc),
        }
    }

    fn row_request(&self, a: &MatrixAccess, kind: AccessKind, matrix: usize, row: usize, pc: u32) -> Request {
        let lane = 8 * matrix + row;
        let address = addresses(&self.registers, a.address.plane, a.address.wide, a.address.offset)[lane];
        Request { kind, space: a.space, address, bytes: 16, lane, pc }
    }

    /// Looks for races of the rows that lanes address.
    fn note_rows(&self, core: &mut Core<'_>, peers: &mut Peers, a: &MatrixAccess, pc: u32, writes: bool) {
        if !core.races {
            return;
        }
        let addresses = addresses(&self.registers, a.address.plane, a.address.wide, a.address.offset);
        let touch = Touch { writes, strong: None, constant: false, asynchronous: false };
        let kind = if writes { AccessKind::Store } else { AccessKind::Load };
        let mask = u32::MAX >> (32 - 8 * u32::from(a.count).min(4));
        let (warp, live, space, order) = (self.index, self.live, a.space, Semantics::default());
        core.note(
            peers,
            &Deed { warp, mask, pc, kind, space, addresses: &addresses, bytes: 16, touch, order, live, value: 0 },
        );
    }

    fn load_matrices(&mut self, core: &mut Core<'_>, peers: &mut Peers, a: &MatrixAccess, pc: u32) {
        self.note_rows(core, peers, a, pc, false);
        if self.load_shared_matrices(core, peers, a) {
            return;
        }
        let mut loaded = [[0; LANES]; 4];
        for (matrix, fragment) in loaded.iter_mut().take(a.count.into()).enumerate() {
            let mut rows: Eight = [[POISON_WORD; 4]; 8];
            for (row, words) in rows.iter_mut().enumerate() {
                let request = self.row_request(a, AccessKind::Load, matrix, row, pc);
                if let Some(cell) = cell((self.index, &mut self.local), core, peers, &request, Intent::Read) {
                    *words = std::array::from_fn(|i| cell.get(4 * i, 4) as u32);
                }
            }
            *fragment = fragment_of(&if a.transposes { transposed(&rows) } else { rows });
        }
        for (plane, fragment) in core.program.lists.iter().skip(a.list as usize).zip(&loaded[..a.count.into()]) {
            self.registers.r32[*plane as usize] = *fragment;
        }
    }

    /// Loads from the block's own shared memory where nothing is wrong; false when not.
    fn load_shared_matrices(&mut self, core: &Core<'_>, block: &Common, a: &MatrixAccess) -> bool {
        let shared = &block.shared;
        let Some(rows) = self.shared_rows(shared, a) else { return false };
        let rows = &rows[..8 * usize::from(a.count)];
        if core.options.checks.init && !rows.iter().all(|at| shared.written(*at, 16)) {
            return false;
        }
        for (rows, plane) in rows.chunks_exact(8).zip(core.program.lists.iter().skip(a.list as usize)) {
            let read = |row: usize| std::array::from_fn(|i| shared.words[rows[row] / 4 + i]);
            let eight: Eight = std::array::from_fn(read);
            self.registers.r32[*plane as usize] = fragment_of(&if a.transposes { transposed(&eight) } else { eight });
        }
        true
    }

    /// Where rows start that lie in the block's own shared memory, all of them aligned; those without a use are any.
    fn shared_rows(&self, shared: &Flat, a: &MatrixAccess) -> Option<[usize; LANES]> {
        let addresses = addresses(&self.registers, a.address.plane, a.address.wide, a.address.offset);
        let good = |at: &u64| at.is_multiple_of(16) && *at >= SHARED_BASE.into() && at + 16 <= shared.len() as u64;
        let all = a.space == Space::Shared && addresses[..8 * usize::from(a.count)].iter().all(good);
        all.then(|| addresses.map(|at| at as usize))
    }

    fn store_matrices(&mut self, core: &mut Core<'_>, peers: &mut Peers, a: &MatrixAccess, pc: u32) {
        self.note_rows(core, peers, a, pc, true);
        let program = core.program;
        if let Some(rows) = self.shared_rows(&peers.shared, a) {
            let (writer, shared) = (self.writer(), &mut peers.shared);
            for (rows, plane) in
                rows.chunks_exact(8).zip(program.lists.iter().skip(a.list as usize)).take(a.count.into())
            {
                let eight = rows_of(&self.registers.r32[*plane as usize]);
                let eight = if a.transposes { transposed(&eight) } else { eight };
                for (at, words) in rows.iter().zip(&eight) {
                    shared.words[at / 4..at / 4 + 4].copy_from_slice(words);
                    shared.init[at / 32] |= byte_bits(*at, 16);
                    shared.stored(*at, 16, writer);
                }
            }
            return;
        }
        let alone = core.alone;
        for (matrix, plane) in program.lists.iter().skip(a.list as usize).take(a.count.into()).enumerate() {
            let rows = rows_of(&self.registers.r32[*plane as usize]);
            let rows = if a.transposes { transposed(&rows) } else { rows };
            for (row, words) in rows.iter().enumerate() {
                let request = self.row_request(a, AccessKind::Store, matrix, row, pc);
                if let Some(mut cell) = cell((self.index, &mut self.local), core, peers, &request, Intent::Write) {
                    words.iter().enumerate().for_each(|(i, x)| cell.set(4 * i, 4, (*x).into(), alone));
                }
            }
        }
    }

    /// `d = a b + c` in f64, summed in the order of k.
    fn mma_f64(&mut self, m: &MmaF64) {
        let halves = usize::from(m.halves);
        let r64 = &self.registers.r64;
        let value = |plane: u16, lane: usize| f64::from_bits(r64[plane as usize][lane]);
        let results: Vec<[u64; LANES]> =
            m.c.iter()
                .enumerate()
                .map(|(n, c)| {
                    std::array::from_fn(|lane| {
                        let (row, column) = (lane / 4, 2 * (lane % 4) + n % 2);
                        let steps = (0..4 * m.b.len()).map(|k| {
                            let (a, b) = (m.a[n / 2 + halves * (k / 4)], m.b[k / 4]);
                            (value(a, 4 * row + k % 4), value(b, 4 * column + k % 4))
                        });
                        steps.fold(value(*c, lane), |sum, (a, b)| a.mul_add(b, sum)).to_bits()
                    })
                })
                .collect();
        for (d, values) in m.d.iter().zip(results) {
            self.registers.r64[*d as usize] = values;
        }
    }

    /// `d = a b + c`.
    fn mma(&mut self, core: &mut Core<'_>, m: &Mma) {
        let program = core.program;
        let (p, lists) = (&m.product, &program.lists);
        let each = 4 / p.a_element.bytes();
        // Registers of A for rows of one half follow each other when there is only one half.
        let halves = usize::from(m.halves);
        let mut panels = std::mem::take(&mut core.panels);
        panels.reset(halves, 1, p.k.into());
        let simd = self.registers.simd;
        let r32 = &mut self.registers.r32;
        // Compiled for each type.
        macro_rules! each_type {
            ($element:expr, $put:ident $place:tt; $($variant:ident)*) => {
                match $element {
                    $(Element::$variant => each_type!(@$put $place $variant),)*
                }
            };
            (@$put:ident ($($place:expr),*) $variant:ident) => {
                panels.$put(
                    $($place,)*
                    #[inline(always)]
                    |x| Element::$variant.number(x),
                )
            };
        }
        simd.run(
            #[inline(always)]
            || {
                for (n, plane) in m.a.iter().enumerate() {
                    let (eight, k) = (n % halves, 4 * (n / halves) * each);
                    let words = &r32[*plane as usize];
                    each_type!(p.a_element, put_a_plane (eight, k, each, words); F16 BF16 TF32 E4M3 E5M2 S8 U8);
                }
                for (n, plane) in m.b.iter().enumerate() {
                    let words = &r32[*plane as usize];
                    let k = 4 * n * each;
                    each_type!(p.b_element, put_b_plane (k, each, words); F16 BF16 TF32 E4M3 E5M2 S8 U8);
                }
            },
        );
        // All of C before any of D: they may share registers.
        let mut c = [[0; LANES]; 4];
        for (values, plane) in c.iter_mut().zip(&m.c) {
            *values = r32[*plane as usize];
        }
        for (plane, values) in lists.iter().skip(p.accumulator as usize).zip(&c[..m.c.len().min(4)]) {
            r32[*plane as usize] = *values;
        }
        for half in 0..halves {
            accumulate(p, lists, true, &panels, (half, half), self);
        }
        core.panels = panels;
    }
}

fn rows_of(fragment: &[u32; LANES]) -> Eight {
    std::array::from_fn(|row| std::array::from_fn(|i| fragment[4 * row + i]))
}

fn fragment_of(rows: &Eight) -> [u32; LANES] {
    std::array::from_fn(|lane| rows[lane / 4][lane % 4])
}

fn transposed(rows: &Eight) -> Eight {
    let half = |row: usize, column: usize| rows[row][column / 2] >> (16 * (column % 2)) & 0xffff;
    std::array::from_fn(|row| std::array::from_fn(|i| half(2 * i, row) | half(2 * i + 1, row) << 16))
}
