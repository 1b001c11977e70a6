//! A simulated disk: what was written is readable at once, and safe only after a sync.
//!
//! When the power goes, each unsynced write is lost, torn or kept by itself, so writes are reordered too; so is each
//! unsynced change of a name.

use std::collections::BTreeMap;

use bytes::Bytes;
use lockstep_raftstore::FileOp;
use lockstep_storage::contract::histories::Rng;

/// Files of one member.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    files: BTreeMap<u64, File>,
    last_file: u64,
    names: BTreeMap<String, u64>,
    safe_names: BTreeMap<String, u64>,
    unsafe_names: Vec<NameChange>,
}

#[derive(Clone, Debug, Default)]
struct File {
    safe: Vec<u8>,
    unsafe_writes: Vec<(usize, Bytes)>,
}

#[derive(Clone, Debug)]
enum NameChange {
    Create(String, u64),
    Rename(String, String),
    Remove(String),
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, u64>) {
        match self {
            Self::Create(name, file) => {
                names.insert(name.clone(), *file);
            }
            Self::Rename(from, to) => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
            Self::Remove(name) => {
                names.remove(name);
            }
        }
    }
}

impl File {
    fn content(&self) -> Vec<u8> {
        let mut content = self.safe.clone();
        for (offset, bytes) in &self.unsafe_writes {
            write(&mut content, *offset, bytes);
        }
        content
    }
}

fn write(content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[offset..end].copy_from_slice(bytes);
}

impl Disk {
    pub(crate) fn perform(&mut self, op: &FileOp) {
        match op {
            FileOp::Create { name } => {
                self.last_file += 1;
                self.files.insert(self.last_file, File::default());
                self.change(NameChange::Create(name.clone(), self.last_file));
            }
            FileOp::Write {
                name,
                offset,
                bytes,
            } => {
                let offset = usize::try_from(*offset).expect("files are small");
                let file = self.file(name);
                file.unsafe_writes.push((offset, bytes.clone()));
            }
            FileOp::Sync { name } => {
                let file = self.file(name);
                file.safe = file.content();
                file.unsafe_writes.clear();
            }
            FileOp::Rename { from, to } => {
                self.change(NameChange::Rename(from.clone(), to.clone()));
            }
            FileOp::Remove { name } => self.change(NameChange::Remove(name.clone())),
            FileOp::SyncNames => {
                self.safe_names = self.names.clone();
                self.unsafe_names.clear();
                let used: Vec<_> = self.names.values().copied().collect();
                self.files.retain(|file, _| used.contains(file));
            }
        }
    }

    fn change(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.unsafe_names.push(change);
    }

    fn file(&mut self, name: &str) -> &mut File {
        let file = self.names.get(name).copied();
        let file = file.and_then(|file| self.files.get_mut(&file));
        file.unwrap_or_else(|| panic!("`{name}` is written and does not exist"))
    }

    /// Content of a file.
    pub(crate) fn read(&self, name: &str) -> Option<Bytes> {
        let file = self.files.get(self.names.get(name)?)?;
        Some(file.content().into())
    }

    /// All files, as a process finds them at its start.
    pub(crate) fn read_all(&self) -> BTreeMap<String, Bytes> {
        let names = self.names.keys();
        let read = names.filter_map(|name| Some((name.clone(), self.read(name)?)));
        read.collect()
    }

    /// Takes the power away.
    pub(crate) fn lose_power(&mut self, rng: &mut Rng) {
        let mut names = std::mem::take(&mut self.safe_names);
        for change in self.unsafe_names.drain(..) {
            if rng.one_in(2) {
                change.apply(&mut names);
            }
        }
        self.names.clone_from(&names);
        self.safe_names = names;
        for file in self.files.values_mut() {
            for (offset, bytes) in std::mem::take(&mut file.unsafe_writes) {
                let kept = match rng.below(4) {
                    0 => 0,
                    1 => bytes.len(),
                    2 => usize::try_from(rng.below(bytes.len() as u64 + 1)).unwrap_or_default(),
                    // Whole sectors only.
                    _ => bytes.len() / 512 * 512,
                };
                write(&mut file.safe, offset, &bytes[..kept]);
            }
        }
    }
}
