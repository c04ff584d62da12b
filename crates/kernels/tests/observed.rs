//! What an engine sees of compiling and launching: spans, ranges, counters. All are the process's: one test.

use std::sync::{Arc, Mutex, PoisonError};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use warpsmith_kernels::softmax;
use warpsmith_runtime::range::{Hooks, set_hooks};
use warpsmith_runtime::{Device, Tensor, counters};
use warpsmith_types::{Chip, DType};

/// Names of spans, as they are made.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<&'static str>>>);

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span()
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(span.metadata().name());
        Id::from_u64(all.len() as u64)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

static RANGES: Mutex<Vec<String>> = Mutex::new(vec![]);

fn note(what: String) {
    RANGES.lock().unwrap_or_else(PoisonError::into_inner).push(what);
}

#[test]
fn compiling_and_launches_are_seen() {
    let hooks = Hooks { push: |name| note(name.into()), pop: || note("end".into()) };
    assert!(set_hooks(hooks));
    assert!(!set_hooks(hooks), "the first hooks stay");
    let spans = Spans::default();
    let device = Device::emulated(Chip::H200);
    let before = counters::snapshot();
    let x = Tensor::from_bytes(&device, "x", DType::F32, &[2, 64], &[0; 512]).unwrap();
    let mut y = Tensor::new(&device, "y", DType::F32, &[2, 64]).unwrap();
    tracing::subscriber::with_default(spans.clone(), || {
        for _ in 0..3 {
            softmax(x.arg(), y.arg_mut(), &device.default_stream()).unwrap();
        }
    });
    assert_eq!(*spans.0.lock().unwrap(), ["compile", "trace", "launch", "launch", "launch"]);
    let launch = ["softmax_f32_64", "end"];
    assert_eq!(*RANGES.lock().unwrap(), [["compile", "end"], launch, launch, launch].concat());

    drop((x, y));
    let after = counters::snapshot();
    assert_eq!(after.launches - before.launches, 3);
    assert_eq!((after.compiles - before.compiles, after.memory_hits - before.memory_hits), (1, 2));
    let bytes = [after.bytes_allocated - before.bytes_allocated, after.bytes_freed - before.bytes_freed];
    assert_eq!(bytes, [1024, 1024]);
    let text = after.to_prometheus();
    assert!(text.contains(&format!("\nwarpsmith_launches_total {}\n", after.launches)), "{text}");
    assert_eq!(text.lines().count(), 3 * after.list().len());
}
