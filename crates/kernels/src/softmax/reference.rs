//! The same in plain Rust, with float64 inside: what the kernel is compared with.

/// Softmax of one row.
pub fn softmax(x: &[f64]) -> Vec<f64> {
    let max = x.iter().fold(f64::NEG_INFINITY, |m, &v| if v > m { v } else { m });
    let e: Vec<f64> = x.iter().map(|v| (v - max).exp()).collect();
    let sum: f64 = e.iter().sum();
    e.iter().map(|v| v / sum).collect()
}

/// The gradient of one row, from the output and its gradient.
pub fn backward(dy: &[f64], y: &[f64]) -> Vec<f64> {
    let dot: f64 = dy.iter().zip(y).map(|(d, y)| d * y).sum();
    dy.iter().zip(y).map(|(d, y)| y * (d - dot)).collect()
}

#[cfg(test)]
mod tests {
    use super::softmax;

    #[test]
    fn rows_without_a_distribution_are_nan() {
        assert!(softmax(&[f64::NEG_INFINITY; 3]).iter().all(|v| v.is_nan()));
        assert!(softmax(&[1.0, f64::INFINITY]).iter().all(|v| v.is_nan()));
        assert!(softmax(&[1.0, f64::NAN]).iter().all(|v| v.is_nan()));
        assert_eq!(softmax(&[f64::NEG_INFINITY, 5.0]), [0.0, 1.0]);
    }
}
