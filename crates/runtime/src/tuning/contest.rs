//! How candidates are measured: all of them once, then the best two in alternation, so that a drifting clock favours none.

use std::time::Duration;

/// Measures candidates by their numbers.
pub trait Measure {
    /// What goes wrong.
    type Error;

    /// How long a candidate takes; `None` when the device does not take it.
    ///
    /// # Errors
    /// When the device is not to be measured on any more.
    fn measure(&mut self, candidate: usize) -> Result<Option<Duration>, Self::Error>;
}

/// What came of a contest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contest {
    /// The fastest; of equals the first.
    pub winner: usize,
    /// Of each candidate, the first measurement; `None` where the device did not take it.
    pub first: Vec<Option<Duration>>,
    /// Of the best two, the medians of those in alternation.
    pub again: Vec<(usize, Duration)>,
}

/// Rounds of the best two.
const ROUNDS: usize = 5;

/// Holds a contest of so many candidates; `None` when the device takes none of them.
///
/// # Errors
/// As [`Measure::measure`].
pub fn contest<M: Measure>(candidates: usize, measure: &mut M) -> Result<Option<Contest>, M::Error> {
    let first = (0..candidates).map(|c| measure.measure(c)).collect::<Result<Vec<_>, _>>()?;
    let mut ranked: Vec<(Duration, usize)> = first.iter().enumerate().filter_map(|(c, t)| Some(((*t)?, c))).collect();
    ranked.sort_unstable();
    let (a, b) = match ranked[..] {
        [] => return Ok(None),
        [(_, only)] => return Ok(Some(Contest { winner: only, first, again: vec![] })),
        [(_, a), (_, b), ..] => (a.min(b), a.max(b)),
    };
    let mut times = [vec![], vec![]];
    for round in 0..ROUNDS {
        // Each goes first as often as the other, but for one.
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        for i in order {
            times[i].extend(measure.measure([a, b][i])?);
        }
    }
    let [ta, tb] = times.map(|mut t| {
        t.sort_unstable();
        t.get(t.len() / 2).copied().unwrap_or(Duration::MAX)
    });
    Ok(Some(Contest { winner: if tb < ta { b } else { a }, first, again: vec![(a, ta), (b, tb)] }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times by candidate, one after the other; the last goes on.
    struct Fake {
        times: Vec<Vec<Option<u64>>>,
        asked: Vec<usize>,
    }

    impl Measure for Fake {
        type Error = &'static str;
        fn measure(&mut self, candidate: usize) -> Result<Option<Duration>, &'static str> {
            self.asked.push(candidate);
            let times = &mut self.times[candidate];
            let time = if times.len() > 1 { times.remove(0) } else { times[0] };
            match time {
                Some(0) => Err("the device is lost"),
                time => Ok(time.map(Duration::from_micros)),
            }
        }
    }

    fn hold(times: &[&[Option<u64>]]) -> (Result<Option<Contest>, &'static str>, Vec<usize>) {
        let mut fake = Fake { times: times.iter().map(|t| t.to_vec()).collect(), asked: vec![] };
        (contest(times.len(), &mut fake), fake.asked)
    }

    #[test]
    fn the_best_two_meet_again() {
        // The third was lucky once.
        let (done, asked) = hold(&[&[Some(9)], &[Some(5)], &[Some(4), Some(7)], &[None]]);
        let done = done.unwrap().unwrap();
        assert_eq!(done.winner, 1);
        assert_eq!(done.first[3], None);
        assert_eq!(done.again, [(1, Duration::from_micros(5)), (2, Duration::from_micros(7))]);
        assert_eq!(asked, [0, 1, 2, 3, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2]);
    }

    #[test]
    fn equals_leave_it_to_the_first() {
        assert_eq!(hold(&[&[Some(5)], &[Some(5)]]).0.unwrap().unwrap().winner, 0);
        assert_eq!(hold(&[&[Some(6)], &[Some(5)]]).0.unwrap().unwrap().winner, 1);
    }

    #[test]
    fn few_candidates_and_failures() {
        assert_eq!(hold(&[]).0, Ok(None));
        assert_eq!(hold(&[&[None]]).0, Ok(None));
        let (only, asked) = hold(&[&[None], &[Some(3)]]);
        assert_eq!((only.unwrap().unwrap().winner, asked), (1, vec![0, 1]));
        assert_eq!(hold(&[&[Some(1), Some(0)], &[Some(2)]]).0, Err("the device is lost"));
    }
}
