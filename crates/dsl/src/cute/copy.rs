//! Copies between tensors, by the instruction of a tiled copy's atom.

use super::coordinates::Predicates;
use super::global_part::{GmemPart, Inside, Reach};
use super::instruction::{CopyKind, copy_of, uncovered};
use super::plain::{Move, move_elements};
use super::register_tensor::RmemTensor;
use super::shared_tensor::SmemTensor;
use crate::flow::select;
use crate::machine::ptx;
use crate::trace::{helper, mistake};
use crate::value::{Bool, U32};
use std::panic::Location;
use warpsmith_layout::Layout;
use warpsmith_layout::atom::TiledCopy;
use warpsmith_types::DType;

/// One end of a copy.
#[derive(Clone, Copy)]
pub enum Side<'a> {
    /// A part of a tile of global memory.
    Global(&'a GmemPart),
    /// Shared memory.
    Shared(&'a SmemTensor),
    /// Registers.
    Register(&'a RmemTensor),
}

/// What can be copied from and to.
pub trait CopySide {
    #[doc(hidden)]
    fn side(&self) -> Side<'_>;
}
impl CopySide for GmemPart {
    fn side(&self) -> Side<'_> {
        Side::Global(self)
    }
}
impl CopySide for SmemTensor {
    fn side(&self) -> Side<'_> {
        Side::Shared(self)
    }
}
impl CopySide for RmemTensor {
    fn side(&self) -> Side<'_> {
        Side::Register(self)
    }
}

impl Side<'_> {
    pub(crate) fn dtype(&self) -> DType {
        match self {
            Side::Global(t) => t.tensor.dtype,
            Side::Shared(t) => t.dtype,
            Side::Register(t) => t.dtype(),
        }
    }

    pub(crate) fn layout(&self) -> &Layout {
        match self {
            Side::Global(t) => &t.places.layouts[0],
            Side::Shared(t) => &t.layout,
            Side::Register(t) => t.layout(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.layout().size().unwrap_or(0) as usize
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Side::Global(t) => t.name(),
            Side::Shared(t) => &t.name,
            Side::Register(_) => "registers",
        }
    }
}

/// Copies a thread's part `from` to its part `to`, both partitioned by `copy` (or retiled to it). Plain copies are as wide
/// as both sides are proven to allow, up to the atom's width; what lies outside of a global tensor reads as zero and is
/// not written. `cp.async`, `ldmatrix` and `stmatrix` must fit as they are.
#[track_caller]
pub fn copy(copy: &TiledCopy, from: &impl CopySide, to: &impl CopySide) {
    run(copy, from.side(), to.side(), None);
}

/// [`copy`], only of the vectors for which the predicate holds. What is read from memory is zero for others; they are not
/// written to global memory, nor from registers.
#[track_caller]
pub fn copy_if(copy: &TiledCopy, predicates: &Predicates, from: &impl CopySide, to: &impl CopySide) {
    run(copy, from.side(), to.side(), Some(predicates));
}

/// Copies between parts of equal shape by loads and stores as wide as both sides are proven to allow.
#[track_caller]
pub fn autovec_copy(from: &impl CopySide, to: &impl CopySide) {
    let (from, to) = (from.side(), to.side());
    if fit(from, to) {
        helper("autovec_copy", || move_elements(&Move { from, to, vector: from.len(), predicates: None }));
    }
}

/// Whether both sides have equal sizes and dtypes.
#[track_caller]
fn fit(from: Side<'_>, to: Side<'_>) -> bool {
    if from.dtype() != to.dtype() {
        let message = format!("`{}` of {} copied to `{}` of {}", from.name(), from.dtype(), to.name(), to.dtype());
        mistake(message, &[], "convert in registers: `fragment.to(dtype)`");
        return false;
    }
    if from.len() != to.len() {
        let message = format!(
            "{} elements of `{}` ({}) copied to {} of `{}` ({})",
            from.len(),
            from.name(),
            from.layout().shape(),
            to.len(),
            to.name(),
            to.layout().shape()
        );
        mistake(message, &[], "partition both sides by one tiled copy, and retile fragments");
        return false;
    }
    true
}

