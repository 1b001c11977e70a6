//! Cluster and member ids, persisted in the data directory.
//!
//! ```text
//! magic       8 bytes   "locksmbr"
//! format      u32       1
//! reserved    u32       0
//! cluster id  u64
//! member id   u64
//! checksum    u32       CRC-32C of all bytes before
//! ```
//!
//! Numbers are little-endian.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

const MAGIC: &[u8; 8] = b"locksmbr";
const FORMAT: u32 = 1;
const BODY_BYTES: usize = 32;
const FILE: &str = "member";

/// Ids of a cluster and its member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Identity {
    pub(crate) cluster_id: u64,
    pub(crate) member_id: u64,
}

impl Identity {
    /// Derives the ids of a new cluster from peer URLs and token, so that members agree without communication.
    pub(crate) fn decide(peer_urls: &[String], token: &str) -> Self {
        let mut urls = peer_urls.to_vec();
        urls.sort();
        let member_id = digest(&[urls.join(",").as_bytes(), token.as_bytes()]);
        let cluster_id = digest(&[&member_id.to_be_bytes()]);
        Self {
            cluster_id,
            member_id,
        }
    }

    /// Reads the ids of a directory, or persists `fresh` if it has none.
    pub(crate) fn keep(folder: &Path, fresh: Self) -> io::Result<Self> {
        let path = folder.join(FILE);
        match fs::read(&path) {
            Ok(bytes) => Self::decode(&bytes).map_err(|what| {
                let what = format!("`{}` is damaged: {what}", path.display());
                io::Error::new(io::ErrorKind::InvalidData, what)
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fresh.write(folder, &path)?;
                Ok(fresh)
            }
            Err(error) => Err(error),
        }
    }

    fn write(self, folder: &Path, path: &Path) -> io::Result<()> {
        let draft = folder.join("member.new");
        let mut file = File::create(&draft)?;
        file.write_all(&self.encode())?;
        file.sync_all()?;
        fs::rename(draft, path)?;
        File::open(folder)?.sync_all()
    }

    fn encode(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BODY_BYTES + 4);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&FORMAT.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&self.cluster_id.to_le_bytes());
        bytes.extend_from_slice(&self.member_id.to_le_bytes());
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Self, String> {
        let (body, checksum) = bytes.split_last_chunk().ok_or("it is cut short")?;
        if !body.starts_with(MAGIC) || body.len() != BODY_BYTES {
            return Err("it is not a member's file".to_owned());
        }
        if u32::from_le_bytes(*checksum) != crc32c::crc32c(body) {
            return Err("its checksum does not match".to_owned());
        }
        let word = |at: usize| {
            body[at..]
                .first_chunk()
                .map(|word| u64::from_le_bytes(*word))
        };
        let format = word(8).unwrap_or_default();
        if format != u64::from(FORMAT) {
            return Err(format!("format {format} is unknown"));
        }
        match (word(16), word(24)) {
            (Some(cluster_id), Some(member_id)) => Ok(Self {
                cluster_id,
                member_id,
            }),
            _ => Err("it is cut short".to_owned()),
        }
    }
}

fn digest(parts: &[&[u8]]) -> u64 {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
        hasher.update([0]);
    }
    let digest = hasher.finalize();
    digest
        .iter()
        .take(8)
        .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(urls: &[&str]) -> Vec<String> {
        urls.iter().map(|url| (*url).to_owned()).collect()
    }

    #[test]
    fn ids_depend_on_peer_urls_and_token_and_not_on_their_order() {
        let one = Identity::decide(&urls(&["http://a:1", "http://b:2"]), "t");
        let same = Identity::decide(&urls(&["http://b:2", "http://a:1"]), "t");
        assert_eq!(one, same);
        assert_ne!(one, Identity::decide(&urls(&["http://a:1"]), "t"));
        assert_ne!(
            one,
            Identity::decide(&urls(&["http://a:1", "http://b:2"]), "u")
        );
    }

    #[test]
    fn a_directory_keeps_its_ids_whatever_the_flags_say_later() {
        let folder = tempfile::tempdir().unwrap();
        let first = Identity::decide(&urls(&["http://a:1"]), "t");
        let later = Identity::decide(&urls(&["http://a:2"]), "t");
        assert_eq!(Identity::keep(folder.path(), first).unwrap(), first);
        assert_eq!(Identity::keep(folder.path(), later).unwrap(), first);
    }

    #[test]
    fn no_flipped_bit_goes_unnoticed() {
        let identity = Identity::decide(&urls(&["http://a:1"]), "t");
        let bytes = identity.encode();
        assert_eq!(Identity::decode(&bytes), Ok(identity));
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert!(Identity::decode(&flipped).is_err(), "byte {at}");
            assert!(Identity::decode(&bytes[..at]).is_err(), "cut at {at}");
        }
    }
}
