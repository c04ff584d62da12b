//! The same in plain Rust, with float64 inside: what the kernel is compared with.

use super::Options;

/// The logarithm of the sum of a row's exponentials.
pub fn lse(x: &[f64]) -> f64 {
    let max = x.iter().fold(f64::NEG_INFINITY, |m, &v| if v > m { v } else { m });
    max + x.iter().map(|v| (v - max).exp()).sum::<f64>().ln()
}

/// The loss of a row, and its logits' gradients where the loss's is 1.
pub fn cross_entropy(x: &[f64], target: i64, weight: Option<&[f64]>, options: &Options) -> (f64, Vec<f64>) {
    if target == i64::from(options.ignore_index) {
        return (0.0, vec![0.0; x.len()]);
    }
    let Some(t) = usize::try_from(target).ok().filter(|t| *t < x.len()) else {
        return (f64::NAN, vec![f64::NAN; x.len()]);
    };
    let (n, share, z) = (x.len() as f64, f64::from(options.smoothing), f64::from(options.z_loss));
    let (lse, w) = (lse(x), |c: usize| weight.map_or(1.0, |w| w[c]));
    let of_all: f64 = if share == 0.0 { 0.0 } else { x.iter().enumerate().map(|(c, x)| w(c) * (lse - x)).sum() };
    let loss = (1.0 - share) * w(t) * (lse - x[t]) + share / n * of_all + z * lse * lse;
    let weights: f64 = (0..x.len()).map(w).sum();
    let all = (1.0 - share) * w(t) + share / n * weights + 2.0 * z * lse;
    let one = |c: usize| if c == t { (1.0 - share) * w(t) } else { 0.0 };
    let dx = x.iter().enumerate().map(|(c, x)| (x - lse).exp() * all - share / n * w(c) - one(c));
    (loss, dx.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_is_the_difference_quotient() {
        let (x, w) = ([0.3, -1.0, 2.0, 0.7], [1.0, 2.0, 0.5, 3.0]);
        let options = Options { smoothing: 0.25, z_loss: 0.5, ..Options::default() };
        let (_, dx) = cross_entropy(&x, 2, Some(&w), &options);
        for i in 0..4 {
            let [mut up, mut down] = [x, x];
            up[i] += 1e-6;
            down[i] -= 1e-6;
            let loss = |x: &[f64]| cross_entropy(x, 2, Some(&w), &options).0;
            assert!(((loss(&up) - loss(&down)) / 2e-6 - dx[i]).abs() < 1e-6, "{i}");
        }
    }
}
