//! Lane loops, compiled twice: for every x86-64, and for those with AVX2 and FMA. Which one runs is decided once.

/// What the machine that the emulator runs on has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Simd {
    #[cfg(target_arch = "x86_64")]
    avx2: Option<fearless_simd::Avx2>,
}

impl Simd {
    /// Looks at the machine.
    pub(crate) fn detect() -> Simd {
        Simd {
            #[cfg(target_arch = "x86_64")]
            avx2: fearless_simd::Level::new().as_avx2(),
        }
    }

    /// Runs a function, with everything inlined into it compiled for what the machine has.
    #[inline(always)]
    pub(crate) fn run<R>(self, f: impl FnOnce() -> R) -> R {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = self.avx2 {
            return fearless_simd::Simd::vectorize(avx2, f);
        }
        f()
    }

    /// Whether `mul_add` is an instruction in what [`Simd::run`] runs, and not a slow call.
    #[inline(always)]
    pub(crate) fn fuses(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        if self.avx2.is_some() {
            return true;
        }
        cfg!(any(target_feature = "fma", target_arch = "aarch64"))
    }
}
