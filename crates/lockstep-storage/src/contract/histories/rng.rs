//! Deterministic random numbers.

/// A generator whose whole sequence follows from its seed.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A generator with an independent sequence.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self(self.next_u64())
    }

    /// Any number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next_u64() % end.max(1)
    }

    /// True with probability 1 in `times`.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// Seeds of a test run: `usual` consecutive seeds from a fixed one in CI, so that a failure repeats. `cargo xtask
/// histories` runs more and other seeds, and prints the first.
pub fn seeds(test: &str, usual: u64) -> impl Iterator<Item = u64> {
    let number = |variable: &str| {
        let given = std::env::var(variable).ok()?;
        let number = given.parse();
        Some(number.unwrap_or_else(|_| panic!("`{variable}={given}` is not a number")))
    };
    let first: u64 = number("LOCKSTEP_HISTORY_SEED").unwrap_or(1);
    let times: u64 = number("LOCKSTEP_HISTORY_TIMES").unwrap_or(1);
    #[expect(
        clippy::print_stdout,
        reason = "a seed is shown to the person who repeats the run"
    )]
    {
        println!("{test}: repeat with `cargo xtask histories --seed {first}`");
    }
    (0..usual * times).map(move |nth| first.wrapping_mul(1_000_003).wrapping_add(nth))
}
