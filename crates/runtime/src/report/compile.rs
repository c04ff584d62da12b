//! What compiling a kernel said.

use super::warning::Warning;
use std::time::Duration;

/// What compiling or decoding a kernel gave. `None` where a device has no such thing, or does not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompileReport {
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// What a thread spills.
    pub spills: Option<Spills>,
    /// Local memory of a thread, in bytes: its stack frame, with spills and arrays.
    pub local: Option<u32>,
    /// Static shared memory of a block, in bytes.
    pub shared: u32,
    /// Constant memory, in bytes, the parameters included.
    pub constant: Option<u32>,
    /// Barriers of a block, of 16.
    pub barriers: Option<u32>,
    /// Size of the machine code's file, in bytes.
    pub cubin: Option<usize>,
    /// Time to compile, or to decode; to find and load it where it was `cached`.
    pub time: Duration,
    /// Whether the code came from disk.
    pub cached: bool,
    /// The compiler's warnings about this kernel, or about no kernel in particular.
    pub warnings: Vec<Warning>,
}

/// Registers that a thread keeps in local memory, in bytes of the instructions that move them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Spills {
    /// Bytes stored.
    pub stores: u32,
    /// Bytes loaded.
    pub loads: u32,
}

impl CompileReport {
    /// Reads the verbose log of `ptxas` or of the driver's linker, which say the same in nearly the same words.
    pub fn from_log(log: &str, entry: &str) -> CompileReport {
        let mut report = CompileReport::default();
        let mut ours = true;
        for line in log.lines() {
            if let Some(warning) = Warning::read(line) {
                if function_of(line).is_none_or(|name| name == entry) {
                    report.warnings.push(warning);
                }
                continue;
            }
            if let Some(name) = kernel_of(line) {
                ours = name == entry;
            }
            if ours {
                report.read(line);
            }
        }
        report
    }

    /// Takes what a line about this kernel says.
    fn read(&mut self, line: &str) {
        if let (Some(stores), Some(loads)) =
            (number_before(line, " bytes spill stores"), number_before(line, " bytes spill loads"))
        {
            self.spills = Some(Spills { stores, loads });
        }
        let local = number_before(line, " bytes stack frame").or(number_before(line, " bytes lmem"));
        self.local = local.or(self.local);
        self.registers = number_before(line, " registers").or(self.registers);
        self.barriers = number_before(line, " barriers").or(self.barriers);
        self.shared = number_before(line, " bytes smem").unwrap_or(self.shared);
        // One number for each bank, and none when there is none.
        if line.contains(" registers") {
            let banks = line.split(',').filter_map(|part| number_before(part, " bytes cmem["));
            self.constant = Some(banks.sum());
        }
    }

    /// Whether a thread needs local memory, for spills or for arrays; `None` when that is not known.
    pub fn uses_local_memory(&self) -> Option<bool> {
        let spilled = self.spills.map(|s| s != Spills::default());
        match (spilled, self.local) {
            (None, None) => None,
            (spilled, local) => Some(spilled == Some(true) || local.is_some_and(|bytes| bytes > 0)),
        }
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

/// The kernel that a warning names.
fn function_of(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("function '")?;
    rest.split('\'').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_ptxas_says_of_the_kernel() {
        let log = "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored to allow debugging.\n\
            ptxas info    : (C7517) wgmma.wait_group is injected in around line 9 by compiler in function 'other'\n\
            ptxas info    : 0 bytes gmem\n\
            ptxas info    : Compiling entry function 'other' for 'sm_90a'\n\
            ptxas info    : Function properties for other\n    64 bytes stack frame, 60 bytes spill stores, 8 bytes spill loads\n\
            ptxas info    : Used 255 registers, used 0 barriers\n\
            ptxas info    : Compiling entry function 'vadd' for 'sm_90a'\n\
            ptxas info    : Function properties for vadd\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
            ptxas info    : Used 22 registers, used 1 barriers, 48 bytes smem, 376 bytes cmem[0], 8 bytes cmem[2]\n";
        let report = CompileReport::from_log(log, "vadd");
        assert_eq!((report.registers, report.spills, report.local), (Some(22), Some(Spills::default()), Some(0)));
        assert_eq!((report.shared, report.constant, report.barriers), (48, Some(384), Some(1)));
        assert_eq!(report.warnings, [Warning::SetmaxnregIgnored { reason: "to allow debugging".into() }]);
        assert_eq!(report.uses_local_memory(), Some(false));
        let other = CompileReport::from_log(log, "other");
        assert_eq!(other.spills, Some(Spills { stores: 60, loads: 8 }));
        assert_eq!((other.warnings.len(), other.constant, other.uses_local_memory()), (2, Some(0), Some(true)));
    }

    #[test]
    fn reads_what_the_driver_says_of_the_kernel() {
        let log = "info    : 0 bytes gmem\n\
            info    : Function properties for 'other':\ninfo    : used 99 registers, 8 stack, 0 bytes smem, 8 bytes lmem\n\
            info    : Function properties for 'vadd':\ninfo    : used 12 registers, 0 stack, 16 bytes smem, 0 bytes lmem\n";
        let report = CompileReport::from_log(log, "vadd");
        assert_eq!((report.registers, report.local, report.shared), (Some(12), Some(0), 16));
        assert_eq!((report.barriers, report.uses_local_memory()), (None, Some(false)));
        let nothing = CompileReport::from_log("", "vadd");
        assert_eq!(nothing, CompileReport::default());
        assert_eq!(nothing.uses_local_memory(), None);
    }
}
