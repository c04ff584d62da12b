//! The trace: what a kernel body writes down while it runs, and what it did wrong.
//!
//! A thread-local stack of traces is the context of every operation. An operation borrows it for one step only, so the
//! author's closures always run without it. Mistakes are collected; what a mistake gives is *poison*, which is silent.

use crate::debug::Messages;
use crate::matrix_descriptor::Descriptors;
use crate::options::Tracing;
use crate::replay::difference;
use crate::tma::TensorMap;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::panic::{self, AssertUnwindSafe, Location as RustLocation};
use std::sync::Arc;
use warpsmith_ir::{Block, Inst, Kernel, LocationId, Op, Param, RegisterId, SharedId, SharedVariable, Type, Value};
use warpsmith_types::{DType, Diagnostic, Inlined, Location, Report, Target};

/// A place in the author's source.
pub type Loc = &'static RustLocation<'static>;

/// A run-time value: 8 bytes, `Copy`, bound to its trace and to this thread.
#[derive(Clone, Copy)]
pub struct Handle {
    pub(crate) id: u32,
    trace: u32,
    not_send: PhantomData<*const ()>,
}

const POISON: u32 = u32::MAX;

impl Handle {
    /// Whether a mistake made it.
    pub(crate) fn is_poison(self) -> bool {
        self.id == POISON
    }
}

#[derive(PartialEq, Clone, Copy)]
enum Kind {
    Body,
    Branch,
    Loop,
}

struct Open {
    serial: u32,
    kind: Kind,
    insts: Block,
}

/// Where a value was made.
#[derive(Clone, Copy)]
struct Definition {
    block: u32,
    at: Loc,
}

/// A fragment's elements: words in registers, one or two elements a word.
#[derive(Clone)]
pub(crate) struct FragData {
    pub(crate) dtype: DType,
    pub(crate) elements: usize,
    pub(crate) words: Vec<Handle>,
}

pub(crate) struct Trace {
    id: u32,
    pub(crate) kernel: Kernel,
    blocks: Vec<Open>,
    serials: u32,
    definitions: Vec<Definition>,
    pub(crate) fragments: Vec<FragData>,
    /// How often a run-time loop's body is traced: once for the program, twice to check it.
    pub(crate) passes: usize,
    /// Whether there is such a loop at all.
    pub(crate) loops: bool,
    /// True while a loop body is traced for the second time, only to be compared.
    replaying: bool,
    frames: Vec<Frame>,
    locations: FxHashMap<(usize, u32), LocationId>,
    errors: Vec<Diagnostic>,
    /// Shared variables declared in the body of the loops being recorded, so that a replay finds them again.
    shared_cursor: usize,
    /// The tensor maps that the host must pass, with their parameters.
    tensor_maps: Vec<(u32, TensorMap)>,
    pub(crate) target: Target,
    pub(crate) messages: Messages,
    pub(crate) descriptors: Descriptors,
}

/// A helper that is running, and the chain of calls that led to it.
struct Frame {
    serial: u32,
    inlined: Arc<Inlined>,
}

thread_local! {
    static STACK: RefCell<Vec<Trace>> = const { RefCell::new(Vec::new()) };
    static TRACES: Cell<u32> = const { Cell::new(0) };
    static PANIC: RefCell<Option<Location>> = const { RefCell::new(None) };
}

/// Borrows the trace for one step.
#[track_caller]
pub(crate) fn with<R>(f: impl FnOnce(&mut Trace) -> R) -> R {
    let result = STACK.with(|s| s.borrow_mut().last_mut().map(f));
    match result {
        Some(r) => r,
        None => panic!("a kernel operation was called outside of a kernel body"),
    }
}

/// Records an operation with one result.
#[track_caller]
pub(crate) fn emit(op: Op, args: &[Handle], ty: Type) -> Handle {
    let at = RustLocation::caller();
    with(|t| t.record(op, args, &[ty], at)[0])
}

/// Records an operation without results.
#[track_caller]
pub(crate) fn effect(op: Op, args: &[Handle]) {
    let at = RustLocation::caller();
    with(|t| t.record(op, args, &[], at));
}

/// Notes a mistake.
#[track_caller]
pub(crate) fn mistake(message: impl Into<String>, notes: &[(&str, Loc)], help: &str) {
    let at = RustLocation::caller();
    with(|t| t.error(message.into(), at, "", notes, help));
}

