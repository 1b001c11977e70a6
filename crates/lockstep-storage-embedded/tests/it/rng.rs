//! Seeded random numbers, and temporary directories.

use std::path::Path;

/// A generator whose whole sequence follows from its seed.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Seed of this run: fixed in CI, so that a failure repeats; `cargo xtask crash --seed` sets another one.
    /// Printed with the command that repeats the run.
    pub(crate) fn of_run(test: &str, shard: u64) -> Self {
        let seed = number("LOCKSTEP_CRASH_SEED").unwrap_or(1);
        println!("{test}: repeat with `cargo xtask crash --seed {seed}`");
        Self::new(seed.wrapping_mul(0x1_0000_0001).wrapping_add(shard))
    }

    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end.max(1)).unwrap();
        usize::try_from(self.roll() % end).unwrap()
    }

    pub(crate) fn coin(&mut self) -> bool {
        self.roll() & 1 == 1
    }
}

/// Rounds of a test: `usual` in CI, multiplied by `--rounds` of `cargo xtask crash`.
pub(crate) fn rounds(usual: usize) -> usize {
    let times = number("LOCKSTEP_CRASH_TIMES").unwrap_or(1);
    usual * usize::try_from(times).unwrap()
}

/// A directory on tmpfs if available, for tests that simulate the disk and need no real fsync.
pub(crate) fn fast_folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        return tempfile::tempdir_in(memory).unwrap();
    }
    tempfile::tempdir().unwrap()
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("`{variable}={text}` is not a number")),
    )
}
