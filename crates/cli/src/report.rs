//! How a run went, for people and for machines.

use crate::style::{Ink, paint};
use serde::Serialize;
use std::fmt;

/// One run of an operator.
#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) operator: &'static str,
    pub(crate) source: String,
    pub(crate) dtype: &'static str,
    pub(crate) shape: Vec<usize>,
    pub(crate) device: String,
    /// Absent when the reference itself ran, or there was nothing to do.
    pub(crate) kernel: Option<KernelReport>,
    pub(crate) run: RunReport,
    pub(crate) check: Check,
    pub(crate) output: Option<String>,
}

/// The kernel and how it was made.
#[derive(Serialize)]
pub(crate) struct KernelReport {
    pub(crate) name: String,
    pub(crate) plan: String,
    pub(crate) grid: [usize; 3],
    pub(crate) block: [usize; 3],
    pub(crate) trace_ms: f64,
    pub(crate) ptx_ms: f64,
    pub(crate) compile_ms: f64,
    pub(crate) registers: Option<u32>,
    pub(crate) spill_bytes: Option<u32>,
    /// The assembler's.
    pub(crate) warnings: Vec<String>,
}

/// What running it took.
#[derive(Serialize)]
#[serde(tag = "on", rename_all = "snake_case")]
pub(crate) enum RunReport {
    /// A card: medians with a cold cache.
    Card { microseconds: f64, bytes: u64, gigabytes_per_second: f64, share_of_copy: f64, copy_microseconds: f64 },
    /// A matrix product on a card.
    Product { microseconds: f64, operations: u64, teraflops: f64 },
    /// The emulator.
    Emulator { milliseconds: f64, instructions: u64, findings: Vec<String> },
    /// The reference.
    Reference { milliseconds: f64 },
}

/// The result against the reference.
#[derive(Serialize)]
pub(crate) struct Check {
    pub(crate) right: bool,
    /// How many were compared.
    pub(crate) elements: usize,
    /// Rows that were compared, where it was not all of them.
    pub(crate) rows_compared: Option<usize>,
    pub(crate) relative_tolerance: f64,
    pub(crate) absolute_tolerance: f64,
    /// Of the sum of the products' magnitudes, where the result is one.
    pub(crate) sum_tolerance: Option<f64>,
    /// Of the tolerance; above 1 is wrong. `null` stands for infinity: a NaN where none belongs, or none where one does.
    pub(crate) largest_error: Option<f64>,
    pub(crate) at: Vec<usize>,
    pub(crate) got: Option<f64>,
    pub(crate) expected: Option<f64>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = self.shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        writeln!(f, "{} of {} ({shape}) from {}", self.operator, self.dtype, self.source)?;
        writeln!(f, "  device   {}", self.device)?;
        if let Some(k) = &self.kernel {
            writeln!(f, "  kernel   {}: {} blocks", k.name, k.grid.iter().product::<usize>())?;
            writeln!(f, "  plan     {}", k.plan)?;
            write!(f, "  made in  trace {:.2} ms, PTX {:.2} ms, ", k.trace_ms, k.ptx_ms)?;
            write!(f, "{} {:.2} ms", if k.registers.is_some() { "assembled" } else { "loaded" }, k.compile_ms)?;
            match (k.registers, k.spill_bytes) {
                (Some(r), Some(s)) => writeln!(f, " ({r} registers, {s} bytes spilled)")?,
                (Some(r), None) => writeln!(f, " ({r} registers)")?,
                _ => writeln!(f)?,
            }
            k.warnings.iter().try_for_each(|warning| writeln!(f, "  warning  {warning}"))?;
        }
        match &self.run {
            RunReport::Card { microseconds, bytes, gigabytes_per_second, share_of_copy, copy_microseconds } => {
                write!(f, "  ran in   {microseconds:.1} µs: {:.1} MB moved, ", *bytes as f64 / 1e6)?;
                write!(
                    f,
                    "{gigabytes_per_second:.0} GB/s, {:.1} % of a copy of the same bytes ",
                    share_of_copy * 100.0
                )?;
                writeln!(f, "({copy_microseconds:.1} µs)")?;
            }
            RunReport::Product { microseconds, operations, teraflops } => {
                let operations = *operations as f64 / 1e9;
                writeln!(f, "  ran in   {microseconds:.1} µs: {operations:.1} Gflop, {teraflops:.0} TFLOP/s")?;
            }
            RunReport::Emulator { milliseconds, instructions, findings } => {
                write!(f, "  ran in   {milliseconds:.1} ms: {instructions} warp instructions emulated; sanitizer: ")?;
                match findings.len() {
                    0 => writeln!(f, "clean")?,
                    n => writeln!(f, "{n} findings\n\n{}\n", findings.join("\n\n"))?,
                }
            }
            RunReport::Reference { milliseconds } => writeln!(f, "  ran in   {milliseconds:.1} ms, float64")?,
        }
        let c = &self.check;
        let verdict = if c.right { paint(Ink::Good, "right") } else { paint(Ink::Bad, "WRONG") };
        write!(f, "  result   {verdict}: ")?;
        match (c.largest_error, c.got, c.expected) {
            (_, None, _) if c.right && c.elements == 0 => write!(f, "no elements")?,
            (Some(e), Some(got), Some(expected)) if !c.at.is_empty() => {
                write!(f, "largest error {e:.3} of the tolerance, at {:?}: {got:e} for {expected:e}", c.at)?;
            }
            (Some(e), ..) => write!(f, "largest error {e:.3} of the tolerance")?,
            (None, ..) => write!(f, "NaN or infinity where it does not belong, or missing, at {:?}", c.at)?,
        }
        write!(f, "\n  tolerance {:.1e} relative + {:.1e}", c.relative_tolerance, c.absolute_tolerance)?;
        if let Some(sum) = c.sum_tolerance {
            write!(f, " + {sum:.1e} of the sum of the products' magnitudes")?;
        }
        if let Some(rows) = c.rows_compared {
            write!(f, "\n  compared {rows} rows, evenly chosen")?;
        }
        if let Some(path) = &self.output {
            write!(f, "\n  written to {path}")?;
        }
        Ok(())
    }
}
