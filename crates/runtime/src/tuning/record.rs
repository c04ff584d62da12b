//! A winner with its provenance, as lines of text that a person can read, and a checksum.

use crate::cache::Key;
use std::fmt::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What a measurement holds for, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// The kernel's name, as the operator's model has it.
    pub kernel: String,
    /// The size of the calls, as the operator counts it.
    pub size: u32,
    /// The hash of all candidates' PTX.
    pub texts: String,
    /// The card: its product, multiprocessors and memory (parts of a card differ in these).
    pub card: String,
    /// The driver's build, or that of the assembler.
    pub driver: String,
}

impl Provenance {
    pub(super) fn key(&self) -> Key {
        let mut hasher = blake3::Hasher::new();
        let Provenance { kernel, size, texts, card, driver } = self;
        for part in ["tuning 1", kernel, &size.to_string(), texts, card, driver] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        Key(*hasher.finalize().as_bytes())
    }
}

/// A candidate's times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// What it is, in words.
    pub plan: String,
    /// Of the first round; `None` where the device did not take it.
    pub first: Option<Duration>,
    /// The median of those in alternation, when it was one of the best two.
    pub again: Option<Duration>,
}

/// A winner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What it holds for.
    pub provenance: Provenance,
    /// When it was measured: `2026-11-30`.
    pub date: String,
    /// The winner's number.
    pub winner: usize,
    /// All candidates.
    pub candidates: Vec<Measured>,
}

const HEAD: &str = "warpsmith tuning 1";

impl Record {
    pub(super) fn to_text(&self) -> String {
        let Provenance { kernel, size, texts, card, driver } = &self.provenance;
        let mut text = format!(
            "{HEAD}\nkernel: {kernel}\nsize: {size}\ntexts: {texts}\ncard: {card}\ndriver: {driver}\ndate: {}\nwinner: {}\n",
            self.date, self.winner
        );
        let time = |t: Option<Duration>| t.map_or("-".into(), |t| t.as_nanos().to_string());
        for Measured { plan, first, again } in &self.candidates {
            // Writing to a string does not fail.
            let _ = writeln!(text, "candidate: {} {} {plan}", time(*first), time(*again));
        }
        let checksum = blake3::hash(text.as_bytes()).to_hex();
        let _ = writeln!(text, "checksum: {checksum}");
        text
    }

    /// Reads it back; `None` when it is damaged.
    pub(super) fn from_text(text: &str) -> Option<Record> {
        let (body, checksum) = text.rsplit_once("checksum: ")?;
        if blake3::hash(body.as_bytes()).to_hex().as_str() != checksum.trim_end() {
            return None;
        }
        let mut lines = body.lines();
        if lines.next()? != HEAD {
            return None;
        }
        let mut next = |name: &str| Some(lines.next()?.strip_prefix(name)?.strip_prefix(": ")?.to_string());
        let (kernel, size, texts) = (next("kernel")?, next("size")?.parse().ok()?, next("texts")?);
        let (card, driver, date) = (next("card")?, next("driver")?, next("date")?);
        let winner = next("winner")?.parse().ok()?;
        let mut candidates = vec![];
        while let Some(line) = next("candidate") {
            let mut words = line.splitn(3, ' ');
            let mut time = || match words.next()? {
                "-" => Some(None),
                n => Some(Some(Duration::from_nanos(n.parse().ok()?))),
            };
            let (first, again) = (time()?, time()?);
            candidates.push(Measured { plan: words.next()?.into(), first, again });
        }
        let provenance = Provenance { kernel, size, texts, card, driver };
        (winner < candidates.len()).then_some(Record { provenance, date, winner, candidates })
    }
}

/// Today, in Greenwich.
pub(crate) fn today() -> String {
    date(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs() / 86_400))
}

/// The date of a day since 1970 (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": `civil_from_days`).
fn date(days: u64) -> String {
    let z = days + 719_468;
    let (era, of_era) = (z / 146_097, z % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * shifted + 2) / 5 + 1, if shifted < 10 { shifted + 3 } else { shifted - 9 });
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(19_782), "2024-02-29");
        assert_eq!(date(19_783), "2024-03-01");
        assert_eq!(date(20_787), "2026-11-30");
    }

    #[test]
    fn a_record_is_read_back_and_damage_is_seen() {
        let (first, again) = (Some(Duration::from_nanos(13_000)), Some(Duration::from_nanos(12_900)));
        let record = Record {
            provenance: Provenance {
                kernel: "softmax_bf16_4096".into(),
                size: 15,
                texts: "ab".into(),
                card: "NVIDIA H200, 132 multiprocessors".into(),
                driver: "driver CUDA 13.0: 580".into(),
            },
            date: "2026-11-30".into(),
            winner: 1,
            candidates: vec![
                Measured { plan: "128 threads a row".into(), first: None, again: None },
                Measured { plan: "256 threads a row".into(), first, again },
            ],
        };
        let text = record.to_text();
        assert_eq!(Record::from_text(&text), Some(record.clone()));
        assert!(text.contains("\ncandidate: 13000 12900 256 threads a row\n"), "{text}");
        for n in 0..text.len() - 1 {
            assert_eq!(Record::from_text(&text[..n]), None, "{n} bytes");
            let mut bent = text.clone().into_bytes();
            bent[n] ^= 1;
            let bent = String::from_utf8_lossy(&bent).into_owned();
            assert_ne!(Record::from_text(&bent), Some(record.clone()), "byte {n}");
        }
        // A winner that does not compete.
        assert_eq!(Record::from_text(&Record { winner: 2, ..record }.to_text()), None);
    }
}
