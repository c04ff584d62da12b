//! Reads the notation of a [`Row`](super::Row) into slots and operands.

use super::form::{Lanes, OperandForm, Presence, Role, Shape, Slot, TypeOf, ValueForm};
use super::sets::SETS;
use crate::syntax::{Modifier, Opcode, Type};

/// A row whose notation does not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotationError {
    /// The opcode is no opcode.
    #[error("`{0}` does not start with an opcode")]
    Opcode(&'static str),
    /// A word that is no modifier.
    #[error("`{row}`: `{word}` is no modifier")]
    Modifier {
        /// The syntax.
        row: &'static str,
        /// The word.
        word: String,
    },
    /// Braces that do not match, or a stray character.
    #[error("`{0}`: expected `.word`, `{{…}}`, `(…)` or `<set>`")]
    Syntax(&'static str),
    /// An operand that does not read.
    #[error("`{0}`: not an operand")]
    Operand(String),
}

/// The opcode and the modifiers' slots.
pub(super) fn slots(syntax: &'static str) -> Result<(Opcode, Vec<Slot>), NotationError> {
    let end = syntax.find(['.', '{', '(', '<']).unwrap_or(syntax.len());
    let (name, mut rest) = syntax.split_at(end);
    let opcode = Opcode::from_name(name).ok_or(NotationError::Opcode(syntax))?;
    let mut slots = vec![];
    while let Some(first) = rest.chars().next() {
        let close = match first {
            '{' => '}',
            '(' => ')',
            '<' => '>',
            '.' => {
                let end = rest[1..].find(['.', '{', '(', '<']).map_or(rest.len(), |i| i + 1);
                slots.push(Slot { optional: false, choices: choices(syntax, &rest[..end])? });
                rest = &rest[end..];
                continue;
            }
            _ => return Err(NotationError::Syntax(syntax)),
        };
        let end = rest.find(close).ok_or(NotationError::Syntax(syntax))?;
        let inner = if first == '<' { &rest[..=end] } else { &rest[1..end] };
        slots.push(Slot { optional: first == '{', choices: choices(syntax, inner)? });
        rest = &rest[end + 1..];
    }
    Ok((opcode, slots))
}

/// `.a|.b|<set>`.
fn choices(row: &'static str, text: &str) -> Result<Vec<Modifier>, NotationError> {
    let mut all = vec![];
    for choice in text.split('|') {
        let unknown = || NotationError::Modifier { row, word: choice.into() };
        if let Some(set) = choice.strip_prefix('<').and_then(|c| c.strip_suffix('>')) {
            let (_, words) = SETS.iter().find(|(name, _)| *name == set).ok_or_else(unknown)?;
            all.extend(choices(row, words)?);
        } else {
            all.push(choice.strip_prefix('.').and_then(Modifier::from_name).ok_or_else(unknown)?);
        }
    }
    Ok(all)
}

/// The operands.
pub(super) fn operands(text: &'static str) -> Result<Vec<OperandForm>, NotationError> {
    let mut all = vec![];
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = match rest.strip_prefix('[') {
            Some(_) => rest.find(']').map_or(rest.len(), |i| i + 1),
            None => 0,
        };
        let end = rest[end..].find(',').map_or(rest.len(), |i| i + end);
        all.push(operand(rest[..end].trim())?);
        rest = rest.get(end + 1..).unwrap_or("").trim();
    }
    Ok(all)
}

fn operand(text: &'static str) -> Result<OperandForm, NotationError> {
    let error = || NotationError::Operand(text.into());
    if let Some(inner) = text.strip_prefix('[') {
        let (inner, after) = inner.split_once(']').ok_or_else(error)?;
        let presence = presence(after).ok_or_else(error)?;
        let (name, tensor) = match inner.split_once(',') {
            Some((name, _)) => (name, true),
            None => (inner, false),
        };
        return Ok(OperandForm { name, role: Role::Source, presence, shape: Shape::Address { tensor } });
    }
    if let Some(inner) = text.strip_prefix('(') {
        let (name, after) = inner.split_once(')').ok_or_else(error)?;
        let presence = presence(after).ok_or_else(error)?;
        return Ok(OperandForm { name, role: Role::Source, presence, shape: Shape::List });
    }
    if let Some(name) = text.strip_suffix(":function") {
        return Ok(OperandForm { name, role: Role::Source, presence: Presence::Always, shape: Shape::Function });
    }
    let (first, second) = match text.split_once('|') {
        Some((first, second)) => (first, Some(second)),
        None => (text, None),
    };
    let (name, presence, value) = part(first).ok_or_else(error)?;
    let (name, role) = match name.strip_suffix('+') {
        Some(name) => (name, Role::Both),
        None if matches!(name, "d" | "p" | "q") => (name, Role::Result),
        None => (name, Role::Source),
    };
    let shape = match (value, second) {
        (None, None) => Shape::Label,
        (Some(value), None) => Shape::Value(value),
        (Some(value), Some(second)) => {
            let (_, presence, other) = part(second).ok_or_else(error)?;
            Shape::Pair { first: value, second: other.ok_or_else(error)?, optional: presence == Presence::Optional }
        }
        (None, Some(_)) => return Err(error()),
    };
    Ok(OperandForm { name, role, presence, shape })
}

/// What stands between a name and its colon.
fn presence(text: &str) -> Option<Presence> {
    match text {
        "" => Some(Presence::Always),
        "?" => Some(Presence::Optional),
        _ => text.strip_prefix('@').and_then(Modifier::from_name).map(Presence::With),
    }
}

/// `name:type`; no value for a label.
fn part(text: &'static str) -> Option<(&'static str, Presence, Option<ValueForm>)> {
    // A modifier such as `L2::cache_hint` has colons too: the type comes after the last.
    let (head, mut spec) = text.rsplit_once(':')?;
    let (head, literal) = match head.strip_prefix('#') {
        Some(head) => (head, true),
        None => (head, false),
    };
    let end = head.find(['?', '@']).unwrap_or(head.len());
    let (name, presence) = (&head[..end], presence(&head[end..])?);
    if spec == "label" {
        return Some((name, presence, None));
    }
    let mut strip = |suffix: &str| spec.strip_suffix(suffix).inspect(|rest| spec = rest).is_some();
    let sink = strip("_");
    let symbol = strip("&");
    let wider = strip("..");
    let (lanes, ty) = match spec.split_once('*') {
        Some(("n", ty)) => (Lanes::ByShape, ty),
        Some((count, ty)) => (Lanes::Exactly(count.parse().ok()?), ty),
        None => match (spec.strip_prefix('v'), spec.strip_prefix('x')) {
            (Some(ty), _) => (Lanes::ByVector, ty),
            (_, Some(ty)) => (Lanes::ByMatrices, ty),
            _ => (Lanes::Scalar, spec),
        },
    };
    let ty = match ty {
        "T" => TypeOf::Nth(0),
        "U" => TypeOf::Nth(1),
        "V" => TypeOf::Nth(2),
        "W" => TypeOf::Wide,
        _ => TypeOf::Fixed(Type::from_name(ty)?),
    };
    Some((name, presence, Some(ValueForm { ty, lanes, wider, literal, symbol, sink })))
}
