//! How long launches take on a card, beside a copy of the same bytes.
//!
//! Each repetition starts with a cold level-two cache: a buffer larger than it is written before the clock starts. Times
//! are the card's own, from event to event, and what counts is the median.

use crate::device::{Device, Event, Graph, Stream};
use crate::error::Error;
use std::time::Duration;

/// How to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Repetitions before the first that counts.
    pub warm_up: usize,
    /// Repetitions that count.
    pub repetitions: usize,
    /// Whether the level-two cache is flushed before each.
    pub cold: bool,
    /// Whether the launches are written down as a graph and replayed, which takes the host out of short kernels' times.
    pub graph: bool,
}

impl Default for Settings {
    /// Cold, with the launches as they are.
    fn default() -> Settings {
        Settings { warm_up: 5, repetitions: 31, cold: true, graph: false }
    }
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Each repetition that counts, the fastest first; at least one.
    sorted: Vec<Duration>,
}

impl Timing {
    /// The median.
    pub fn median(&self) -> Duration {
        let n = self.sorted.len();
        (self.sorted[(n - 1) / 2] + self.sorted[n / 2]) / 2
    }

    /// The fastest repetition.
    pub fn fastest(&self) -> Duration {
        self.sorted[0]
    }

    /// The slowest repetition.
    pub fn slowest(&self) -> Duration {
        self.sorted[self.sorted.len() - 1]
    }

    /// The repetition that so many are at least as fast as: a half is about the median, 0 the fastest, 1 the slowest.
    pub fn quantile(&self, share: f64) -> Duration {
        let last = self.sorted.len() - 1;
        self.sorted[(share.clamp(0.0, 1.0) * last as f64).round() as usize]
    }

    /// How many repetitions there were.
    pub fn repetitions(&self) -> usize {
        self.sorted.len()
    }

    /// Bytes a second, when the median moves so many.
    pub fn bandwidth(&self, bytes: u64) -> f64 {
        bytes as f64 / self.median().as_secs_f64()
    }
}

/// Measures what `launches` queues on the stream that it is given.
///
/// # Errors
/// The launches' own, and when the device is emulated.
pub fn measure(
    device: &Device,
    settings: &Settings,
    mut launches: impl FnMut(&Stream) -> Result<(), Error>,
) -> Result<Timing, Error> {
    if device.is_emulated() {
        return Err(device.lacks("clock to measure with"));
    }
    let stream = device.create_stream()?;
    // Several times the cache, which need not evict in the order of writing.
    let flush = if settings.cold { 4 * device.chip().l2 } else { 0 };
    let flush = device.allocate(flush as usize, "cache flush")?;
    let graph = if settings.graph { Some(Graph::capture(device, &mut launches)?) } else { None };
    let mut run = |start: Option<&Event>, end: Option<&Event>| -> Result<(), Error> {
        flush.fill(0, &stream)?;
        start.map_or(Ok(()), |e| e.record(&stream))?;
        match &graph {
            Some(graph) => drop(graph.replay(&stream)?),
            None => launches(&stream)?,
        }
        end.map_or(Ok(()), |e| e.record(&stream))
    };
    for _ in 0..settings.warm_up {
        run(None, None)?;
    }
    // All are queued before the first is waited for, so that the card never waits for the host.
    let events = (0..settings.repetitions.max(1))
        .map(|_| {
            let (start, end) = (device.create_event()?, device.create_event()?);
            run(Some(&start), Some(&end))?;
            Ok((start, end))
        })
        .collect::<Result<Vec<_>, Error>>()?;
    let mut sorted = events.iter().map(|(start, end)| end.since(start)).collect::<Result<Vec<_>, Error>>()?;
    sorted.sort_unstable();
    stream.synchronize()?;
    Ok(Timing { sorted })
}

/// Bytes of a copy that moves about so many in all, within 1 %: a round number, since the driver does a ragged copy in
/// several steps, which would make what is beside it look fast.
pub fn copied(bytes: u64) -> u64 {
    let half = (bytes / 2).max(1);
    let unit = (half / 64).max(1).next_power_of_two().clamp(1, 1 << 20);
    ((half + unit / 2) / unit).max(1) * unit
}

/// Measures a copy within the device that moves `bytes` in all, half of them read and half written: what a kernel that
/// moves as many can hope for.
///
/// # Errors
/// When the device is emulated, or its memory is used up.
pub fn copy_time(device: &Device, bytes: u64, settings: &Settings) -> Result<Timing, Error> {
    let half = copied(bytes) as usize;
    let from = device.allocate(half, "copy source")?;
    let to = device.allocate(half, "copy target")?;
    from.fill(1, &device.default_stream())?;
    measure(device, settings, |stream| to.copy_from(&from, stream))
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_types::Chip;

    #[test]
    fn the_median_is_in_the_middle() {
        let timing = |us: &[u64]| Timing { sorted: us.iter().map(|&u| Duration::from_micros(u)).collect() };
        assert_eq!(timing(&[1, 2, 9]).median(), Duration::from_micros(2));
        assert_eq!(timing(&[1, 2, 4, 9]).median(), Duration::from_micros(3));
        assert_eq!(timing(&[5]).median(), Duration::from_micros(5));
        assert_eq!(timing(&[5, 7]).slowest(), Duration::from_micros(7));
        let eleven = timing(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!([0.0, 0.1, 0.9, 1.0].map(|q| eleven.quantile(q).as_micros()), [0, 1, 9, 10]);
        assert_eq!(timing(&[10]).bandwidth(1000).round(), 1e8);
    }

    #[test]
    fn an_emulated_device_is_not_measured() {
        let refused = copy_time(&Device::emulated(Chip::H200), 64, &Settings::default()).unwrap_err();
        assert_eq!(refused.to_string(), "emulated H200 has no clock to measure with");
    }
}
