//! Findings for other programs: as records that serialise, and a summary to end a process with.

use crate::Outcome;
use crate::finding::{AccessKind, Finding, FindingKind, MbarrierFault, OtherAccess, Storage};
use crate::manifest::TensorPlace;
use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::collections::BTreeMap;
use warpsmith_types::Location;

/// What came of a launch, in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Summary {
    /// Distinct faults.
    pub findings: usize,
    /// How often they happened, threads counted one by one.
    pub times: u64,
    /// Distinct faults of each class.
    pub classes: BTreeMap<&'static str, usize>,
    /// Warp instructions that were executed.
    pub instructions: u64,
    /// Whether the launch was given up.
    pub stopped: bool,
    /// What a process should end with: 0 for a clean launch, 1 for one with findings, 2 for one that was given up.
    pub exit_code: u8,
}

impl Outcome {
    /// The outcome in numbers.
    pub fn summary(&self) -> Summary {
        let mut classes = BTreeMap::new();
        self.findings.iter().for_each(|f| *classes.entry(f.kind.name()).or_default() += 1);
        Summary {
            findings: self.findings.len(),
            times: self.findings.iter().map(|f| f.count).sum(),
            classes,
            instructions: self.instructions,
            stopped: self.stopped,
            exit_code: match (self.stopped, self.is_clean()) {
                (true, _) => 2,
                (false, false) => 1,
                (false, true) => 0,
            },
        }
    }
}

impl FindingKind {
    /// A short name that does not change: `data-race`, `mbarrier-phase`.
    pub fn name(self) -> &'static str {
        match self {
            FindingKind::OutOfBounds => "out-of-bounds",
            FindingKind::UseAfterFree => "use-after-free",
            FindingKind::NotMapped => "not-mapped",
            FindingKind::Multicast => "multicast",
            FindingKind::Overlap => "overlap",
            FindingKind::Misaligned => "misaligned",
            FindingKind::UninitializedRead(Storage::Register) => "uninitialized-register",
            FindingKind::UninitializedRead(_) => "uninitialized-memory",
            FindingKind::BarrierDivergence => "barrier-divergence",
            FindingKind::BarrierCount => "barrier-count",
            FindingKind::SyncMask => "sync-mask",
            FindingKind::Mbarrier(MbarrierFault::NotInitialized) => "mbarrier-not-initialized",
            FindingKind::Mbarrier(MbarrierFault::Reinitialized) => "mbarrier-reinitialized",
            FindingKind::Mbarrier(MbarrierFault::Count) => "mbarrier-count",
            FindingKind::Mbarrier(MbarrierFault::Arrivals) => "mbarrier-arrivals",
            FindingKind::Mbarrier(MbarrierFault::Bytes) => "mbarrier-bytes",
            FindingKind::Mbarrier(MbarrierFault::Phase) => "mbarrier-phase",
            FindingKind::Mbarrier(MbarrierFault::Overwritten) => "mbarrier-overwritten",
            FindingKind::Mbarrier(MbarrierFault::Unfenced) => "mbarrier-unfenced",
            FindingKind::TensorMap => "tensor-map",
            FindingKind::TensorMapFence => "tensor-map-fence",
            FindingKind::Cluster => "cluster",
            FindingKind::Race => "data-race",
            FindingKind::ConstantLoad => "constant-load",
            FindingKind::ProxyFence => "proxy-fence",
            FindingKind::InFlight => "in-flight",
            FindingKind::ProductFence => "product-fence",
            FindingKind::Warpgroup => "warpgroup",
            FindingKind::Descriptor => "descriptor",
            FindingKind::RegisterCount => "register-count",
            FindingKind::ExitInFlight => "exit-in-flight",
            FindingKind::PeerExited => "peer-exited",
            FindingKind::PeerNotStarted => "peer-not-started",
            FindingKind::Deadlock => "deadlock",
            FindingKind::Trap => "trap",
            FindingKind::CallDepth => "call-depth",
            FindingKind::Budget => "budget",
        }
    }
}

/// A source line as a record.
#[derive(serde::Serialize)]
struct Line<'a> {
    file: &'a str,
    line: u32,
    column: u32,
    /// The helper that it is in, and its call.
    #[serde(skip_serializing_if = "Option::is_none")]
    inlined: Option<(&'a str, Box<Line<'a>>)>,
}

fn line(at: &Location) -> Line<'_> {
    let inlined = at.inlined_at.as_ref().map(|i| (i.function.as_ref(), Box::new(line(&i.at))));
    Line { file: &at.file, line: at.line, column: at.column, inlined }
}

/// A line that may not be known.
pub(crate) fn optional_line<S: Serializer>(at: &Option<Location>, serializer: S) -> Result<S::Ok, S::Error> {
    at.as_ref().map(line).serialize(serializer)
}

fn access(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::Load => "load",
        AccessKind::Store => "store",
        AccessKind::Atomic => "atomic",
        AccessKind::Copy => "copy",
        AccessKind::Matrix => "matrix",
    }
}

impl Serialize for TensorPlace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut record = serializer.serialize_struct("TensorPlace", 3)?;
        record.serialize_field("name", &self.name)?;
        record.serialize_field("index", &self.index)?;
        record.serialize_field("inside", &self.inside)?;
        record.end()
    }
}

impl Serialize for OtherAccess {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut record = serializer.serialize_struct("OtherAccess", 6 + usize::from(self.agent.is_some()))?;
        match &self.agent {
            Some(agent) => record.serialize_field("agent", agent)?,
            None => record.skip_field("agent")?,
        }
        record.serialize_field("block", &self.block)?;
        record.serialize_field("thread", &self.thread)?;
        record.serialize_field("writes", &self.writes)?;
        record.serialize_field("asynchronous", &self.asynchronous)?;
        record.serialize_field("location", &self.location.as_ref().map(line))?;
        record.serialize_field("ptx_line", &self.ptx_line)?;
        record.end()
    }
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let notes: Vec<(&str, Option<Line<'_>>)> =
            self.notes.iter().map(|(text, at)| (text.as_str(), at.as_ref().map(line))).collect();
        let mut record = serializer.serialize_struct("Finding", 15 + usize::from(self.agent.is_some()))?;
        record.serialize_field("class", self.kind.name())?;
        record.serialize_field("kernel", &self.kernel)?;
        match &self.agent {
            Some(agent) => record.serialize_field("agent", agent)?,
            None => record.skip_field("agent")?,
        }
        record.serialize_field("block", &self.block)?;
        record.serialize_field("thread", &self.thread)?;
        record.serialize_field("access", &self.access.map(access))?;
        record.serialize_field("storage", &self.storage.map(|s| s.to_string()))?;
        record.serialize_field("address", &self.address)?;
        record.serialize_field("bytes", &self.bytes)?;
        record.serialize_field("tensor", &self.tensor)?;
        record.serialize_field("detail", &self.detail)?;
        record.serialize_field("other", &self.other)?;
        record.serialize_field("notes", &notes)?;
        record.serialize_field("location", &self.location.as_ref().map(line))?;
        record.serialize_field("ptx_line", &self.ptx_line)?;
        record.serialize_field("count", &self.count)?;
        record.end()
    }
}
