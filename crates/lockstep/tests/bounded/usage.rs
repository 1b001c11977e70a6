//! Resources that a server uses.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use lockstep_testkit::machine::anonymous_mebibytes;

/// Resources of a server at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// Memory without a file behind it, in MiB.
    pub(crate) memory: f64,
    /// Allocated blocks of all files of the server and its etcd, in MiB, without the write-ahead log of etcd: up to five
    /// files of 64 MB (`--max-wals`), however much is compacted.
    pub(crate) disk: f64,
    /// Open file descriptors.
    pub(crate) descriptors: usize,
    /// Threads.
    pub(crate) threads: usize,
}

impl Usage {
    pub(crate) fn of(process: u32, data: &Path) -> Self {
        let entries = |what| {
            fs::read_dir(format!("/proc/{process}/{what}"))
                .unwrap()
                .count()
        };
        Self {
            memory: Self::memory_of(process),
            disk: mebibytes_of(data),
            descriptors: entries("fd"),
            threads: entries("task"),
        }
    }

    /// Memory of a process without a file behind it, in MiB.
    pub(crate) fn memory_of(process: u32) -> f64 {
        anonymous_mebibytes(process).unwrap()
    }

    pub(crate) fn row(&self, name: &str) -> String {
        let Self {
            memory,
            disk,
            descriptors,
            threads,
        } = self;
        format!("{name:<24} {memory:>8.1} MiB {disk:>8.1} MiB {descriptors:>6} {threads:>6}")
    }
}

pub(crate) fn heading() -> String {
    format!(
        "{:<24} {:>12} {:>12} {:>6} {:>6}",
        "", "memory", "disk", "files", "threads"
    )
}

/// Folder of etcd's write-ahead log.
const ETCD_LOG: &str = "member/wal";

/// Allocated blocks of a folder's files, in MiB. Files that vanish meanwhile count nothing.
fn mebibytes_of(folder: &Path) -> f64 {
    const BLOCK_MEBIBYTES: f64 = 512.0 / 1_048_576.0;
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() && entry.path().ends_with(ETCD_LOG) => 0.0,
        Ok(metadata) if metadata.is_dir() => mebibytes_of(&entry.path()),
        Ok(metadata) => {
            f64::from(u32::try_from(metadata.blocks()).unwrap_or(u32::MAX)) * BLOCK_MEBIBYTES
        }
        Err(_) => 0.0,
    });
    sizes.sum()
}
