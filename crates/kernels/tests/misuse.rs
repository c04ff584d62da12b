//! Mistakes that compile as Rust, and what the language says of them. What rustc itself refuses is in the language's own
//! tests.

mod common;

extern crate warpsmith_kernels as warpsmith;

use common::assemble::tensor;
use warpsmith_dsl::cute::*;
use warpsmith_dsl::prelude::*;
use warpsmith_dsl::{Arguments, Target, WarpgroupMma, compile};

#[derive(KernelArgs)]
struct TestArgs<'a> {
    #[tensor(rows, columns)]
    x: &'a TensorArg,
    #[tensor(rows, columns)]
    y: &'a mut TensorArg,
}

struct Body<F> {
    target: Target,
    body: F,
}

impl<F: Fn(&TestParams) + Send + Sync> Kernel for Body<F> {
    type Args = TestParams;
    fn name(&self) -> String {
        "misuse".into()
    }
    fn launch(&self, _: &TestArgs<'_>) -> Launch {
        Launch::grid(1).block(128)
    }
    fn body(&self, x: TestParams) {
        (self.body)(&x);
    }
}

/// What is said of a body on matrices of f32; empty when it is right.
fn said_on(target: Target, body: impl Fn(&TestParams) + Send + Sync) -> String {
    let (x, mut y) = (tensor(1 << 40, F32, &[64, 64]), tensor(1 << 41, F32, &[64, 64]));
    let (kernel, host) = (Body { target, body }, TestArgs { x: &x, y: &mut y });
    let arguments = Arguments::of::<TestParams>(&host);
    match compile(&kernel, &arguments, &kernel.launch(&host), kernel.target) {
        Ok(_) => String::new(),
        Err(e) => e.to_string(),
    }
}

fn said(body: impl Fn(&TestParams) + Send + Sync) -> String {
    said_on(Target::SM_90A, body)
}

/// Every part is said, and the place is in this file.
#[track_caller]
fn contains(said: &str, parts: &[&str]) {
    for part in parts.iter().chain(&["tests/misuse.rs:"]) {
        assert!(said.contains(part), "{part:?} is not in: {said}");
    }
}

#[test]
fn a_right_body_is_right() {
    let right = said(|a| {
        let i = Dim::from(thread_idx().x) % 16 * 4;
        a.y.at::<F32>((0, i)).store_vector(a.x.at::<F32>((0, i)).load_vector::<4>());
    });
    assert_eq!(right, "");
}

#[test]
fn a_value_that_leaves_its_branch() {
    let escaped = said(|a| {
        let kept = std::cell::Cell::new(U32::from(0));
        when(thread_idx().x.lt(3), || kept.set(thread_idx().x * 2));
        a.y.at::<F32>((0, 0)).store(kept.get().f32());
    });
    contains(&escaped, &["this value was made inside a run-time block that is closed here", "let `branch` return it"]);
}

#[test]
fn a_variable_bound_anew_in_a_loop() {
    let carried = said(|a| {
        let mut sum = F32::from(0.0);
        for i in range(0, 4) {
            sum = sum + a.x.at::<F32>((0, i)).load();
        }
        a.y.at::<F32>((0, 0)).store(sum);
    });
    contains(
        &carried,
        &["a Rust variable carries this value from one run-time iteration to the next", "let v = var(first)"],
    );
}

#[test]
fn a_vector_that_is_not_aligned() {
    let odd = said(|a| {
        let i = thread_idx().x;
        a.y.at::<F32>((0, i)).store_vector([1.0, 2.0, 3.0, 4.0].map(F32::from));
    });
    contains(&odd, &["an access of 16 bytes at a place known to be aligned to 4 only", "`Dim::from(i) * 4`"]);
    let many = said(|a| {
        let x = a.x.at::<F32>((0, 0)).load_vector::<3>();
        a.y.at::<F32>((0, 0)).store_vector(x);
    });
    contains(&many, &["no access moves 3 elements of 32 bits", "1, 2 or 4 elements"]);
}

