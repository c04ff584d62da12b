//! The language's functions on single values, on the device of the run: emulated, or a card with `WARPSMITH_DEVICE=cuda`.

use warpsmith::prelude::*;

#[derive(KernelArgs)]
struct MapArgs<'a> {
    #[tensor(rows, dim = fixed)]
    x: &'a TensorArg,
    #[tensor(rows, dim = fixed)]
    y: &'a mut TensorArg,
}

/// `y = f(x)`, element by element, a row of 128 to a block.
struct Map {
    f: fn(F32) -> F32,
}

impl Kernel for Map {
    type Args = MapParams;
    fn name(&self) -> String {
        "map".into()
    }
    fn launch(&self, a: &MapArgs<'_>) -> Launch {
        Launch::grid(a.x.dim(0)).block(32)
    }
    fn body(&self, a: MapParams) {
        let tv = Tv::rows(1, 32, 4, 1).unwrap();
        let mine = |t: &Tensor| t.tile([1, 128], (block_idx().x, 0)).partition(&tv, thread_idx().x);
        mine(&a.y).store(mine(&a.x).load().f32().map(self.f));
    }
}

fn device() -> Device {
    if std::env::var("WARPSMITH_DEVICE").is_ok() { Device::from_env().unwrap() } else { Device::emulated(Chip::H200) }
}

fn run(f: fn(F32) -> F32, x: &[f32]) -> Vec<f32> {
    let (device, rows) = (device(), x.len() / 128);
    let bytes: Vec<u8> = x.iter().flat_map(|v| v.to_le_bytes()).collect();
    let x = DeviceTensor::from_bytes(&device, "x", DType::F32, &[rows, 128], &bytes).unwrap();
    let mut y = DeviceTensor::new(&device, "y", DType::F32, &[rows, 128]).unwrap();
    let args = MapArgs { x: x.arg(), y: y.arg_mut() };
    let outcome = Jit::new(Map { f }).launch(&args, &device.default_stream()).unwrap();
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    y.to_bytes().unwrap().chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

/// Numbers of every sign and size in a range, specials first.
fn numbers(low: f32, high: f32) -> Vec<f32> {
    let specials = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, low, high];
    let spread = (0..1270).map(|i| low + (high - low) * (i as f32 / 1269.0));
    specials.into_iter().chain(spread).map(|x| x.clamp(low, high)).collect()
}

/// Compares with float64, within `relative` of the result and `absolute` on top.
fn close(name: &str, f: fn(F32) -> F32, exact: fn(f64) -> f64, [low, high]: [f32; 2], relative: f64, absolute: f64) {
    let x = numbers(low, high);
    for (x, y) in x.iter().zip(run(f, &x)) {
        let expected = exact((*x).into());
        let allowed = absolute + relative * expected.abs();
        let right = (f64::from(y) - expected).abs() <= allowed || f64::from(y) == expected;
        assert!(right, "{name}({x}) is {y}; expected {expected}");
    }
}

#[test]
fn approximate_functions_are_within_their_bounds() {
    let ulp = 2f64.powi(-23);
    close("exp2", F32::exp2, f64::exp2, [-120.0, 120.0], 2.0 * ulp, 0.0);
    close("exp", F32::exp, f64::exp, [-80.0, 80.0], 130.0 * ulp, 0.0);
    close("rcp", F32::rcp, |x| 1.0 / x, [0.01, 1e6], ulp, 0.0);
    close("rsqrt", F32::rsqrt, |x| 1.0 / x.sqrt(), [0.01, 1e6], 1.2 * ulp, 0.0);
    close("sqrt", F32::sqrt, f64::sqrt, [0.01, 1e6], 2.0 * ulp, 0.0);
    close("log2", F32::log2, f64::log2, [0.01, 1e6], 2.0 * ulp, 4.0 * ulp);
    close("log", F32::log, f64::ln, [0.01, 1e6], 3.0 * ulp, 4.0 * ulp);
    close("sin", F32::sin, f64::sin, [-3.0, 3.0], 0.0, 2f64.powf(-20.5));
    close("cos", F32::cos, f64::cos, [-3.0, 3.0], 0.0, 2f64.powf(-20.5));
    close("tanh", F32::tanh, f64::tanh, [-9.0, 9.0], 2f64.powi(-10), 0.0);
    close("sigmoid", F32::sigmoid, |x| 1.0 / (1.0 + (-x).exp()), [-60.0, 60.0], 100.0 * ulp, 0.0);
    close("silu", F32::silu, |x| x / (1.0 + (-x).exp()), [-60.0, 60.0], 100.0 * ulp, 0.0);
    let gelu = |x: f64| 0.5 * x * (1.0 + (0.797_884_560_802_865_4 * (x + 0.044715 * x * x * x)).tanh());
    close("gelu", F32::gelu, gelu, [-4.0, 8.0], 1e-5, 1e-6);
}

