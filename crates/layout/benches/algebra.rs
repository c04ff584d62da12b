//! What tracing a kernel does all the time: compositions, tiles and partitions of a GEMM's tensors.
//! Each must take less than 2 microseconds.

use divan::{AllocProfiler, Bencher, black_box};
use warpsmith_layout::atom::{CopyAtom, TiledCopy};
use warpsmith_layout::{Facts, Int, Layout, make_layout_tv};

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

fn row_major(m: i64, n: i64) -> Layout {
    Layout::new((m, n), (n, 1)).unwrap()
}

fn layout(text: &str) -> Layout {
    text.parse().unwrap()
}

#[divan::bench]
fn composition(bencher: Bencher<'_, '_>) {
    let a = layout("(4,6,8,10):(2,3,5,7)");
    let b = layout("6:12");
    bencher.bench(|| black_box(&a).compose(black_box(&b)));
}

#[divan::bench]
fn composition_of_thread_values(bencher: Bencher<'_, '_>) {
    let tile = row_major(16, 512);
    let (_, tv) = make_layout_tv(&row_major(4, 64), &row_major(4, 8)).unwrap();
    bencher.bench(|| black_box(&tile).compose(black_box(&tv)));
}

#[divan::bench]
fn zipped_divide(bencher: Bencher<'_, '_>) {
    let a = row_major(4096, 4096);
    bencher.bench(|| black_box(&a).zipped_divide((128, 64)));
}

#[divan::bench]
fn zipped_divide_of_run_time_rows(bencher: Bencher<'_, '_>) {
    let rows = Int::variable(0, Facts::size());
    let a = Layout::new((rows, 4096), (4096, 1)).unwrap();
    bencher.bench(|| black_box(&a).zipped_divide((128, 64)));
}

#[divan::bench]
fn thread_value_partition(bencher: Bencher<'_, '_>) {
    let tile = row_major(128, 64);
    let (_, tv) = make_layout_tv(&row_major(16, 8), &row_major(1, 8)).unwrap();
    bencher.bench(|| {
        let part = black_box(&tile).compose(black_box(&tv)).unwrap();
        part.slice((17, ..))
    });
}

#[divan::bench]
fn tiled_copy_partition(bencher: Bencher<'_, '_>) {
    let tile = row_major(128, 64);
    let atom = CopyAtom::named("UniversalCopy<uint128_t>").and_then(|atom| atom.values(16)).unwrap();
    let copy = TiledCopy::new(atom, &row_major(16, 8), &row_major(1, 8)).unwrap();
    bencher.bench(|| black_box(&copy).partition_source(black_box(&tile), 17));
}

#[divan::bench]
fn offset_of_a_coordinate(bencher: Bencher<'_, '_>) {
    let a = row_major(128, 64);
    bencher.bench(|| black_box(&a).at_coord((17, 5)));
}
