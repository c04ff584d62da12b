//! What is printed, and files that are written when the work is done and opened before it begins.

use crate::failure::Failure;
use serde::Serialize;
use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Prints. A reader that has seen enough (`| head`) is no error.
pub(crate) fn print(text: impl Display) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match write!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::Write { path: "standard output".into(), error })
        }
        _ => Ok(()),
    }
}

/// Prints as JSON, or in words.
pub(crate) fn print_report(report: &(impl Display + Serialize), json: bool) -> Result<(), Failure> {
    if json { print(to_json(report)?) } else { print(format_args!("{}\n", report.to_string().trim_end())) }
}

/// As JSON that people can read too.
pub(crate) fn to_json(report: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(report).map_err(|e| Failure::Option(e.to_string()))?;
    Ok(text + "\n")
}

/// A file that can be written.
pub(crate) struct Output {
    path: PathBuf,
    file: File,
    /// Whether it was made for this, and has nothing in it yet.
    is_new: bool,
}

impl Output {
    /// Opens it, and changes nothing of what is there.
    pub(crate) fn open(path: &Path) -> Result<Output, Failure> {
        let is_new = !path.exists();
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path);
        let file = file.map_err(|error| Failure::Write { path: path.into(), error })?;
        Ok(Output { path: path.into(), file, is_new })
    }

    /// Replaces what is there.
    pub(crate) fn write(mut self, text: &str) -> Result<(), Failure> {
        self.is_new = false;
        let written = self.file.set_len(0).and_then(|()| self.file.write_all(text.as_bytes()));
        written.map_err(|error| Failure::Write { path: self.path.clone(), error })
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if self.is_new {
            // Nobody asked for an empty file.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_or_as_it_was() {
        let path = std::env::temp_dir().join(format!("warpsmith-output-{}", std::process::id()));
        drop(Output::open(&path).unwrap());
        assert!(!path.exists());
        Output::open(&path).unwrap().write("a long text").unwrap();
        drop(Output::open(&path).unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a long text");
        Output::open(&path).unwrap().write("short").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "short");
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(Output::open(Path::new("/no/such/file")), Err(Failure::Write { .. })));
    }
}
