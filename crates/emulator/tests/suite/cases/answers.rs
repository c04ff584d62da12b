//! The file of answers: `WSANSWER`, version, operand sets, number of cases, then of each its name and its answer.
//!
//! Numbers are 32 bits, little-endian; texts and answers have their length before them. An answer holds the results one
//! after the other, each for all sets: predicates as bits, others at their width. Repeated bytes are stored once: see
//! [`pack`].

use std::collections::BTreeMap;

const MAGIC: &[u8; 8] = b"WSANSWER";
const VERSION: u32 = 1;

/// Writes a file.
pub fn write(sets: usize, answers: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    let number = |n: usize| u32::try_from(n).unwrap().to_le_bytes();
    file.extend(VERSION.to_le_bytes());
    file.extend(number(sets));
    file.extend(number(answers.len()));
    for (name, answer) in answers {
        let packed = pack(answer);
        file.extend(number(name.len()));
        file.extend(name.as_bytes());
        file.extend(number(packed.len()));
        file.extend(packed);
    }
    file
}

/// Reads a file; `None` when it is none, of another version, or for another number of sets.
pub fn read(file: &[u8], sets: usize) -> Option<BTreeMap<String, Vec<u8>>> {
    let mut rest = file.strip_prefix(MAGIC)?;
    let mut number = || -> Option<usize> {
        let (n, after) = rest.split_first_chunk()?;
        rest = after;
        Some(u32::from_le_bytes(*n) as usize)
    };
    if number()? != VERSION as usize || number()? != sets {
        return None;
    }
    let count = number()?;
    let mut answers = BTreeMap::new();
    for _ in 0..count {
        let name = String::from_utf8(text(&mut rest)?.to_vec()).ok()?;
        answers.insert(name, unpack(text(&mut rest)?)?);
    }
    rest.is_empty().then_some(answers)
}

fn text<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (n, after) = rest.split_first_chunk()?;
    let (text, after) = after.split_at_checked(u32::from_le_bytes(*n) as usize)?;
    *rest = after;
    Some(text)
}

/// Runs of a byte: n below 128 and n + 1 bytes as they are, or n from 128 on and a byte that comes n - 125 times.
fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut packed = vec![];
    let mut literal = vec![];
    let flush = |literal: &mut Vec<u8>, packed: &mut Vec<u8>| {
        for part in literal.chunks(128) {
            packed.push(part.len() as u8 - 1);
            packed.extend_from_slice(part);
        }
        literal.clear();
    };
    for run in bytes.chunk_by(|a, b| a == b) {
        for part in run.chunks(130) {
            if part.len() < 3 {
                literal.extend_from_slice(part);
            } else {
                flush(&mut literal, &mut packed);
                packed.extend([(part.len() + 125) as u8, part[0]]);
            }
        }
    }
    flush(&mut literal, &mut packed);
    packed
}

fn unpack(mut packed: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = vec![];
    while let Some((&n, rest)) = packed.split_first() {
        if n < 128 {
            let (part, after) = rest.split_at_checked(usize::from(n) + 1)?;
            bytes.extend_from_slice(part);
            packed = after;
        } else {
            let (&byte, after) = rest.split_first()?;
            bytes.extend(std::iter::repeat_n(byte, usize::from(n) - 125));
            packed = after;
        }
    }
    Some(bytes)
}