#[test]
fn a_register_that_nothing_reads_is_a_warning() {
    let body = |a: &TestParams| {
        let (read, unread) = (var(0.0), var(0.0));
        unread.set(2.0);
        a.y.at::<F32>((0, 0)).store(read.get());
    };
    let (x, mut y) = (tensor(1 << 40, F32, &[64, 64]), tensor(1 << 41, F32, &[64, 64]));
    let (kernel, host) = (Body { target: Target::SM_90A, body }, TestArgs { x: &x, y: &mut y });
    let arguments = Arguments::of::<TestParams>(&host);
    let compiled = compile(&kernel, &arguments, &kernel.launch(&host), kernel.target).unwrap();
    assert_eq!(compiled.warnings.len(), 1);
    contains(
        &compiled.warnings[0].to_string(),
        &["this register is written, and nothing reads it", "var(0.0), var(0.0)"],
    );
}

#[test]
fn too_much_shared_memory() {
    let large = said(|a| {
        let tile = Shared::<F32>::new("tile", 64 * 1024);
        tile.set(thread_idx().x, 1.0);
        sync_threads();
        a.y.at::<F32>((0, 0)).store(tile.get(5));
    });
    assert!(large.contains("262144 bytes of shared memory"), "{large}");
    assert!(large.contains("232448"), "{large}");
}

#[test]
fn instructions_that_a_target_has_not() {
    let product = |a: &TestParams| {
        let tile = SmemTile { dtype: BF16, rows: 64, columns: 64 };
        let ring = TmaRing::new(2, 1, [tile, tile]);
        let acc = WarpgroupMma::new(64, BF16, BF16).accumulator();
        ring.drain(1, |_, [x, y]| acc.mma(x, y));
        acc.finish();
        a.y.at::<F32>((0, 0)).store(1.0);
    };
    let old = said_on(Target::SM_80, product);
    contains(&old, &["needs sm_90", "and the target is sm_80"]);
    let other = said_on(Target::SM_100A, product);
    contains(&other, &["`wgmma", "needs sm_90a, and the target is sm_100a"]);
    let fp8 = said_on(Target::SM_80, |a| {
        let x = a.x.at::<F32>((0, 0)).load();
        a.y.at::<F32>((0, 0)).store(x.e4m3().f32());
    });
    contains(&fp8, &["cvt.rn.satfinite.e4m3x2.f32", "needs sm_89, and the target is sm_80"]);
}

#[test]
fn a_store_of_another_dtype() {
    let part = said(|a| {
        let tv = Tv::rows(1, 16, 4, 1).unwrap();
        let mine = |t: &Tensor| t.tile(tv.tile(), (0, 0)).partition(&tv, thread_idx().x % 16);
        mine(&a.y).store(mine(&a.x).load().f32().to(BF16));
    });
    contains(&part, &["bf16 elements stored to `y` of f32", "store `….to(F32)`"]);
    let element = said(|a| a.y.at::<F16>((0, 0)).store(1.0));
    contains(&element, &["`y` holds f32, and is accessed as f16", "x.at::<F32>"]);
    let input = said(|a| a.x.at::<F32>((0, 0)).store(1.0));
    contains(&input, &["an input can not be stored to", "&mut TensorArg"]);
}

#[test]
fn a_barrier_where_threads_have_parted() {
    let barrier = said(|a| {
        when(thread_idx().x.lt(40), || sync_threads());
        a.y.at::<F32>((0, 0)).store(1.0);
    });
    contains(&barrier, &["this `barrier` waits for all threads of the block, and not all of them come to it"]);
    let vote = said(|a| {
        when(lane_idx().lt(7), || {
            let any = sync_threads_any(thread_idx().x.eq(3));
            when(any, || a.y.at::<F32>((0, 0)).store(1.0));
        });
    });
    contains(&vote, &["bar.red.or.pred"]);
}

