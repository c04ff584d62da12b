//! Listings of IR, PTX and machine code.

use super::source::Source;
use crate::failure::Failure;
use std::fmt::Write;
use std::sync::Arc;
use warpsmith::dsl::Compiled;
use warpsmith::runtime::Error;
use warpsmith::runtime::report::{MachineCode, PtxLines};
use warpsmith_types::{Inlined, Location, Target};

/// The source of each line of the PTX.
pub(super) struct Lines(PtxLines);

impl Lines {
    pub(super) fn of(compiled: &Compiled) -> Result<Lines, Failure> {
        // Lines are those of the text, which the module in memory does not know.
        let parsed = warpsmith_ptx::parse(&compiled.module.to_string());
        let unread = |e| Error::Ptx { entry: compiled.entry.clone(), message: format!("{e}") };
        Ok(Lines(PtxLines::of(&parsed.map_err(unread)?)))
    }
}

/// The IR; with the source above it in place of the locations at the ends of its lines.
pub(super) fn ir(text: &str, with_source: bool) -> String {
    let (mut out, mut source) = (String::new(), Source::default());
    for line in text.lines() {
        match line.split_once(" @ ") {
            Some((code, place)) if with_source => {
                let indent = &code[..code.len() - code.trim_start().len()];
                if let Some(location) = location(place.trim_end_matches(" {")) {
                    source.above(&location).iter().for_each(|said| push(&mut out, &format!("{indent}// {said}")));
                }
                push(&mut out, &format!("{code}{}", if place.ends_with(" {") { " {" } else { "" }));
            }
            _ => push(&mut out, line),
        }
    }
    out
}

/// Reads `path:line:column in helper @ path:line:column`.
fn location(text: &str) -> Option<Location> {
    let (here, callers) = text.split_once(" @ ").map_or((text, None), |(here, rest)| (here, Some(rest)));
    let (place, function) = here.split_once(" in ").map_or((here, None), |(place, name)| (place, Some(name)));
    let (rest, last) = place.rsplit_once(':')?;
    let (file, line, column) = match rest.rsplit_once(':').map(|(file, line)| (file, line.parse())) {
        Some((file, Ok(line))) => (file, line, last.parse().ok()?),
        _ => (rest, last.parse().ok()?, 0),
    };
    let mut location = Location::new(file.trim_matches('"'), line, column);
    if let (Some(function), Some(callers)) = (function, callers) {
        let at = self::location(callers)?;
        location.inlined_at = Some(Arc::new(Inlined { function: function.trim_matches('"').into(), at }));
    }
    Some(location)
}

/// PTX; with the source above it in place of the `.loc`s.
pub(super) fn ptx(text: &str, lines: Option<&Lines>) -> String {
    let Some(Lines(lines)) = lines else { return format!("{text}\n") };
    let (mut out, mut source) = (String::new(), Source::default());
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(location) = lines.at(number) {
            source.above(location).iter().for_each(|said| push(&mut out, &format!("\t// {said}")));
        }
        if !line.trim_start().starts_with(".loc ") {
            push(&mut out, line);
        }
    }
    out
}

/// Machine code; with the source above it.
pub(super) fn sass(code: &MachineCode, target: Target, lines: Option<&Lines>) -> String {
    let (mut out, mut source) = (format!("{}: machine code for {target}\n", code.kernel), Source::default());
    for i in &code.instructions {
        i.labels.iter().for_each(|label| push(&mut out, &format!("{label}:")));
        let location = lines.and_then(|Lines(lines)| lines.at(i.ptx_line?));
        for said in location.map(|at| source.above(at)).unwrap_or_default() {
            push(&mut out, &format!("              // {said}"));
        }
        push(&mut out, &format!("  /*{:04x}*/ {i};", i.offset));
    }
    out
}

fn push(out: &mut String, line: &str) {
    // Writing to a string can not fail.
    let _ = writeln!(out, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_the_ir_are_read() {
        let read = |text: &str| {
            let at = location(text).unwrap();
            (at.to_string(), at.inlined_at.map(|call| (call.function.to_string(), call.at.to_string())))
        };
        assert_eq!(read("src/k.rs:7:3"), ("src/k.rs:7:3".into(), None));
        assert_eq!(read("src/k.rs:7"), ("src/k.rs:7".into(), None));
        assert_eq!(
            read("src/h.rs:9:1 in sum @ src/k.rs:7:3"),
            ("src/h.rs:9:1".into(), Some(("sum".into(), "src/k.rs:7:3".into())))
        );
        assert_eq!(location("nothing"), None);
        assert_eq!(
            ir("  %1: u32 = a @ no/k.rs:3:1\n  if %1 @ no/k.rs:3:9 {\n  }\n", true),
            "  // no/k.rs:3\n  %1: u32 = a\n  if %1 {\n  }\n"
        );
    }
}
