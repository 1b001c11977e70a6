//! Copy-on-write view of a file, for read-only inspection.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Bound;
use std::os::unix::fs::FileExt;

use parking_lot::Mutex;
use redb::{BackendError, StorageBackend};

const BLOCK_BYTES: usize = 4096;

/// redb repairs its file on open. During an inspection these writes go to this overlay in memory, and the file
/// stays unchanged.
#[derive(Debug)]
pub(super) struct Overlay {
    file: File,
    changes: Mutex<Changes>,
}

#[derive(Debug)]
struct Changes {
    len: u64,
    /// Length of the file that is still visible; shorter than the file once it was truncated.
    file_len: u64,
    /// Modified blocks, by number.
    blocks: BTreeMap<u64, Vec<u8>>,
}

impl Changes {
    /// True if the range is unmodified, the common case.
    fn is_untouched(&self, offset: u64, length: usize) -> bool {
        let end = offset.saturating_add(length as u64);
        let first = offset / BLOCK_BYTES as u64;
        let behind = end.div_ceil(BLOCK_BYTES as u64);
        end <= self.file_len && self.blocks.range(first..behind).next().is_none()
    }
}

impl Overlay {
    pub(super) fn new(file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        let changes = Mutex::new(Changes {
            len,
            file_len: len,
            blocks: BTreeMap::new(),
        });
        Ok(Self { file, changes })
    }

    fn block(&self, changes: &Changes, number: u64) -> io::Result<Vec<u8>> {
        if let Some(block) = changes.blocks.get(&number) {
            return Ok(block.clone());
        }
        let mut block = vec![0; BLOCK_BYTES];
        let start = number * BLOCK_BYTES as u64;
        let there = changes.file_len.saturating_sub(start);
        let there = usize::try_from(there).map_or(BLOCK_BYTES, |there| there.min(BLOCK_BYTES));
        self.file.read_exact_at(&mut block[..there], start)?;
        Ok(block)
    }
}

/// Blocks touched by `length` bytes from `offset`: block number, offset in the block, offset in the bytes, length.
fn pieces(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, usize, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done as u64;
        let inside = usize::try_from(at % BLOCK_BYTES as u64).expect("a block is small");
        let count = (length - done).min(BLOCK_BYTES - inside);
        let piece = (at / BLOCK_BYTES as u64, inside, done, count);
        done += count;
        (count > 0).then_some(piece)
    })
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.changes.lock().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let changes = self.changes.lock();
        let end = offset.checked_add(out.len() as u64);
        if end.is_none_or(|end| end > changes.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if changes.is_untouched(offset, out.len()) {
            return self.file.read_exact_at(out, offset);
        }
        for (number, inside, done, count) in pieces(offset, out.len()) {
            let block = self.block(&changes, number)?;
            out[done..done + count].copy_from_slice(&block[inside..inside + count]);
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut changes = self.changes.lock();
        if len < changes.len {
            let last = len / BLOCK_BYTES as u64;
            let inside = usize::try_from(len % BLOCK_BYTES as u64).expect("a block is small");
            let mut block = self.block(&changes, last)?;
            block[inside..].fill(0);
            changes.blocks.retain(|number, _| *number < last);
            changes.blocks.insert(last, block);
            changes.file_len = changes.file_len.min(len);
        }
        changes.len = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut changes = self.changes.lock();
        for (number, inside, done, count) in pieces(offset, data.len()) {
            let mut block = self.block(&changes, number)?;
            block[inside..inside + count].copy_from_slice(&data[done..done + count]);
            changes.blocks.insert(number, block);
        }
        changes.len = changes.len.max(offset + data.len() as u64);
        Ok(())
    }

    /// The overlay is private to this process and needs no lock.
    fn try_lock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<bool, BackendError> {
        Ok(true)
    }

    fn try_lock_shared_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<bool, BackendError> {
        Ok(true)
    }

    fn lock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }

    fn lock_shared_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }

    fn unlock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }

    fn query_lock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<bool, BackendError> {
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_and_the_file_stays() {
        let file = tempfile::tempfile().unwrap();
        let before: Vec<u8> = (0..10_000_u32)
            .map(|at| u8::try_from(at % 251).unwrap())
            .collect();
        file.write_all_at(&before, 0).unwrap();
        let overlay = Overlay::new(file.try_clone().unwrap()).unwrap();
        let mut model = before.clone();
        overlay.write(4090, &[7; 20]).unwrap();
        model[4090..4110].fill(7);
        overlay.set_len(9000).unwrap();
        overlay.set_len(12_000).unwrap();
        model.truncate(9000);
        model.resize(12_000, 0);
        overlay.write(11_999, &[9, 9]).unwrap();
        model.truncate(11_999);
        model.extend([9, 9]);
        let mut found = vec![0; model.len()];
        overlay.read(0, &mut found).unwrap();
        for (start, end) in [(0, 4089), (4000, 4200), (8192, 8990), (8192, 9100)] {
            let mut part = vec![0; end - start];
            overlay.read(start as u64, &mut part).unwrap();
            assert_eq!(part, model[start..end], "{start} to {end}");
        }
        assert_eq!((found, overlay.len().unwrap()), (model, 12_001));
        assert!(overlay.read(12_000, &mut [0; 2]).is_err());
        let mut kept = vec![0; before.len()];
        file.read_exact_at(&mut kept, 0).unwrap();
        assert_eq!((kept, file.metadata().unwrap().len()), (before, 10_000));
    }
}
