//! `.file` and `.loc`.

use crate::kernel::LocationId;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use warpsmith_ptx::{File, InlinedAt, SourceLine, Statement};
use warpsmith_types::{Location, PtxVersion};

/// The files of a module and the place that the last `.loc` named.
pub(super) struct Lines {
    wanted: bool,
    pub(super) files: Vec<File>,
    indices: FxHashMap<Arc<str>, u32>,
    last: Option<LocationId>,
    /// Calls that have had a `.loc` of their own, with the call that the last one named: `inlined_at` may only name such
    /// places, and names them without the calls that led there.
    calls: FxHashMap<Place, Option<Place>>,
}

/// File, line, column.
type Place = (u32, u32, u32);

impl Lines {
    pub(super) fn new(wanted: bool) -> Lines {
        Lines { wanted, files: vec![], indices: FxHashMap::default(), last: None, calls: FxHashMap::default() }
    }

    /// The first version that can say what was said: `inlined_at` came with 7.2.
    pub(super) fn version(&self) -> PtxVersion {
        if self.calls.is_empty() { PtxVersion::new(0, 0) } else { PtxVersion::new(7, 2) }
    }

    /// Writes a `.loc`, unless the last one said the same.
    pub(super) fn source(&mut self, id: LocationId, location: &Location, body: &mut Vec<Statement>) {
        if !self.wanted || self.last == Some(id) {
            return;
        }
        self.last = Some(id);
        let line = self.line(location, body);
        body.push(Statement::Source(line));
    }

    fn line(&mut self, location: &Location, body: &mut Vec<Statement>) -> SourceLine {
        let inlined_at = location.inlined_at.as_ref().map(|call| {
            let at = self.line(&call.at, body);
            let place = (at.file, at.line, at.column);
            let caller = at.inlined_at.as_ref().map(|call| (call.file, call.line, call.column));
            if self.calls.insert(place, caller) != Some(caller) {
                body.push(Statement::Source(at));
            }
            InlinedAt { function: call.function.to_string(), file: place.0, line: place.1, column: place.2 }
        });
        SourceLine { file: self.file(&location.file), line: location.line, column: location.column, inlined_at }
    }

    fn file(&mut self, path: &Arc<str>) -> u32 {
        *self.indices.entry(path.clone()).or_insert_with(|| {
            let index = self.files.len() as u32 + 1;
            self.files.push(File { index, path: path.to_string() });
            index
        })
    }
}
