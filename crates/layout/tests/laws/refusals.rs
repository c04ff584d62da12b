//! Corners that no random layout is likely to reach.

use warpsmith_layout::{IntTuple, Layout, LayoutError, Tiler};

type Test = Result<(), LayoutError>;

fn layout(text: &str) -> Layout {
    text.parse().unwrap()
}

#[test]
fn a_size_divides_leaf_by_leaf() -> Test {
    // 12 divides 96, but of the 6 that are left after the 2, the 4 is no factor.
    let nested: IntTuple = "((2,(4,12)))".parse()?;
    assert!(!nested.is_divided_by(&Tiler::from(12))?);
    assert!(nested.is_divided_by(&Tiler::from(8))?);
    assert!(IntTuple::from(96).is_divided_by(&Tiler::from(12))?);
    Ok(())
}

#[test]
fn copies_do_not_run_into_the_block() -> Test {
    // The holes of the block are 0 and 1: a third copy would start at 2, where the block has an element.
    assert!(layout("(7,4):(12,2)").raked_product(&layout("2:2")).is_err());
    assert!(layout("(2,2,3):(6,60,12)").logical_product(8).is_err());
    // Past the last element there is room.
    assert_eq!(layout("(4,2):(1,8)").logical_product(2)?.to_string(), "((4,2),2):((1,8),4)");
    assert_eq!(layout("(4,2):(1,8)").logical_product(4)?.to_string(), "((4,2),(2,2)):((1,8),(4,16))");
    Ok(())
}

#[test]
fn a_coordinate_has_no_more_modes_than_the_tiles() {
    let matrix = layout("((8,8),32):((256,32),1)");
    assert!(matrix.local_tile((1, 2), (1, 1)).is_ok());
    assert!(matrix.local_tile((1, 2), (1, 1, 2)).is_err());
    assert!(matrix.local_tile((1, 2), ((1, 1), 2, 0)).is_err());
}

#[test]
fn one_mode_cut_into_neighbours() -> Test {
    let cases = [
        ("12:5", 4, "(4,3):(5,20)"),
        ("12:5", 12, "(12,1):(5,0)"),
        ("12:5", 5, "(5,3):(5,25)"),
        ("12:0", 4, "(4,3):(0,0)"),
        ("1:7", 4, "(4,1):(7,0)"),
        ("12:-5", 4, "(4,3):(-5,-20)"),
        ("12:5", 1, "(1,12):(0,5)"),
        ("12:1@0", 4, "(4,3):(1@0,4@0)"),
    ];
    for (a, n, expected) in cases {
        assert_eq!(layout(a).logical_divide(n)?.to_string(), expected, "{a} by {n}");
        // The general way says the same.
        let general = layout(a).logical_divide(Tiler::Layout(Layout::compact(n)?))?;
        assert_eq!(general.to_string(), expected, "{a} by {n}:1");
    }
    assert!(layout("12:5").logical_divide(0).is_err());
    assert!(layout("12:5").logical_divide(-4).is_err());
    assert!(layout(&format!("12:{}", i64::MAX)).logical_divide(4).is_err());
    Ok(())
}
