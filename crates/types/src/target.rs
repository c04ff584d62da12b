//! Targets and PTX versions.

use std::fmt;
use std::str::FromStr;

/// A PTX ISA version: what `.version` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PtxVersion {
    /// Before the dot.
    pub major: u8,
    /// After the dot.
    pub minor: u8,
}

impl PtxVersion {
    /// `PtxVersion::new(8, 0)` is 8.0.
    pub const fn new(major: u8, minor: u8) -> Self {
        PtxVersion { major, minor }
    }
}

impl fmt::Display for PtxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// An instruction set that PTX can name in `.target`.
///
/// `number` orders the generations (80, 89, 90, 100 …). A suffix `a` marks features of that one chip (`sm_90a`: wgmma,
/// setmaxnreg), which no other target has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// The generation: 90 for `sm_90a`.
    pub number: u16,
    /// Whether the features of exactly this chip are allowed.
    pub specific: bool,
}

impl Target {
    /// Ampere (A100).
    pub const SM_80: Target = Target { number: 80, specific: false };
    /// Ada (L40S, RTX 4090).
    pub const SM_89: Target = Target { number: 89, specific: false };
    /// Hopper, features common to later chips.
    pub const SM_90: Target = Target { number: 90, specific: false };
    /// Hopper with its own instructions (H100, H200).
    pub const SM_90A: Target = Target { number: 90, specific: true };
    /// Blackwell (B200).
    pub const SM_100A: Target = Target { number: 100, specific: true };
    /// Blackwell Ultra (B300).
    pub const SM_103A: Target = Target { number: 103, specific: true };
    /// Blackwell for workstations (RTX 5090).
    pub const SM_120A: Target = Target { number: 120, specific: true };

    /// The targets that kernels are compiled for.
    pub const ALL: [Target; 7] = [
        Target::SM_80,
        Target::SM_89,
        Target::SM_90,
        Target::SM_90A,
        Target::SM_100A,
        Target::SM_103A,
        Target::SM_120A,
    ];

    /// The smallest `.version` in which this target may be named.
    pub const fn version_floor(self) -> PtxVersion {
        match (self.number, self.specific) {
            (..=80, _) => PtxVersion::new(7, 0),
            (81..=89, _) => PtxVersion::new(7, 8),
            (90, false) => PtxVersion::new(7, 8),
            (90, true) => PtxVersion::new(8, 0),
            (100 | 101, _) => PtxVersion::new(8, 6),
            (120, _) => PtxVersion::new(8, 7),
            _ => PtxVersion::new(8, 8),
        }
    }

    /// Whether code for `self` may use what `floor` introduced: a later generation has it, unless `floor` is specific.
    pub const fn has(self, floor: Target) -> bool {
        if floor.specific { self.specific && self.number == floor.number } else { self.number >= floor.number }
    }

    /// Whether it converts the element formats of MX and NVFP4 (e2m1, ue8m0) by instruction: the Blackwells.
    pub const fn has_block_formats(self) -> bool {
        self.specific && matches!(self.number, 100 | 103 | 120)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.number, if self.specific { "a" } else { "" })
    }
}

/// A text that names no target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a target; expected one like sm_80, sm_90a or sm_100a")]
pub struct UnknownTarget(pub String);

impl FromStr for Target {
    type Err = UnknownTarget;
    fn from_str(s: &str) -> Result<Self, UnknownTarget> {
        let error = || UnknownTarget(s.into());
        let rest = s.strip_prefix("sm_").ok_or_else(error)?;
        // Family targets (`f`) are read as the plain generation: what they add is not told apart here.
        let (digits, specific) = match rest.strip_suffix('a') {
            Some(d) => (d, true),
            None => (rest.strip_suffix('f').unwrap_or(rest), false),
        };
        let number = digits.parse().map_err(|_| error())?;
        Ok(Target { number, specific })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for t in Target::ALL {
            assert_eq!(t.to_string().parse(), Ok(t));
        }
        assert!("sm90".parse::<Target>().is_err());
        assert!("sm_".parse::<Target>().is_err());
    }

    #[test]
    fn specific_features_are_not_inherited() {
        assert!(Target::SM_90A.has(Target::SM_80) && Target::SM_90A.has(Target::SM_90));
        assert!(!Target::SM_100A.has(Target::SM_90A) && !Target::SM_90.has(Target::SM_90A));
        assert!(!Target::SM_80.has(Target::SM_89));
    }
}
