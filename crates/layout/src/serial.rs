//! Layouts in reports: serialised as their text. Run-time leaves are written, but not read.

use crate::composed::ComposedLayout;
use crate::convert::{Coord, IntTuple, Strides};
use crate::layout::Layout;
use crate::swizzle::Swizzle;
use crate::tiler::Tiler;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

macro_rules! as_text {
    ($($t:ty)*) => {$(
        impl Serialize for $t {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $t {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    )*};
}

as_text!(IntTuple Strides Coord Layout ComposedLayout Swizzle Tiler);
