//! Kernels loaded from PTX, and their launches.

use super::Device;
use super::assembler::Assembler;
use super::backend::{Kernel, Loaded};
use super::shape::{KernelLimits, LaunchShape};
use super::stream::Stream;
use crate::counters;
use crate::error::Error;
use crate::launched::{Description, Launched};
use crate::range;
use crate::report::CompileReport;
use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};
use warpsmith_emulator::Manifest;
use warpsmith_ptx::Module;
use warpsmith_types::{Diagnostic, Severity};

/// PTX to load, in either form; the other is made when the device wants it.
#[derive(Clone, Copy, Debug)]
pub enum Ptx<'a> {
    /// As text.
    Text(&'a str),
    /// As data.
    Module(&'a Module),
}

impl<'a> From<&'a str> for Ptx<'a> {
    fn from(text: &'a str) -> Ptx<'a> {
        Ptx::Text(text)
    }
}

impl<'a> From<&'a String> for Ptx<'a> {
    fn from(text: &'a String) -> Ptx<'a> {
        Ptx::Text(text)
    }
}

impl<'a> From<&'a Module> for Ptx<'a> {
    fn from(module: &'a Module) -> Ptx<'a> {
        Ptx::Module(module)
    }
}

impl<'a> Ptx<'a> {
    pub(super) fn text(self) -> Cow<'a, str> {
        match self {
            Ptx::Text(text) => Cow::Borrowed(text),
            Ptx::Module(module) => Cow::Owned(module.to_string()),
        }
    }

    pub(super) fn module(self, entry: &str) -> Result<Cow<'a, Module>, Error> {
        match self {
            Ptx::Text(text) => match warpsmith_ptx::parse(text) {
                Ok(module) => Ok(Cow::Owned(module)),
                Err(e) => Err(Error::Ptx { entry: entry.into(), message: e.to_string() }),
            },
            Ptx::Module(module) => Ok(Cow::Borrowed(module)),
        }
    }
}

/// A kernel loaded on a device. A clone is the same kernel; the code goes with the last one.
#[derive(Clone)]
pub struct Function {
    inner: Arc<Inner>,
}

struct Inner {
    device: Device,
    /// All that is known of PTX as such: the kernel's name.
    about: Arc<Description>,
    limits: KernelLimits,
    report: CompileReport,
    kernel: Box<dyn Kernel>,
}

impl Device {
    /// Compiles PTX for this device, or decodes it on an emulated one, and loads the kernel `entry`.
    ///
    /// # Errors
    /// When the PTX does not parse or compile, is for another chip, or lacks the kernel.
    pub fn load<'a>(&self, ptx: impl Into<Ptx<'a>>, entry: &str) -> Result<Function, Error> {
        let Loaded { kernel, limits, report } = self.backend().load(ptx.into(), entry)?;
        let about = Arc::new(Description::named(entry));
        let inner = Inner { device: self.clone(), about, limits, report, kernel };
        Ok(Function { inner: Arc::new(inner) })
    }

    /// Who makes machine code for it, of which release; what it is where nobody does.
    pub(crate) fn assembler(&self) -> String {
        match Assembler::of_process() {
            Ok(assembler) if !self.is_emulated() => assembler.identity(),
            _ => "none".into(),
        }
    }
}

impl Function {
    /// Where it is loaded.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// The kernel's name in the PTX.
    pub fn name(&self) -> &str {
        &self.inner.about.kernel
    }

    /// What compiling said.
    pub fn report(&self) -> &CompileReport {
        &self.inner.report
    }

    /// Launches it. `parameters` are the kernel's, each at the next multiple of its alignment, as in a C struct.
    ///
    /// A card runs it later, in the stream's order, and an illegal access is an error of a later call; with
    /// `WARPSMITH_SYNC=1` each launch is waited for. An emulated device that is alone has run it on return where the stream is
    /// the default one: the outcome says what the sanitizer found, in the words of the `manifest` when there is one, and it
    /// is the caller's to judge. On other streams, and on devices of a node, it runs at the next synchronisation, whose
    /// outcome says so.
    ///
    /// # Errors
    /// When chip or kernel can not take the shape or the parameters, or the stream is another device's.
    pub fn launch(
        &self,
        shape: &LaunchShape,
        parameters: &[u8],
        stream: &Stream,
        manifest: Option<&Manifest>,
    ) -> Result<LaunchOutcome, Error> {
        self.queue(&self.inner.about, shape, parameters, stream, manifest)
    }

    /// The same of a kernel of which more is known.
    pub(crate) fn launch_of(
        &self,
        about: &Arc<Description>,
        shape: &LaunchShape,
        parameters: &[u8],
        stream: &Stream,
    ) -> Result<LaunchOutcome, Error> {
        self.queue(about, shape, parameters, stream, None)
    }

    fn queue(
        &self,
        about: &Arc<Description>,
        shape: &LaunchShape,
        parameters: &[u8],
        stream: &Stream,
        manifest: Option<&Manifest>,
    ) -> Result<LaunchOutcome, Error> {
        let Inner { device, limits, kernel, .. } = &*self.inner;
        let _span = tracing::trace_span!("launch", kernel = &*about.kernel).entered();
        let _range = range::enter(&about.kernel);
        if stream.device() != device {
            return Err(device.other("the stream", stream.device()));
        }
        let size = limits.check(&about.kernel, device.chip(), shape, parameters.len())?;
        let mut outcome = kernel.launch(shape, &parameters[..size], stream.handle(), about, manifest)?;
        counters::LAUNCHED.add(1);
        if stream.is_capturing() {
            stream.captured(self, Launched::new(about, parameters));
        } else if synchronous() {
            outcome.add(stream.synchronize()?);
        }
        Ok(outcome)
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({} on {})", self.name(), self.device().info().id)
    }
}

/// Whether `WARPSMITH_SYNC` asks for a wait after each launch; read once.
fn synchronous() -> bool {
    static ASKED: OnceLock<bool> = OnceLock::new();
    *ASKED.get_or_init(|| std::env::var("WARPSMITH_SYNC").is_ok_and(|v| v == "1"))
}

/// What came of a launch, or of all that a synchronisation waited for: nothing yet where it was only queued, and nothing
/// on a card.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaunchOutcome {
    /// Warp instructions that the emulator ran; `None` on a card.
    pub instructions: Option<u64>,
    /// What the sanitizer found; always empty on a card.
    pub findings: Vec<Diagnostic>,
    /// What the kernel printed on the emulator. A card's messages go to the process's standard output.
    pub printed: String,
}

impl LaunchOutcome {
    /// Whether the sanitizer found an error.
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|f| f.severity == Severity::Error)
    }

    /// With what came of another.
    pub(super) fn add(&mut self, other: LaunchOutcome) {
        self.instructions = match (self.instructions, other.instructions) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        self.findings.extend(other.findings);
        self.printed.push_str(&other.printed);
    }
}