/// The type of a handle, `None` for poison.
pub(crate) fn type_of(h: Handle) -> Option<Type> {
    with(|t| t.kernel.values.get(h.id as usize).copied())
}

/// What a mistake gives.
pub(crate) fn poison() -> Handle {
    with(|t| t.poison())
}

/// Records `f` as a block that may run or not, at run time.
pub(crate) fn block(f: impl FnOnce()) -> Block {
    with(|t| t.open_branch());
    f();
    with(|t| t.close())
}

/// Records `f` as a loop's body.
pub(crate) fn loop_block(f: impl FnOnce()) -> Block {
    with(|t| t.open_loop());
    f();
    with(|t| t.close())
}

impl Trace {
    fn new(name: &str, options: Tracing, id: u32, passes: usize) -> Trace {
        Trace {
            id,
            kernel: Kernel { name: name.into(), ..Kernel::default() },
            blocks: vec![Open { serial: 0, kind: Kind::Body, insts: vec![] }],
            serials: 0,
            definitions: vec![],
            fragments: vec![],
            passes,
            loops: false,
            replaying: false,
            frames: vec![],
            locations: FxHashMap::default(),
            errors: vec![],
            shared_cursor: 0,
            tensor_maps: vec![],
            target: options.target,
            messages: options.messages,
            descriptors: Descriptors::default(),
        }
    }

