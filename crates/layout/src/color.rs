//! Colours for drawings: light enough for dark text, evenly spaced to the eye.

/// A colour for a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rgb(pub(crate) u8, pub(crate) u8, pub(crate) u8);

impl Rgb {
    pub(crate) const WHITE: Rgb = Rgb(255, 255, 255);

    pub(crate) fn hex(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// From lightness (0 to 1), chroma and hue in turns, in the Oklch space, where equal steps look equal.
fn oklch(lightness: f64, chroma: f64, hue: f64) -> Rgb {
    let (sin, cos) = (hue * std::f64::consts::TAU).sin_cos();
    let (a, b) = (chroma * cos, chroma * sin);
    let l = (lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
    let m = (lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
    let s = (lightness - 0.089_484_177_5 * a - 1.291_485_548_0 * b).powi(3);
    let channel = |v: f64| {
        let v = v.clamp(0.0, 1.0);
        let v = if v <= 0.003_130_8 { 12.92 * v } else { 1.055 * v.powf(1.0 / 2.4) - 0.055 };
        (v * 255.0).round() as u8
    };
    Rgb(
        channel(4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s),
        channel(-1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s),
        channel(-0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701_0 * s),
    )
}

/// One of many things without an order, neighbours far apart: the golden angle.
pub(crate) fn distinct(i: i64) -> Rgb {
    let turn = (i.rem_euclid(1 << 20) as f64 * 0.381_966_011_25).fract();
    oklch([0.88, 0.82, 0.92][i.rem_euclid(3) as usize % 3], 0.085, turn)
}

/// One of `n` things on a circle.
pub(crate) fn around(i: i64, n: i64) -> Rgb {
    oklch(0.86, 0.1, i.rem_euclid(n.max(1)) as f64 / n.max(1) as f64)
}

/// A place between 0 and 1: from pale yellow over green to blue.
pub(crate) fn ramp(at: f64) -> Rgb {
    let at = at.clamp(0.0, 1.0);
    oklch(0.965 - 0.2 * at, 0.05 + 0.05 * at, 0.28 + 0.42 * at)
}
