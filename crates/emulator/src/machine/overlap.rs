//! Arguments that share bytes where their contract forbids it.

use super::core::Core;
use crate::finding::{Finding, FindingKind};
use crate::manifest::Manifest;

/// The contract's breaches at a launch of a kernel; `agent` says which launch it is.
pub(super) fn overlaps(kernel: &str, agent: Option<String>, manifest: &Manifest) -> Vec<Finding> {
    let mut found = vec![];
    for (own, other, byte) in manifest.overlaps() {
        let (own, other) = (&own.name, &other.name);
        found.push(Finding {
            kind: FindingKind::Overlap,
            kernel: kernel.into(),
            agent: agent.clone(),
            block: [0; 3],
            thread: [0; 3],
            access: None,
            storage: None,
            address: Some(byte),
            bytes: 0,
            tensor: None,
            detail: format!(
                "`{own}` and `{other}` share bytes from {byte:#x} on, and the contract gives those of `{own}` to no other argument"
            ),
            other: None,
            notes: vec![],
            location: None,
            ptx_line: 0,
            count: 1,
            by_thread: true,
            pc: 0,
            other_place: (0, 0),
            block_number: 0,
        });
    }
    found
}

impl Core<'_> {
    /// The breaches of its launch.
    pub(super) fn overlaps(&self) -> Vec<Finding> {
        match self.manifest.filter(|_| self.options.checks.memory) {
            Some(manifest) => overlaps(&self.program.name, self.agent(), manifest),
            None => vec![],
        }
    }
}
