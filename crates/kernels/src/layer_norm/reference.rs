//! The same in plain Rust, with float64 inside: what the kernel is compared with.

/// Mean and 1/√(variance + eps) of a row.
pub fn statistics(x: &[f64], eps: f64) -> (f64, f64) {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let variance = x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
    (mean, 1.0 / (variance + eps).sqrt())
}

/// Layer normalisation of one row.
pub fn layer_norm(x: &[f64], weight: Option<&[f64]>, bias: Option<&[f64]>, eps: f64) -> Vec<f64> {
    let (mean, rstd) = statistics(x, eps);
    let column = |i: usize, v: &f64| (v - mean) * rstd * weight.map_or(1.0, |w| w[i]) + bias.map_or(0.0, |b| b[i]);
    x.iter().enumerate().map(|(i, v)| column(i, v)).collect()
}

/// The gradient of one row of a normalisation by `rstd` around `mean`, which layer normalisation has and RMS
/// normalisation has not.
pub fn backward(x: &[f64], dy: &[f64], weight: Option<&[f64]>, rstd: f64, mean: Option<f64>) -> Vec<f64> {
    let n = x.len() as f64;
    let normal: Vec<f64> = x.iter().map(|v| (v - mean.unwrap_or(0.0)) * rstd).collect();
    let g: Vec<f64> = dy.iter().enumerate().map(|(i, d)| d * weight.map_or(1.0, |w| w[i])).collect();
    let projection = normal.iter().zip(&g).map(|(a, b)| a * b).sum::<f64>() / n;
    let shift = mean.map_or(0.0, |_| g.iter().sum::<f64>() / n);
    normal.iter().zip(&g).map(|(x, g)| (g - x * projection - shift) * rstd).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_is_the_difference_quotient() {
        let (x, dy, w) = ([0.3, -1.0, 2.0, 0.7], [1.0, -0.5, 0.25, 2.0], [1.0, 2.0, -1.0, 0.5]);
        let loss = |x: &[f64]| layer_norm(x, Some(&w), None, 1e-3).iter().zip(&dy).map(|(y, d)| y * d).sum::<f64>();
        let (mean, rstd) = statistics(&x, 1e-3);
        let dx = backward(&x, &dy, Some(&w), rstd, Some(mean));
        for i in 0..4 {
            let [mut up, mut down] = [x, x];
            up[i] += 1e-6;
            down[i] -= 1e-6;
            assert!(((loss(&up) - loss(&down)) / 2e-6 - dx[i]).abs() < 1e-6, "{i}");
        }
    }
}
