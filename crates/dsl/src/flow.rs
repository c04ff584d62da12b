//! Run-time control flow.
//!
//! Closures are `Fn`, so that rustc refuses to rebind a captured Rust variable inside one (E0594); a `for` over
//! [`range`] can rebind, so that is found by tracing twice (see [`trace`](crate::trace::trace)).

use crate::bundle::{Bundle, IntoBundle, handles};
use crate::dim::Dim;
use crate::replay::difference;
use crate::trace::{self, Handle, Loc, block, effect, emit, mistake, poison, type_of, with};
use crate::value::{Bool, Scalar, U32};
use std::panic::Location;
use warpsmith_ir::{Block, Op, RegisterId, Type, Value};

/// A mutable register, with the interface of [`std::cell::Cell`]: all methods take `&self`, so `Fn` closures may use it.
#[derive(Clone, Copy)]
pub struct Var<T: Bundle> {
    /// Its shape; the handles in it are not read.
    like: T,
    /// Components are numbered from here.
    first: u32,
    /// The trace it belongs to.
    trace: u32,
}

/// Makes a mutable register (or several: of a tuple, of a fragment) with a first value.
///
/// ```
/// # use warpsmith_dsl::prelude::*;
/// # trace("example", || {
/// let sum = var(0.0);
/// for i in range(0, 10) {
///     sum.add(i.f32());
/// }
/// # }).unwrap();
/// ```
#[track_caller]
pub fn var<T: IntoBundle>(first: T) -> Var<T::Bundle> {
    let like = first.into_bundle();
    let parts = handles(&like);
    let at = Location::caller();
    let (base, trace) = with(|t| {
        let base = t.kernel.registers.len() as u32;
        for &h in &parts {
            let ty = t.kernel.values.get(h.id as usize).copied().unwrap_or(Type::U32);
            let register = t.register(ty);
            t.record(Op::Set(register), &[h], &[], at);
        }
        (base, t.id())
    });
    Var { like, first: base, trace }
}

impl<T: Bundle> Var<T> {
    /// What it holds now.
    #[track_caller]
    pub fn get(&self) -> T {
        let at = Location::caller();
        if self.is_foreign() {
            return self.like.map(&mut |_| poison());
        }
        let mut register = self.first;
        self.like.map(&mut |_| {
            let id = RegisterId(register);
            register += 1;
            with(|t| {
                let ty = t.kernel.registers.get(id.0 as usize).copied().unwrap_or(Type::U32);
                t.record(Op::Get(id), &[], &[ty], at)[0]
            })
        })
    }

    /// Replaces what it holds.
    #[track_caller]
    pub fn set(&self, value: impl Into<T>) {
        let (from, count) = (handles(&value.into()), handles(&self.like).len());
        let at = Location::caller();
        if self.is_foreign() {
            return;
        }
        if from.len() != count {
            let help = "a fragment in a `var` keeps its length";
            mistake(format!("{} elements set to a register of {count}", from.len()), &[], help);
            return;
        }
        for (i, h) in from.into_iter().enumerate() {
            with(|t| t.record(Op::Set(RegisterId(self.first + i as u32)), &[h], &[], at));
        }
    }

    /// Replaces what it holds by a function of it. `FnOnce`: this opens no block, so what `f` does to Rust variables
    /// happens once, now.
    #[track_caller]
    pub fn update(&self, f: impl FnOnce(T) -> T) {
        self.set(f(self.get()));
    }

    /// Adds to what it holds.
    #[track_caller]
    pub fn add<R>(&self, x: R)
    where
        T: std::ops::Add<R, Output = T>,
    {
        self.set(self.get() + x);
    }

    #[track_caller]
    fn is_foreign(&self) -> bool {
        let foreign = with(|t| t.id()) != self.trace;
        if foreign {
            mistake("this register belongs to another kernel's trace", &[], "make the `var` inside this body");
        }
        foreign
    }
}

/// `if`, for its effect; [`When::otherwise`] adds the `else`.
#[track_caller]
pub fn when(condition: Bool, then: impl Fn()) -> When {
    conditional(condition, false, then)
}