#[track_caller]
fn run(copy: &TiledCopy, from: Side<'_>, to: Side<'_>, predicates: Option<&Predicates>) {
    let atom = copy.atom();
    let values = |l: &Layout| l.mode(1).and_then(|m| m.size()).unwrap_or(1).max(1) as usize;
    let (read, written) = (values(&atom.source), values(&atom.target));
    let kind = match copy_of(atom) {
        Ok(kind) => kind,
        Err(problem) => return mistake(problem, &[], "see `copy_atom`"),
    };
    if let Some(problem) = uncovered(copy) {
        return mistake(problem, &[], "give threads and values that whole instructions cover");
    }
    let whole = |side: Side<'_>, vector: usize| side.len().is_multiple_of(vector);
    if from.dtype() != to.dtype() || matches!(kind, CopyKind::Plain | CopyKind::Async { .. }) {
        if !fit(from, to) {
            return;
        }
    } else if !whole(from, read) || !whole(to, written) || from.len() / read != to.len() / written {
        let message = format!(
            "`{}` reads {read} and gives {written} elements at a time; `{}` has {} and `{}` {}",
            atom.name,
            from.name(),
            from.len(),
            to.name(),
            to.len()
        );
        return mistake(message, &[], "partition both sides by one tiled copy, and retile fragments");
    }
    if let Some(p) = predicates
        && p.all.len() * read != from.len()
    {
        let message = format!("{} predicates for {} vectors of `{}`", p.all.len(), from.len() / read, from.name());
        return mistake(message, &[], "partition an `identity` of the same shape by the same copy");
    }
    if predicates.is_some() && matches!(kind, CopyKind::LoadMatrix { .. } | CopyKind::StoreMatrix { .. }) {
        return mistake(format!("`{}` with predicates", atom.name), &[], "a warp moves matrices together");
    }
    let at = Location::caller();
    helper("copy", || match (kind, from, to) {
        (CopyKind::Plain, ..) => move_elements(&Move { from, to, vector: read, predicates }),
        (CopyKind::Async { past_l1, bytes }, Side::Global(from), Side::Shared(to)) => {
            copy_async(from, to, read, past_l1, bytes, predicates, at);
        }
        (CopyKind::LoadMatrix { count, transposed }, Side::Shared(memory), Side::Register(registers))
        | (CopyKind::StoreMatrix { count, transposed }, Side::Register(registers), Side::Shared(memory)) => {
            let row = if matches!(kind, CopyKind::LoadMatrix { .. }) { read } else { written };
            matrices(kind, memory, registers, row, count, transposed);
        }
        (_, from, to) => {
            let message = format!("`{}` does not copy from `{}` to `{}`", atom.name, from.name(), to.name());
            let help =
                "cp.async goes from global to shared memory, ldmatrix from shared memory to registers, stmatrix back";
            mistake(message, &[("the copy", at)], help);
        }
    });
}

/// The offsets of the first elements of rows or vectors in shared memory, where each is one piece of 16 bytes or so.
#[track_caller]
fn pieces(memory: &SmemTensor, vector: usize, what: &str) -> Option<Vec<i64>> {
    let places = memory.layout.table().unwrap_or_default();
    let mut firsts = vec![];
    for piece in places.chunks(vector) {
        let together = piece.iter().enumerate().all(|(i, p)| *p == piece[0] + i as i64);
        if !together || memory.run(piece[0]) < vector as i64 {
            let message = format!(
                "`{}` of {} o {} does not keep {vector} elements of {} together",
                memory.name,
                memory.swizzle(),
                memory.layout,
                memory.dtype
            );
            mistake(message, &[], &format!("{what} takes whole pieces: make rows contiguous, swizzles coarse enough"));
            return None;
        }
        firsts.push(piece[0]);
    }
    Some(firsts)
}

