//! Cards that reach each other's memory.

use super::context::Context;
use super::failure::{PEER_ACCESS_ALREADY_ENABLED, PEER_ACCESS_UNSUPPORTED};
use super::queue::StreamHandle;
use crate::error::Error;
use std::sync::PoisonError;

impl Context {
    /// Whether kernels here can be let reach memory there.
    pub(crate) fn can_access(&self, there: &Context) -> Result<bool, Error> {
        if self.raw == there.raw {
            return Ok(true);
        }
        let mut can = 0;
        // SAFETY: the pointer is to a live integer; the handles came from the driver.
        unsafe { self.driver.api.cuDeviceCanAccessPeer(&mut can, self.card, there.card) }
            .map_err(|e| self.explain(e))?;
        Ok(can != 0)
    }

    /// Lets kernels here reach all memory there, what its pool will give included.
    pub(crate) fn enable_peer_access(&self, there: &Context) -> Result<(), Error> {
        if self.raw == there.raw {
            return Ok(());
        }
        let unlinked =
            || Error::NoPeerAccess { here: self.properties.name.clone(), there: there.properties.name.clone() };
        if !self.can_access(there)? {
            return Err(unlinked());
        }
        {
            let _entered = self.enter()?;
            // SAFETY: the other context is live as long as its owner, who lends it; flags must be 0.
            match unsafe { self.driver.api.cuCtxEnablePeerAccess(there.raw, 0) } {
                Ok(()) => {}
                Err(e) if e.code == PEER_ACCESS_ALREADY_ENABLED => {}
                Err(e) if e.code == PEER_ACCESS_UNSUPPORTED => return Err(unlinked()),
                Err(e) => return Err(self.explain(e)),
            }
        }
        // The pool's lock is held, so that one that is being made sees the reader or is seen here.
        let pool = there.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let mut readers = there.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if !readers.contains(&self.card) {
            if let Some(pool) = *pool {
                let _entered = there.enter()?;
                there.let_reach(pool, self.card)?;
            }
            readers.push(self.card);
        }
        Ok(())
    }

    /// Copies between cards, in the order of a stream of this one.
    pub(crate) fn copy_between(
        &self,
        (there, to): (&Context, u64),
        (here, from): (&Context, u64),
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<(), Error> {
        let _entered = self.enter()?;
        // SAFETY: both contexts and the stream are live; touches device memory only.
        unsafe { self.driver.api.cuMemcpyPeerAsync(to, there.raw, from, here.raw, bytes, stream.raw()) }
            .map_err(|e| self.explain(e))
    }
}
