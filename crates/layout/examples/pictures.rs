//! Writes a few pictures of layouts to a folder: `cargo run --example pictures -- FOLDER`.

use std::error::Error;
use std::path::PathBuf;
use warpsmith_layout::atom::{Major, MmaAtom, SharedAtom, SharedSwizzle};
use warpsmith_layout::{Layout, Picture, make_layout_tv};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_string()));
    let save = |name: &str, picture: Picture| std::fs::write(folder.join(name), picture.to_svg());

    save("row_major.svg", Picture::offsets(&Layout::row_major((4, 8))?.into())?)?;
    save("nested.svg", Picture::offsets(&"((2,2),(4,2)):((1,8),(2,16))".parse()?)?)?;

    let (tile, tv) = make_layout_tv(&Layout::row_major((4, 8))?, &Layout::row_major((2, 2))?)?;
    save("thread_values.svg", Picture::thread_values(&tv, tile)?)?;

    let mma = MmaAtom::named("SM80_16x8x16_F32F16F16F32_TN")?;
    save("mma_a.svg", Picture::thread_values(&mma.a, (16, 16))?)?;
    save("mma_c.svg", Picture::thread_values(&mma.c, (16, 8))?)?;

    let atom = SharedAtom { major: Major::K, swizzle: SharedSwizzle::B128 };
    save("swizzle_128.svg", Picture::banks(&atom.swizzled(32)?, 32)?)?;
    save("swizzle_none.svg", Picture::banks(&Layout::row_major((8, 32))?.into(), 32)?)?;
    Ok(())
}
