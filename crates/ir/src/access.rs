//! How a load or store treats memory: what it orders and for whom, and what it tells the caches.
//!
//! [`Op::Load`] and [`Op::Store`] carry an [`Access`]. Its words are PTX's, and PTX's table says which go together; what
//! it refuses, the verifier puts in words.

use crate::kernel::{Inst, Value};
use crate::op::{Op, Space, named};
use smallvec::SmallVec;
use warpsmith_ptx::table::{FormError, resolve};
use warpsmith_ptx::{Instruction, Modifier, Opcode, Type as PtxType, Word};

named! {
    /// Whose accesses an ordered access is ordered with.
    Scope {
        /// The block's threads.
        Block = "cta",
        /// The cluster's threads.
        Cluster = "cluster",
        /// All threads of the device.
        Device = "gpu",
        /// All threads of all devices, and the host.
        System = "sys",
    }
}

/// What an access promises and orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// No other thread writes there meanwhile (`.weak`).
    #[default]
    Plain,
    /// Nobody writes there while the kernel runs (`ld.global.nc`).
    ReadOnly,
    /// Never merged or dropped (`.volatile`).
    Volatile,
    /// Whole, and seen by the scope, in no order with others.
    Relaxed(Scope),
    /// As a load: what follows stays after it.
    Acquire(Scope),
    /// As a store: what precedes stays before it.
    Release(Scope),
}

named! {
    /// Which caches an access goes through, and how.
    Cache {
        /// All: likely used again.
        All = "ca",
        /// L2 alone.
        Global = "cg",
        /// Likely used once.
        Streaming = "cs",
        /// Used for the last time (loads).
        LastUse = "lu",
        /// None: fetched again (loads).
        Bypass = "cv",
        /// All levels (stores).
        WriteBack = "wb",
        /// Through L2 to system memory (stores).
        WriteThrough = "wt",
    }
}

named! {
    /// What L1 shall do with the line.
    L1 {
        /// The default.
        EvictNormal = "L1::evict_normal",
        /// Keep its priority.
        EvictUnchanged = "L1::evict_unchanged",
        /// Evict it early.
        EvictFirst = "L1::evict_first",
        /// Evict it late.
        EvictLast = "L1::evict_last",
        /// Do not cache it.
        NoAllocate = "L1::no_allocate",
    }
}

named! {
    /// What L2 shall do with the line; of accesses of 256 bits.
    L2 {
        /// The default.
        EvictNormal = "L2::evict_normal",
        /// Evict it early.
        EvictFirst = "L2::evict_first",
        /// Evict it late.
        EvictLast = "L2::evict_last",
    }
}

named! {
    /// How much around it a load brings into L2.
    Prefetch {
        /// 64 bytes.
        Bytes64 = "L2::64B",
        /// 128 bytes.
        Bytes128 = "L2::128B",
        /// 256 bytes.
        Bytes256 = "L2::256B",
    }
}

/// How a load or store treats memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Access {
    /// What it promises and orders.
    pub kind: AccessKind,
    /// Which caches it goes through.
    pub cache: Option<Cache>,
    /// A hint to L1.
    pub l1: Option<L1>,
    /// A hint to L2.
    pub l2: Option<L2>,
    /// What a load brings into L2.
    pub prefetch: Option<Prefetch>,
    /// Whether a cache policy, a `u64` of `createpolicy`, stands after the address (`.L2::cache_hint`).
    pub policy: bool,
}

impl Access {
    /// An ordinary access.
    pub const PLAIN: Access = Access::of(AccessKind::Plain);
    /// A load of what nobody writes.
    pub const READ_ONLY: Access = Access::of(AccessKind::ReadOnly);

    /// An access of a kind, without hints.
    pub const fn of(kind: AccessKind) -> Access {
        Access { kind, cache: None, l1: None, l2: None, prefetch: None, policy: false }
    }

    /// Whether a load may go when nobody reads its result.
    pub const fn is_removable(self) -> bool {
        matches!(self.kind, AccessKind::Plain | AccessKind::ReadOnly)
    }

