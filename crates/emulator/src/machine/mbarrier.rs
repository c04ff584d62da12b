//! Barriers in shared memory: phases, pending arrivals, bytes that are still to come.

use crate::finding::MbarrierFault;
use rustc_hash::FxHashMap;

/// The largest number of arrivals, and of bytes, that a barrier counts.
pub(super) const MOST: u32 = (1 << 20) - 1;

/// A barrier between `mbarrier.init` and `mbarrier.inval`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mbarrier {
    /// Phases that have ended.
    pub phase: u64,
    /// Arrivals that a phase needs.
    pub expected: u32,
    /// Arrivals that this phase lacks.
    pub pending: u32,
    /// Bytes that this phase lacks; negative when they came before they were expected.
    pub bytes: i64,
    /// The warp and lane that initialised it, and when they fenced that for the async proxy.
    pub made_by: (u32, u32),
    pub fenced: Option<u32>,
    /// Waiting groups of this phase.
    waiting: bool,
    /// Whether a thread knows that the last phase has ended.
    seen: bool,
    /// By warp, the last phase that its lanes waited for.
    waited: FxHashMap<u32, Waited>,
    suspects: Vec<Suspect>,
}

/// What a warp last waited for.
#[derive(Clone, Copy, Debug, Default)]
struct Waited {
    phase: i64,
    lanes: u32,
    /// What the warp had told others by then.
    releases: u32,
}

/// Lanes that waited for a phase, told others that they went on, and waited for the same phase again. That is a fault
/// only if the barrier goes on to the next phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Suspect {
    pub warp: u32,
    pub lanes: u32,
    pub pc: u32,
    /// The phase; -1 is the one before the first.
    pub phase: i64,
}

/// What is wrong with an operation, in words.
pub(crate) type Fault = (MbarrierFault, String);

/// What came of an arrival or of bytes.
#[derive(Debug, Default)]
pub(crate) struct Effect {
    /// Whether the phase has ended.
    pub ended: bool,
    pub fault: Option<Fault>,
    /// Lanes that turn out to have waited for a phase that was over.
    pub late: Vec<Suspect>,
}

impl Mbarrier {
    pub(crate) fn new(count: u32) -> Mbarrier {
        Mbarrier { expected: count, pending: count, ..Mbarrier::default() }
    }

    /// Arrives so many times.
    pub(crate) fn arrive(&mut self, count: u32) -> Effect {
        let mut fault = None;
        if count > self.pending {
            fault = Some((
                MbarrierFault::Arrivals,
                format!("{} where {} pending", plural(count.into(), "arrival"), is(self.pending)),
            ));
        }
        self.pending = self.pending.saturating_sub(count);
        self.settle(fault)
    }

    /// Arrives once, for this and all later phases.
    pub(crate) fn arrive_drop(&mut self, count: u32) -> Effect {
        self.expected = self.expected.saturating_sub(count);
        self.arrive(count)
    }

    pub(crate) fn expect(&mut self, bytes: u32) -> Effect {
        self.bytes += i64::from(bytes);
        let fault = (self.bytes > MOST.into()).then(|| {
            (MbarrierFault::Bytes, format!("{} bytes are expected; a barrier counts up to {MOST}", self.bytes))
        });
        // Bytes that came early may be all that was missing.
        if bytes == 0 { Effect { fault, ..Effect::default() } } else { self.settle(fault) }
    }

    /// Bytes have come.
    pub(crate) fn complete(&mut self, bytes: u32) -> Effect {
        self.bytes -= i64::from(bytes);
        let fault = (self.bytes < 0 && self.pending == 0).then(|| {
            let over = plural(self.bytes.unsigned_abs(), "byte");
            self.bytes = 0;
            (MbarrierFault::Bytes, format!("{over} more than the phase expects, and no arrival is pending"))
        });
        self.settle(fault)
    }

    /// Ends the phase when nothing is missing.
    fn settle(&mut self, fault: Option<Fault>) -> Effect {
        let mut effect = Effect { fault, late: std::mem::take(&mut self.suspects), ..Effect::default() };
        if self.pending > 0 || self.bytes != 0 {
            return effect;
        }
        if self.phase > 0 && !self.seen && effect.fault.is_none() {
            effect.fault = Some((
                MbarrierFault::Arrivals,
                format!(
                    "phase {} ends before a thread has waited for phase {}: `mbarrier.init` gave it {}",
                    self.phase,
                    self.phase - 1,
                    plural(self.expected.into(), "arrival")
                ),
            ));
        }
        effect.ended = true;
        self.phase += 1;
        self.pending = self.expected;
        self.seen = std::mem::take(&mut self.waiting);
        effect
    }

    /// What `mbarrier.arrive` returns: the phase, and what it lacks.
    pub(crate) fn state(&self) -> u64 {
        self.phase << 20 | u64::from(self.pending & MOST)
    }

    /// Whether the phase of a state has ended.
    pub(crate) fn has_ended(&self, state: u64) -> bool {
        // The token has room for the low bits of the phase only.
        (state >> 20) != self.phase & (u64::MAX >> 20)
    }

