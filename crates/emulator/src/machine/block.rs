//! What the warps of a block share: its shared memory and its barriers.

use super::barrier::Barriers;
use super::core::Core;
use super::mbarrier::Mbarriers;
use super::races::{BlockRaces, base_of};
use crate::memory::Flat;

/// What the warps of a block share.
#[derive(Debug)]
pub(crate) struct Common {
    pub number: u64,
    pub index: [u32; 3],
    pub shared: Flat,
    pub barriers: Barriers,
    pub mbarriers: Mbarriers,
    /// Stretches of shared memory that a copy on its way will overwrite: start, end, and the copy's instruction.
    pub landing: Vec<(u32, u32, u32)>,
    /// Of each warp, how often it has told others that it went on.
    pub releases: Vec<u32>,
    /// Threads that have not exited.
    pub live: u32,
    /// Whether it has let the next launch start, or has exited.
    pub triggered: bool,
    /// Who knows what, when races are looked for.
    pub races: Option<Box<BlockRaces>>,
}

impl Common {
    pub(crate) fn new(core: &Core<'_>) -> Common {
        Common {
            number: 0,
            index: [0; 3],
            shared: Flat::new(core.shared_bytes()),
            releases: vec![0; core.shape.warps() as usize],
            barriers: Barriers::default(),
            mbarriers: Mbarriers::default(),
            landing: vec![],
            live: 0,
            triggered: false,
            races: core.races.then(Box::default),
        }
    }

    /// A copy to a stretch of shared memory starts: until it is complete, nobody knows what is there.
    pub(crate) fn lands(&mut self, to: u32, bytes: u32, pc: u32) {
        self.shared.poison(to as usize, bytes as usize);
        self.landing.push((to, to + bytes, pc));
    }

    /// Such a copy is complete.
    pub(crate) fn landed(&mut self, to: u32, bytes: u32, pc: u32) {
        if let Some(index) = self.landing.iter().position(|l| *l == (to, to + bytes, pc)) {
            self.landing.swap_remove(index);
        }
    }

    /// Makes it another block of the grid, in the same storage.
    pub(crate) fn restart(&mut self, core: &Core<'_>, index: [u32; 3]) {
        self.number = base_of(core.party) + core.shape.block_number(index);
        self.index = index;
        self.shared.clear();
        self.barriers = Barriers::default();
        self.mbarriers.clear();
        self.landing.clear();
        self.releases.fill(0);
        self.shared.track(core.options.checks.races && core.program.has_async_readers());
        self.live = core.shape.threads;
        self.triggered = false;
        let (number, bytes) = (self.number, self.shared.len());
        if let Some(races) = &mut self.races {
            races.restart(number, core.shape.warps(), bytes, core.launch, &core.start);
        }
    }
}
