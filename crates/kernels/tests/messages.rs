//! `device_print!` and `device_assert!`: printed where they are asked for, gone where not.

mod common;

use common::device;
use warpsmith_dsl::prelude::*;
use warpsmith_dsl::{Messages, Tracing, compile_with};
use warpsmith_runtime::{Jit, LaunchOutcome};

struct Chatty {
    limit: usize,
}

impl Kernel for Chatty {
    type Args = ();
    fn name(&self) -> String {
        "chatty".into()
    }
    fn launch(&self, (): &()) -> Launch {
        Launch::grid(1).block(32)
    }
    fn body(&self, (): ()) {
        let i = thread_idx().x;
        when(i.eq(3), || {
            let (half, byte) = (F32::from(0.5), U8::from(200));
            device_print!("thread {} of {{32}}: {}, {}, {}, {:x}, 100%", i, half, byte, I64::from(-7), i + 250);
        });
        device_assert!(i.lt(self.limit), "thread {} is too much", i);
    }
}

fn outcome(limit: usize, messages: bool) -> LaunchOutcome {
    let jit = Jit::new(Chatty { limit });
    let jit = if messages { jit.with_messages() } else { jit };
    let stream = device().default_stream();
    let outcome = jit.launch(&(), &stream).unwrap();
    if device().is_emulated() {
        stream.synchronize().unwrap();
    }
    outcome
}

#[test]
fn what_is_printed_is_what_was_said() {
    let all = outcome(32, true);
    assert!(all.findings.is_empty(), "{:?}", all.findings);
    if device().is_emulated() {
        assert_eq!(all.printed, "thread 3 of {32}: 0.5, 200, -7, fd, 100%\n");
    }
}

#[test]
fn messages_vanish_unless_asked_for() {
    let all = outcome(0, false);
    assert!(all.findings.is_empty() && all.printed.is_empty(), "{all:?}");
    let kernel = Chatty { limit: 1 };
    let ptx = |messages| {
        let options = Tracing { messages, ..Tracing::default() };
        compile_with(&kernel, &Arguments::of::<()>(&()), &kernel.launch(&()), options).unwrap().module.to_string()
    };
    assert!(ptx(Messages::On).contains("vprintf") && ptx(Messages::On).contains("trap"));
    assert!(!ptx(Messages::Off).contains("vprintf") && !ptx(Messages::Off).contains("trap"));
}

#[test]
fn a_failed_assertion_says_where_and_ends_the_kernel() {
    // On a card it takes the context with it.
    if !device().is_emulated() {
        return;
    }
    let all = outcome(31, true);
    assert!(all.printed.contains("tests/messages.rs:") && all.printed.contains("assertion failed: i.lt(self.limit)"));
    assert!(all.printed.contains(": thread 31 is too much"), "{}", all.printed);
    assert!(!all.findings.is_empty());
}

#[test]
fn a_format_that_does_not_fit_is_a_mistake() {
    let said = |body: fn()| {
        let options = Tracing { messages: Messages::On, ..Tracing::default() };
        warpsmith_dsl::trace_with("test", options, body).unwrap_err().to_string()
    };
    let few = said(|| device_print!("{} and {}", U32::from(1)));
    assert!(few.contains("`{} and {}` has more places than values"), "{few}");
    let many = said(|| device_print!("nothing", U32::from(1)));
    assert!(many.contains("`nothing` has fewer places than values"), "{many}");
    let other = said(|| device_print!("{:?}", U32::from(1)));
    assert!(other.contains("a place that is not `{}` or `{:x}`"), "{other}");
}