    /// The words of the text form, but for the policy, which stands at the operands.
    pub(crate) fn words(self) -> impl Iterator<Item = &'static str> {
        let (kind, scope) = self.kind.words();
        let hints = [
            self.cache.map(Cache::name),
            self.l1.map(L1::name),
            self.l2.map(L2::name),
            self.prefetch.map(Prefetch::name),
        ];
        [kind, scope].into_iter().chain(hints).flatten()
    }

    /// Reads what [`words`](Access::words) gives; `None` where a word is none of them, or stands twice.
    pub(crate) fn from_words<'a>(words: impl Iterator<Item = &'a str>) -> Option<Access> {
        let mut access = Access::PLAIN;
        let mut words = words.peekable();
        while let Some(word) = words.next() {
            let ordered = AccessKind::ordered(word);
            let kind = match word {
                "read_only" => Some(AccessKind::ReadOnly),
                "volatile" => Some(AccessKind::Volatile),
                _ => None,
            };
            let fresh = if let Some(kind) = ordered {
                let kind = kind(Scope::from_name(words.next()?)?);
                std::mem::replace(&mut access.kind, kind) == AccessKind::Plain
            } else if let Some(kind) = kind {
                std::mem::replace(&mut access.kind, kind) == AccessKind::Plain
            } else if let Some(cache) = Cache::from_name(word) {
                access.cache.replace(cache).is_none()
            } else if let Some(l1) = L1::from_name(word) {
                access.l1.replace(l1).is_none()
            } else if let Some(l2) = L2::from_name(word) {
                access.l2.replace(l2).is_none()
            } else {
                access.prefetch.replace(Prefetch::from_name(word)?).is_none()
            };
            if !fresh {
                return None;
            }
        }
        Some(access)
    }

    /// What follows `ld` or `st`, in the table's order.
    pub(crate) fn modifiers(self, space: Space, elements: usize, ty: PtxType) -> SmallVec<[Modifier; 6]> {
        let word = |name: &'static str| Modifier::from_name(name);
        let (kind, scope) = self.kind.words();
        let read_only = self.kind == AccessKind::ReadOnly;
        let vector = match elements {
            2 => Some(Word::V2),
            4 => Some(Word::V4),
            8 => Some(Word::V8),
            _ => None,
        };
        let parts = [
            kind.filter(|_| !read_only).and_then(word),
            scope.and_then(word),
            space.word().map(Modifier::Word),
            self.cache.map(Cache::name).and_then(word),
            read_only.then_some(Modifier::Word(Word::Nc)),
            self.l1.map(L1::name).and_then(word),
            self.l2.map(L2::name).and_then(word),
            self.policy.then_some(Modifier::Word(Word::L2CacheHint)),
            self.prefetch.map(Prefetch::name).and_then(word),
            vector.map(Modifier::Word),
            Some(ty.into()),
        ];
        parts.into_iter().flatten().collect()
    }

    /// Why PTX has no such access, in words.
    pub(crate) fn problem(self, load: bool, space: Space, elements: usize, ty: PtxType) -> Option<String> {
        // Most are, and any space and width that the verifier lets through has them.
        if self == Access::PLAIN {
            return None;
        }
        let name = if load { "load" } else { "store" };
        let (kind, _) = self.kind.words();
        let kind = kind.unwrap_or("plain");
        let strong = !matches!(self.kind, AccessKind::Plain | AccessKind::ReadOnly);
        let uncached = !matches!(space, Space::Global | Space::Generic);
        let hint = [self.l1.map(L1::name), self.l2.map(L2::name), self.prefetch.map(Prefetch::name)];
        let hint = hint.into_iter().flatten().next().map(|hint| format!("`{hint}`"));
        let hint = hint.or(self.policy.then(|| "a policy".into()));
        Some(match (self, hint) {
            (Access { kind: AccessKind::Release(_), .. }, _) if load => {
                "a `load` can acquire; release is a store's".into()
            }
            (Access { kind: AccessKind::Acquire(_), .. }, _) if !load => {
                "a `store` can release; acquire is a load's".into()
            }
            (Access { kind: AccessKind::ReadOnly, .. }, _) if !load => "a `store` can not be read-only".into(),
            (Access { kind: AccessKind::ReadOnly, .. }, _) if space != Space::Global => {
                format!(
                    "a `load` is read-only from global memory alone (`ld.global.nc`), and not from {}",
                    space.name()
                )
            }
            (Access { cache: Some(cache), .. }, _) if strong => {
                format!("`{kind}` goes with no cache operator, and this `{name}` has `{}`", cache.name())
            }
            (Access { cache: Some(Cache::WriteBack | Cache::WriteThrough), .. }, _) if load => {
                "a `load` has the cache operators `ca`, `cg`, `cs`, `lu` and `cv`; `wb` and `wt` are a store's".into()
            }
            (Access { cache: Some(Cache::All | Cache::LastUse | Cache::Bypass), .. }, _) if !load => {
                "a `store` has the cache operators `wb`, `cg`, `cs` and `wt`; `ca`, `lu` and `cv` are a load's".into()
            }
            (Access { kind: AccessKind::ReadOnly, cache: Some(cache @ (Cache::LastUse | Cache::Bypass)), .. }, _) => {
                format!("a read-only `load` has the cache operators `ca`, `cg` and `cs`, and not `{}`", cache.name())
            }
            (Access { prefetch: Some(prefetch), .. }, _) if !load => {
                format!("a `store` brings nothing into L2, and this has `{}`", prefetch.name())
            }
            (_, Some(hint)) if uncached => {
                format!("{hint} is for global memory, and this `{name}` is of {}", space.name())
            }
            (Access { kind: AccessKind::Volatile, prefetch: None, .. }, Some(hint)) => {
                format!("`volatile` goes with no hint, and this `{name}` has {hint}")
            }
            (Access { cache: Some(cache), l1: Some(l1), .. }, _) => {
                format!(
                    "a `{name}` has a cache operator or a hint to L1, and this has `{}` and `{}`",
                    cache.name(),
                    l1.name()
                )
            }
            (Access { l2: Some(l2), .. }, _) if ty.bits() as usize * elements != 256 => {
                format!(
                    "`{}` is for accesses of 256 bits, and this `{name}` has {}; narrower ones take a policy",
                    l2.name(),
                    ty.bits() as usize * elements
                )
            }
            _ => return self.unknown(load, space, elements, ty),
        })
    }

    /// What the table says where it has no such instruction.
    fn unknown(self, load: bool, space: Space, elements: usize, ty: PtxType) -> Option<String> {
        let opcode = if load { Opcode::Ld } else { Opcode::St };
        match resolve(&Instruction::new(opcode, self.modifiers(space, elements, ty), [])) {
            Err(error @ FormError::Modifiers { .. }) => Some(error.to_string()),
            _ => None,
        }
    }
}