#[track_caller]
fn matrices(kind: CopyKind, memory: &SmemTensor, registers: &RmemTensor, row: usize, count: usize, transposed: bool) {
    let load = matches!(kind, CopyKind::LoadMatrix { .. });
    let name = if load { "ldmatrix" } else { "stmatrix" };
    let (Some(rows), Some(words)) = (pieces(memory, row, name), registers.whole_words()) else { return };
    let at = Location::caller();
    let transposed = if transposed { ".trans" } else { "" };
    for (first, words) in rows.into_iter().zip(words.chunks(count)) {
        let (address, offset) = memory.address_of(first, at);
        let instruction = ptx(format!("{name}.sync.aligned.m8n8.x{count}{transposed}.shared.b16"));
        let instruction = match load {
            true => instruction.register_list(words).at_offset(address.h, offset),
            false => instruction.at_offset(address.h, offset).register_list(words),
        };
        instruction.emit();
    }
}

#[track_caller]
fn copy_async(
    from: &GmemPart,
    to: &SmemTensor,
    vector: usize,
    past_l1: bool,
    bytes: i64,
    predicates: Option<&Predicates>,
    at: crate::trace::Loc,
) {
    let element = to.dtype.bytes();
    let Some(firsts) = pieces(to, vector, "cp.async") else { return };
    let steps = from.steps();
    let dense = from.dense_mode();
    let name = format!("cp.async.{}.shared.global", if past_l1 { "cg" } else { "ca" });
    for (i, (first, vector_steps)) in firsts.into_iter().zip(steps.chunks(vector)).enumerate() {
        let step = vector_steps[0];
        let neighbours = |mode: usize| {
            vector_steps
                .iter()
                .enumerate()
                .all(|(j, s)| s[mode] == step[mode] + j as i64 && s[1 - mode] == step[1 - mode])
        };
        let Some(mode) = dense.filter(|&mode| vector == 1 || neighbours(mode)) else {
            let message = format!("{vector} elements of `{}` that one cp.async moves are no neighbours", from.name());
            return mistake(message, &[("the copy", at)], "let each thread's values lie along the dense mode");
        };
        if from.align(step) % bytes != 0 {
            return from.misaligned(bytes, from.align(step), Some(at));
        }
        let (global, global_offset) = from.address_of(step);
        let (shared, offset) = to.address_of(first, Location::caller());
        let instruction = ptx(&*name).at_offset(shared.h, offset).at_offset(global.h, global_offset).number(bytes);
        let allowed = predicates.map(|p| p.all[i]);
        let size = match from.reach(mode, step, vector as i64) {
            Reach::Whole(inside) => whole_or_nothing(inside, allowed, bytes),
            Reach::Some(count) => {
                let size = count * element;
                Some(allowed.map_or(size, |p| select(p, size, U32::from(0))))
            }
        };
        match size {
            Some(size) => instruction.arg(size.h).emit(),
            None => instruction.emit(),
        };
    }
}

/// Bytes to read, where that is not all of them always.
#[track_caller]
fn whole_or_nothing(inside: Inside, allowed: Option<Bool>, bytes: i64) -> Option<U32> {
    match allowed.map_or(inside, |p| inside.and(Inside::When(p))) {
        Inside::Always => None,
        Inside::Never => Some(U32::from(0)),
        Inside::When(c) => Some(select(c, U32::from(bytes as usize), U32::from(0))),
    }
}

/// Closes the group of this thread's `cp.async` so far (`cp.async.commit_group`; CuTe's `cp_async_fence`).
#[track_caller]
pub fn cp_async_fence() {
    ptx("cp.async.commit_group").emit();
}

/// Waits until at most `left` groups of this thread's `cp.async` are under way (`cp.async.wait_group`).
#[track_caller]
pub fn cp_async_wait(left: usize) {
    ptx("cp.async.wait_group").number(left as i64).emit();
}
