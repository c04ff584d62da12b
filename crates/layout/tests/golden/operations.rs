//! The operations on plain layouts and tuples.

use crate::case::{Answer, Case, Said, Trouble, list};
use warpsmith_layout::{
    Coord, Index, Int, IntTuple, Layout, Strides, crd2crd, crd2idx, crd2idx_colex, idx2crd, idx2crd_stride,
    make_layout_tv,
};

pub(crate) fn run(case: &Case) -> Answer<Said> {
    let operation = case.operation();
    match case.file() {
        "layout" => layout(case, &operation),
        "shape" => shape(case, &operation),
        "make" => make(case, &operation),
        "slice" => slice(case, &operation),
        "print" => print(case, &operation),
        "basis" => basis(case, &operation),
        _ => algebra(case, &operation),
    }
}

pub(crate) fn unknown<T>(operation: &str) -> Answer<T> {
    Err(Trouble::Unreadable(format!("no operation {operation}")))
}

/// The result, and its table where the case has one.
pub(crate) fn result(case: &Case, inputs: &[&'static str], layout: &Layout) -> Answer<Said> {
    with_table(case, Said::from(inputs).and("result", layout), layout)
}

fn with_table(case: &Case, said: Said, layout: &Layout) -> Answer<Said> {
    Ok(if case.has("table") { said.and("table", list(layout.table()?)) } else { said })
}

/// An operation from a layout and a tiler, by name.
pub(crate) fn tile(name: &str, a: &Layout, case: &Case) -> Answer<Layout> {
    let tiler = case.tiler("tiler")?;
    Ok(match name {
        "composition" | "composition_tiler" => a.compose_tiler(&tiler)?,
        "logical_divide" => a.logical_divide(tiler)?,
        "zipped_divide" => a.zipped_divide(tiler)?,
        "tiled_divide" => a.tiled_divide(tiler)?,
        "flat_divide" => a.flat_divide(tiler)?,
        "logical_product" => a.logical_product(tiler)?,
        "zipped_product" => a.zipped_product(tiler)?,
        "tiled_product" => a.tiled_product(tiler)?,
        "flat_product" => a.flat_product(tiler)?,
        other => return unknown(other),
    })
}

/// Operations whose result is one layout: composition, complement, inverses, divides, products, recasts.
pub(crate) fn operate(case: &Case, operation: &str) -> Answer<(Vec<&'static str>, Layout)> {
    let a = || case.layout("a");
    let b = || case.layout("b");
    Ok(match operation {
        "coalesce" => (vec!["a"], a()?.coalesce()?),
        "coalesce_by" => (vec!["a", "profile"], a()?.coalesce_by(case.tuple("profile")?)?),
        "filter" => (vec!["a"], a()?.filter()?),
        "filter_by" => (vec!["a", "profile"], a()?.filter_by(case.tuple("profile")?)?),
        "filter_zeros" => (vec!["a"], a()?.filter_zeros()),
        "filter_zeros_by" => (vec!["a", "profile"], a()?.filter_zeros_by(case.tuple("profile")?)?),
        "nullspace" => (vec!["a"], a()?.nullspace()?),
        "composition" => (vec!["a", "b"], a()?.compose(&b()?)?),
        "complement" if case.has("cotarget") => (vec!["a", "cotarget"], a()?.complement(case.tuple("cotarget")?)?),
        "complement" => (vec!["a"], a()?.complement_own()?),
        "left_inverse" => (vec!["a"], a()?.left_inverse()?),
        "right_inverse" => (vec!["a"], a()?.right_inverse()?),
        "blocked_product" => (vec!["a", "b"], a()?.blocked_product(&b()?)?),
        "raked_product" => (vec!["a", "b"], a()?.raked_product(&b()?)?),
        "tile_to_shape" => {
            let order = if case.has("order") { Some(case.tuple("order")?) } else { None };
            (vec!["a", "target", "order"], a()?.tile_to_shape(case.tuple("target")?, order)?)
        }
        "upcast" => (vec!["a", "n"], a()?.upcast(case.int("n")?)?),
        "downcast" => (vec!["a", "n"], a()?.downcast(case.int("n")?)?),
        "recast_layout" => {
            (vec!["a", "old_bits", "new_bits"], a()?.recast(case.int("old_bits")?, case.int("new_bits")?)?)
        }
        "make_layout_tv" => (vec!["thr", "val"], make_layout_tv(&case.layout("thr")?, &case.layout("val")?)?.1),
        other => (vec!["a", "tiler"], tile(other, &a()?, case)?),
    })
}

fn algebra(case: &Case, operation: &str) -> Answer<Said> {
    match operation {
        "max_common" => {
            let (vector, layout) = case.layout("a")?.max_common(&case.layout("b")?)?;
            Ok(result(case, &["a", "b"], &layout)?.and("vector", vector))
        }
        "max_alignment" => Ok(Said::from(&["a"]).and("result", case.layout("a")?.max_alignment()?)),
        other => {
            let (inputs, layout) = operate(case, other)?;
            result(case, &inputs, &layout)
        }
    }
}

fn layout(case: &Case, operation: &str) -> Answer<Said> {
    let one = |inputs: &[&'static str], value: &dyn std::fmt::Display| Said::from(inputs).and("result", value);
    Ok(match operation {
        "layout" => {
            let a = case.layout("a")?;
            let said = Said::from(&["a"]).and("size", a.size()?).and("cosize", a.cosize()?).and("rank", a.rank());
            let said = said.and("depth", a.depth()).and("coalesced", a.coalesce()?);
            with_table(case, said, &a)?
        }
        "crd2idx" => {
            let strides: Strides = case.read("stride")?;
            one(&["shape", "stride", "crd"], &crd2idx(case.coord("crd")?, case.tuple("shape")?, strides)?)
        }
        "crd2idx_colex" => one(&["shape", "crd"], &crd2idx_colex(case.coord("crd")?, case.tuple("shape")?)?),
        "idx2crd" => one(&["shape", "idx"], &idx2crd(case.int("idx")?, case.tuple("shape")?)?),
        "idx2crd_stride" => {
            let strides: Strides = case.read("stride")?;
            one(&["shape", "stride", "idx"], &idx2crd_stride(case.int("idx")?, case.tuple("shape")?, strides)?)
        }
        "crd2crd" => {
            let coord = crd2crd(case.tuple("crd")?, case.tuple("src_shape")?, case.tuple("dst_shape")?)?;
            one(&["crd", "src_shape", "dst_shape"], &coord)
        }
        "get_coords" => {
            let (a, index) = (case.layout("a")?, case.int("idx")?);
            let hier = idx2crd_stride(index, a.shape(), a.stride().clone())?;
            let linear = crd2idx_colex(Coord::from(&hier), a.shape())?;
            Said::from(&["a", "idx"]).and("hier", hier).and("flat", a.flat_coord(index)?).and("linear", linear)
        }
        "coord_less" => {
            let (a, b) = (case.tuple("a")?, case.tuple("b")?);
            let said = Said::from(&["a", "b"]).and("lex", a.lex_less(&b)?).and("colex", a.colex_less(&b)?);
            said.and("elem", a.elem_less(&b)?)
        }
        other => return unknown(other),
    })
}

fn shape(case: &Case, operation: &str) -> Answer<Said> {
    Ok(match operation {
        "shape_op" => {
            let (a, b) = (case.tuple("a")?, case.tuple("b")?);
            let value = match case.text("fn")?.as_str() {
                "ceil_div" => a.ceil_div(&b)?,
                "shape_div" => a.shape_div(&b)?,
                "round_up" => a.round_up(&b)?,
                other => return unknown(other),
            };
            Said::from(&["a", "b"]).and("result", value)
        }
        "compat" => {
            let (a, b) = (case.tuple("a")?, case.tuple("b")?);
            let said = Said::from(&["a", "b"]).and("congruent", a.is_congruent(&b));
            said.and("weakly_congruent", a.is_weakly_congruent(&b)).and("compatible", a.is_compatible(&b)?)
        }
        "evenly_divides" => {
            Said::from(&["shape", "tiler"]).and("result", case.tuple("shape")?.is_divided_by(&case.tiler("tiler")?)?)
        }
        other => return unknown(other),
    })
}

fn make(case: &Case, operation: &str) -> Answer<Said> {
    match operation {
        "make_layout" => {
            let shape = case.tuple("shape")?;
            let layout = match case.text("major")?.as_str() {
                "left" => Layout::compact(shape)?,
                "right" => Layout::row_major(shape)?,
                other => return unknown(other),
            };
            result(case, &["shape", "major"], &layout)
        }
        "make_ordered_layout" => {
            result(case, &["shape", "order"], &Layout::ordered(case.tuple("shape")?, case.tuple("order")?)?)
        }
        "make_layout_like" => result(case, &["a"], &case.layout("a")?.compact_like()?),
        "make_fragment_like" => result(case, &["a"], &case.layout("a")?.fragment_like()?),
        "make_identity_layout" => {
            let layout = Layout::identity(case.tuple("shape")?)?;
            with_coordinates(case, Said::from(&["shape"]).and("result", &layout), &layout)
        }
        "domain_distribute" => {
            result(case, &["shape", "n"], &Layout::distribute(case.tuple("shape")?, case.int("n")?)?)
        }
        "modes" => modes(case),
        "make_layout_tv" => {
            let (thr, val) = (case.layout("thr")?, case.layout("val")?);
            let (tiler, tv) = make_layout_tv(&thr, &val)?;
            let tile = thr.raked_product(&val)?;
            let said = result(case, &["thr", "val"], &tv)?.and("tiler_mn", tiler);
            Ok(said.and("right_inv", tile.right_inverse()?).and("layout_mn", tile))
        }
        other => unknown(other),
    }
}

fn modes(case: &Case) -> Answer<Said> {
    let a = case.layout("a")?;
    let number = |field| -> Answer<usize> { Ok(usize::try_from(case.int(field)?).unwrap_or(usize::MAX)) };
    let layout = match case.text("fn")?.as_str() {
        "flatten" => a.flatten(),
        "get" => a.mode(number("i")?)?,
        "take" => a.take(number("begin")?..number("end")?)?,
        "group" => a.group(number("begin")?..number("end")?)?,
        "select" => {
            let modes: Vec<usize> =
                serde_json::from_value(case.value("modes")?.clone()).map_err(|e| Trouble::Unreadable(e.to_string()))?;
            a.select(&modes)?
        }
        "append" => a.append(&case.layout("x")?),
        "prepend" => a.prepend(&case.layout("x")?),
        "replace" => a.replace(number("i")?, &case.layout("x")?)?,
        "zip" => a.zip()?,
        other => return unknown(other),
    };
    result(case, &["a", "i", "x", "begin", "end", "modes"], &layout)
}

fn slice(case: &Case, operation: &str) -> Answer<Said> {
    let a = case.layout("a")?;
    let (inputs, (layout, offset)): (&[&'static str], _) = match operation {
        "slice" => (&["a", "crd"], a.slice(case.coord("crd")?)?),
        "dice" => return result(case, &["a", "crd"], &a.dice(case.coord("crd")?)?),
        "local_tile" => (&["a", "tiler", "crd"], a.local_tile(case.tiler("tiler")?, case.coord("crd")?)?),
        "local_tile_proj" => {
            let keep: Vec<bool> = case.coord("proj")?.leaves().iter().map(|p| *p != Index::All).collect();
            let tile = a.local_tile_projected(case.tiler("tiler")?, case.coord("crd")?, &keep)?;
            (&["a", "tiler", "crd", "proj"], tile)
        }
        "local_partition" => {
            (&["a", "thr", "idx"], a.local_partition(&case.layout("thr")?, Int::from(case.int("idx")?))?)
        }
        other => return unknown(other),
    };
    Ok(result(case, inputs, &layout)?.and("offset", offset))
}

fn print(case: &Case, operation: &str) -> Answer<Said> {
    let a = case.layout("a")?;
    Ok(match operation {
        "print" => Said::from(&["a"]).and("static", a.to_cpp_string()).and("dynamic", &a),
        "print_layout" => Said::from(&["a"]).and("text", a.to_table()?),
        "print_swizzle" => return crate::swizzles::print(case),
        other => return unknown(other),
    })
}

fn basis(case: &Case, operation: &str) -> Answer<Said> {
    match operation {
        "composition_basis" => result(case, &["a", "b"], &case.layout("a")?.compose(&case.layout("b")?)?),
        "identity_op" => {
            let identity = Layout::identity(case.tuple("shape")?)?;
            let layout = match case.text("fn")?.as_str() {
                "table" => identity,
                other => tile(other, &identity, case)?,
            };
            with_coordinates(case, Said::from(&["shape", "tiler"]).and("result", &layout), &layout)
        }
        other => unknown(other),
    }
}

fn with_coordinates(case: &Case, said: Said, layout: &Layout) -> Answer<Said> {
    if !case.has("table") {
        return Ok(said);
    }
    let coordinates = (0..layout.size()?).map(|i| layout.coordinate(i)).collect::<Result<Vec<IntTuple>, _>>()?;
    let table = match coordinates.first() {
        // C++ writes a single basis stride's coordinates as multiples of it, and 0 as such.
        Some(_) if layout.stride().leaves().iter().filter(|d| !d.is_zero()).count() <= 1 => {
            let basis = layout.stride().leaves().iter().find(|d| !d.is_zero()).map(|d| d.basis).unwrap_or_default();
            let value = |c: &IntTuple| c.leaves().last().map(ToString::to_string).unwrap_or_default();
            let texts = coordinates.iter().map(|c| format!("{}{basis}", value(c)));
            if basis.is_empty() { list(texts) } else { list(texts.map(|t| format!("\"{t}\""))) }
        }
        _ => list(coordinates.iter().map(|c| format!("\"{c}\""))),
    };
    Ok(said.and("table", table))
}
