//! `warpsmith layout`.

mod operation;

use crate::failure::Failure;
use crate::output;
use crate::style;
use clap::{ArgGroup, Args};
use operation::Answer;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use warpsmith::layout::{ComposedLayout, Layout, Picture};

/// `warpsmith layout`. Exactly one thing is shown: a layout, or the result of an operation.
#[derive(Args)]
#[command(group = ArgGroup::new("what").required(true).multiple(false))]
pub(crate) struct LayoutArgs {
    /// A layout, SHAPE:STRIDE, or a swizzled one, 'Sw<B,M,S> o OFFSET o LAYOUT'
    #[arg(group = "what")]
    layout: Option<String>,
    /// The thread-value layout of threads and of each thread's values, coloured by thread
    #[arg(long, group = "what", num_args = 2, value_names = ["THREADS", "VALUES"])]
    tv: Option<Vec<String>>,
    /// A after B
    #[arg(long, group = "what", num_args = 2, value_names = ["A", "B"])]
    compose: Option<Vec<String>>,
    /// The holes of A, up to a size
    #[arg(long, group = "what", num_args = 2, value_names = ["A", "SIZE"])]
    complement: Option<Vec<String>>,
    /// A cut into tiles: a size, a layout, or one for each mode, '<128,64>'
    #[arg(long, group = "what", num_args = 2, value_names = ["A", "TILER"])]
    divide: Option<Vec<String>>,
    /// A, and its copies as the tiler places them
    #[arg(long, group = "what", num_args = 2, value_names = ["A", "TILER"])]
    product: Option<Vec<String>>,
    /// Copies of block A side by side, as B arranges them
    #[arg(long, group = "what", num_args = 2, value_names = ["A", "B"])]
    blocked_product: Option<Vec<String>>,
    /// Copies of block A interleaved, as B arranges them
    #[arg(long, group = "what", num_args = 2, value_names = ["A", "B"])]
    raked_product: Option<Vec<String>>,
    /// A with as few modes as possible
    #[arg(long, group = "what", value_name = "A")]
    coalesce: Option<String>,
    /// The layout that A undoes
    #[arg(long, group = "what", value_name = "A")]
    right_inverse: Option<String>,
    /// The layout that undoes A
    #[arg(long, group = "what", value_name = "A")]
    left_inverse: Option<String>,
    /// A after which offsets are swizzled, coloured by bank of shared memory
    #[arg(long, group = "what", num_args = 2, value_names = ["B,M,S", "A"])]
    swizzle: Option<Vec<String>>,
    /// Colour by bank of shared memory, for elements of so many bits; --swizzle: 16, if not given
    #[arg(long, value_name = "N", conflicts_with = "tv")]
    bits: Option<i64>,
    /// Write the picture there, as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// More rows than this are for a file.
const MOST_ROWS: usize = 64;

/// Prints the facts of a layout and draws it.
pub(crate) fn layout(args: &LayoutArgs) -> Result<ExitCode, Failure> {
    if let Some(bits) = args.bits.filter(|bits| !(1..=1024).contains(bits)) {
        return Err(Failure::Option(format!("--bits: an element has 1 to 1024 bits, not {bits}")));
    }
    let answer = operation::carry_out(args)?;
    let picture = draw(&answer, args);
    let mut out = facts(&answer);
    match (&picture, &args.svg) {
        (Ok(picture), _) => out.push_str(&shown(picture)),
        (Err(why), None) => out.push_str(&format!("\nno picture: {why}\n")),
        (Err(why), Some(_)) => return Err(Failure::Option(format!("--svg: {why}"))),
    }
    if let (Ok(picture), Some(path)) = (picture, &args.svg) {
        std::fs::write(path, picture.to_svg())
            .map_err(|e| Failure::Option(format!("{}: can not be written: {e}", path.display())))?;
    }
    output::print(out)?;
    Ok(ExitCode::SUCCESS)
}

fn draw(answer: &Answer, args: &LayoutArgs) -> Result<Picture, String> {
    let layout = answer.layout.layout();
    let drawn = || match (&answer.tile, args.bits.or(answer.bits)) {
        (Some(tile), _) => Picture::thread_values(layout, tile.clone()),
        (None, Some(bits)) => Picture::banks(&flat(&answer.layout)?, bits),
        (None, None) if layout.stride().leaves().iter().any(|d| !d.basis.is_empty()) => {
            Picture::coordinates(flat(&answer.layout)?.layout())
        }
        (None, None) => Picture::offsets(&flat(&answer.layout)?),
    };
    drawn().map_err(|e| e.reason().to_string())
}

/// With all modes after the first as columns.
fn flat(layout: &ComposedLayout) -> warpsmith::layout::Result<ComposedLayout> {
    match layout.layout().rank() {
        rank @ 3.. => Ok(layout.around(layout.layout().group(1..rank)?)),
        _ => Ok(layout.clone()),
    }
}

fn facts(answer: &Answer) -> String {
    let layout: &Layout = answer.layout.layout();
    let mut out = String::new();
    let mut row = |name: &str, value: &dyn std::fmt::Display| {
        // Writing to a string can not fail.
        let _ = writeln!(out, "{name:8} {value}");
    };
    let plain = answer.layout == ComposedLayout::from(layout.clone());
    match plain {
        true => row("layout", layout),
        false => row("layout", &answer.layout),
    }
    if let Some(tile) = &answer.tile {
        row("tile", tile);
    }
    row("shape", layout.shape());
    row("stride", layout.stride());
    for (name, value) in [("size", layout.extent()), ("cosize", layout.cosize())] {
        match value {
            Ok(value) => row(name, &value),
            Err(why) => row(name, &format!("none: {}", why.reason())),
        }
    }
    row("rank", &layout.rank());
    row("depth", &layout.depth());
    out
}

/// The picture for the terminal, as far as it fits.
fn shown(picture: &Picture) -> String {
    let width = std::env::var("COLUMNS").ok().and_then(|n| n.parse().ok()).unwrap_or(160);
    let part = picture.cropped(MOST_ROWS, width);
    let text = match style::on_output() {
        true => part.to_ansi(),
        false => part.to_text(),
    };
    // The title is the layout, which the facts have.
    let mut out = text.split_once('\n').map_or(String::new(), |(_, cells)| format!("\n{cells}"));
    if (part.rows(), part.columns()) != (picture.rows(), picture.columns()) {
        let _ = writeln!(
            out,
            "shown: {} of {} rows, {} of {} columns; --svg FILE draws all",
            part.rows(),
            picture.rows(),
            part.columns(),
            picture.columns()
        );
    }
    out
}
