//! Blocks that end while others of their cluster may still use their shared memory.

use super::clock::Clock;
use crate::finding::FindingKind;
use crate::lanes::LANES;
use crate::machine::core::Core;
use crate::machine::peers::Peers;

impl Core<'_> {
    /// The block that runs has ended: what others did in its shared memory must be ordered before that, for its memory
    /// may be another's from now on.
    pub(crate) fn check_exit(&mut self, peers: &mut Peers) {
        if !self.races || peers.blocks().len() == 1 {
            return;
        }
        let (rank, number) = (peers.rank(), peers.number);
        let Some(races) = &peers.races else { return };
        let mut known = Clock::default();
        for warp in &races.warps {
            let lanes = if warp.agrees() { 1 } else { LANES as u32 };
            (0..lanes).for_each(|lane| known.join(warp.known(lane)));
        }
        let late: Vec<_> = races
            .shadow
            .groups()
            .filter(|g| g.block != number && !g.touch.asynchronous)
            .filter(|g| known.entry(g.block, g.warp.into()).is_none_or(|entry| entry.latest() < g.tick))
            .map(|g| (g.block, g.warp, g.pc))
            .collect();
        for (block, warp, pc) in late {
            let Some(other) = peers.blocks().iter().position(|b| b.number == block) else { continue };
            peers.turn_to(other);
            let detail =
                format!("nothing orders this before the end of block {rank} of the cluster, whose memory it is");
            self.report_threads(peers, warp.into(), FindingKind::PeerExited, pc, 1, detail);
            peers.turn_to(rank);
        }
    }
}