/// The same, where the author promises that all threads of the block go the same way: barriers may stand inside. The
/// emulator says so when they do not.
#[track_caller]
pub fn when_uniform(condition: Bool, then: impl Fn()) -> When {
    conditional(condition, true, then)
}

#[track_caller]
fn conditional(condition: Bool, uniform: bool, then: impl Fn()) -> When {
    let then = block(then);
    let at = with(|t| t.position());
    let clean = !condition.h.is_poison();
    effect(Op::If { uniform, then, otherwise: vec![] }, &[condition.h]);
    When { at: clean.then_some(at) }
}

/// A `when` that may get an `else`.
pub struct When {
    at: Option<usize>,
}

impl When {
    /// The `else` of the `when` just before.
    #[track_caller]
    pub fn otherwise(self, f: impl Fn()) {
        let f = block(f);
        if let Some(at) = self.at
            && !with(|t| t.amend(at, f))
        {
            mistake("`otherwise` must follow its `when` at once", &[], "when(c, || …).otherwise(|| …);");
        }
    }
}

/// `if`/`else` with a value: only the side taken runs.
#[track_caller]
pub fn branch<T: Bundle>(condition: Bool, yes: impl Fn() -> T, no: impl Fn() -> T) -> T {
    let at = Location::caller();
    with(|t| t.open_branch());
    let like = yes();
    let (first, trace) = with(|t| {
        let first = t.kernel.registers.len() as u32;
        (first, t.id())
    });
    for h in handles(&like) {
        let ty = type_of(h).unwrap_or(Type::U32);
        with(|t| {
            let register = t.register(ty);
            t.record(Op::Set(register), &[h], &[], at);
        });
    }
    let then = with(|t| t.close());
    let out = Var { like, first, trace };
    with(|t| t.open_branch());
    out.set(no());
    let otherwise = with(|t| t.close());
    effect(Op::If { uniform: false, then, otherwise }, &[condition.h]);
    out.get()
}

/// Both sides are computed. The first fixes the type; the second may be a Rust number:
/// `select(valid, x, f32::NEG_INFINITY)`.
#[track_caller]
pub fn select<T: Scalar>(condition: Bool, yes: T, no: impl Into<T>) -> T {
    let no = no.into();
    T::from_handle(emit(Op::Select, &[condition.h, yes.handle(), no.handle()], T::TYPE))
}

/// The thread ends here when the condition holds. Not before a barrier that its block still has to pass.
#[track_caller]
pub fn exit_if(condition: Bool) {
    effect(Op::ExitIf, &[condition.h]);
}

/// A loop without end; [`break_if`] leaves it.
#[track_caller]
pub fn repeat(body: impl Fn()) {
    let body = trace::loop_block(body);
    effect(Op::Loop { body }, &[]);
}

/// Leaves the innermost run-time loop when the condition holds.
#[track_caller]
pub fn break_if(condition: Bool) {
    if with(|t| t.in_loop()) {
        effect(Op::BreakIf, &[condition.h]);
    } else {
        mistake("`break_if` outside of a run-time loop", &[], "repeat(|| { …; break_if(done); })");
    }
}

/// Goes on with the next pass of the innermost run-time loop when the condition holds.
#[track_caller]
pub fn continue_if(condition: Bool) {
    if with(|t| t.in_loop()) {
        effect(Op::ContinueIf, &[condition.h]);
    } else {
        mistake("`continue_if` outside of a run-time loop", &[], "for i in range(0, n) { continue_if(skip); … }");
    }
}

/// A loop in the kernel: `for i in range(0, n)`, with `i` a [`U32`].
///
/// `IntoIterator`, not `Iterator`: `for` works, while `.map`, `.fold`, `.collect` do not compile. A Rust range
/// (`for i in 0..4`) is unrolled instead.
#[must_use = "a run-time range does nothing until a `for` runs over it"]
pub struct Range {
    from: U32,
    to: U32,
    step: U32,
    unroll: Option<u32>,
    at: Loc,
}

