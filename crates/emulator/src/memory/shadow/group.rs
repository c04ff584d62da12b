//! Accesses as a history keeps them.

/// What an instruction of a warp did to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// The block's number in the grid.
    pub block: u64,
    /// The warp, or a channel of the block's copy engines where it is beyond the warps.
    pub warp: u16,
    /// How many warps from there did it together.
    pub warps: u8,
    /// Bytes that each lane accessed.
    pub bytes: u8,
    /// When, by the warp's clock; [`Group::PENDING`] while it is under way.
    pub tick: u32,
    pub pc: u32,
    pub touch: Touch,
    /// Whether nobody knows what is there until it is done.
    pub lands: bool,
    /// For ordinary stores, a hash of what the lanes store and where; for bulk stores, when they were started; else 0.
    pub value: u64,
}

/// How memory is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    pub writes: bool,
    /// The scope of a strong access; `None` for a weak one.
    pub strong: Option<crate::program::Scope>,
    /// A read through the path for data that does not change: `.nc`.
    pub constant: bool,
    /// By a copy or a product, and not by a thread itself.
    pub asynchronous: bool,
}

impl Group {
    /// The time of what is under way: after everything that anybody knows of.
    pub(crate) const PENDING: u32 = u32::MAX;

    /// Whether it is a bulk copy that has not landed.
    pub(crate) fn asynchronous_landing(&self) -> bool {
        self.tick == Group::PENDING && self.touch.writes && self.lands
    }
}

/// One new access to a stretch of words, for [`Shadow::touch`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    /// Its first byte.
    pub offset: u32,
    /// Its bytes.
    pub bytes: u32,
    /// The lane of the first byte.
    pub lane: u32,
    /// Bytes a lane; 0 when all are the one lane's.
    pub stride: u32,
}

/// How an earlier access is ordered to a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Before it, whatever its lane.
    Before,
    /// Before it, for this lane.
    BeforeLane,
    /// Not ordered, and that is fine: both are strong.
    Allowed,
    /// A race.
    Race,
}
