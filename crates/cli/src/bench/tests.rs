//! How a run on a card is shown, from numbers that no card is needed for.

use super::compare::Earlier;
use super::record::{Beside, DeviceRecord, Floor, Kind, Outcome, Record, Row, SettingsRecord, Spread, Timed};
use super::{plot, show};
use crate::case::Case;
use crate::operator::Operator;
use warpsmith_types::{Chip, DType};

fn row(operator: &str, shape: &[usize], median: f64, beside: Beside, share: f64) -> Row {
    let case = Case::new(Operator::named(operator).unwrap(), DType::BF16, shape, None).unwrap();
    let (fastest, tenth, ninetieth) = (median * 0.98, median * 0.99, median * 1.01);
    let time = Spread { median, fastest, tenth, ninetieth, repetitions: 31, launches: 1 };
    Row {
        operator: operator.into(),
        dtype: "bf16".into(),
        shape: shape.into(),
        plan: None,
        kernel: "k".into(),
        planned: "a plan".into(),
        registers: Some(32),
        floor: Floor::of(&case, &Chip::H200),
        result: Outcome::Card(Timed { time, beside, share }),
    }
}

fn record() -> Record {
    let copy = |microseconds| Beside::Copy { microseconds };
    let peak = Beside::MatrixInstructions { teraflops: 850.0 };
    Record {
        format: 1,
        warpsmith: "0.1.0".into(),
        date: "2026-01-02T03:04:05Z".into(),
        command: "warpsmith bench all".into(),
        device: DeviceRecord {
            kind: Kind::Cuda,
            name: "NVIDIA H200".into(),
            chip: "H200".into(),
            target: "sm_90a".into(),
            gigabytes_per_second: 4800.0,
            cuda: Some("CUDA 13.0".into()),
            driver: Some("580.1".into()),
        },
        settings: SettingsRecord { warm_up: 5, repetitions: 31, cold: true, graphs_below_microseconds: 50.0 },
        rows: vec![
            row("softmax", &[32768, 1024], 36.6, copy(36.9), 1.01),
            row("softmax", &[32768, 4096], 134.2, copy(129.8), 0.967),
            row("softmax", &[8192, 49152], 409.0, copy(381.0), 0.931),
            row("rms_norm", &[32768, 1024], 36.4, copy(36.8), 1.012),
            row("rms_norm", &[32768, 4096], 133.9, copy(130.0), 0.971),
            row("gemm", &[4096, 4096, 4096], 179.2, peak, 0.902),
            row("gemm", &[8192, 8192, 8192], 1360.6, peak, 0.951),
        ],
    }
}

/// A record in a file, as `--json` writes it.
fn earlier(name: &str, record: &Record) -> Earlier {
    let path = std::env::temp_dir().join(format!("warpsmith-{name}-{}.json", std::process::id()));
    std::fs::write(&path, serde_json::to_string(record).unwrap()).unwrap();
    let earlier = Earlier::read(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    earlier
}

/// The words of the line that begins so.
fn line<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    let found = text.lines().find(|line| line.split_whitespace().collect::<Vec<_>>().join(" ").starts_with(start));
    found.unwrap_or_else(|| panic!("{start}: {text}")).split_whitespace().collect()
}

#[test]
fn times_stand_beside_what_they_are_measured_against() {
    let text = show::report(&record(), None);
    assert!(text.starts_with("NVIDIA H200 (sm_90a), CUDA 13.0, driver 580.1\nmedians of 31 after 5"), "{text}");
    // 2 · 32768 · 4096 · 2 bytes in 134.2 µs; 111.8 µs at 4.8 TB/s.
    let expected = "softmax 32768 × 4096 bf16 own 134.2 2.0 % 4001 96.7 % 111.8 83.3 %";
    assert_eq!(line(&text, "softmax 32768 × 4096").join(" "), expected);
    // 2 · 4096³ in 179.2 µs; 138.9 µs at 989.4 TFLOP/s.
    let expected = "gemm 4096 × 4096 × 4096 bf16 own 179.2 2.0 % 767 90.2 % 138.9 77.5 %";
    assert_eq!(line(&text, "gemm 4096").join(" "), expected);
    assert!(text.contains("matrix instructions alone, measured in this run: 850 TFLOP/s"), "{text}");
    assert!(text.contains("GB/s  of a copy  floor µs  of floor\n"), "{text}");
    assert!(text.contains("TFLOP/s  of matrix instructions alone  floor µs  of floor\n"), "{text}");
    assert!(!text.contains('\x1b'), "colour is for terminals");
}

#[test]
fn a_run_is_compared_with_an_earlier_one() {
    let now = record();
    let mut then = record();
    then.date = "2025-12-31T00:00:00Z".into();
    then.device.driver = Some("570.9".into());
    then.rows[1] = row("softmax", &[32768, 4096], 150.0, Beside::Copy { microseconds: 129.8 }, 0.86);
    then.rows.remove(0);
    then.rows.push(row("softmax", &[1, 1], 2.0, Beside::Copy { microseconds: 2.0 }, 1.0));
    let then = earlier("compare", &then);
    then.check(&now.device).unwrap();
    let text = show::report(&now, Some(&then));
    assert_eq!(line(&text, "softmax 32768 × 4096").last(), Some(&"1.118"), "{text}");
    assert_eq!(line(&text, "softmax 32768 × 1024").last(), Some(&"new"), "{text}");
    assert_eq!(line(&text, "rms_norm 32768 × 4096").last(), Some(&"1.000"), "{text}");
    for note in [
        "of 2025-12-31T00:00:00Z (warpsmith 0.1.0)",
        "another driver: 570.9 then, 580.1 now",
        "1 of its 7 cases were not measured now",
    ] {
        assert!(text.contains(note), "{note}: {text}");
    }
    let mut emulated = record();
    emulated.device.kind = Kind::Emulated;
    assert!(then.check(&emulated.device).is_err());
}

#[test]
fn a_run_is_drawn() {
    let svg = plot::svg(&record());
    assert!(svg.contains("Warpsmith on NVIDIA H200") && svg.contains("driver 580.1, 2026-01-02"), "{svg}");
    // Two operators and the copy; two products and their legend.
    assert_eq!(svg.matches("<polyline").count(), 3);
    assert_eq!(svg.matches("class=\"bar c0\"").count(), 3);
    assert!(svg.contains("softmax bf16, 4096: 4001") && svg.contains("gemm bf16, 4096×4096×4096: 767"), "{svg}");
    assert!(svg.contains("datasheet, 4800") && svg.contains("matrix instructions alone, 850"), "{svg}");
    let nothing = plot::svg(&Record { rows: vec![], ..record() });
    assert!(nothing.contains("nothing measured"));
}

#[test]
fn a_record_is_read_as_it_was_written() {
    let text = serde_json::to_value(record()).unwrap();
    let back: Record = serde_json::from_value(text.clone()).unwrap();
    assert_eq!(serde_json::to_value(back).unwrap(), text);
    assert_eq!(text["rows"][0]["result"]["on"], "card");
    assert_eq!(text["rows"][5]["result"]["beside"]["what"], "matrix_instructions");
}
