//! Cases in which the C++ answer breaks the operation's own post-condition: a refusal is right, and so is an answer
//! that keeps it.

use crate::case::{Answer, Case, Outcome, Said, Trouble};
use crate::operations::{operate, tile};
use crate::post::{self, Injective};
use warpsmith_layout::{ComposedLayout, Layout};

pub(crate) fn run(case: &Case) -> Outcome {
    let operation = case.operation();
    match operate(case, &operation).and_then(|(_, layout)| holds(case, &operation, &layout)) {
        Err(Trouble::Refused(_)) => Outcome::Corrected,
        Err(Trouble::Unreadable(why)) => Outcome::Failed(why),
        Ok(true) => Outcome::Corrected,
        Ok(false) => Outcome::Failed("the answer breaks the post-condition".to_string()),
    }
}

fn holds(case: &Case, operation: &str, r: &Layout) -> Answer<bool> {
    let a = || case.layout("a");
    Ok(match operation {
        "composition" => post::composition(&a()?, &case.layout("b")?, r)?,
        "complement" => post::complement(&a()?, &case.tuple("cotarget")?, r)?,
        "left_inverse" => post::left_inverse(&a()?, r)?,
        "make_layout_tv" => {
            let tile = case.layout("thr")?.raked_product(&case.layout("val")?)?;
            r.size()? == tile.size()? && post::composes_to_identity(&tile, r)?
        }
        "blocked_product" | "raked_product" => post::product(&a()?, &case.layout("b")?, r)?,
        "composition_tiler" => post::by_mode(&a()?, &case.tiler("tiler")?, r, &post::composition)?,
        "logical_divide" => post::by_mode(&a()?, &case.tiler("tiler")?, r, &post::divide)?,
        "logical_product" => post::by_mode(&a()?, &case.tiler("tiler")?, r, &post::product)?,
        // Zipped, tiled and flat forms only regroup the logical one.
        other => {
            let (logical, check): (_, &post::Check) = match other.ends_with("product") {
                true => (tile("logical_product", &a()?, case)?, &post::product),
                false => (tile("logical_divide", &a()?, case)?, &post::divide),
            };
            post::by_mode(&a()?, &case.tiler("tiler")?, &logical, check)? && post::same_elements(&logical, r)?
        }
    })
}

/// Whether the C++ answer of a case that is not marked as a quirk can be seen to be wrong.
pub(crate) fn reference_is_wrong(case: &Case) -> bool {
    let wrong = || -> Answer<bool> {
        Ok(match case.operation().as_str() {
            // Not even a layout: a size is negative.
            "left_inverse" => case.text("result")?.parse::<Layout>().is_err(),
            // Copies of an injective block overlap, broadcast modes aside.
            "tile_to_shape" => {
                case.layout("a")?.filter()?.is_injective()? && !case.layout("result")?.filter()?.is_injective()?
            }
            "local_tile" => !post::local_tile(case, &case.layout("result")?, case.int("offset")?)?,
            "swizzle_inverse" => !post::swizzle_inverse(case, &case.read::<ComposedLayout>("result")?)?,
            _ => false,
        })
    };
    matches!(wrong(), Ok(true))
}

/// Whether the answer keeps a post-condition that the C++ answer breaks.
pub(crate) fn corrects(case: &Case, said: &Said) -> bool {
    let right = || -> Answer<bool> {
        let Some(layout) = said.output("result").and_then(|text| text.parse::<ComposedLayout>().ok()) else {
            return Ok(false);
        };
        Ok(match (case.operation().as_str(), said.output("offset").and_then(|text| text.parse().ok())) {
            ("swizzle_inverse", _) => post::swizzle_inverse(case, &layout)?,
            ("local_tile", Some(offset)) => post::local_tile(case, layout.layout(), offset)?,
            _ => false,
        })
    };
    !case.expects_refusal() && matches!(right(), Ok(true)) && reference_is_wrong(case)
}
