//! The same in plain Rust, with float64 inside: what the kernel is compared with.

/// RMS normalisation of one row.
pub fn rms_norm(x: &[f64], weight: Option<&[f64]>, eps: f64) -> Vec<f64> {
    let mean_square = x.iter().map(|v| v * v).sum::<f64>() / x.len() as f64;
    let scale = 1.0 / (mean_square + eps).sqrt();
    x.iter().enumerate().map(|(i, v)| v * scale * weight.map_or(1.0, |w| w[i])).collect()
}

#[cfg(test)]
mod tests {
    use super::rms_norm;

    #[test]
    fn a_row_of_one_value_becomes_ones() {
        let y = rms_norm(&[3.0; 8], None, 0.0);
        assert!(y.iter().all(|v| (v - 1.0).abs() < 1e-15));
        assert_eq!(rms_norm(&[3.0, 4.0], Some(&[2.0, 1.0]), 0.0)[0], 6.0 / 12.5f64.sqrt());
    }
}
