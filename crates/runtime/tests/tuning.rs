//! Winners on disk: what they hold for, and what damage does.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use warpsmith_runtime::tuning::{Measured, Provenance, Record, Store};

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tuning-{name}"));
    let _ = fs::remove_dir_all(&path);
    path
}

fn record() -> Record {
    let plan = |plan: &str, ns| Measured {
        plan: plan.into(),
        first: Some(Duration::from_nanos(ns)),
        again: Some(Duration::from_nanos(ns)),
    };
    Record {
        provenance: Provenance {
            kernel: "softmax_bf16_4096".into(),
            size: 15,
            texts: "0123".into(),
            card: "NVIDIA H200, 132 multiprocessors, 143771 MiB".into(),
            driver: "driver CUDA 13.0 580.159.04".into(),
        },
        date: "2026-11-30".into(),
        winner: 1,
        candidates: vec![plan("128 threads", 900), plan("256 threads", 800)],
    }
}

#[test]
fn a_winner_is_found_for_what_it_was_measured_on_and_nothing_else() {
    let path = folder("found");
    let (store, record) = (Store::open(&path).unwrap(), record());
    assert_eq!(store.find(&record.provenance), None);
    store.keep(&record);
    assert_eq!(store.find(&record.provenance), Some(record.clone()));
    // As another process finds it.
    assert_eq!(Store::open(&path).unwrap().find(&record.provenance), Some(record.clone()));
    let p = &record.provenance;
    for other in [
        Provenance { kernel: "softmax_f16_4096".into(), ..p.clone() },
        Provenance { size: 14, ..p.clone() },
        Provenance { texts: "0124".into(), ..p.clone() },
        Provenance { card: "NVIDIA H200, 66 multiprocessors, 71885 MiB".into(), ..p.clone() },
        Provenance { driver: "driver CUDA 13.0 580.159.05".into(), ..p.clone() },
    ] {
        assert_eq!(store.find(&other), None, "{other:?}");
    }
}

#[test]
fn damage_is_forgotten() {
    let path = folder("damage");
    let (store, record) = (Store::open(&path).unwrap(), record());
    let files = || {
        let inside = |p: &Path| fs::read_dir(p).unwrap().map(|f| f.unwrap().path()).collect::<Vec<_>>();
        let folders = inside(&path).into_iter().filter(|f| f.file_name().unwrap() != "locks");
        folders.flat_map(|f| inside(&f)).collect::<Vec<_>>()
    };
    store.keep(&record);
    let text = fs::read_to_string(&files()[0]).unwrap();
    for damaged in
        [text.replace("winner: 1", "winner: 0"), text[..text.len() / 2].into(), String::new(), "\u{fffd}".into()]
    {
        store.keep(&record);
        fs::write(&files()[0], damaged).unwrap();
        assert_eq!(store.find(&record.provenance), None);
        assert!(files().is_empty(), "what is damaged goes");
    }
    store.keep(&record);
    assert_eq!(store.find(&record.provenance), Some(record));
}
