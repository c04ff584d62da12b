//! What a launch did, for people and for machines.

use super::watched::{AdviceReport, ProfileReport, TraceReport};
use serde::Serialize;
use std::fmt;
use std::path::Path;
use warpsmith_emulator::Finding;
use warpsmith_types::{Diagnostic, Location};

/// One launch.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) kernel: String,
    pub(super) file: String,
    pub(super) chip: &'static str,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) cluster: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub(super) shared: u32,
    pub(super) seed: u64,
    pub(super) milliseconds: f64,
    /// Of warps.
    pub(super) instructions: u64,
    /// Whether the launch was given up.
    pub(super) stopped: bool,
    /// What the kernel printed.
    pub(super) printed: String,
    pub(super) tensors: Vec<TensorReport>,
    pub(super) findings: Vec<FindingReport>,
    /// What costs more than it needs to, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) advice: Option<Vec<AdviceReport>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) profile: Option<ProfileReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) trace: Option<TraceReport>,
}

/// A tensor after the launch.
#[derive(Serialize)]
pub(super) struct TensorReport {
    pub(super) name: String,
    pub(super) dtype: &'static str,
    pub(super) shape: Vec<usize>,
    pub(super) changed: bool,
    /// Elements that nothing ever wrote.
    pub(super) unwritten: usize,
    /// The first elements; `?` for what nothing wrote.
    pub(super) head: Vec<String>,
    /// Where it was written to.
    pub(super) file: Option<String>,
}

/// A fault.
#[derive(Serialize)]
pub(super) struct FindingReport {
    message: String,
    kind: String,
    block: [u32; 3],
    thread: [u32; 3],
    /// How often, threads counted one by one.
    count: u64,
    address: Option<u64>,
    bytes: u32,
    tensor: Option<Element>,
    detail: String,
    source: Option<Place>,
    /// From 1.
    ptx_line: u32,
    #[serde(skip)]
    diagnostic: Diagnostic,
}

#[derive(Serialize)]
struct Element {
    name: String,
    index: Vec<i64>,
    inside: bool,
}

#[derive(Serialize)]
struct Place {
    file: String,
    line: u32,
    column: u32,
}

impl FindingReport {
    /// Of a kernel in a PTX file; its lines stand for the source when the PTX does not name one.
    pub(super) fn new(finding: &Finding, file: &Path) -> FindingReport {
        let mut diagnostic = finding.diagnostic();
        if diagnostic.at.is_none() && finding.ptx_line > 0 {
            diagnostic = diagnostic.at(Location::new(file.display().to_string(), finding.ptx_line, 0)).label("here");
        }
        FindingReport {
            message: diagnostic.message.clone(),
            kind: format!("{:?}", finding.kind),
            block: finding.block,
            thread: finding.thread,
            count: finding.count,
            address: finding.address,
            bytes: finding.bytes,
            tensor: finding.tensor.as_ref().map(|t| Element {
                name: t.name.clone(),
                index: t.index.clone(),
                inside: t.inside,
            }),
            detail: finding.detail.clone(),
            source: finding.location.as_ref().map(|l| Place {
                file: l.file.to_string(),
                line: l.line,
                column: l.column,
            }),
            ptx_line: finding.ptx_line,
            diagnostic,
        }
    }
}

fn times(v: [u32; 3]) -> String {
    v.map(|n| n.to_string()).join(" x ")
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} on an emulated {}", self.kernel, self.file, self.chip)?;
        write!(f, "\n  launch   {} blocks of {} threads", times(self.grid), times(self.block))?;
        if self.cluster != [1; 3] {
            write!(f, " in clusters of {}", times(self.cluster))?;
        }
        if self.shared > 0 {
            write!(f, ", {} bytes of dynamic shared memory", self.shared)?;
        }
        let stopped = if self.stopped { ", then given up" } else { "" };
        write!(
            f,
            "\n  ran in   {:.1} ms: {} warp instructions{stopped}; sanitizer: ",
            self.milliseconds, self.instructions
        )?;
        match self.findings.len() {
            0 => f.write_str("clean")?,
            1 => f.write_str("1 finding")?,
            n => write!(f, "{n} findings")?,
        }
        for t in self.tensors.iter().filter(|t| t.changed || t.file.is_some()) {
            let extents = t.shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
            write!(f, "\n  {:<8} {}[{extents}]: {}", t.name, t.dtype, t.head.join(" "))?;
            if t.shape.iter().product::<usize>() > t.head.len() {
                f.write_str(" …")?;
            }
            if t.unwritten > 0 {
                write!(f, " ({} elements were never written)", t.unwritten)?;
            }
            if let Some(file) = &t.file {
                write!(f, ", written to {file}")?;
            }
        }
        if self.tensors.iter().all(|t| !t.changed) {
            f.write_str("\n  no tensor changed")?;
        }
        if !self.printed.is_empty() {
            write!(f, "\n\nprinted:\n{}", self.printed.trim_end())?;
        }
        if let Some(trace) = &self.trace {
            write!(f, "\n\n{trace}")?;
        }
        if let Some(profile) = &self.profile {
            write!(f, "\n\n{profile}")?;
        }
        match self.advice.as_deref() {
            Some([]) => f.write_str("\n\nnothing costs more than it needs to")?,
            Some(all) => all.iter().enumerate().try_for_each(|(i, advice)| {
                f.write_str(if i == 0 { "\n\n" } else { "\n" })?;
                write!(f, "{advice}")
            })?,
            None => {}
        }
        self.findings.iter().try_for_each(|finding| write!(f, "\n\n{}", finding.diagnostic))?;
        if !self.findings.is_empty() && self.seed != 0 {
            write!(f, "\n\nthe same again: --replay {}", self.seed)?;
        }
        Ok(())
    }
}
