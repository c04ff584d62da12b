//! What machine code depends on.

use std::fmt;
use warpsmith_types::Target;

/// Raised when what is hashed, or how an entry is written, changes.
const VERSION: u32 = 1;

/// The hash of all that an entry depends on: PTX, kernel, target, options, the assembler's identity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub(crate) [u8; 32]);

impl Key {
    /// Of PTX for a target. `assembler` is its name and release; `options` all that changes its code. Without `lines`,
    /// the PTX's lines of source do not count, and a comment in the source does not assemble a kernel anew.
    pub fn new(ptx: &str, entry: &str, target: Target, assembler: &str, options: &str, lines: bool) -> Key {
        let mut hasher = blake3::Hasher::new();
        let mut part = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        part(&VERSION.to_le_bytes());
        [entry, &target.to_string(), assembler, options].iter().for_each(|text| part(text.as_bytes()));
        part(&[u8::from(lines)]);
        if lines {
            part(ptx.as_bytes());
        } else {
            without_lines(ptx).for_each(|line| part(line.as_bytes()));
        }
        Key(*hasher.finalize().as_bytes())
    }
}

/// The lines of PTX that become code: all but those that say where it came from.
pub fn without_lines(ptx: &str) -> impl Iterator<Item = &str> {
    let mut section = false;
    ptx.lines().filter(move |line| {
        let word = line.trim_start();
        if word.starts_with(".section") {
            section = true;
        }
        let inside = section;
        if section && word.starts_with('}') {
            section = false;
        }
        !(inside || word.starts_with(".loc") || word.starts_with(".file") || word.is_empty())
    })
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = ".version 8.0\n.target sm_90a\n.file 1 \"a.rs\"\n.entry k()\n{\n\t.loc 1 3 4\n\tret;\n}\n.section \
                       .debug_str\n{\n\t.b8 97\n}\n";

    #[test]
    fn lines_count_only_where_they_are_asked_for() {
        assert_eq!(
            without_lines(PTX).collect::<Vec<_>>().join(" ").split_whitespace().collect::<Vec<_>>().join(" "),
            ".version 8.0 .target sm_90a .entry k() { ret; }"
        );
        let moved = PTX.replace(".loc 1 3 4", ".loc 1 5 4").replace("97", "98");
        let key = |ptx: &str, lines| Key::new(ptx, "k", Target::SM_90A, "ptxas 13", "", lines);
        assert_eq!(key(PTX, false), key(&moved, false));
        assert_ne!(key(PTX, true), key(&moved, true));
        assert_ne!(key(PTX, false), key(PTX, true));
    }

    #[test]
    fn all_else_counts() {
        let key = |ptx: &str, entry: &str, target, assembler: &str, options: &str| {
            Key::new(ptx, entry, target, assembler, options, false)
        };
        let all = [
            key(PTX, "k", Target::SM_90A, "ptxas 13", ""),
            key(&PTX.replace("ret", "exit"), "k", Target::SM_90A, "ptxas 13", ""),
            key(PTX, "l", Target::SM_90A, "ptxas 13", ""),
            key(PTX, "k", Target::SM_80, "ptxas 13", ""),
            key(PTX, "k", Target::SM_90A, "ptxas 12", ""),
            key(PTX, "k", Target::SM_90A, "ptxas 1", "3"),
        ];
        for (i, a) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|b| a != b), "{i}");
        }
        assert_eq!(all[0].to_string().len(), 64);
    }
}
