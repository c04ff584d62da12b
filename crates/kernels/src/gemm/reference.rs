//! The same in plain Rust, with float64 inside: what the kernel is compared with.

/// `c = a · bᵀ`, with the sum of the products' magnitudes beside each element: what rounding errors are relative to.
pub fn gemm(a: &[f64], b: &[f64], [m, n, k]: [usize; 3]) -> Vec<(f64, f64)> {
    let mut c = Vec::with_capacity(m * n);
    for i in 0..m {
        for j in 0..n {
            let row = a[i * k..(i + 1) * k].iter().zip(&b[j * k..(j + 1) * k]);
            c.push(row.fold((0.0, 0.0), |(s, t), (x, y)| (s + x * y, t + (x * y).abs())));
        }
    }
    c
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_small_product() {
        let c = super::gemm(&[1.0, 2.0, 3.0, 4.0], &[5.0, -6.0, 7.0, 8.0], [2, 2, 2]);
        assert_eq!(c, [(-7.0, 17.0), (23.0, 23.0), (-9.0, 39.0), (53.0, 53.0)]);
    }
}