/// The numbers from `from` up to, but without, `to`, at run time.
#[track_caller]
pub fn range(from: impl Into<Dim>, to: impl Into<Dim>) -> Range {
    let (from, to) = (from.into().into(), to.into().into());
    Range { from, to, step: U32::from(1), unroll: None, at: Location::caller() }
}

impl Range {
    /// Counts by `step`.
    #[track_caller]
    pub fn step(self, step: impl Into<Dim>) -> Self {
        Range { step: step.into().into(), ..self }
    }

    /// Does `times` bodies in a trip, 1 to 256, so that loads of the next ones start early. The step has to be a
    /// number of Rust; what is left over runs one by one.
    ///
    /// ```
    /// # use warpsmith_dsl::prelude::*;
    /// # trace("example", || {
    /// let sum = var(0.0);
    /// for i in range(0, 100).unroll(4) {
    ///     sum.add(i.f32());
    /// }
    /// # }).unwrap();
    /// ```
    pub fn unroll(self, times: u32) -> Self {
        Range { unroll: Some(times), ..self }
    }
}

impl IntoIterator for Range {
    type Item = U32;
    type IntoIter = Passes;
    fn into_iter(self) -> Passes {
        Passes { range: self, pass: Pass::Before, indices: vec![], body: vec![], errors: 0, outer: false, shared: 0 }
    }
}

enum Pass {
    Before,
    Recording,
    Replaying,
    Done,
}

/// Yields the loop's counter once to record the body; in a checking trace once more, to see that it records the same.
pub struct Passes {
    range: Range,
    pass: Pass,
    /// The counter of each recording.
    indices: Vec<Handle>,
    body: Block,
    errors: usize,
    outer: bool,
    shared: usize,
}

impl Passes {
    fn open(&mut self) -> U32 {
        let at = self.range.at;
        let h = with(|t| {
            t.open_loop();
            t.define(Type::U32, at)
        });
        self.indices.push(h);
        U32 { h }
    }

    fn finish(&mut self) {
        self.pass = Pass::Done;
        let Range { from, to, step, unroll, at } = self.range;
        let body = std::mem::take(&mut self.body);
        let index = Value(self.indices.first().map_or(0, |h| h.id));
        with(|t| t.record(Op::For { index, unroll, body }, &[from.h, to.h, step.h], &[], at));
    }
}

impl Iterator for Passes {
    type Item = U32;
    fn next(&mut self) -> Option<U32> {
        match self.pass {
            Pass::Before => {
                self.pass = Pass::Recording;
                (self.errors, self.shared) = with(|t| {
                    t.loops = true;
                    (t.errors_so_far(), t.shared_cursor())
                });
                Some(self.open())
            }
            Pass::Recording => {
                self.body = with(|t| t.close());
                self.outer = with(|t| t.replay(true));
                // An enclosing loop's second pass needs no second pass here: cost grows with depth, not as 2^depth.
                if with(|t| t.passes) == 1 || self.outer {
                    with(|t| t.replay(self.outer));
                    self.finish();
                    return None;
                }
                self.pass = Pass::Replaying;
                with(|t| t.rewind_shared(self.shared));
                Some(self.open())
            }
            Pass::Replaying => {
                let again = with(|t| t.close());
                with(|t| t.replay(self.outer));
                if with(|t| t.errors_so_far()) == self.errors
                    && let [p, q] = self.indices[..]
                    && let Some((first, then)) = difference(&self.body, &again, Some((p, q)))
                {
                    let id = then.or(first).map(|i| i.location);
                    let loop_at = self.range.at;
                    with(|t| t.differs(id, loop_at));
                }
                self.finish();
                None
            }
            Pass::Done => None,
        }
    }
}

impl Drop for Passes {
    fn drop(&mut self) {
        if matches!(self.pass, Pass::Recording | Pass::Replaying) && !std::thread::panicking() {
            let message = "Rust's `break` or `return` left a run-time loop";
            let help = "repeat(|| { …; break_if(done); })";
            with(|t| {
                t.close();
                t.error(message.into(), self.range.at, "this loop", &[], help)
            });
        }
    }
}
