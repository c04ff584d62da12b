//! An entry as bytes: a magic word, the key, the log, the code, and a checksum over all of it.

use super::key::Key;

/// Machine code, and what the assembler said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// An ELF file.
    pub cubin: Vec<u8>,
    /// The assembler's verbose log.
    pub log: String,
}

/// Why bytes are no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Damaged {
    #[error("the entry was cut off; the kernel is assembled anew")]
    Short,
    #[error("this is no entry of this version, or another key's; the kernel is assembled anew")]
    Foreign,
    #[error("the entry's checksum is wrong; the kernel is assembled anew")]
    Checksum,
}

const MAGIC: &[u8; 8] = b"WSCODE\x00\x01";
/// Magic word, key, length of the log.
const HEAD: usize = 8 + 32 + 8;
const CHECKSUM: usize = 32;

impl Code {
    pub(crate) fn to_bytes(&self, key: &Key) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD + self.log.len() + self.cubin.len() + CHECKSUM);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&key.0);
        bytes.extend_from_slice(&(self.log.len() as u64).to_le_bytes());
        bytes.extend_from_slice(self.log.as_bytes());
        bytes.extend_from_slice(&self.cubin);
        let checksum = blake3::hash(&bytes);
        bytes.extend_from_slice(checksum.as_bytes());
        bytes
    }

    pub(crate) fn from_bytes(key: &Key, bytes: &[u8]) -> Result<Code, Damaged> {
        if bytes.len() < HEAD + CHECKSUM {
            return Err(Damaged::Short);
        }
        let (body, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
        if body[..8] != *MAGIC || body[8..40] != key.0 {
            return Err(Damaged::Foreign);
        }
        if blake3::hash(body).as_bytes() != checksum {
            return Err(Damaged::Checksum);
        }
        let mut length = [0; 8];
        length.copy_from_slice(&body[40..HEAD]);
        let rest = &body[HEAD..];
        let length = usize::try_from(u64::from_le_bytes(length)).unwrap_or(usize::MAX);
        let (log, cubin) = rest.split_at_checked(length).ok_or(Damaged::Short)?;
        Ok(Code { cubin: cubin.into(), log: String::from_utf8_lossy(log).into_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_damage_is_seen() {
        let (key, code) = (Key([7; 32]), Code { cubin: vec![1, 2, 3, 4], log: "info".into() });
        let bytes = code.to_bytes(&key);
        assert_eq!(Code::from_bytes(&key, &bytes), Ok(code));
        assert_eq!(Code::from_bytes(&Key([8; 32]), &bytes), Err(Damaged::Foreign));
        for n in 0..bytes.len() {
            assert!(Code::from_bytes(&key, &bytes[..n]).is_err(), "{n} bytes");
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[n] ^= 1 << bit;
                assert!(Code::from_bytes(&key, &flipped).is_err(), "bit {bit} of byte {n}");
            }
        }
    }
}
