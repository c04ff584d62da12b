//! Hardware atoms, and the tiled copies and multiplications that are built from them.

use crate::case::{Answer, Case, Said, Trouble, list, tiler};
use crate::operations::unknown;
use warpsmith_layout::atom::{CopyAtom, Major, MmaAtom, Operand, SharedAtom, SharedSwizzle, TiledCopy, TiledMma};
use warpsmith_layout::{ComposedLayout, Int, Layout, make_layout_tv};

pub(crate) fn run(case: &Case) -> Answer<Said> {
    match case.operation().as_str() {
        "mma_atom" => mma_atom(case),
        "copy_atom" => copy_atom(case),
        "gmma_smem_atom_bits" | "gmma_smem_atom" | "gmma_smem_tile" => shared(case),
        "tiled_mma" => tiled_mma(case),
        "tiled_mma_partition" => tiled_mma_partition(case),
        "tiled_copy" => tiled_copy(case),
        "tiled_copy_partition" => tiled_copy_partition(case),
        "tiled_copy_mma" => tiled_copy_mma(case),
        "tiled_copy_mma_partition" => tiled_copy_mma_partition(case),
        "make_layout_tv" => {
            let (thr, val) = (case.layout("thr")?, case.layout("val")?);
            let (tile, tv) = make_layout_tv(&thr, &val)?;
            let said = Said::from(&["name", "thr", "val", "bits"]).and("layout_mn", thr.raked_product(&val)?);
            Ok(said.and("tiler_mn", tile).and("tv", tv))
        }
        other => unknown(other),
    }
}

fn mma_atom(case: &Case) -> Answer<Said> {
    let atom = MmaAtom::named(&case.text("name")?)?;
    let said = Said::from(&["name", "major_a", "major_b"]).and("shape_mnk", &atom.shape).and("thr_id", &atom.threads);
    let said = said.and("a_tv", &atom.a).and("b_tv", &atom.b).and("c_tv", &atom.c);
    let [a, b, c] = atom.bits;
    Ok(said.and("bits_a", a).and("bits_b", b).and("bits_c", c).and("bits_d", c))
}

fn copy_atom(case: &Case) -> Answer<Said> {
    let atom = CopyAtom::named(&case.text("name")?)?;
    let mut said = Said::from(&["name"]).and("thr_id", &atom.threads);
    said = said.and("src_tv_bits", &atom.source).and("dst_tv_bits", &atom.target);
    said = said.and("ref_tv_bits", &atom.reference);
    for (bits, [source, target, reference]) in [
        (8, ["src_tv_8", "dst_tv_8", "ref_tv_8"]),
        (16, ["src_tv_16", "dst_tv_16", "ref_tv_16"]),
        (32, ["src_tv_32", "dst_tv_32", "ref_tv_32"]),
    ] {
        if case.has(source) {
            let atom = atom.values(bits)?;
            said = said.and(source, &atom.source).and(target, &atom.target).and(reference, &atom.reference);
        }
    }
    Ok(said)
}

fn shared(case: &Case) -> Answer<Said> {
    let major = if case.text("major")? == "K" { Major::K } else { Major::Mn };
    let swizzle = match case.text("swizzle")?.as_str() {
        "INTER" => SharedSwizzle::Interleave,
        "SW32" => SharedSwizzle::B32,
        "SW64" => SharedSwizzle::B64,
        "SW128" => SharedSwizzle::B128,
        other => return unknown(other),
    };
    let atom = SharedAtom { major, swizzle };
    let said = Said::from(&["name", "major", "swizzle", "bits", "target", "order"]);
    if !case.has("bits") {
        return Ok(said.and("swizzle_fn", swizzle.on_bytes()?).and("layout_bits", atom.bits()?));
    }
    let bits = case.int("bits")?;
    let layout = if case.has("target") {
        let order = if case.has("order") { Some(case.tuple("order")?) } else { None };
        atom.tile(bits, case.tuple("target")?, order)?
    } else {
        atom.elements(bits)?
    };
    let mut said = said.and("layout_elems", &layout);
    if case.has("byte_swizzle") {
        said = said.and("byte_swizzle", swizzle.on_bytes()?);
    }
    let swizzled = atom.with_swizzle(bits, layout.clone())?;
    // C++ writes no swizzle where there is none.
    said = match swizzled.swizzle().is_identity() {
        true => said.and("position_independent", swizzled.layout()),
        false => said.and("position_independent", &swizzled),
    };
    if case.has("table") {
        said = said.and("table", list(ComposedLayout::table(&swizzled)?));
    }
    if case.has("desc64") {
        let descriptor = atom.descriptor(bits, &layout)?;
        said = said.and("desc_block", &descriptor.block).and("desc_block_u128", &descriptor.units);
        said = said.and("desc_canonical_u128", &descriptor.canonical).and("desc_layout_type", swizzle.code());
        said = said.and("desc_sbo_16B", descriptor.stride_offset).and("desc_lbo_16B", descriptor.leading_offset);
        said = said.and("desc64", format!("{:#018x}", descriptor.encode(0)));
    }
    Ok(said)
}

const MMA: &[&str] = &["name", "mma", "atom_layout_mnk", "permutation_mnk", "thr_idx", "num_threads"];

fn mma(case: &Case, name: &'static str) -> Answer<TiledMma> {
    let name = case.text(name)?;
    let name = name.split('<').next().unwrap_or_default();
    let permutation = tiler(case.value("permutation_mnk")?)?;
    Ok(TiledMma::new(MmaAtom::named(name)?, case.layout("atom_layout_mnk")?, permutation)?)
}