    fn poison(&self) -> Handle {
        Handle { id: POISON, trace: self.id, not_send: PhantomData }
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    fn open(&mut self, kind: Kind) {
        self.serials += 1;
        self.blocks.push(Open { serial: self.serials, kind, insts: vec![] });
    }

    pub(crate) fn open_branch(&mut self) {
        self.open(Kind::Branch);
    }

    pub(crate) fn open_loop(&mut self) {
        self.open(Kind::Loop);
    }

    pub(crate) fn close(&mut self) -> Block {
        if self.blocks.len() > 1 { self.blocks.pop().map(|b| b.insts).unwrap_or_default() } else { vec![] }
    }

    /// Whether the code being recorded runs many times.
    pub(crate) fn in_loop(&self) -> bool {
        self.blocks.iter().any(|b| b.kind == Kind::Loop)
    }

    pub(crate) fn replay(&mut self, on: bool) -> bool {
        std::mem::replace(&mut self.replaying, on)
    }

    pub(crate) fn errors_so_far(&self) -> usize {
        self.errors.len()
    }

    pub(crate) fn shared_cursor(&self) -> usize {
        self.shared_cursor
    }

    pub(crate) fn rewind_shared(&mut self, cursor: usize) {
        self.shared_cursor = cursor;
    }

    /// Declares shared memory; the second pass over a loop's body finds what the first declared.
    pub(crate) fn shared(&mut self, variable: SharedVariable) -> SharedId {
        let id = self.shared_cursor;
        self.shared_cursor += 1;
        if id == self.kernel.shared.len() {
            let name = format!("{}_{id}", variable.name);
            self.kernel.shared.push(SharedVariable { name, ..variable });
        }
        SharedId(id as u32)
    }

    /// The parameter of a tensor map; one for all uses of equal maps.
    pub(crate) fn tensor_map(&mut self, map: TensorMap) -> u32 {
        if let Some((index, _)) = self.tensor_maps.iter().find(|(_, m)| *m == map) {
            return *index;
        }
        let index = self.kernel.params.len() as u32;
        self.kernel.params.push(Param::tensor_map(format!("{}_map{index}", map.tensor)));
        self.tensor_maps.push((index, map));
        index
    }

    /// A new mutable register.
    pub(crate) fn register(&mut self, ty: Type) -> RegisterId {
        self.kernel.registers.push(ty);
        RegisterId(self.kernel.registers.len() as u32 - 1)
    }

    /// Makes a value that the block being recorded defines without an instruction: a loop's counter.
    pub(crate) fn define(&mut self, ty: Type, at: Loc) -> Handle {
        let value = self.kernel.value(ty);
        let block = self.blocks.last().map_or(0, |b| b.serial);
        self.definitions.push(Definition { block, at });
        Handle { id: value.0, trace: self.id, not_send: PhantomData }
    }

    /// Appends an instruction to the block being recorded.
    pub(crate) fn record(&mut self, op: Op, args: &[Handle], results: &[Type], at: Loc) -> SmallVec<[Handle; 1]> {
        let poisoned = args.iter().fold(false, |p, &a| p | !self.usable(a, at));
        if poisoned {
            return results.iter().map(|_| self.poison()).collect();
        }
        let made: SmallVec<[Handle; 1]> = results.iter().map(|&ty| self.define(ty, at)).collect();
        let location = self.locate(at);
        if let Some(here) = self.blocks.last_mut() {
            here.insts.push(Inst {
                op,
                args: args.iter().map(|a| Value(a.id)).collect(),
                results: made.iter().map(|h| Value(h.id)).collect(),
                location,
            });
        }
        made
    }

    /// Adds an `else` to the `if` recorded last, when nothing came between.
    pub(crate) fn amend(&mut self, position: usize, extra: Block) -> bool {
        let Some(here) = self.blocks.last_mut() else { return false };
        let last = here.insts.len() == position + 1;
        match here.insts.last_mut().map(|i| &mut i.op) {
            Some(Op::If { otherwise, .. }) if last && otherwise.is_empty() => {
                *otherwise = extra;
                true
            }
            _ => false,
        }
    }

    pub(crate) fn position(&self) -> usize {
        self.blocks.last().map_or(0, |b| b.insts.len())
    }

    fn locate(&mut self, at: Loc) -> LocationId {
        let frame = self.frames.last().map_or(0, |f| f.serial);
        let key = (std::ptr::from_ref(at).addr(), frame);
        if let Some(&id) = self.locations.get(&key) {
            return id;
        }
        let mut place = Location::from(at);
        place.inlined_at = self.frames.last().map(|f| f.inlined.clone());
        self.kernel.locations.push(place);
        let id = LocationId(self.kernel.locations.len() as u32 - 1);
        self.locations.insert(key, id);
        id
    }

    fn enter(&mut self, name: &'static str, at: Loc) {
        let mut place = Location::from(at);
        place.inlined_at = self.frames.last().map(|f| f.inlined.clone());
        self.serials += 1;
        let inlined = Arc::new(Inlined { function: name.into(), at: place });
        self.frames.push(Frame { serial: self.serials, inlined });
    }

    /// May `h` be read here? If not, says so once; what comes of it is poison, and silent.
    fn usable(&mut self, h: Handle, at: Loc) -> bool {
        if h.trace != self.id {
            let help = "make the value inside this body, or pass the Rust number it came from";
            self.error("this value belongs to another kernel's trace".into(), at, "used here", &[], help);
            return false;
        }
        let Some(&made) = self.definitions.get(h.id as usize) else { return false };
        if self.blocks.iter().any(|b| b.serial == made.block) {
            return true;
        }
        let (message, help) = if std::ptr::eq(made.at, at) {
            (
                "a Rust variable carries this value from one run-time iteration to the next",
                "keep it in a register: let v = var(first); … v.set(v.get() …)",
            )
        } else {
            (
                "this value was made inside a run-time block that is closed here",
                "keep it in a `var`, or let `branch` return it",
            )
        };
        let made_here = ("made here", made.at);
        let notes = if std::ptr::eq(made.at, at) { &[][..] } else { &[made_here][..] };
        self.error(message.into(), at, "used here", notes, help);
        false
    }

    /// The second pass over a loop's body recorded something else, from this instruction on.
    pub(crate) fn differs(&mut self, id: Option<LocationId>, loop_at: Loc) {
        let message = "a run-time loop records something else the second time: a Rust variable changes in its body";
        let help = "use a `var` for what changes at run time, or a Rust range (`0..4`) to unroll";
        let mut d = Diagnostic::error(message).note("the loop", Some(loop_at.into())).help(help);
        d.at = id.and_then(|id| self.kernel.location(id).cloned()).or_else(|| Some(loop_at.into()));
        if !self.errors.contains(&d) {
            self.errors.push(d);
        }
    }

    pub(crate) fn error(&mut self, message: String, at: Loc, label: &str, notes: &[(&str, Loc)], help: &str) {
        let mut place = Location::from(at);
        place.inlined_at = self.frames.last().map(|f| f.inlined.clone());
        let mut d = Diagnostic::error(message).at(place).label(label).help(help);
        for (text, at) in notes {
            d = d.note(*text, Some(Location::from(*at)));
        }
        if !self.errors.contains(&d) {
            self.errors.push(d);
        }
    }
}

/// Runs the body of a `#[track_caller]` helper that kernels share: what it records keeps its own lines and says who
/// called.
///
/// `#[track_caller]` propagates through every attributed frame, so without this all of a helper's operations would carry
/// the kernel's line. A closure is where it stops.
#[track_caller]
pub fn helper<R>(name: &'static str, f: impl FnOnce() -> R) -> R {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            STACK.with(|s| s.borrow_mut().last_mut().map(|t| t.frames.pop()));
        }
    }
    let at = RustLocation::caller();
    with(|t| t.enter(name, at));
    let _leave = Leave;
    f()
}

