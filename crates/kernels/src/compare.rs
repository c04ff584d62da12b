//! How results are judged: against a float64 reference, within a tolerance that follows from the output's dtype.
//!
//! Shares no code with the kernels or the emulator; 16-bit floats are those of the `half` crate.

use half::{bf16, f16};
use warpsmith_dsl::DType;

/// Elements as float64, exactly. Other dtypes than f32, f16 and bf16 give nothing.
pub fn decode(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    let pairs = bytes.chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]]));
    match dtype {
        DType::F32 => bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]).into()).collect(),
        DType::F16 => pairs.map(|b| f16::from_bits(b).to_f64()).collect(),
        DType::BF16 => pairs.map(|b| bf16::from_bits(b).to_f64()).collect(),
        _ => vec![],
    }
}

/// Elements of a dtype, each rounded once from float64. Other dtypes than f32, f16 and bf16 give nothing.
pub fn encode(dtype: DType, values: &[f64]) -> Vec<u8> {
    match dtype {
        DType::F32 => values.iter().flat_map(|&v| (v as f32).to_le_bytes()).collect(),
        DType::F16 => values.iter().flat_map(|&v| f16::from_f64(v).to_le_bytes()).collect(),
        DType::BF16 => values.iter().flat_map(|&v| bf16::from_f64(v).to_le_bytes()).collect(),
        _ => vec![],
    }
}

/// How far a result may be from the reference: `absolute + relative · |reference|`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Of the reference's magnitude.
    pub relative: f64,
    /// On top of it.
    pub absolute: f64,
}

impl Tolerance {
    /// For results of a dtype computed in f32.
    ///
    /// Relative: half a unit in the last place of the dtype for the last rounding, and 10⁻⁵ for the arithmetic before it
    /// (approximate functions, sums of up to 49,152 terms, exponents of up to 104). Absolute: half the least subnormal,
    /// and the least normal f32 below which approximate functions flush to zero.
    pub fn of(dtype: DType) -> Tolerance {
        let (half_ulp, half_least) = match dtype {
            DType::BF16 => (2f64.powi(-9), 2f64.powi(-134)),
            DType::F16 => (2f64.powi(-12), 2f64.powi(-25)),
            _ => (2f64.powi(-25), 2f64.powi(-150)),
        };
        // Half a unit is relative to the lower end of a binade: up to twice that of a value in it.
        Tolerance { relative: 2.0 * half_ulp + 1e-5, absolute: half_least + f64::from(f32::MIN_POSITIVE) }
    }

    /// How much of the tolerance a result uses: 0 is exact, above 1 is wrong. Two NaN agree; equal infinities do.
    pub fn share(&self, got: f64, expected: f64) -> f64 {
        if got == expected || (got.is_nan() && expected.is_nan()) {
            return 0.0;
        }
        let share = (got - expected).abs() / (self.absolute + self.relative * expected.abs());
        if share.is_finite() { share } else { f64::INFINITY }
    }
}

/// The element of a result that is furthest from the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worst {
    /// How much of the tolerance it uses.
    pub share: f64,
    /// Where it is.
    pub index: usize,
    /// What came.
    pub got: f64,
    /// What the reference says.
    pub expected: f64,
}

/// Finds the element that is furthest from the reference; `None` when there are none. Both must be of one length.
pub fn worst(got: &[f64], expected: &[f64], tolerance: Tolerance) -> Option<Worst> {
    let all = got.iter().zip(expected).enumerate();
    let shares =
        all.map(|(index, (&got, &expected))| Worst { share: tolerance.share(got, expected), index, got, expected });
    shares.reduce(|a, b| if b.share > a.share { b } else { a })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_alone_is_within_the_tolerance_and_twice_that_is_not() {
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            let t = Tolerance::of(dtype);
            for i in 0..2000 {
                let x = 0.001 * 1.01f64.powi(i % 1000) + f64::from(i) * 1e-7;
                let rounded = decode(dtype, &encode(dtype, &[x]))[0];
                assert!(t.share(rounded, x) <= 1.0, "{dtype}: {x} rounds to {rounded}");
            }
            assert!(t.share(1.0 + 4.0 * t.relative, 1.0) > 1.0);
        }
    }

    #[test]
    fn nan_and_infinity_must_be_where_they_belong() {
        let t = Tolerance::of(DType::F32);
        assert_eq!(t.share(f64::NAN, f64::NAN), 0.0);
        assert_eq!(t.share(f64::INFINITY, f64::INFINITY), 0.0);
        assert!(t.share(0.0, f64::NAN) > 1.0 && t.share(f64::NAN, 0.0) > 1.0);
        assert!(t.share(f64::INFINITY, 1.0) > 1.0 && t.share(1.0, f64::INFINITY) > 1.0);
        assert!(t.share(f64::INFINITY, f64::NEG_INFINITY) > 1.0);
    }
}
