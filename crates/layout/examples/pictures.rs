//! Writes the pictures of the book to a folder: `cargo run --example pictures -- docs/book/src/images`.

use std::error::Error;
use std::path::PathBuf;
use warpsmith_layout::atom::MmaAtom;
use warpsmith_layout::{ComposedLayout, Layout, Picture, make_layout_tv};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_string()));
    let save = |name: &str, picture: Picture| std::fs::write(folder.join(name), picture.to_svg());
    let offsets = |text: &str| Picture::offsets(&text.parse()?);

    save("column_major.svg", offsets("(4,8):(1,4)")?)?;
    save("row_major.svg", offsets("(4,8):(8,1)")?)?;
    save("padded.svg", offsets("(4,8):(12,1)")?)?;
    save("nested.svg", offsets("((2,2),(4,2)):((1,8),(2,16))")?)?;

    let matrix = Layout::row_major((4, 8))?;
    save("divide.svg", Picture::offsets(&matrix.logical_divide((2, 4))?.into())?)?;
    save("zipped_divide.svg", Picture::offsets(&matrix.zipped_divide((2, 4))?.into())?)?;
    save("coordinates.svg", Picture::coordinates(&Layout::identity((4, 6))?.logical_divide((2, 3))?)?)?;

    let block = Layout::row_major((2, 5))?;
    let tiling = Layout::compact((3, 4))?;
    save("blocked_product.svg", Picture::offsets(&block.blocked_product(&tiling)?.into())?)?;
    save("raked_product.svg", Picture::offsets(&block.raked_product(&tiling)?.into())?)?;

    let (tile, tv) = make_layout_tv(&Layout::row_major((4, 8))?, &Layout::row_major((2, 2))?)?;
    save("thread_values.svg", Picture::thread_values(&tv, tile)?)?;
    let mma = MmaAtom::named("SM80_16x8x16_F32F16F16F32_TN")?;
    save("mma_c.svg", Picture::thread_values(&mma.c, (16, 8))?)?;

    let plain: ComposedLayout = Layout::row_major((8, 32))?.into();
    save("banks_plain.svg", Picture::banks(&plain, 32)?)?;
    save("banks_swizzled.svg", Picture::banks(&"Sw<3,2,3> o 0 o (8,32):(32,1)".parse()?, 32)?)?;
    Ok(())
}
