//! Pipelines between roles, and tiles drawn from a counter.

use crate::common::{device, fresh};
use crate::harness::assert_clean;
use crate::roles::{Doubled, Draw, DrawArgs, RowsArgs};
use warpsmith::compare::{decode, encode};
use warpsmith_dsl::prelude::*;
use warpsmith_runtime::{Jit, Tensor};

#[test]
fn a_warp_copies_and_a_warp_computes() {
    for kernel in [Doubled::Plain, Doubled::Asynchronous, Doubled::Bulk] {
        for rows in [1, 8, 24, 77].into_iter().filter(|rows| kernel != Doubled::Bulk || rows % 8 == 0) {
            let values: Vec<f64> = decode(F32, &encode(F32, &fresh().normals(rows * 64, 1.0)));
            let x = Tensor::new(&device(), "x", F32, &[rows, 64]).unwrap();
            x.buffer().upload(&encode(F32, &values)).unwrap();
            let mut y = Tensor::new(&device(), "y", F32, &[rows, 64]).unwrap();
            let arguments = RowsArgs { x: x.arg(), y: y.arg_mut() };
            let outcome = Jit::new(kernel).launch(&arguments, &device().default_stream()).unwrap();
            assert_clean(&format!("{rows} rows"), &outcome);
            let expected: Vec<f64> = values.iter().map(|v| v * 2.0).collect();
            assert!(decode(F32, &y.to_bytes().unwrap()) == expected, "{rows} rows, {kernel:?}");
        }
    }
}

#[test]
fn every_tile_is_drawn_once_and_the_counter_is_zero_again() {
    let counter = Tensor::new(&device(), "counter", DType::U32, &[1]).unwrap();
    counter.buffer().upload(&[0; 4]).unwrap();
    let mut counter = counter;
    for [down, across] in [[1, 1], [7, 5], [4, 4]] {
        let mut seen = Tensor::new(&device(), "seen", F32, &[down, across]).unwrap();
        seen.buffer().upload(&encode(F32, &vec![0.0; down * across])).unwrap();
        let arguments = DrawArgs { seen: seen.arg_mut(), counter: counter.arg_mut() };
        let outcome = Jit::new(Draw).launch(&arguments, &device().default_stream()).unwrap();
        assert_clean(&format!("{down} × {across}"), &outcome);
        let seen = decode(F32, &seen.to_bytes().unwrap());
        assert!(seen.iter().all(|times| *times == 1.0), "{down} × {across}: {seen:?}");
        assert_eq!(counter.to_bytes().unwrap(), [0; 4], "{down} × {across}");
    }
}
