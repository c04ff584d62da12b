//! What was asked for, and its result.

use super::LayoutArgs;
use crate::failure::Failure;
use std::str::FromStr;
use warpsmith::layout::{ComposedLayout, IntTuple, Layout, LayoutError, Swizzle, Tiler, make_layout_tv};

/// A layout to show.
pub(super) struct Answer {
    pub(super) layout: ComposedLayout,
    /// The tile of a thread-value layout.
    pub(super) tile: Option<IntTuple>,
    /// The width of elements for a picture by banks, when none was typed.
    pub(super) bits: Option<i64>,
}

impl From<Layout> for Answer {
    fn from(layout: Layout) -> Answer {
        Answer { layout: layout.into(), tile: None, bits: None }
    }
}

pub(super) fn carry_out(args: &LayoutArgs) -> Result<Answer, Failure> {
    type Both = fn(&Layout, &str) -> Result<Layout, LayoutError>;
    let binary: [(&str, &Option<Vec<String>>, Both); 6] = [
        ("compose", &args.compose, |a, b| a.compose(&b.parse()?)),
        ("complement", &args.complement, |a, size| a.complement(size.parse::<IntTuple>()?)),
        ("divide", &args.divide, |a, tiler| a.logical_divide(tiler.parse::<Tiler>()?)),
        ("product", &args.product, |a, tiler| a.logical_product(tiler.parse::<Tiler>()?)),
        ("blocked-product", &args.blocked_product, |a, b| a.blocked_product(&b.parse()?)),
        ("raked-product", &args.raked_product, |a, b| a.raked_product(&b.parse()?)),
    ];
    for (name, operands, operation) in binary {
        if let Some([a, b]) = operands.as_deref() {
            let a: Layout = read(name, a)?;
            return operation(&a, b).map(Answer::from).map_err(|e| failed(name, &e));
        }
    }
    type One = fn(&Layout) -> Result<Layout, LayoutError>;
    let unary: [(&str, &Option<String>, One); 3] = [
        ("coalesce", &args.coalesce, Layout::coalesce),
        ("right-inverse", &args.right_inverse, Layout::right_inverse),
        ("left-inverse", &args.left_inverse, Layout::left_inverse),
    ];
    for (name, operand, operation) in unary {
        if let Some(a) = operand {
            return operation(&read(name, a)?).map(Answer::from).map_err(|e| failed(name, &e));
        }
    }
    if let Some([threads, values]) = args.tv.as_deref() {
        let (tile, tv) = make_layout_tv(&read("tv", threads)?, &read("tv", values)?).map_err(|e| failed("tv", &e))?;
        return Ok(Answer { tile: Some(tile), ..tv.into() });
    }
    if let Some([swizzle, layout]) = args.swizzle.as_deref() {
        return swizzled(swizzle, layout);
    }
    let text = args.layout.as_deref().unwrap_or_default();
    match text.parse::<ComposedLayout>() {
        Ok(layout) => Ok(Answer { layout, tile: None, bits: None }),
        Err(e) => Err(Failure::Option(e.to_string())),
    }
}

/// `B,M,S`, or `Sw<B,M,S>`.
fn swizzled(swizzle: &str, layout: &str) -> Result<Answer, Failure> {
    let numbers: Option<Vec<i32>> = swizzle.split(',').map(|n| n.trim().parse().ok()).collect();
    let swizzle = match numbers.as_deref() {
        Some([bits, base, shift]) => match (u32::try_from(*bits), u32::try_from(*base)) {
            (Ok(bits), Ok(base)) => Swizzle::new(bits, base, *shift).map_err(|e| failed("swizzle", &e))?,
            _ => return Err(Failure::Option(format!("--swizzle: B and M of `{swizzle}` must not be negative"))),
        },
        Some(_) => return Err(Failure::Option(format!("--swizzle: `{swizzle}` is not B,M,S, like 3,3,3"))),
        None if swizzle.starts_with('S') => read("swizzle", swizzle)?,
        None => return Err(Failure::Option(format!("--swizzle: `{swizzle}` is not B,M,S, like 3,3,3"))),
    };
    let layout = ComposedLayout::new(swizzle, 0, read("swizzle", layout)?);
    Ok(Answer { layout, tile: None, bits: Some(16) })
}

fn read<T: FromStr<Err = LayoutError>>(option: &str, text: &str) -> Result<T, Failure> {
    text.parse().map_err(|e| failed(option, &e))
}

fn failed(option: &str, error: &LayoutError) -> Failure {
    Failure::Option(format!("--{option}: {error}"))
}
