//! The operations on swizzles and swizzled layouts.

use crate::case::{Answer, Case, Said, Trouble, list};
use crate::operations::{tile, unknown};
use warpsmith_layout::{ComposedLayout, Swizzle};

fn number<T: TryFrom<i64>>(case: &Case, field: &'static str) -> Answer<T> {
    T::try_from(case.int(field)?).map_err(|_| Trouble::Unreadable(format!("{field} is out of range")))
}

fn swizzle(case: &Case) -> Answer<Swizzle> {
    Ok(Swizzle::new(number(case, "b")?, number(case, "m")?, number(case, "s")?)?)
}

fn composed(case: &Case) -> Answer<ComposedLayout> {
    let offset = if case.has("offset") { case.int("offset")? } else { 0 };
    Ok(ComposedLayout::new(swizzle(case)?, offset, case.layout("a")?))
}

fn with_table(case: &Case, said: Said, layout: &ComposedLayout) -> Answer<Said> {
    Ok(if case.has("table") { said.and("table", list(layout.table()?)) } else { said })
}

pub(crate) fn print(case: &Case) -> Answer<Said> {
    Ok(Said::from(&["b", "m", "s", "offset", "a"]).and("text", composed(case)?.to_cpp_string()))
}

pub(crate) fn run(case: &Case) -> Answer<Said> {
    const INPUTS: &[&str] = &["b", "m", "s", "a", "n", "tiler", "target", "order", "other"];
    let result = |layout: &ComposedLayout| with_table(case, Said::from(INPUTS).and("result", layout), layout);
    match case.operation().as_str() {
        "swizzle" => {
            let swizzle = swizzle(case)?;
            let table = case.value("table")?.as_array().map_or(0, Vec::len);
            let table = (0..).take(table).map(|x| swizzle.apply(x));
            Ok(Said::from(INPUTS).and("text", swizzle).and("table", list(table)))
        }
        "make_swizzle" => {
            Ok(Said::from(&["y", "z"]).and("result", Swizzle::from_masks(case.int("y")?, case.int("z")?)?))
        }
        "swizzle_compose" => {
            let first = Swizzle::new(number(case, "b0")?, number(case, "m0")?, number(case, "s0")?)?;
            let second = Swizzle::new(number(case, "b1")?, number(case, "m1")?, number(case, "s1")?)?;
            Ok(Said::from(&["b0", "m0", "s0", "b1", "m1", "s1"]).and("result", first.compose(second)?))
        }
        "swizzle_layout" => {
            let layout = composed(case)?;
            let inputs = [INPUTS, &["offset"]].concat();
            let said = Said::from(&inputs).and("result", &layout).and("cosize", layout.cosize()?);
            with_table(case, said, &layout)
        }
        // C++ writes some slices as plain layouts; the offsets are what must agree.
        "swizzle_slice" => {
            let whole = ComposedLayout::new(swizzle(case)?, 0, case.layout("a")?);
            let slice = whole.slice(case.coord("crd")?)?;
            with_table(case, Said::from(&[INPUTS, &["crd", "result", "offset"]].concat()), &slice)
        }
        "swizzle_recast" => result(&match case.text("kind")?.as_str() {
            "upcast" => composed(case)?.upcast(case.int("n")?)?,
            "downcast" => composed(case)?.downcast(case.int("n")?)?,
            other => return unknown(other),
        }),
        "swizzle_tile" => {
            let whole = composed(case)?;
            result(&whole.around(tile(&case.text("fn")?, whole.layout(), case)?))
        }
        "swizzle_tile_to_shape" => {
            let order = if case.has("order") { Some(case.tuple("order")?) } else { None };
            result(&composed(case)?.tile_to_shape(case.tuple("target")?, order)?)
        }
        "swizzle_inverse" => {
            let inverse = match case.text("kind")?.as_str() {
                "right" => composed(case)?.right_inverse()?,
                "left" => composed(case)?.left_inverse()?,
                other => return unknown(other),
            };
            // C++ leaves out a swizzle that no bit is left of.
            match inverse.swizzle().is_identity() && inverse.offset().is(0) {
                true => crate::operations::result(case, INPUTS, inverse.layout()),
                false => result(&inverse),
            }
        }
        "swizzle_max_common_vector" => {
            let vector = composed(case)?.max_common_vector(&case.layout("other")?)?;
            Ok(Said::from(INPUTS).and("result", vector))
        }
        // C++ keeps two swizzles in a row, and does not merge them; the function is what must agree.
        "composition_swizzled" => {
            let (a, b): (ComposedLayout, ComposedLayout) = (case.read("a")?, case.read("b")?);
            with_table(case, Said::from(&["a", "b", "result"]), &a.compose_composed(&b)?)
        }
        other => unknown(other),
    }
}