#[test]
fn exact_functions_are_exact() {
    let exact = |name: &str, f: fn(F32) -> F32, host: fn(f32) -> f32, [low, high]: [f32; 2]| {
        let mut x = numbers(low, high);
        x[10..13].copy_from_slice(&[f32::INFINITY, f32::NEG_INFINITY, 1e-40]);
        for (x, y) in x.iter().zip(run(f, &x)) {
            let expected = host(*x);
            let same = y.to_bits() == expected.to_bits() || (y.is_nan() && expected.is_nan());
            assert!(same, "{name}({x}) is {y}; expected {expected}");
        }
    };
    exact("rcp_exact", F32::rcp_exact, |x| 1.0 / x, [-1e6, 1e6]);
    exact("sqrt_exact", F32::sqrt_exact, f32::sqrt, [0.0, 1e6]);
    exact("round", F32::round, f32::round_ties_even, [-100.0, 100.0]);
    exact("trunc", F32::trunc, f32::trunc, [-100.0, 100.0]);
    exact("floor", F32::floor, f32::floor, [-100.0, 100.0]);
    exact("ceil", F32::ceil, f32::ceil, [-100.0, 100.0]);
    exact("saturate", F32::saturate, |x| x.clamp(0.0, 1.0) + 0.0, [-2.0, 2.0]);
    exact("abs", F32::abs, f32::abs, [-2.0, 2.0]);
    exact("neg", |x| -x, |x| -x, [-2.0, 2.0]);
    exact("copysign", |x| F32::from(3.5).copysign(x), |x| 3.5f32.copysign(x), [-2.0, 2.0]);
    exact("mul_add", |x| x.mul_add(x, 0.1), |x| x.mul_add(x, 0.1), [-1e3, 1e3]);
    exact("div", |x| x / 3.0, |x| x / 3.0, [-1e6, 1e6]);
    exact("max", |x| x.max(0.25), |x| x.max(0.25), [-1.0, 1.0]);
    exact("i32", |x| x.i32().f32(), |x| (x as i32) as f32, [-3e9, 3e9]);
}

#[test]
fn nan_stays_where_the_name_says_so() {
    let mut x = vec![1.0f32; 128];
    x[3] = f32::NAN;
    let y = run(|x| x.max_nan(0.5) + x.min_nan(2.0), &x);
    assert!(y.iter().enumerate().all(|(i, v)| if i == 3 { v.is_nan() } else { *v == 2.0 }), "{y:?}");
    assert!(run(|x| x.max(0.5), &x).iter().enumerate().all(|(i, v)| *v == if i == 3 { 0.5 } else { 1.0 }));
}

