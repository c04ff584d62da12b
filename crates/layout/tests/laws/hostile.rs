//! Nothing panics, whatever comes in: text that is no layout, and numbers at the ends of 64 bits.
//!
//! Each property is tried on proptest's few hundred cases. Where `CI` is `true` it goes on with new random cases until its
//! time is up: about a minute for all of them, on however many cores.

use proptest::collection::vec;
use proptest::prelude::*;
use std::time::{Duration, Instant};
use warpsmith_layout::atom::{CopyAtom, MmaAtom, Operand, SharedAtom, TiledCopy, TiledMma};
use warpsmith_layout::atom::{Major, SharedSwizzle};
use warpsmith_layout::{
    ComposedLayout, Coord, Index, Int, IntTuple, Layout, Picture, Step, Strides, Swizzle, Tiler, Tuple, crd2crd,
    crd2idx, crd2idx_colex, idx2crd, idx2crd_stride, make_layout_tv,
};

fn number() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => -3i64..20,
        2 => Just(0),
        1 => any::<i64>(),
        1 => Just(i64::MAX),
        1 => Just(i64::MIN),
        1 => (0u32..63).prop_map(|k| 1i64 << k),
    ]
}

fn tuple() -> impl Strategy<Value = IntTuple> {
    number().prop_map(IntTuple::from).prop_recursive(3, 10, 4, |inner| vec(inner, 0..=4).prop_map(Tuple::of))
}

fn layout() -> impl Strategy<Value = Layout> {
    let basis = prop_oneof![4 => Just(""), 1 => Just("@0"), 1 => Just("@1@0")];
    (tuple(), vec((number(), basis), 60)).prop_filter_map("a layout", |(shape, strides)| {
        let mut strides = strides.into_iter();
        let shape = shape.map(|s| s.value().map_or(Int::ONE, |v| Int::from(v.checked_abs().unwrap_or(1).max(1))));
        let stride = shape.map(|_| {
            let (value, basis) = strides.next().unwrap_or((0, ""));
            format!("{value}{basis}").parse().unwrap_or(Step::ZERO)
        });
        Layout::new(shape, stride).ok()
    })
}

fn coord() -> impl Strategy<Value = Coord> {
    let leaf = prop_oneof![3 => number().prop_map(Index::from), 1 => Just(Index::All)];
    leaf.prop_map(Tuple::leaf).prop_recursive(2, 6, 3, |inner| vec(inner, 0..=3).prop_map(Tuple::of))
}

fn tiler() -> impl Strategy<Value = Tiler> {
    let leaf = prop_oneof![
        2 => number().prop_map(Tiler::from),
        2 => layout().prop_map(Tiler::from),
        1 => Just(Tiler::Keep)
    ];
    leaf.prop_recursive(2, 6, 3, |inner| vec(inner, 0..=3).prop_map(Tiler::Modes))
}

/// How many properties share the minute.
const PROPERTIES: u32 = 11;

/// How long one property is tried, with as many at once as there are cores.
fn patience() -> Duration {
    if std::env::var_os("CI").is_none_or(|ci| ci != "true") {
        return Duration::ZERO;
    }
    let cores = std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(PROPERTIES));
    Duration::from_secs(60) * cores.min(PROPERTIES) / PROPERTIES
}

macro_rules! never_panics {
    ($(fn $name:ident($($case:ident in $strategy:expr),* $(,)?) $body:block)*) => {$(
        #[test]
        fn $name() {
            let until = Instant::now() + patience();
            loop {
                proptest!(|($($case in $strategy),*)| $body);
                if Instant::now() >= until {
                    break;
                }
            }
        }
    )*};
}