#[test]
fn an_accumulator_that_is_read_while_a_product_runs() {
    let tile = |name: &str| SmemTensor::new(name, BF16, smem_layout(BF16, Major::K, SharedSwizzle::B128, (64, 64)));
    // The wait leaves one group in flight, which is this one: past what Rust's borrows see.
    let early = said(|a| {
        let (x, y) = (tile("x"), tile("y"));
        let acc = WarpgroupMma::new(64, BF16, BF16).accumulator();
        acc.mma(&x, &y).wait_but(1);
        a.y.at::<F32>((0, 0)).store(acc.finish().sum());
    });
    contains(&early, &["is touched here while a `wgmma` owns it"]);
    let dropped = said(|a| {
        let (x, y) = (tile("x"), tile("y"));
        let acc = WarpgroupMma::new(64, BF16, BF16).accumulator();
        drop(acc.mma(&x, &y));
        a.y.at::<F32>((0, 0)).store(acc.finish().sum());
    });
    contains(&dropped, &["never"]);
}

#[test]
fn orders_that_an_access_can_not_have() {
    let load = said(|a| {
        let x = a.x.at::<F32>((0, 0)).release(Scope::Device).load();
        a.y.at::<F32>((0, 0)).store(x);
    });
    contains(&load, &["a load can not be `release`", "a load acquires or is relaxed"]);
    let store = said(|a| a.y.at::<F32>((0, 0)).acquire(Scope::Device).store(1.0));
    contains(&store, &["a store can not be `acquire`"]);
    let reduction = said(|a| a.y.at::<F32>((0, 0)).acquire(Scope::Device).reduce(warpsmith_dsl::Atomic::Add, 1.0));
    contains(&reduction, &["gives nothing back to acquire by"]);
    let fence = said(|_| warpsmith_dsl::fence(Order::Relaxed, Scope::Device));
    contains(&fence, &["a relaxed fence orders nothing"]);
    let shared = said(|a| {
        let tile = Shared::<F32>::new("tile", 4);
        let x = tile.at(0).read_only().load();
        a.y.at::<F32>((0, 0)).store(x);
    });
    contains(&shared, &["read-only", "shared"]);
}

#[test]
fn copies_that_do_not_exist() {
    let way = said(|a| {
        let barriers = Mbarriers::new("barrier", 1);
        Bulk::new().load(a.y.at::<F32>((0, 0)), a.x.at((0, 0)), 64, barriers.at(0));
    });
    contains(&way, &["a bulk copy to shared from global, and not to global from global"]);
    let odd = said(|a| {
        let (tile, barriers) = (Shared::<F32>::aligned("tile", 64, 128), Mbarriers::new("barrier", 1));
        Bulk::new().load(tile.at(0), a.x.at((0, 0)), 3, barriers.at(0));
    });
    contains(&odd, &["a bulk copy of 12 bytes", "multiples of 16"]);
    let boxed = said(|a| {
        TmaTensor::new(&a.x, [64], Span::None);
    });
    contains(&boxed, &["`x` has 2 modes, the box 1"]);
    let span = said(|a| {
        TmaTensor::new(&a.x, [8, 64], Span::Bytes128);
    });
    contains(&span, &["rows of a box have 256 bytes, and the swizzle spans 128"]);
    let own = said(|a| {
        let remote = a.x.at::<F32>((0, 0)).in_block(1).load();
        a.y.at::<F32>((0, 0)).store(remote);
    });
    contains(&own, &["only shared memory is another block's too"]);
}

#[test]
fn roundings_that_do_not_exist() {
    let away = said(|a| {
        let x = a.x.at::<F32>((0, 0)).load().rounding(Rounding::NearestAway).bf16();
        a.y.at::<F32>((0, 0)).store(x.f32());
    });
    contains(&away, &["cvt.rna.bf16.f32"]);
    let groups = said(|a| {
        let x = lanes(7).shuffle_xor(&a.x.at::<F32>((0, 0)).load(), 1);
        a.y.at::<F32>((0, 0)).store(x);
    });
    contains(&groups, &["groups of 7 lanes", "a power of two, up to 32"]);
}