/// Runs a body and returns what it wrote, or everything that it did wrong. A panic is one of those things.
///
/// The program is what the body records when each run-time loop is traced once. Then the whole body is run again with
/// each loop traced twice, and must record the same: what differs depends on a Rust variable that changes in a run-time
/// loop, be it used in the loop or long after it. A body without such loops is run once.
///
/// # Errors
/// A [`Report`] of every mistake, each with its place in the author's source.
pub fn trace(name: &str, body: impl Fn()) -> Result<Kernel, Report> {
    trace_with(name, Tracing::default(), body)
}

/// The same for a target, with messages if wanted.
///
/// # Errors
/// As [`trace`].
pub fn trace_with(name: &str, options: Tracing, body: impl Fn()) -> Result<Kernel, Report> {
    trace_for(name, options, body).map(|(kernel, _)| kernel)
}

/// The same, with the tensor maps that a launch must pass behind the arguments, in this order.
pub(crate) fn trace_for(name: &str, options: Tracing, body: impl Fn()) -> Traced {
    let (first, loops) = run(name, options, &body, 1);
    if !loops {
        return first;
    }
    let ((program, maps), (again, _)) = match (first, run(name, options, &body, 2).0) {
        (Ok(program), Ok(again)) => (program, again),
        (Err(mut report), Err(again)) => {
            for d in again.diagnostics {
                if !report.diagnostics.contains(&d) {
                    report.diagnostics.push(d);
                }
            }
            return Err(report);
        }
        (Err(report), _) | (_, Err(report)) => return Err(report),
    };
    let Some((first, then)) = difference(&program.body, &again.body, None) else { return Ok((program, maps)) };
    let at = match (then, first) {
        (Some(i), _) => again.location(i.location),
        (None, Some(i)) => program.location(i.location),
        (None, None) => None,
    };
    let message = "this depends on how often a run-time loop is traced: a Rust variable changes in its body";
    let help = "use a `var` for what changes at run time, or a Rust range (`0..4`) to unroll";
    let mut d = Diagnostic::error(message).help(help);
    d.at = at.cloned();
    Err(Report::single(name, d))
}

/// A program with its tensor maps.
type Traced = Result<(Kernel, Vec<TensorMap>), Report>;

struct Pop;

impl Drop for Pop {
    fn drop(&mut self) {
        STACK.with(|s| s.borrow_mut().pop());
    }
}

/// What a body records, and whether a run-time loop is in it.
fn run(name: &str, options: Tracing, body: &impl Fn(), passes: usize) -> (Traced, bool) {
    static HOOK: std::sync::Once = std::sync::Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let tracing = STACK.with(|s| s.try_borrow().is_ok_and(|s| !s.is_empty()));
            match (tracing, info.location()) {
                (true, Some(l)) => PANIC.set(Some(l.into())),
                _ => before(info),
            }
        }));
    });
    let id = TRACES.get() + 1;
    TRACES.set(id);
    STACK.with(|s| s.borrow_mut().push(Trace::new(name, options, id, passes)));
    let pop = Pop;
    let outcome = panic::catch_unwind(AssertUnwindSafe(body));
    let (kernel, maps, mut diagnostics, loops) = with(|t| {
        let mut kernel = std::mem::take(&mut t.kernel);
        kernel.body = std::mem::take(&mut t.blocks[0].insts);
        let maps = std::mem::take(&mut t.tensor_maps).into_iter().map(|(_, map)| map).collect();
        (kernel, maps, std::mem::take(&mut t.errors), t.loops)
    });
    drop(pop);
    if let Err(panic) = outcome {
        let said = panic.downcast_ref::<String>().cloned();
        let said = said.or(panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default();
        let mut d = Diagnostic::error(format!("the body panicked: {said}"))
            .help("tracing stopped here, so mistakes after this line are not listed");
        d.at = PANIC.take();
        diagnostics.push(d);
    }
    let report = Report { subject: name.into(), diagnostics };
    (if report.diagnostics.is_empty() { Ok((kernel, maps)) } else { Err(report) }, loops)
}
