//! The source above what became of it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use warpsmith_types::Location;

/// Says above each piece of code where it came from, once for each change.
#[derive(Default)]
pub(super) struct Source {
    files: HashMap<Arc<str>, Option<Vec<String>>>,
    /// What was said last: the line of the kernel first, then those of the helpers that it calls.
    last: Vec<Place>,
}

#[derive(Clone, PartialEq, Eq)]
struct Place {
    file: Arc<str>,
    line: u32,
    /// The helper that the line is in; empty for the kernel itself.
    function: Arc<str>,
}

impl Source {
    /// The lines to print above code from there. Calls come first, what is called is indented.
    pub(super) fn above(&mut self, location: &Location) -> Vec<String> {
        let places = places(location);
        let known = self.last.iter().zip(&places).take_while(|(a, b)| a == b).count();
        // Code that goes on where the last piece did needs no words; code back in the caller does.
        let first = if known == places.len() && self.last.len() > known { known.saturating_sub(1) } else { known };
        let said = places.iter().enumerate().skip(first).map(|(depth, place)| self.say(depth, place)).collect();
        self.last = places;
        said
    }

    fn say(&mut self, depth: usize, place: &Place) -> String {
        let Place { file, line, function } = place;
        let within = if function.is_empty() { String::new() } else { format!("{function}, ") };
        let mut text = format!("{}{within}{file}:{line}", "  ".repeat(depth));
        if let Some(source) = self.line(file, *line) {
            text += &format!(": {}", source.trim());
        }
        text
    }

    fn line(&mut self, file: &Arc<str>, line: u32) -> Option<&str> {
        let lines = self.files.entry(file.clone()).or_insert_with(|| read(file));
        lines.as_ref()?.get((line as usize).checked_sub(1)?).map(String::as_str)
    }
}

/// The kernel's line first, without repetition.
fn places(location: &Location) -> Vec<Place> {
    let mut places: Vec<Place> = vec![];
    let mut at = location;
    loop {
        let function = at.inlined_at.as_ref().map_or_else(|| "".into(), |call| call.function.clone());
        let place = Place { file: at.file.clone(), line: at.line, function };
        if places.last() != Some(&place) {
            places.push(place);
        }
        match &at.inlined_at {
            Some(call) => at = &call.at,
            None => break,
        }
    }
    places.reverse();
    places
}

/// The lines of a file. The Rust compiler records paths relative to the workspace, which is here or above.
fn read(file: &str) -> Option<Vec<String>> {
    let here = std::env::current_dir().ok()?;
    let path = here.ancestors().map(|folder| folder.join(Path::new(file))).find(|path| path.is_file())?;
    Some(std::fs::read_to_string(path).ok()?.lines().map(String::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_types::Inlined;

    #[test]
    fn only_changes_are_said() {
        let mut source = Source::default();
        let kernel = Location::new("no/k.rs", 7, 3);
        let call = Inlined { function: "sum".into(), at: kernel.clone() };
        let helper = Location { inlined_at: Some(Arc::new(call)), ..Location::new("no/h.rs", 20, 1) };
        assert_eq!(source.above(&kernel), ["no/k.rs:7"]);
        assert_eq!(source.above(&Location::new("no/k.rs", 7, 9)), Vec::<String>::new());
        assert_eq!(source.above(&helper), ["  sum, no/h.rs:20"]);
        assert_eq!(source.above(&kernel), ["no/k.rs:7"]);
        assert_eq!(source.above(&Location::new("no/k.rs", 8, 1)), ["no/k.rs:8"]);
        assert_eq!(source.above(&helper), ["no/k.rs:7", "  sum, no/h.rs:20"]);
    }
}
