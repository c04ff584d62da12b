//! What the assembler warns of.

use std::fmt;

/// A warning, or a remark about lost performance, which `ptxas` prints as mere information.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Warning {
    /// Warpgroup matrix instructions run one after the other, each waited for (C7509 to C7516): all overlap is lost.
    WgmmaSerialized {
        /// Why, in the assembler's words.
        reason: String,
        /// The line of the PTX, where it is said.
        line: Option<u32>,
    },
    /// A wait for matrix instructions that the kernel does not have was put in (C7517).
    WgmmaWaitInjected {
        /// The line of the PTX, where it is said.
        line: Option<u32>,
    },
    /// `setmaxnreg` does nothing (C7504 to C7508).
    SetmaxnregIgnored {
        /// Why, in the assembler's words.
        reason: String,
    },
    /// Anything else, as it was printed.
    Other(String),
}

impl Warning {
    /// Reads a line of the log of `ptxas` or of the driver's linker; `None` when it warns of nothing.
    pub(super) fn read(line: &str) -> Option<Warning> {
        let text = match coded(line) {
            Some(text) => text,
            // "ptxas warning : …", "ptxas file, line 3; warning : …", "warning : …"
            None if line.split(" : ").next().is_some_and(|head| head.contains("warning")) => {
                return Some(Warning::Other(line.trim().into()));
            }
            None => return None,
        };
        let text = text.strip_prefix("Potential Performance Loss: ").unwrap_or(text);
        if let Some(reason) = text.strip_prefix("wgmma.mma_async instructions are serialized due to ") {
            return Some(Warning::WgmmaSerialized { reason: without_place(reason).into(), line: number_at(reason) });
        }
        if text.starts_with("wgmma.wait_group is injected") {
            return Some(Warning::WgmmaWaitInjected { line: number_at(text) });
        }
        if let Some(reason) = text.strip_prefix("'setmaxnreg' ignored") {
            let reason = reason.trim_start_matches([';', ' ']).trim_end_matches('.');
            return Some(Warning::SetmaxnregIgnored { reason: reason.into() });
        }
        Some(Warning::Other(line.trim().into()))
    }
}

/// What stands behind a code like "(C7510) ".
fn coded(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("(C")?;
    let (digits, text) = rest.split_once(") ")?;
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then_some(text.trim())
}

/// The number behind the last "line ".
fn number_at(text: &str) -> Option<u32> {
    let (_, rest) = text.rsplit_once("line ")?;
    rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())].parse().ok()
}

/// A reason without the function and line that it ends with.
fn without_place(reason: &str) -> &str {
    let place = [" in the function '", " in function '", " for the function '"];
    let end = place.iter().filter_map(|p| reason.find(p)).min().unwrap_or(reason.len());
    reason[..end].trim_end_matches('.')
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = match self {
            Warning::WgmmaSerialized { reason, line } => {
                write!(f, "wgmma instructions run one after the other: {reason}")?;
                line
            }
            Warning::WgmmaWaitInjected { line } => {
                f.write_str("a wait for wgmma instructions was put in")?;
                line
            }
            Warning::SetmaxnregIgnored { reason } => return write!(f, "setmaxnreg is ignored: {reason}"),
            Warning::Other(text) => return f.write_str(text),
        };
        line.map_or(Ok(()), |line| write!(f, " (line {line} of the PTX)"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_about_performance_are_told_apart() {
        let read = |line: &str| Warning::read(line).map(|w| w.to_string());
        assert_eq!(
            Warning::read(
                "ptxas info    : (C7514) Potential Performance Loss: wgmma.mma_async instructions are serialized due to non \
                 wgmma instructions defining accumulator registers of a wgmma between start and end of the pipeline stage \
                 in the function 'k' in line 118"
            ),
            Some(Warning::WgmmaSerialized {
                reason:
                    "non wgmma instructions defining accumulator registers of a wgmma between start and end of the \
                         pipeline stage"
                        .into(),
                line: Some(118)
            })
        );
        assert_eq!(
            Warning::read(
                "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to \
                 insufficient register resources for the function 'k'"
            ),
            Some(Warning::WgmmaSerialized { reason: "insufficient register resources".into(), line: None })
        );
        assert_eq!(
            read(
                "info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count \
                 at entry."
            )
            .as_deref(),
            Some("setmaxnreg is ignored: unable to determine register count at entry")
        );
        assert_eq!(
            read(
                "ptxas info    : (C7517) wgmma.wait_group is injected in around line 18 by compiler to allow use of \
                 registers defined by GMMA in function 'k'"
            )
            .as_deref(),
            Some("a wait for wgmma instructions was put in (line 18 of the PTX)")
        );
    }

    #[test]
    fn other_warnings_stay_as_they_are() {
        let warning = "ptxas warning : Stack size for entry function 'k' cannot be statically determined";
        assert_eq!(Warning::read(warning), Some(Warning::Other(warning.into())));
        let at = "line 3; warning : '.x' is deprecated";
        assert_eq!(Warning::read(at), Some(Warning::Other(at.into())));
        let unknown = "ptxas info    : (C9999) something new";
        assert_eq!(Warning::read(unknown), Some(Warning::Other(unknown.into())));
        assert_eq!(Warning::read("ptxas info    : Used 22 registers, used 1 barriers"), None);
        assert_eq!(Warning::read("ptxas info    : Compiling entry function 'warning' for 'sm_90a'"), None);
    }
}
