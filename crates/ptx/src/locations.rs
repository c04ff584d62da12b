//! From `.loc`s to places in the source, with the calls that led there.

use crate::module::{Module, SourceLine};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use warpsmith_types::{Inlined, Location};

/// Reads the `.loc`s of a module, in their order.
///
/// A `.loc` of a helper names the place of the call alone (`inlined_at`). Which calls led to that place is said where it
/// had a `.loc` of its own, so the order counts.
#[derive(Clone, Debug)]
pub struct Locations {
    files: FxHashMap<u32, Arc<str>>,
    /// What the last `.loc` of a place (file, line, column) said.
    places: FxHashMap<(u32, u32, u32), Location>,
}

impl Locations {
    /// For a module; no `.loc` has been read yet.
    pub fn new(module: &Module) -> Locations {
        let files = module.files.iter().map(|f| (f.index, Arc::from(f.path.as_str()))).collect();
        Locations { files, places: FxHashMap::default() }
    }

    /// The place that the next `.loc` names, with all calls that led there as far as they were said.
    pub fn read(&mut self, line: &SourceLine) -> Location {
        let mut location = self.place(line.file, line.line, line.column);
        if let Some(call) = &line.inlined_at {
            let known = self.places.get(&(call.file, call.line, call.column)).cloned();
            let at = known.unwrap_or_else(|| self.place(call.file, call.line, call.column));
            location.inlined_at = Some(Arc::new(Inlined { function: call.function.as_str().into(), at }));
        }
        // A text names a place once more without its caller, for `inlined_at` to refer to.
        let known = self.places.entry((line.file, line.line, line.column)).or_insert_with(|| location.clone());
        if location.inlined_at.is_some() {
            known.clone_from(&location);
        }
        location
    }

    fn place(&self, file: u32, line: u32, column: u32) -> Location {
        let path = self.files.get(&file).cloned().unwrap_or_else(|| "<unknown>".into());
        Location::new(path, line, column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::{File, InlinedAt};
    use warpsmith_types::{PtxVersion, Target};

    #[test]
    fn the_latest_call_of_a_place_counts() {
        let mut module = Module::new(PtxVersion::new(8, 0), Target::SM_90);
        module.files = vec![File { index: 1, path: "k.rs".into() }, File { index: 2, path: "h.rs".into() }];
        let mut locations = Locations::new(&module);
        let at = |file, line| SourceLine { file, line, column: 1, inlined_at: None };
        let within = |line: SourceLine, function: &str, (file, call)| SourceLine {
            inlined_at: Some(InlinedAt { function: function.into(), file, line: call, column: 1 }),
            ..line
        };
        let mut said = |line: SourceLine| {
            let (mut text, mut place) = (String::new(), locations.read(&line));
            while let Some(call) = place.inlined_at.take() {
                text += &format!("{} in {} < ", place.line, call.function);
                place = call.at.clone();
            }
            text + &place.line.to_string()
        };
        for kernel_line in [7, 8] {
            assert_eq!(said(at(1, kernel_line)), kernel_line.to_string());
            assert_eq!(said(within(at(2, 20), "outer", (1, kernel_line))), format!("20 in outer < {kernel_line}"));
            assert_eq!(said(at(2, 20)), "20");
            let inner = within(at(2, 30), "inner", (2, 20));
            assert_eq!(said(inner), format!("30 in inner < 20 in outer < {kernel_line}"));
        }
        assert_eq!(said(within(at(2, 1), "h", (9, 9))), "1 in h < 9");
    }
}
