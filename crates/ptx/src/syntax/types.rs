use super::words;

words! {
    /// A fundamental or packed type (PTX ISA §5.2).
    Type {
        B8 = "b8", B16 = "b16", B32 = "b32", B64 = "b64", B128 = "b128",
        S8 = "s8", S16 = "s16", S32 = "s32", S64 = "s64",
        U8 = "u8", U16 = "u16", U32 = "u32", U64 = "u64",
        U16x2 = "u16x2", S16x2 = "s16x2",
        F16 = "f16", F16x2 = "f16x2", BF16 = "bf16", BF16x2 = "bf16x2",
        F32 = "f32", F32x2 = "f32x2", F64 = "f64", TF32 = "tf32",
        E4M3 = "e4m3", E5M2 = "e5m2", E4M3x2 = "e4m3x2", E5M2x2 = "e5m2x2", E2M1x2 = "e2m1x2", UE8M0x2 = "ue8m0x2",
        E2M1 = "e2m1", E2M3 = "e2m3", E3M2 = "e3m2", UE4M3 = "ue4m3", UE8M0 = "ue8m0",
        Pred = "pred",
    }
}

impl Type {
    /// Width in bits; a predicate counts as 1.
    pub const fn bits(self) -> u32 {
        match self {
            Type::Pred => 1,
            Type::E2M1 => 4,
            Type::E2M3 | Type::E3M2 => 6,
            Type::B8 | Type::S8 | Type::U8 | Type::E4M3 | Type::E5M2 | Type::E2M1x2 | Type::UE4M3 | Type::UE8M0 => 8,
            Type::B16 | Type::S16 | Type::U16 | Type::F16 | Type::BF16 => 16,
            Type::E4M3x2 | Type::E5M2x2 | Type::UE8M0x2 => 16,
            Type::B32 | Type::S32 | Type::U32 | Type::F32 | Type::TF32 => 32,
            Type::U16x2 | Type::S16x2 | Type::F16x2 | Type::BF16x2 => 32,
            Type::B64 | Type::S64 | Type::U64 | Type::F64 | Type::F32x2 => 64,
            Type::B128 => 128,
        }
    }

    /// Width in bytes; a predicate counts as 1.
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// The integer type of the same sign and twice the width, or bits of twice the width.
    pub const fn double(self) -> Option<Type> {
        Some(match self {
            Type::S8 => Type::S16,
            Type::S16 => Type::S32,
            Type::S32 => Type::S64,
            Type::U8 => Type::U16,
            Type::U16 => Type::U32,
            Type::U32 => Type::U64,
            Type::B8 => Type::B16,
            Type::B16 => Type::B32,
            Type::B32 => Type::B64,
            Type::B64 => Type::B128,
            _ => return None,
        })
    }

    /// Whether values of it are signed integers.
    pub const fn is_signed(self) -> bool {
        matches!(self, Type::S8 | Type::S16 | Type::S32 | Type::S64)
    }

    /// Whether values of it are scalar floats.
    pub const fn is_float(self) -> bool {
        matches!(self, Type::F16 | Type::BF16 | Type::F32 | Type::F64 | Type::TF32)
    }
}

words! {
    /// Where a variable or an access lives.
    StateSpace {
        Generic = "", Reg = "reg", Const = "const", Global = "global", Local = "local", Param = "param",
        Shared = "shared", SharedCta = "shared::cta", SharedCluster = "shared::cluster",
    }
}
