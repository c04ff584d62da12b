//! A table that only grows, and is read without a lock: a hit costs a few loads.

use std::sync::OnceLock;

/// Slots that are looked at in a part of the table.
const PROBES: usize = 8;
/// Slots of the largest parts.
const LARGEST: usize = 4096;

/// Values by hash. What has the same hash is told apart by the caller.
pub(super) struct Known<T> {
    first: Part<T>,
}

/// Part of a table. What finds no room goes to the next part, four times as large up to a size.
struct Part<T> {
    slots: OnceLock<Box<[Slot<T>]>>,
    len: usize,
    next: OnceLock<Box<Part<T>>>,
}

/// A value and its hash, once there is one.
type Slot<T> = OnceLock<(u64, T)>;

impl<T> Part<T> {
    const fn new(len: usize) -> Part<T> {
        Part { slots: OnceLock::new(), len, next: OnceLock::new() }
    }

    /// The slots for a hash, in the order that they are filled in.
    fn probe<'a>(&self, slots: &'a [Slot<T>], hash: u64) -> impl Iterator<Item = &'a Slot<T>> {
        let mask = self.len - 1;
        (0..PROBES).map(move |i| &slots[(hash as usize).wrapping_add(i) & mask])
    }
}

impl<T> Known<T> {
    pub(super) const fn new() -> Known<T> {
        Known { first: Part::new(16) }
    }

    /// The value of that hash of which `is` is true.
    pub(super) fn find(&self, hash: u64, is: impl Fn(&T) -> bool) -> Option<&T> {
        let mut part = &self.first;
        loop {
            for slot in part.probe(part.slots.get()?, hash) {
                // What is empty has never been passed by.
                let (other, value) = slot.get()?;
                if *other == hash && is(value) {
                    return Some(value);
                }
            }
            part = part.next.get()?;
        }
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        let parts = std::iter::successors(Some(&self.first), |part| part.next.get().map(|p| &**p));
        parts.flat_map(|p| p.slots.get()).flatten().filter(|slot| slot.get().is_some()).count()
    }

    /// Adds a value, unless there is one of which `is` is true; gives the one that is there now.
    pub(super) fn insert(&self, hash: u64, value: T, is: impl Fn(&T) -> bool) -> &T {
        let mut new = Some((hash, value));
        let mut part = &self.first;
        loop {
            let slots = part.slots.get_or_init(|| (0..part.len).map(|_| OnceLock::new()).collect());
            for slot in part.probe(slots, hash) {
                if slot.get().is_none()
                    && let Some(mine) = new.take()
                {
                    // Another thread may be faster.
                    new = slot.set(mine).err();
                }
                if let Some((other, value)) = slot.get()
                    && (new.is_none() || (*other == hash && is(value)))
                {
                    return value;
                }
            }
            part = part.next.get_or_init(|| Box::new(Part::new((4 * part.len).min(LARGEST))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_is_found_whatever_its_hash() {
        // All at one place, at few places, and all over.
        for spread in [0, 1, 3, u64::MAX] {
            let known = Known::new();
            for i in 0..500_u64 {
                let hash = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & spread;
                assert_eq!(known.find(hash, |v| *v == i), None, "{i} of {spread}");
                assert_eq!(*known.insert(hash, i, |v| *v == i), i);
                assert_eq!(*known.insert(hash, i, |v| *v == i), i);
            }
            for i in 0..500_u64 {
                let hash = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & spread;
                assert_eq!(known.find(hash, |v| *v == i), Some(&i));
            }
        }
    }

    #[test]
    fn threads_agree_on_the_one_that_is_in() {
        let known = Known::new();
        let all = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|thread| {
                    let known = &known;
                    scope.spawn(move || {
                        (0..200_u64).map(|i| *known.insert(i % 7, (i, thread), |v| v.0 == i)).collect::<Vec<_>>()
                    })
                })
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(all.iter().all(|a| *a == all[0]));
        assert_eq!(all[0].len(), 200);
    }
}