    /// Whether the phase of that parity is the one before the current.
    pub(crate) fn has_parity_ended(&self, parity: u32) -> bool {
        u64::from(parity & 1) != self.phase & 1
    }

    /// Lanes wait for the current phase.
    pub(crate) fn wait(&mut self) {
        self.waiting = true;
    }

    /// Lanes of a warp know that the last phase has ended. `releases` counts what the warp has told others.
    pub(crate) fn pass(&mut self, warp: u32, lanes: u32, pc: u32, releases: u32) {
        self.seen = true;
        let last = self.phase as i64 - 1;
        let waited = self.waited.entry(warp).or_default();
        let again = if waited.phase == last && waited.releases != releases { lanes & waited.lanes } else { 0 };
        let before = if waited.phase == last { waited.lanes } else { 0 };
        *waited = Waited { phase: last, lanes: before | lanes, releases };
        if again == 0 {
            return;
        }
        match self.suspects.iter_mut().find(|s| (s.warp, s.pc, s.phase) == (warp, pc, last)) {
            Some(suspect) => suspect.lanes |= again,
            None => self.suspects.push(Suspect { warp, lanes: again, pc, phase: last }),
        }
    }

    /// How the barrier looks in memory. Opaque to programs; a store to it is noticed.
    pub(crate) fn bits(&self) -> u64 {
        (self.phase & 1) << 63
            | u64::from(self.pending & MOST) << 43
            | u64::from(self.expected & MOST) << 23
            | (self.bytes as u64 & ((1 << 23) - 1))
    }

    /// "1 of 4 arrivals and 512 bytes".
    pub(crate) fn missing(&self) -> String {
        let arrivals =
            (self.pending > 0).then(|| format!("{} of {}", self.pending, plural(self.expected.into(), "arrival")));
        let bytes = match self.bytes {
            0 => None,
            n if n > 0 => Some(plural(n as u64, "byte")),
            n => Some(format!("an `expect_tx` of {}", plural(n.unsigned_abs(), "byte"))),
        };
        arrivals.into_iter().chain(bytes).collect::<Vec<_>>().join(" and ")
    }
}

/// "1 byte", "2 bytes".
pub(super) fn plural(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn is(n: u32) -> String {
    format!("{n} {}", if n == 1 { "is" } else { "are" })
}

/// The barriers of a block, by their offset in shared memory.
#[derive(Debug, Default)]
pub(crate) struct Mbarriers {
    live: FxHashMap<u32, Mbarrier>,
    /// Barriers of which a phase has ended since the scheduler last looked.
    pub ended: Vec<u32>,
}

impl Mbarriers {
    pub(crate) fn clear(&mut self) {
        self.live.clear();
        self.ended.clear();
    }

    pub(crate) fn get(&self, offset: u32) -> Option<&Mbarrier> {
        self.live.get(&offset)
    }

    pub(crate) fn get_mut(&mut self, offset: u32) -> Option<&mut Mbarrier> {
        self.live.get_mut(&offset)
    }

    /// Gives the barrier that was there.
    pub(crate) fn insert(&mut self, offset: u32, barrier: Mbarrier) -> Option<Mbarrier> {
        self.live.insert(offset, barrier)
    }

    pub(crate) fn remove(&mut self, offset: u32) -> Option<Mbarrier> {
        self.live.remove(&offset)
    }

    /// Lanes of a warp fence what they have initialised for the async proxy, at that time.
    pub(crate) fn fence(&mut self, warp: u32, lanes: u32, tick: u32) {
        for barrier in self.live.values_mut() {
            let (maker, lane) = barrier.made_by;
            if barrier.fenced.is_none() && maker == warp && lanes >> (lane & 31) & 1 == 1 {
                barrier.fenced = Some(tick);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_ends_when_arrivals_and_bytes_are_there() {
        let mut b = Mbarrier::new(2);
        let state = b.state();
        assert!(!b.expect(100).ended && !b.arrive(1).ended && !b.complete(60).ended && !b.arrive(1).ended);
        assert_eq!(b.missing(), "40 bytes");
        assert!(!b.has_ended(state) && b.has_parity_ended(1) && !b.has_parity_ended(0));
        assert!(b.complete(40).ended);
        assert!(b.has_ended(state) && b.has_parity_ended(0) && !b.has_parity_ended(1));
        assert_eq!((b.phase, b.pending, b.missing().as_str()), (1, 2, "2 of 2 arrivals"));
    }

    #[test]
    fn bytes_may_come_before_they_are_expected() {
        let mut b = Mbarrier::new(1);
        assert!(b.complete(16).fault.is_none());
        assert!(b.expect(16).fault.is_none());
        assert!(b.arrive(1).ended);
    }

    #[test]
    fn a_dropped_arrival_is_not_expected_again() {
        let mut b = Mbarrier::new(2);
        assert!(!b.arrive_drop(1).ended && b.arrive(1).ended);
        assert_eq!((b.expected, b.pending), (1, 1));
    }
}
