//! What the compiler said.

use std::time::Duration;

/// What compiling or decoding a kernel gave. `None` where a device has no such thing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompileReport {
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Bytes that a thread spills, stores and loads.
    pub spills: Option<(u32, u32)>,
    /// Local memory of a thread, in bytes.
    pub local: Option<u32>,
    /// Static shared memory of a block, in bytes.
    pub shared: u32,
    /// Size of the machine code's file, in bytes.
    pub cubin: Option<usize>,
    /// Time to compile, or to decode.
    pub time: Duration,
    /// The compiler's warnings, a line each.
    pub warnings: Vec<String>,
}

impl CompileReport {
    /// Reads the verbose log of `ptxas` or of the driver's linker, which say the same in nearly the same words.
    pub fn from_log(log: &str, entry: &str) -> CompileReport {
        let mut report = CompileReport::default();
        let mut ours = true;
        for line in log.lines() {
            if line.contains("warning") {
                report.warnings.push(line.trim().into());
            }
            if let Some(name) = kernel_of(line) {
                ours = name == entry;
            }
            if ours {
                if let (Some(stores), Some(loads)) =
                    (number_before(line, " bytes spill stores"), number_before(line, " bytes spill loads"))
                {
                    report.spills = Some((stores, loads));
                }
                let local = number_before(line, " bytes stack frame").or(number_before(line, " bytes lmem"));
                report.local = local.or(report.local);
                report.registers = number_before(line, " registers").or(report.registers);
                report.shared = number_before(line, " bytes smem").unwrap_or(report.shared);
            }
        }
        report
    }
}

/// The number that stands right before `words`.
fn number_before(line: &str, words: &str) -> Option<u32> {
    let before = &line[..line.find(words)?];
    let digits = before.len() - before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    before[before.len() - digits..].parse().ok()
}

/// The kernel that the lines after this one are about, when it begins with one.
fn kernel_of(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("entry function ").or(line.split_once("Function properties for "))?;
    let rest = rest.trim_start_matches('\'');
    rest.split(|c: char| c == '\'' || c == ':' || c.is_whitespace()).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_ptxas_says_of_the_kernel() {
        let log = "ptxas info    : 0 bytes gmem\n\
            ptxas info    : Compiling entry function 'other' for 'sm_90a'\n\
            ptxas info    : Function properties for other\n    64 bytes stack frame, 60 bytes spill stores, 8 bytes spill loads\n\
            ptxas info    : Used 255 registers, used 1 barriers\n\
            ptxas info    : Compiling entry function 'vadd' for 'sm_90a'\n\
            ptxas info    : Function properties for vadd\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
            ptxas warning : (C7508) setmaxnreg ignored\n\
            ptxas info    : Used 22 registers, used 1 barriers, 48 bytes smem, 376 bytes cmem[0]\n";
        let report = CompileReport::from_log(log, "vadd");
        assert_eq!((report.registers, report.spills, report.local), (Some(22), Some((0, 0)), Some(0)));
        assert_eq!(report.shared, 48);
        assert_eq!(report.warnings, ["ptxas warning : (C7508) setmaxnreg ignored"]);
        assert_eq!(CompileReport::from_log(log, "other").spills, Some((60, 8)));
        let linker = "info    : 0 bytes gmem\n\
            info    : Function properties for 'other':\ninfo    : used 99 registers, 8 stack, 0 bytes smem, 8 bytes lmem\n\
            info    : Function properties for 'vadd':\ninfo    : used 12 registers, 0 stack, 16 bytes smem, 0 bytes lmem\n";
        let report = CompileReport::from_log(linker, "vadd");
        assert_eq!((report.registers, report.local, report.shared), (Some(12), Some(0), 16));
        assert_eq!(CompileReport::from_log("", "vadd"), CompileReport::default());
    }
}