impl AccessKind {
    /// Its word in the text form, and its scope's.
    fn words(self) -> (Option<&'static str>, Option<&'static str>) {
        match self {
            AccessKind::Plain => (None, None),
            AccessKind::ReadOnly => (Some("read_only"), None),
            AccessKind::Volatile => (Some("volatile"), None),
            AccessKind::Relaxed(scope) => (Some("relaxed"), Some(scope.name())),
            AccessKind::Acquire(scope) => (Some("acquire"), Some(scope.name())),
            AccessKind::Release(scope) => (Some("release"), Some(scope.name())),
        }
    }

    /// The kind of that word, whose scope follows.
    fn ordered(word: &str) -> Option<fn(Scope) -> AccessKind> {
        match word {
            "relaxed" => Some(AccessKind::Relaxed),
            "acquire" => Some(AccessKind::Acquire),
            "release" => Some(AccessKind::Release),
            _ => None,
        }
    }
}

impl Inst {
    /// How it treats memory, if it is a load or a store.
    pub const fn access(&self) -> Option<Access> {
        match &self.op {
            Op::Load { access, .. } | Op::Store { access, .. } => Some(*access),
            _ => None,
        }
    }

    /// The cache policy of an access.
    pub fn policy(&self) -> Option<Value> {
        self.access().filter(|a| a.policy).and_then(|_| self.args.get(1).copied())
    }

    /// The condition of an access.
    pub fn condition(&self) -> Option<Value> {
        match &self.op {
            Op::Load { access, .. } => self.args.get(1 + usize::from(access.policy)).copied(),
            Op::Store { guarded: true, .. } => self.args.last().copied(),
            _ => None,
        }
    }

    /// The values that a store writes; of anything else, none.
    pub fn stored(&self) -> &[Value] {
        match &self.op {
            Op::Store { guarded, access, .. } => {
                let (start, end) =
                    (1 + usize::from(access.policy), self.args.len() - usize::from(*guarded).min(self.args.len()));
                self.args.get(start..end).unwrap_or_default()
            }
            _ => &[],
        }
    }

    /// The elements that an access moves.
    pub fn moved(&self) -> &[Value] {
        match &self.op {
            Op::Load { .. } => &self.results,
            _ => self.stored(),
        }
    }
}
