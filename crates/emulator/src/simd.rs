//! Lane loops, compiled for every x86-64, for those with AVX2 and FMA, and for those with AVX-512. Which one runs is
//! decided once.

/// What the machine that the emulator runs on has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Simd {
    #[default]
    Baseline,
    #[cfg(target_arch = "x86_64")]
    Avx2(fearless_simd::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(fearless_simd::Avx512),
}

impl Simd {
    /// Looks at the machine.
    pub(crate) fn detect() -> Simd {
        #[cfg(target_arch = "x86_64")]
        {
            let level = fearless_simd::Level::new();
            if let Some(avx512) = level.as_avx512() {
                return Simd::Avx512(avx512);
            }
            if let Some(avx2) = level.as_avx2() {
                return Simd::Avx2(avx2);
            }
        }
        Simd::Baseline
    }

    /// Runs a function, with everything inlined into it compiled for what the machine has.
    #[inline(always)]
    pub(crate) fn run<R>(self, f: impl FnOnce() -> R) -> R {
        match self {
            Simd::Baseline => f(),
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2(avx2) => fearless_simd::Simd::vectorize(avx2, f),
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512(avx512) => fearless_simd::Simd::vectorize(avx512, f),
        }
    }

    /// Whether there are vector registers for more than a few planes.
    #[inline(always)]
    pub(crate) fn has_many_registers(self) -> bool {
        match self {
            Simd::Baseline => false,
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2(_) => false,
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512(_) => true,
        }
    }

    /// Whether `mul_add` is an instruction in what [`Simd::run`] runs, and not a slow call.
    #[inline(always)]
    pub(crate) fn fuses(self) -> bool {
        match self {
            Simd::Baseline => cfg!(any(target_feature = "fma", target_arch = "aarch64")),
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2(_) | Simd::Avx512(_) => true,
        }
    }
}
