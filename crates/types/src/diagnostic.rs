//! Messages that point into source, and the one renderer that draws them all.

use crate::location::Location;
use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Element, Level, Origin, Renderer, Snippet};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Right, but slow or suspicious.
    Warning,
    /// Wrong.
    Error,
}

/// Something else that a diagnostic concerns: where a value was made, who called.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Note {
    /// What is there.
    pub message: String,
    /// Where, when that is a place in source.
    pub at: Option<Location>,
}

/// One finding: what, where, what else it concerns, and what to do instead.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The title.
    pub message: String,
    /// The place it is about.
    pub at: Option<Location>,
    /// A few words beside the marked source.
    pub label: String,
    /// Other places and facts.
    pub notes: Vec<Note>,
    /// What to write instead.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error with a title; the rest is added by the methods below.
    pub fn error(message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            message: message.into(),
            at: None,
            label: String::new(),
            notes: vec![],
            help: None,
        }
    }

    /// A warning with a title.
    pub fn warning(message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(message) }
    }

    /// Where it is.
    pub fn at(mut self, at: impl Into<Location>) -> Diagnostic {
        self.at = Some(at.into());
        self
    }

    /// Words beside the marked source.
    pub fn label(mut self, label: impl Into<String>) -> Diagnostic {
        self.label = label.into();
        self
    }

    /// Another place, or none, and what is there.
    pub fn note(mut self, message: impl Into<String>, at: Option<Location>) -> Diagnostic {
        self.notes.push(Note { message: message.into(), at });
        self
    }

    /// What to write instead.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// Draws it in rustc's style, with source excerpts where the files can be read. No colour.
    pub fn render(&self) -> String {
        self.draw(&Renderer::plain())
    }

    /// The same for a terminal, in colour.
    pub fn render_styled(&self) -> String {
        self.draw(&Renderer::styled())
    }

    fn draw(&self, renderer: &Renderer) -> String {
        let mut places = vec![];
        if let Some(at) = &self.at {
            places.push((at, self.label.as_str(), AnnotationKind::Primary));
            push_callers(at, &mut places);
        }
        for note in &self.notes {
            if let Some(at) = &note.at {
                places.push((at, note.message.as_str(), AnnotationKind::Context));
            }
        }
        let excerpts: Vec<_> = places.iter().map(|(at, ..)| Excerpt::read(at)).collect();
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut group = level.primary_title(&self.message).elements(Vec::<Element<'_>>::new());
        for ((at, label, kind), excerpt) in places.iter().zip(&excerpts) {
            group = match excerpt {
                Some(e) => group.element(
                    Snippet::source(e.text.as_str())
                        .line_start(e.first_line)
                        .path(at.file.as_ref())
                        .annotation(kind.span(e.span.clone()).label(*label)),
                ),
                None => {
                    let mut origin = Origin::path(at.file.as_ref()).line(at.line as usize);
                    if at.column > 0 {
                        origin = origin.char_column(at.column as usize);
                    }
                    let group = group.element(origin);
                    if label.is_empty() { group } else { group.element(Level::NOTE.message(*label)) }
                }
            };
        }
        for note in self.notes.iter().filter(|n| n.at.is_none()) {
            group = group.element(Level::NOTE.message(&note.message));
        }
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help));
        }
        renderer.clone().decor_style(DecorStyle::Ascii).render(&[group])
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render())
    }
}

/// The calls of helpers that led to `at`, each a place of its own.
fn push_callers<'a>(at: &'a Location, places: &mut Vec<(&'a Location, &'a str, AnnotationKind)>) {
    let mut inner = at;
    while let Some(call) = &inner.inlined_at {
        places.push((&call.at, "in this call", AnnotationKind::Context));
        inner = &call.at;
    }
}

/// Everything that is wrong with one subject: a kernel, a PTX file, a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What was looked at.
    pub subject: String,
    /// What was found, worst first where that is known.
    pub diagnostics: Vec<Diagnostic>,
}

impl Report {
    /// A report of one finding.
    pub fn single(subject: impl Into<String>, diagnostic: Diagnostic) -> Report {
        Report { subject: subject.into(), diagnostics: vec![diagnostic] }
    }

    /// Whether anything in it is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|d| d.severity == Severity::Error)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, d) in self.diagnostics.iter().enumerate() {
            if i > 0 {
                f.write_str("\n\n")?;
            }
            write!(f, "{d}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Report {}

/// The marked line of a file.
struct Excerpt {
    text: String,
    first_line: usize,
    span: Range<usize>,
}

impl Excerpt {
    fn read(at: &Location) -> Option<Excerpt> {
        let source = std::fs::read_to_string(find(Path::new(at.file.as_ref()))?).ok()?;
        let text = source.lines().nth((at.line as usize).checked_sub(1)?)?.to_string();
        let column = (at.column as usize).saturating_sub(1);
        let start = text.char_indices().nth(column).map_or(text.len(), |(i, _)| i);
        let start = if at.column == 0 { text.len() - text.trim_start().len() } else { start };
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let rest = &text[start..];
        let length = match at.column {
            0 => rest.trim_end().len(),
            _ => rest.find(|c| !word(c)).unwrap_or(rest.len()),
        };
        let length = length.max(rest.chars().next().map_or(0, char::len_utf8));
        Some(Excerpt { span: start..start + length, text, first_line: at.line as usize })
    }
}

/// Paths that the Rust compiler records are relative to the workspace; a test runs in its own package's folder.
fn find(file: &Path) -> Option<PathBuf> {
    if file.is_absolute() {
        return file.exists().then(|| file.to_path_buf());
    }
    let here = std::env::current_dir().ok()?;
    here.ancestors().map(|folder| folder.join(file)).find(|path| path.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_at_source_and_says_what_to_write() {
        let here = Location::from(std::panic::Location::caller());
        let line = here.line;
        let drawn = Diagnostic::error("a value escapes").at(here).label("used here").help("use a `var`").render();
        assert!(drawn.starts_with("error: a value escapes\n"), "{drawn}");
        assert!(drawn.contains(&format!("diagnostic.rs:{line}:")), "{drawn}");
        assert!(drawn.contains("let here = Location::from"), "{drawn}");
        assert!(drawn.contains("used here") && drawn.contains("help: use a `var`"), "{drawn}");
    }

    #[test]
    fn a_missing_file_still_gives_its_place() {
        let drawn = Diagnostic::warning("slow").at(Location::new("no/such.rs", 7, 3)).label("this load").render();
        assert!(drawn.contains("no/such.rs:7:3") && drawn.contains("this load"), "{drawn}");
        let whole_line = Diagnostic::error("x").at(Location::new("no/such.rs", 7, 0)).render();
        assert!(whole_line.contains("no/such.rs:7"), "{whole_line}");
    }
}
