//! Random numbers for tests and measurements: the same for the same seed, on every machine.

/// A linear congruential generator (Knuth's MMIX constants), of which the upper 53 bits count.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Begins from a seed; neighbouring seeds give unrelated numbers.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Between 0 and 1, without either.
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Normal, with mean 0 and variance 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// `count` normal numbers of a size.
    pub fn normals(&mut self, count: usize, scale: f64) -> Vec<f64> {
        (0..count).map(|_| self.normal() * scale).collect()
    }

    /// An integer below `n`, which is at least 1.
    pub fn below(&mut self, n: usize) -> usize {
        ((self.uniform() * n as f64) as usize).min(n.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn normal_numbers_have_mean_0_and_variance_1() {
        let x = Random::new(7).normals(100_000, 1.0);
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let variance = x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / x.len() as f64;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
        assert!(Random::new(7).normals(3, 1.0) == x[..3] && Random::new(8).normals(3, 1.0) != x[..3]);
        assert!((0..1000).scan(Random::new(1), |r, _| Some(r.below(3))).all(|i| i < 3));
    }
}
