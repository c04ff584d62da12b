//! A bundle as bytes: a magic word, the index with its checksum, then entries as the cache has them.

use crate::cache::Key;
use std::ops::Range;
use warpsmith_types::Target;

/// What an entry holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Machine code.
    MachineCode,
    /// PTX, which the driver assembles where it is loaded: there was no `ptxas` where the bundle was made.
    Ptx,
}

/// An entry of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// What it is found by.
    pub key: Key,
    /// The kernel's name in its PTX.
    pub kernel: String,
    /// What it is for.
    pub target: Target,
    /// What it holds.
    pub form: Form,
    /// Where it lies in the file.
    pub offset: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

impl Content {
    pub(super) fn range(&self) -> Range<usize> {
        let at = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        at(self.offset)..at(self.offset.saturating_add(self.bytes))
    }
}

/// Why bytes are no bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damaged {
    /// The magic word or the version is another.
    #[error("this is no bundle of this version")]
    Foreign,
    /// The index is not whole.
    #[error("its index is damaged")]
    Index,
    /// The file ends before its last entry does.
    #[error("it was cut off")]
    Short,
}

const MAGIC: &[u8; 8] = b"WSBUNDL\x01";
const CHECKSUM: usize = 32;

/// What lies where.
#[derive(Debug)]
pub(super) struct Index {
    contents: Vec<Content>,
}

impl Index {
    /// In the order of their keys.
    pub(super) fn contents(&self) -> &[Content] {
        &self.contents
    }

    pub(super) fn find(&self, key: &Key) -> Option<&Content> {
        self.contents.binary_search_by_key(key, |c| c.key).ok().map(|i| &self.contents[i])
    }

    /// Reads the head of a file, and sees that all of it is there.
    pub(super) fn read(bytes: &[u8]) -> Result<Index, Damaged> {
        let Some((magic, rest)) = bytes.split_first_chunk::<8>() else { return Err(Damaged::Foreign) };
        if magic != MAGIC {
            return Err(Damaged::Foreign);
        }
        let (length, rest) = rest.split_first_chunk::<8>().ok_or(Damaged::Short)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let (index, rest) = rest.split_at_checked(length).ok_or(Damaged::Short)?;
        let checksum = rest.get(..CHECKSUM).ok_or(Damaged::Short)?;
        if blake3::hash(index).as_bytes() != checksum {
            return Err(Damaged::Index);
        }
        let mut reader = Reader(index);
        let mut contents = vec![];
        while !reader.0.is_empty() {
            contents.push(reader.content().ok_or(Damaged::Index)?);
        }
        if !contents.is_sorted_by_key(|c| c.key) {
            return Err(Damaged::Index);
        }
        if contents.iter().any(|c| c.range().end > bytes.len()) {
            return Err(Damaged::Short);
        }
        Ok(Index { contents })
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn text(&mut self) -> Option<String> {
        let length = u32::from_le_bytes(self.take()?) as usize;
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(head.into()).ok()
    }

    fn content(&mut self) -> Option<Content> {
        let key = Key(self.take()?);
        let form = match self.take()? {
            [0] => Form::MachineCode,
            [1] => Form::Ptx,
            _ => return None,
        };
        let target = self.text()?.parse().ok()?;
        let kernel = self.text()?;
        let [offset, bytes] = [self.take()?, self.take()?].map(u64::from_le_bytes);
        Some(Content { key, kernel, target, form, offset, bytes })
    }
}

/// An entry to be written.
pub(super) struct Entry {
    pub(super) key: Key,
    pub(super) kernel: String,
    pub(super) target: Target,
    pub(super) form: Form,
    /// As the cache writes it.
    pub(super) bytes: Vec<u8>,
}

/// The whole file. The same entries in any order give the same bytes.
pub(super) fn write(mut entries: Vec<Entry>) -> Vec<u8> {
    entries.sort_by_key(|e| e.key);
    entries.dedup_by_key(|e| e.key);
    let of = |e: &Entry| 32 + 1 + 4 + e.target.to_string().len() + 4 + e.kernel.len() + 16;
    let length: usize = entries.iter().map(of).sum();
    let mut at = (MAGIC.len() + 8 + length + CHECKSUM) as u64;
    let mut index = Vec::with_capacity(length);
    for e in &entries {
        index.extend_from_slice(&e.key.0);
        index.push(u8::from(e.form == Form::Ptx));
        for text in [&e.target.to_string(), &e.kernel] {
            index.extend_from_slice(&(text.len() as u32).to_le_bytes());
            index.extend_from_slice(text.as_bytes());
        }
        index.extend_from_slice(&at.to_le_bytes());
        index.extend_from_slice(&(e.bytes.len() as u64).to_le_bytes());
        at += e.bytes.len() as u64;
    }
    let mut file = MAGIC.to_vec();
    file.extend_from_slice(&(index.len() as u64).to_le_bytes());
    file.extend_from_slice(&index);
    file.extend_from_slice(blake3::hash(&index).as_bytes());
    entries.iter().for_each(|e| file.extend_from_slice(&e.bytes));
    file
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Code;

    fn entry(n: u8, form: Form) -> Entry {
        let key = Key([n; 32]);
        let code = Code { cubin: vec![n; 5 + usize::from(n)], log: format!("log {n}") };
        Entry { key, kernel: format!("kernel_{n}"), target: Target::SM_90A, form, bytes: code.to_bytes(&key) }
    }

    #[test]
    fn what_is_written_is_read_and_damage_is_seen() {
        let file = write(vec![entry(2, Form::Ptx), entry(1, Form::MachineCode), entry(2, Form::Ptx)]);
        assert_eq!(file, write(vec![entry(1, Form::MachineCode), entry(2, Form::Ptx)]));
        let index = Index::read(&file).unwrap();
        let [one, two] = index.contents() else { panic!("{index:?}") };
        assert_eq!((one.kernel.as_str(), one.form, two.form), ("kernel_1", Form::MachineCode, Form::Ptx));
        assert_eq!(Code::from_bytes(&one.key, &file[one.range()]).unwrap().cubin, [1; 6]);
        assert_eq!(Code::from_bytes(&two.key, &file[two.range()]).unwrap().log, "log 2");
        for n in 0..file.len() {
            assert!(Index::read(&file[..n]).is_err(), "{n} bytes");
        }
        let head = one.offset as usize;
        for n in 0..file.len() {
            let mut flipped = file.clone();
            flipped[n] ^= 4;
            // Behind the head, the entries' own checksums see it.
            let whole = Index::read(&flipped)
                .is_ok_and(|i| i.contents().iter().all(|c| Code::from_bytes(&c.key, &flipped[c.range()]).is_ok()));
            assert!(!whole, "byte {n}, head of {head}");
        }
    }
}