#[test]
fn bits_are_where_they_belong() {
    let check = |name: &str, f: fn(F32) -> F32, host: fn(u32) -> u32| {
        let bits: Vec<u32> =
            (0..256u32).map(|i| i.wrapping_mul(0x9e37_79b9) ^ (i << 24)).chain([0, u32::MAX]).collect();
        let mut bits: Vec<u32> = bits.into_iter().cycle().take(384).collect();
        bits[300] = 1;
        let x: Vec<f32> = bits.iter().map(|b| f32::from_bits(*b)).collect();
        for (x, y) in bits.iter().zip(run(f, &x)) {
            assert_eq!(y.to_bits(), host(*x), "{name} of {x:#x}");
        }
    };
    check("popc", |x| F32::from_bits(x.to_bits().count_ones()), u32::count_ones);
    check("clz", |x| F32::from_bits(x.to_bits().leading_zeros()), u32::leading_zeros);
    check("brev", |x| F32::from_bits(x.to_bits().reverse_bits()), u32::reverse_bits);
    check(
        "bfind",
        |x| F32::from_bits(x.to_bits().highest_bit()),
        |x| if x == 0 { u32::MAX } else { 31 - x.leading_zeros() },
    );
    check("bfe", |x| F32::from_bits(x.to_bits().extract_bits(5, 11)), |x| x >> 5 & 0x7ff);
    check("bfi", |x| F32::from_bits(x.to_bits().insert_bits(x.to_bits(), 8, 4)), |x| x & !0xf00 | (x & 0xf) << 8);
    check("prmt", |x| F32::from_bits(x.to_bits().permute_bytes(x.to_bits(), 0x0123)), u32::swap_bytes);
    check("shf.l", |x| F32::from_bits(x.to_bits().funnel_shift_left(x.to_bits(), 7)), |x| x.rotate_left(7));
    check("shf.r", |x| F32::from_bits(x.to_bits().funnel_shift_right(x.to_bits(), 7)), |x| x.rotate_right(7));
    check(
        "dp4a",
        |x| F32::from_bits(x.to_bits().dot4(x.to_bits(), U32::from(9))),
        |x| x.to_le_bytes().iter().map(|b| u32::from(*b) * u32::from(*b)).sum::<u32>() + 9,
    );
    check(
        "dp4a.s32",
        |x| F32::from_bits(x.to_bits().as_i32().dot4(x.to_bits().as_i32(), I32::from(-9)).as_u32()),
        |x| (x.to_le_bytes().iter().map(|b| i32::from(*b as i8).pow(2)).sum::<i32>() - 9) as u32,
    );
    check("rem", |x| F32::from_bits(x.to_bits() % 7 + x.to_bits() / 1000), |x| x % 7 + x / 1000);
}

#[test]
fn lanes_work_together() {
    // Each row's first 32 threads hold four elements a lane; the first element tells lanes apart.
    let x: Vec<f32> = (0..128).map(|i| (i / 4) as f32).collect();
    let lanes = |f: fn(F32) -> F32| run(f, &x).into_iter().step_by(4).collect::<Vec<_>>();
    assert_eq!(lanes(|x| shuffle_up(&x, 1))[..3], [0.0, 0.0, 1.0]);
    assert_eq!(lanes(|x| shuffle_down(&x, 2))[29..], [31.0, 30.0, 31.0]);
    assert_eq!(lanes(|x| shuffle_xor(&x, 3))[..4], [3.0, 2.0, 1.0, 0.0]);
    assert!(lanes(|x| shuffle_from(&x, 9)).iter().all(|v| *v == 9.0));
    assert!(lanes(|x| ballot(x.lt(4.0)).f32()).iter().all(|v| *v == 15.0));
    assert!(
        lanes(|x| select(all_lanes(x.lt(32.0)) & any_lane(x.gt(30.0)) & !any_lane(x.gt(31.0)), x, -1.0))
            .iter()
            .all(|v| *v >= 0.0)
    );
    assert!(lanes(|x| x.i32().as_u32().warp_sum().f32()).iter().all(|v| *v == 496.0));
    assert!(lanes(|x| x.i32().as_u32().warp_max().f32()).iter().all(|v| *v == 31.0));
    let pairs = lanes(|x| match_lanes(x.i32().as_u32() / 2).count_ones().f32());
    assert!(pairs.iter().all(|v| *v == 2.0));
    assert_eq!(lanes(|x| select(elect(), x, -1.0)).iter().filter(|v| **v >= 0.0).count(), 1);
    // 64-bit and 16-bit values travel in words.
    let wide = lanes(|x| (shuffle_xor(&(x.i32().as_u32().u64() * (1 << 40)), 1) / (1u64 << 40)).u32().f32());
    assert_eq!(wide[..4], [1.0, 0.0, 3.0, 2.0]);
}
