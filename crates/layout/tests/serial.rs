//! Layouts as JSON strings.
#![cfg(feature = "serde")]

use warpsmith_layout::{ComposedLayout, Layout};

#[test]
fn layouts_are_their_text() -> Result<(), Box<dyn std::error::Error>> {
    let layout: Layout = "(4,(2,3)):(3,(12,1))".parse()?;
    let text = serde_json::to_string(&layout)?;
    assert_eq!(text, "\"(4,(2,3)):(3,(12,1))\"");
    assert_eq!(serde_json::from_str::<Layout>(&text)?, layout);

    let swizzled: ComposedLayout = "Sw<3,3,3> o 8 o (8,64):(64,1)".parse()?;
    assert_eq!(serde_json::from_str::<ComposedLayout>(&serde_json::to_string(&swizzled)?)?, swizzled);
    assert!(serde_json::from_str::<Layout>("\"(4,2):(1)\"").is_err());
    Ok(())
}
