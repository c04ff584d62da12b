//! The same in plain Rust, with float64 inside: what the kernel is compared with.

use super::Options;

/// The logarithm of the sum of a row's exponentials.
pub fn lse(x: &[f64]) -> f64 {
    let max = x.iter().fold(f64::NEG_INFINITY, |m, &v| if v > m { v } else { m });
    max + x.iter().map(|v| (v - max).exp()).sum::<f64>().ln()
}

/// What a row's target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A class.
    Class(usize),
    /// That of rows that do not count.
    Ignored,
    /// None of so many classes.
    Wrong,
}

impl Target {
    /// Of a class number, where there are so many classes.
    pub fn new(target: i64, classes: usize, options: &Options) -> Target {
        if target == i64::from(options.ignore_index) {
            return Target::Ignored;
        }
        usize::try_from(target).ok().filter(|t| *t < classes).map_or(Target::Wrong, Target::Class)
    }

    /// What loss and gradient are where it is no class.
    fn instead(self) -> f64 {
        if self == Target::Ignored { 0.0 } else { f64::NAN }
    }
}

fn weight_of(weight: Option<&[f64]>, c: usize) -> f64 {
    weight.map_or(1.0, |w| w[c])
}

/// The loss of a row whose logits have that [`lse`] and whose target that `logit`.
pub fn loss(x: &[f64], lse: f64, target: Target, logit: f64, weight: Option<&[f64]>, options: &Options) -> f64 {
    let Target::Class(t) = target else { return target.instead() };
    let (n, share, z) = (x.len() as f64, f64::from(options.smoothing), f64::from(options.z_loss));
    let one = |(c, x): (usize, &f64)| weight_of(weight, c) * (lse - x);
    let of_all: f64 = if share == 0.0 { 0.0 } else { x.iter().enumerate().map(one).sum() };
    (1.0 - share) * weight_of(weight, t) * (lse - logit) + share / n * of_all + z * lse * lse
}

/// The gradients of a row's logits where the loss's is 1.
pub fn gradient(x: &[f64], lse: f64, target: Target, weight: Option<&[f64]>, options: &Options) -> Vec<f64> {
    let Target::Class(t) = target else { return vec![target.instead(); x.len()] };
    let (n, share, z) = (x.len() as f64, f64::from(options.smoothing), f64::from(options.z_loss));
    let weights: f64 = (0..x.len()).map(|c| weight_of(weight, c)).sum();
    let own = (1.0 - share) * weight_of(weight, t);
    let all = own + share / n * weights + 2.0 * z * lse;
    let one = |c: usize| if c == t { own } else { 0.0 };
    let of = |(c, x): (usize, &f64)| (x - lse).exp() * all - share / n * weight_of(weight, c) - one(c);
    x.iter().enumerate().map(of).collect()
}

/// The loss of a row, and its logits' gradients where the loss's is 1.
pub fn cross_entropy(x: &[f64], target: i64, weight: Option<&[f64]>, options: &Options) -> (f64, Vec<f64>) {
    let (target, lse) = (Target::new(target, x.len(), options), lse(x));
    let logit = if let Target::Class(t) = target { x[t] } else { 0.0 };
    (loss(x, lse, target, logit, weight, options), gradient(x, lse, target, weight, options))
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
