//! Named ranges on a profiler's timeline: compiling, and launches.
//!
//! Nothing is named until [`set_hooks`] says how, or the environment has `WARPSMITH_NVTX=1` when the first range begins:
//! then NVIDIA's `libnvToolsExt.so.1` or `libnvtx3interop.so` is loaded, if one is on the machine, and Nsight Systems shows the ranges.

use crate::driver::nvtx;
use std::sync::OnceLock;

/// What is called when a range begins, with its name, and when the latest range of the thread ends.
#[derive(Clone, Copy, Debug)]
pub struct Hooks {
    /// A range begins.
    pub push: fn(&str),
    /// The thread's latest range ends.
    pub pop: fn(),
}

/// The variable that asks for NVTX.
const VARIABLE: &str = "WARPSMITH_NVTX";

static HOOKS: OnceLock<Option<Hooks>> = OnceLock::new();

/// Has all ranges from here on named by these; to be called before anything is launched. Whether that is so: later ones
/// do not replace earlier ones.
pub fn set_hooks(hooks: Hooks) -> bool {
    HOOKS.set(Some(hooks)).is_ok()
}

/// NVTX's own, when its library is on this machine.
pub fn nvtx() -> Option<Hooks> {
    nvtx::load().then_some(Hooks { push: nvtx::push, pop: nvtx::pop })
}

/// A range, for as long as it lives.
pub(crate) struct Range(Option<Hooks>);

/// Begins a range.
pub(crate) fn enter(name: &str) -> Range {
    let hooks = *HOOKS.get_or_init(|| {
        let asked = std::env::var(VARIABLE).is_ok_and(|v| v == "1");
        let hooks = if asked { nvtx() } else { None };
        if asked && hooks.is_none() {
            tracing::warn!("{VARIABLE} is set, but there is no libnvToolsExt.so.1 or libnvtx3interop.so to load");
        }
        hooks
    });
    if let Some(hooks) = hooks {
        (hooks.push)(name);
    }
    Range(hooks)
}

impl Drop for Range {
    fn drop(&mut self) {
        if let Some(hooks) = self.0 {
            (hooks.pop)();
        }
    }
}
