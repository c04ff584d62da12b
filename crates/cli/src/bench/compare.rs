//! A run beside an earlier one.

use super::record::{DeviceRecord, Outcome, Record, Row};
use crate::failure::Failure;
use std::path::Path;

/// Less than this is noise.
const NOISE: f64 = 0.02;

/// An earlier run, and what to know about it.
pub(super) struct Earlier {
    file: String,
    record: Record,
}

/// How a case changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Change {
    /// Time or instructions then, over now: above 1 is better.
    pub(super) ratio: f64,
}

/// What a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    Better,
    Same,
    Worse,
}

impl Change {
    pub(super) fn judgement(self) -> Judgement {
        match self.ratio {
            r if r > 1.0 + NOISE => Judgement::Better,
            r if r < 1.0 / (1.0 + NOISE) => Judgement::Worse,
            _ => Judgement::Same,
        }
    }
}

impl Earlier {
    /// Reads it.
    pub(super) fn read(path: &Path) -> Result<Earlier, Failure> {
        Ok(Earlier { file: path.display().to_string(), record: Record::read(path)? })
    }

    /// Refuses counts beside times.
    pub(super) fn check(&self, now: &DeviceRecord) -> Result<(), Failure> {
        let then = &self.record.device;
        if then.kind == now.kind {
            return Ok(());
        }
        Err(Failure::Option(format!(
            "--compare {}: that run is from {}, this one from {}: counts of the emulator and times of a card have nothing \
             in common",
            self.file, then.name, now.name
        )))
    }

    /// What besides the code may have changed, in lines.
    pub(super) fn notes(&self, now: &Record) -> Vec<String> {
        let then = &self.record;
        let mut notes = vec![format!("compared with {}, of {} (warpsmith {})", self.file, then.date, then.warpsmith)];
        let mut differ = |what: &str, then: &str, now: &str| {
            if then != now {
                notes.push(format!("another {what}: {then} then, {now} now"));
            }
        };
        let text = |o: &Option<String>| o.clone().unwrap_or("unknown".into());
        let (a, b) = (&then.device, &now.device);
        differ("device", &a.name, &b.name);
        differ("target", &a.target, &b.target);
        differ("CUDA version of the driver", &text(&a.cuda), &text(&b.cuda));
        differ("driver", &text(&a.driver), &text(&b.driver));
        if then.settings != now.settings {
            notes.push("other settings: how often was measured, or how the cache was".into());
        }
        let lost = then.rows.iter().filter(|row| !now.rows.iter().any(|other| other.matches(row))).count();
        if lost > 0 {
            notes.push(format!("{lost} of its {} cases were not measured now", then.rows.len()));
        }
        notes
    }

    /// How a case changed; `None` when that run did not have it.
    pub(super) fn change(&self, now: &Row) -> Option<Change> {
        let then = self.record.rows.iter().find(|row| row.matches(now))?;
        let ratio = match (&then.result, &now.result) {
            (Outcome::Card(then), Outcome::Card(now)) => then.time.median / now.time.median,
            (Outcome::Emulator(then), Outcome::Emulator(now)) => then.instructions as f64 / now.instructions as f64,
            _ => return None,
        };
        ratio.is_finite().then_some(Change { ratio })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_changes_are_noise() {
        let judged = |ratio| Change { ratio }.judgement();
        assert_eq!([1.0, 1.019, 0.982].map(judged), [Judgement::Same; 3]);
        assert_eq!([1.03, 0.95].map(judged), [Judgement::Better, Judgement::Worse]);
    }
}