/// The offsets of a thread's part, counted from the whole.
fn table_from(start: &Int, part: &Layout) -> Answer<Vec<i64>> {
    let start = start.known()?;
    Ok(part.table()?.into_iter().map(|offset| start + offset).collect())
}

fn tiled_mma(case: &Case) -> Answer<Said> {
    let mma = mma(case, "name")?;
    let said = Said::from(&["name", "atom_layout_mnk", "permutation_mnk"]).and("thr_layout_vmnk", mma.threads());
    let said = said.and("tile_size_mnk", mma.tile_size()?).and("num_threads", mma.threads().size()?);
    let said = said.and("a_tv", mma.layout_tv(Operand::A)?).and("b_tv", mma.layout_tv(Operand::B)?);
    Ok(said.and("c_tv", mma.layout_tv(Operand::C)?))
}

fn tiled_mma_partition(case: &Case) -> Answer<Said> {
    let mma = mma(case, "name")?;
    let mut said = Said::from(&[MMA, &["a", "b", "c"]].concat());
    for (operand, tensor, [part, offset, fragment, table]) in [
        (Operand::A, "a", ["part_a", "offset_a", "frag_a", "table_a"]),
        (Operand::B, "b", ["part_b", "offset_b", "frag_b", "table_b"]),
        (Operand::C, "c", ["part_c", "offset_c", "frag_c", "table_c"]),
    ] {
        let (layout, start) = mma.partition(operand, &case.layout(tensor)?, case.int("thr_idx")?)?;
        said = said.and(part, &layout).and(offset, &start);
        if case.has(fragment) {
            said = said.and(fragment, layout.fragment_like()?);
        }
        if case.has(table) {
            said = said.and(table, list(table_from(&start, &layout)?));
        }
    }
    Ok(said)
}

fn copy_values(case: &Case) -> Answer<CopyAtom> {
    Ok(CopyAtom::named(&case.text("name")?)?.values(case.int("bits")?)?)
}

fn with_tv(said: Said, copy: &TiledCopy) -> Answer<Said> {
    // C++ writes tilers in round brackets.
    let tile = copy.tile().to_string().replace('<', "(").replace('>', ")");
    let said = said.and("tv", copy.tv()).and("tiler_mn", tile);
    Ok(said.and("s_tv", copy.source_tv()?).and("d_tv", copy.target_tv()?))
}

fn tiled_copy(case: &Case) -> Answer<Said> {
    let copy = TiledCopy::new(copy_values(case)?, &case.layout("thr")?, &case.layout("val")?)?;
    with_tv(Said::from(&["name", "bits", "thr", "val"]), &copy)
}

fn tiled_copy_partition(case: &Case) -> Answer<Said> {
    let copy = TiledCopy::new(copy_values(case)?, &case.layout("thr")?, &case.layout("val")?)?;
    let (tensor, thread) = (case.layout("tensor")?, case.int("thr_idx")?);
    let mut said = Said::from(&["name", "bits", "thr", "val", "tensor", "thr_idx"]);
    let sides: [((Layout, Int), _); 2] = [
        (copy.partition_source(&tensor, thread)?, ["part_s", "offset_s", "table_s"]),
        (copy.partition_target(&tensor, thread)?, ["part_d", "offset_d", "table_d"]),
    ];
    for ((layout, start), [part, offset, table]) in sides {
        said = said.and(part, &layout).and(offset, &start);
        if case.has(table) {
            said = said.and(table, list(table_from(&start, &layout)?));
        }
    }
    Ok(said)
}

fn operand(case: &Case) -> Answer<Operand> {
    Ok(match case.text("operand")?.as_str() {
        "A" => Operand::A,
        "B" => Operand::B,
        "C" => Operand::C,
        other => return Err(Trouble::Unreadable(format!("no operand {other}"))),
    })
}

fn tiled_copy_mma(case: &Case) -> Answer<Said> {
    let (atom, mma) = (copy_values(case)?, mma(case, "mma")?);
    let copy = match case.text("operand")?.as_str() {
        "C_atom" => TiledCopy::for_accumulator(atom, &mma)?,
        _ => TiledCopy::for_mma(atom, &mma, operand(case)?)?,
    };
    with_tv(Said::from(&[MMA, &["operand", "bits"]].concat()), &copy)
}

fn tiled_copy_mma_partition(case: &Case) -> Answer<Said> {
    let (mma, operand) = (mma(case, "mma")?, operand(case)?);
    let copy = TiledCopy::for_mma(copy_values(case)?, &mma, operand)?;
    let (tensor, thread) = (case.layout("tensor")?, case.int("thr_idx")?);
    let (part, offset) = match case.text("side")?.as_str() {
        "S" => copy.partition_source(&tensor, thread)?,
        _ => copy.partition_target(&tensor, thread)?,
    };
    let fragment = mma.partition(operand, &tensor, thread)?.0.fragment_like()?;
    let inputs = [MMA, &["operand", "bits", "tensor", "side"]].concat();
    let said = Said::from(&inputs).and("offset", &offset).and("retiled_frag", copy.retile(&fragment)?);
    let said = said.and("frag", fragment).and("part", &part);
    Ok(if case.has("table") { said.and("table", list(table_from(&offset, &part)?)) } else { said })
}
