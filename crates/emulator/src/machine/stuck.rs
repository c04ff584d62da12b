//! Reports of launches in which nobody can go on.

use super::cell::resolve;
use super::core::Core;
use super::grid::Grid;
use super::spin::Spin;
use super::warp::{Group, State};
use crate::finding::{FindingKind, Storage};
use crate::lanes::LANES;
use crate::program::Space;
use warpsmith_types::Location;

/// Waits of one launch that a report lists.
const MOST: usize = 8;

/// A sentence of a report, and the place in the source that it is about.
pub(crate) type Note = (String, Option<Location>);

impl Grid<'_> {
    /// Nobody of this launch can go on, and it is the only one.
    #[cold]
    pub(super) fn deadlock(&mut self) {
        let notes = self.waits();
        self.report_deadlock("no thread of the launch can go on", notes);
        self.give_up();
    }

    /// Who waits for what, a sentence each, and how many blocks could not start.
    #[cold]
    pub(super) fn waits(&self) -> Vec<Note> {
        let mut notes = vec![];
        let mut more = 0;
        for cluster in &self.resident {
            for warp in cluster.warps.iter().filter(|w| w.live != 0) {
                for group in &warp.groups {
                    if notes.len() == MOST {
                        more += 1;
                        continue;
                    }
                    let (text, at) = cluster.waits(&self.core, warp, group);
                    let [x, y, z] = cluster.peers.blocks().get(warp.rank as usize).map_or([0; 3], |b| b.index);
                    let agent = self.core.agent().map_or_else(String::new, |agent| format!("{agent}, "));
                    notes.push((format!("{agent}block ({x}, {y}, {z}), {text}"), at));
                }
            }
        }
        if more > 0 {
            notes.push((format!("and {more} more groups of threads"), None));
        }
        let blocks = u64::from(self.core.shape.cluster_blocks());
        let outside = self.waiting() * blocks;
        if outside > 0 {
            let resident = self.resident.len() as u64 * blocks;
            notes.push((
                format!(
                    "{resident} blocks of `{}` run and {outside} have not started: the {} holds {} of them at a time",
                    self.core.program.name,
                    self.chip,
                    self.limit * blocks
                ),
                None,
            ));
        }
        notes
    }

    /// Adds the finding, at the first thread that waits; false when there is none.
    #[cold]
    pub(super) fn report_deadlock(&mut self, detail: &str, notes: Vec<Note>) -> bool {
        let first = self.resident.iter_mut().find_map(|cluster| {
            let (rank, index, group, spin) = cluster.warps.iter().filter(|w| w.live != 0).find_map(|w| {
                // Of a warp that polls, the lanes that do.
                let polls = w.groups.iter().find(|g| w.spin.is_vain() && g.state == State::Ready);
                Some((w.rank, w.index, *polls.or(w.groups.first())?, w.spin))
            })?;
            Some((cluster, rank, index, group, spin))
        });
        let Some((cluster, rank, warp, group, spin)) = first else { return false };
        cluster.peers.turn_to(rank as usize);
        let (pc, lane) = place(&group, &spin);
        if let Some(mut finding) = self.core.finding(&cluster.peers, warp, FindingKind::Deadlock, pc, lane) {
            finding.detail = detail.into();
            finding.notes = notes;
            self.core.findings.add(finding);
        }
        true
    }
}

/// Where a group stands: at its poll, or where it waits.
fn place(group: &Group, spin: &Spin) -> (u32, usize) {
    let pc = if spin.is_vain() { spin.at.0 } else { group.pc };
    (pc, group.mask.trailing_zeros() as usize % LANES)
}

impl Core<'_> {
    /// "`flag` + 4, which holds 0, and was last written by block (0, 0, 0)".
    pub(super) fn polls(&self, spin: &Spin) -> String {
        let (_, address, bytes) = spin.at;
        let (storage, at) = resolve(Space::Generic, address);
        if storage != Storage::Global || self.memory.find(address).is_none() {
            return format!("{storage} memory at {at:#x}");
        }
        let name = self.memory.place(address).in_words("");
        let mut value = [0; 8];
        let bytes = bytes.min(value.len());
        self.memory.copy_out(address, &mut value[..bytes]);
        let writer = match self.flags.writer(address) {
            _ if !self.races => String::new(),
            None => ", and nothing has written it since the start".into(),
            Some((block, pc)) => format!(
                ", and was last written by {} ({})",
                self.parties.block_in_words(block, self.party),
                self.parties.line(block, pc)
            ),
        };
        format!("{name}, which holds {}{writer}", u64::from_le_bytes(value))
    }
}