never_panics! {
    fn text(text in r"[()0-9,:_@<>Swo \-]{0,40}") {
        let _ = text.parse::<IntTuple>();
        let _ = text.parse::<Strides>();
        let _ = text.parse::<Coord>();
        let _ = text.parse::<Layout>();
        let _ = text.parse::<Tiler>();
        let _ = text.parse::<Swizzle>();
        let _ = text.parse::<ComposedLayout>();
        let _ = MmaAtom::named(&text);
        let _ = CopyAtom::named(&text);
    }

    fn any_text(text in any::<String>()) {
        let _ = text.parse::<Layout>();
        let _ = text.parse::<Tiler>();
        let _ = text.parse::<ComposedLayout>();
    }

    fn deep_text(depth in 0usize..5000) {
        let text = "(".repeat(depth);
        prop_assert!(text.parse::<Layout>().is_err());
        let tiler = "<".repeat(depth);
        prop_assert!(tiler.parse::<Tiler>().is_err());
    }

    fn one_layout(a in layout(), t in tuple(), n in number(), c in coord()) {
        let _ = (a.size(), a.cosize(), a.at(n), a.offset(&c), a.coordinate(&c), a.rank(), a.depth());
        let _ = (a.coalesce(), a.coalesce_by(&t), a.filter(), a.filter_by(&t), a.filter_zeros_by(&t), a.nullspace());
        let _ = (a.complement(&t), a.complement_own(), a.right_inverse(), a.left_inverse());
        let _ = (a.upcast(n), a.downcast(n), a.recast(n, 16), a.recast(8, n), a.max_alignment());
        let _ = (a.slice(&c), a.dice(&c), a.flat_coord(n), a.tile_to_shape(&t, None), a.tile_to_shape(&t, Some(t.clone())));
        let _ = (Layout::compact(&t), Layout::row_major(&t), Layout::ordered(&t, &t), Layout::identity(&t));
        let _ = (Layout::distribute(&t, n), a.compact_like(), a.fragment_like(), a.zip(), a.flatten());
        let _ = (a.to_cpp_string(), a.to_table(), a.to_svg(), a.to_string().parse::<Layout>());
        let _ = Picture::offsets(&a.clone().into()).map(|picture| picture.cropped(3, 40).to_ansi());
        let _ = Picture::coordinates(&a).map(|picture| picture.cropped(0, 0).to_text());
        prop_assert_eq!(a.to_string().parse::<Layout>().ok(), Some(a));
    }

    fn modes(a in layout(), b in layout(), i in 0usize..6, j in 0usize..6) {
        let _ = (a.mode(i), a.take(i..j), a.group(i..j), a.select(&[i, j]), a.replace(i, &b), a.append(&b), a.prepend(&b));
    }

    fn two_layouts(a in layout(), b in layout(), n in number()) {
        let _ = (a.compose(&b), a.blocked_product(&b), a.raked_product(&b), a.max_common(&b), make_layout_tv(&a, &b));
        let _ = (a.local_partition(&b, n), Picture::thread_values(&a, b.shape().clone()));
    }

    fn tilers(a in layout(), t in tiler(), c in coord(), keep in vec(any::<bool>(), 0..4)) {
        let _ = (a.compose_tiler(&t), a.logical_divide(&t), a.zipped_divide(&t), a.tiled_divide(&t), a.flat_divide(&t));
        let _ = (a.logical_product(&t), a.zipped_product(&t), a.tiled_product(&t), a.flat_product(&t));
        let _ = (a.local_tile(&t, &c), a.local_tile_projected(&t, &c, &keep), a.shape().is_divided_by(&t));
        let _ = t.to_string().parse::<Tiler>();
    }

    fn tuples(a in tuple(), b in tuple(), c in tuple(), n in number(), at in coord(), s in tuple()) {
        let _ = (a.size(), a.ceil_div(&b), a.shape_div(&b), a.round_up(&b), a.product_each());
        let _ = (a.is_compatible(&b), a.is_congruent(&b), a.is_weakly_congruent(&b));
        let _ = (a.lex_less(&b), a.colex_less(&b), a.elem_less(&b), a.flatten(), a.clone().wrap(), a.mode(2).is_ok());
        let strides = Strides::from(s);
        let _ = (crd2idx(&at, &a, strides.clone()), crd2idx_colex(&at, &a), idx2crd(n, &a), crd2crd(&a, &b, &c));
        let _ = idx2crd_stride(n, &a, strides);
    }

    fn numbers(a in number(), b in number()) {
        let (a, b) = (Int::from(a), Int::from(b));
        let _ = (a.add(&b), a.mul(&b), a.div(&b), a.rem(&b), a.ceil_div(&b), a.neg(), a.abs(), a.smaller(&b));
        let _ = (a.equals(&b), a.at_most(&b), a.less_than(&b), a.is_multiple_of(&b), a.facts());
        let mixed = Int::variable(0, warpsmith_layout::Facts::new(4, -8, i64::MAX)).add(&a).and_then(|x| x.mul(&b));
        if let Ok(x) = mixed {
            let _ = (x.add(&a), x.mul(&b), x.div(&b), x.rem(&b), x.ceil_div(&a), x.abs(), x.is_multiple_of(&b), x.equals(&a));
            let _ = (a.div(&x), a.rem(&x), a.is_multiple_of(&x), x.to_string());
        }
    }

    fn swizzles(bits in any::<u32>(), base in 0u32..70, shift in any::<i32>(), a in layout(), b in layout(), n in number(), c in coord()) {
        for (bits, shift) in [(bits, shift), (bits % 8, shift % 10)] {
            let Ok(swizzle) = Swizzle::new(bits, base, shift) else { continue };
            let _ = (swizzle.apply(n), swizzle.upcast(n), swizzle.downcast(n), Swizzle::from_masks(n, swizzle.y()));
            let x = ComposedLayout::new(swizzle, n, a.clone());
            let y = ComposedLayout::new(swizzle, 0, b.clone());
            let _ = (x.at(n), x.slice(&c), x.upcast(n), x.downcast(n), x.recast(8, n), x.compose(&b), x.right_inverse());
            let _ = (y.left_inverse(), y.right_inverse(), y.compose_composed(&x), x.max_common_vector(&b));
            let _ = (a.compose_composed(&y), x.to_svg(), Picture::banks(&x, n), x.to_string().parse::<ComposedLayout>());
        }
    }

    fn atoms(a in layout(), b in layout(), t in tiler(), n in number(), k_major in any::<bool>()) {
        let mma = MmaAtom::named("SM80_16x8x16_F32F16F16F32_TN").and_then(|atom| TiledMma::new(atom, a.clone(), t.clone()));
        if let Ok(mma) = mma {
            for operand in [Operand::A, Operand::B, Operand::C] {
                let _ = (mma.layout_tv(operand), mma.partition(operand, &b, n), mma.tile_size());
            }
        }
        if let Ok(atom) = CopyAtom::named("SM75_U32x4_LDSM_N").and_then(|atom| atom.values(n)) {
            let copy = TiledCopy::from_tv(atom, a.clone(), t);
            let _ = (copy.partition_source(&b, n), copy.target_tv(), copy.retile(&b));
        }
        let major = if k_major { Major::K } else { Major::Mn };
        let atom = SharedAtom { major, swizzle: SharedSwizzle::B64 };
        let _ = (atom.elements(n), atom.swizzled(n), atom.descriptor(n, &a), atom.descriptor(16, &a));
    }
}
