//! Kernels that are loaded on an emulated chip.

use super::super::backend::{Kernel, StreamHandle};
use super::super::function::LaunchOutcome;
use super::super::shape::LaunchShape;
use super::node::Node;
use super::work::Work;
use crate::error::Error;
use crate::launched::{Description, Recent};
use std::sync::Arc;
use warpsmith_emulator::{Launch, Manifest, Program};

/// A decoded kernel, and the chip that runs it.
pub(super) struct Decoded {
    pub(super) node: Arc<Node>,
    pub(super) index: u8,
    pub(super) program: Arc<Program>,
    pub(super) idle: Option<Arc<Recent>>,
}

impl Kernel for Decoded {
    fn launch(
        &self,
        shape: &LaunchShape,
        parameters: &[u8],
        stream: StreamHandle,
        about: &Arc<Description>,
        manifest: Option<&Manifest>,
    ) -> Result<LaunchOutcome, Error> {
        if let Some(recent) = &self.idle {
            recent.launched(about, parameters, stream.0);
            return Ok(LaunchOutcome::default());
        }
        let manifest = manifest.cloned().or_else(|| about.manifest(parameters));
        let launch = Launch {
            grid: shape.grid,
            block: shape.block,
            cluster: shape.cluster,
            dynamic_shared: shape.dynamic_shared,
            parameters: parameters.to_vec(),
            cooperative: shape.cooperative,
            dependent: shape.pdl,
        };
        let work = Work::Launch { program: self.program.clone(), launch, manifest: manifest.map(Arc::new) };
        let mut state = self.node.state();
        let stream = state.stream(self.index, stream.0)?;
        state.queue(stream, work)
    }
}
