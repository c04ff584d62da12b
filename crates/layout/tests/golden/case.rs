//! One line of a golden file, and the comparison with what the crate says.

use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Display;
use std::str::FromStr;
use warpsmith_layout::{Coord, IntTuple, Layout, LayoutError, Tiler};

/// Fields that say where a case comes from.
const NOTES: [&str; 8] = ["id", "op", "kind", "fn", "src", "flags", "note", "reason"];

pub(crate) enum Outcome {
    Passed,
    Refused,
    /// C++ is wrong, and the crate refuses, or is right.
    Corrected,
    Failed(String),
}

pub(crate) enum Trouble {
    /// The crate refuses the case.
    Refused(LayoutError),
    /// The case does not say what it must.
    Unreadable(String),
}

impl From<LayoutError> for Trouble {
    fn from(error: LayoutError) -> Trouble {
        Trouble::Refused(error)
    }
}

pub(crate) type Answer<T> = Result<T, Trouble>;

pub(crate) struct Case {
    file: String,
    fields: Map<String, Value>,
}

/// What the crate says, field by field, and which fields it was given.
pub(crate) struct Said {
    inputs: Vec<&'static str>,
    outputs: Vec<(&'static str, String)>,
}

impl Said {
    pub(crate) fn from(inputs: &[&'static str]) -> Said {
        Said { inputs: inputs.to_vec(), outputs: Vec::new() }
    }

    pub(crate) fn output(&self, field: &str) -> Option<&str> {
        self.outputs.iter().find(|(name, _)| *name == field).map(|(_, value)| value.as_str())
    }

    pub(crate) fn and(mut self, field: &'static str, value: impl Display) -> Said {
        self.outputs.push((field, value.to_string()));
        self
    }
}

impl Case {
    pub(crate) fn parse(file: &str, line: &str) -> Result<Case, Box<dyn Error>> {
        Ok(Case { file: file.to_string(), fields: serde_json::from_str(line)? })
    }

    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    pub(crate) fn id(&self) -> String {
        self.text("id").unwrap_or_default()
    }

    pub(crate) fn operation(&self) -> String {
        self.text("op").or_else(|_| self.text("kind")).unwrap_or_default()
    }

    pub(crate) fn has(&self, field: &str) -> bool {
        self.fields.contains_key(field)
    }

    pub(crate) fn value(&self, field: &'static str) -> Answer<&Value> {
        self.fields.get(field).ok_or_else(|| Trouble::Unreadable(format!("no field {field}")))
    }

    pub(crate) fn text(&self, field: &'static str) -> Answer<String> {
        Ok(plain(self.value(field)?))
    }

    pub(crate) fn read<T: FromStr<Err: Display>>(&self, field: &'static str) -> Answer<T> {
        let text = self.text(field)?;
        text.parse().map_err(|e: T::Err| Trouble::Unreadable(format!("{field}: {e}")))
    }

    pub(crate) fn layout(&self, field: &'static str) -> Answer<Layout> {
        self.read(field)
    }

    pub(crate) fn tuple(&self, field: &'static str) -> Answer<IntTuple> {
        self.read(field)
    }

    pub(crate) fn coord(&self, field: &'static str) -> Answer<Coord> {
        self.read(field)
    }

    pub(crate) fn int(&self, field: &'static str) -> Answer<i64> {
        self.read(field)
    }

    pub(crate) fn tiler(&self, field: &'static str) -> Answer<Tiler> {
        tiler(self.value(field)?)
    }

    pub(crate) fn expects_refusal(&self) -> bool {
        self.fields.get("error") == Some(&Value::Bool(true))
    }

    /// Compares all fields that the case has; each must be an input, a note or an answer.
    pub(crate) fn compare(&self, said: Answer<Said>) -> Outcome {
        let said = match said {
            Err(Trouble::Unreadable(why)) => return Outcome::Failed(why),
            Err(Trouble::Refused(_)) if self.expects_refusal() => return Outcome::Refused,
            Err(Trouble::Refused(error)) => return Outcome::Failed(format!("refused: {error}")),
            Ok(_) if self.expects_refusal() => return Outcome::Failed("accepted".to_string()),
            Ok(said) => said,
        };
        let mut open: BTreeSet<&str> = self.fields.keys().map(String::as_str).collect();
        open.retain(|field| !NOTES.contains(field) && !said.inputs.contains(field));
        for (field, value) in &said.outputs {
            if !open.remove(field) {
                return Outcome::Failed(format!("{field} is answered, but not asked"));
            }
            let wanted = self.text(field).unwrap_or_default();
            if *value != wanted {
                let short = |text: &str| text.chars().take(150).collect::<String>();
                return Outcome::Failed(format!("{field}: {} instead of {}", short(value), short(&wanted)));
            }
        }
        match open.first() {
            Some(field) => Outcome::Failed(format!("{field} is not compared")),
            None => Outcome::Passed,
        }
    }
}

/// Strings as they are, everything else as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub(crate) fn tiler(value: &Value) -> Answer<Tiler> {
    match value {
        Value::Array(modes) => Ok(Tiler::Modes(modes.iter().map(tiler).collect::<Answer<_>>()?)),
        other => plain(other).parse().map_err(|e: LayoutError| Trouble::Unreadable(e.to_string())),
    }
}

/// A table as JSON prints it.
pub(crate) fn list(values: impl IntoIterator<Item = impl Display>) -> String {
    let values: Vec<String> = values.into_iter().map(|v| v.to_string()).collect();
    format!("[{}]", values.join(","))
}
