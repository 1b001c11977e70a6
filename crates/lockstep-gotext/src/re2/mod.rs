//! Regular expressions in Go's RE2 syntax, run in linear time.
//!
//! Rust's pattern language looks like Go's and differs in dozens of corners (Unicode `\d`, set operations inside
//! brackets, verbose mode). So the text is read by a parser of our own, which speaks Go's grammar and reports Go's
//! errors, and only the resulting expression tree is handed to the `regex` engine.
//!
//! Captures are accepted and checked but not recorded: nothing in CEL can observe them.

mod class;
mod error;
mod escape;
mod group;
mod parser;
mod repeat;

pub use error::{PatternError, PatternFault};

use regex_automata::meta;

/// Longest pattern that is compiled, in bytes; Go has no such bound, but a longer one could not pay its cost either.
pub const PATTERN_BYTES_MAX: usize = 32 * 1024;
/// Most ranges of characters in all classes of a pattern together; `\pL` alone has some 650.
pub const CLASS_RANGES_MAX: usize = 100_000;
/// Largest compiled program, in bytes. Counted repetition multiplies a pattern's size, this bounds the product: a
/// Unicode class repeated as often as a DNS name is long still fits.
pub const PROGRAM_BYTES_MAX: usize = 24 * 1024 * 1024;
/// Largest compiled program of a pattern that is only known at run time, where each evaluation pays for compiling.
pub const RUN_TIME_PROGRAM_BYTES_MAX: usize = 1024 * 1024;
/// Largest repeat count, alone or as the product of nested counts, as in Go.
pub const REPEAT_MAX: u32 = 1000;
/// Deepest expression tree; plain parentheses do not count. Go stops at 1000, but the engine's compiler recurses, and
/// a pattern must not be able to exhaust the stack of the thread that serves it.
pub const NESTING_MAX: u32 = 100;

/// A compiled pattern. Matching is unanchored, leftmost-first, and linear in the text.
#[derive(Clone, Debug)]
pub struct Pattern {
    program: meta::Regex,
}

impl Pattern {
    /// Compiles `pattern`, refusing what Go refuses with Go's message, and what exceeds a limit of this module.
    pub fn compile(pattern: &str) -> Result<Self, PatternError> {
        let config = meta::Config::new().nfa_size_limit(Some(PROGRAM_BYTES_MAX));
        Self::compile_with(pattern, config)
    }

    /// As [`compile`](Self::compile), for a pattern that is used once: within [`RUN_TIME_PROGRAM_BYTES_MAX`], and
    /// without preparations that only pay off over many texts.
    pub fn compile_at_run_time(pattern: &str) -> Result<Self, PatternError> {
        let config = meta::Config::new()
            .nfa_size_limit(Some(RUN_TIME_PROGRAM_BYTES_MAX))
            .onepass(false)
            .auto_prefilter(false);
        Self::compile_with(pattern, config)
    }

    fn compile_with(pattern: &str, config: meta::Config) -> Result<Self, PatternError> {
        let expression = parser::parse(pattern)?;
        meta::Builder::new()
            .configure(config)
            .build_from_hir(&expression)
            .map(|program| Self { program })
            .map_err(|_| PatternError::new(PatternFault::TooLarge, pattern))
    }

    /// True if the pattern matches anywhere in `text`.
    pub fn is_match(&self, text: &str) -> bool {
        self.program.is_match(text)
    }

    /// The leftmost match, or `None`. CEL's `find` writes `None` as the empty string.
    pub fn find<'t>(&self, text: &'t str) -> Option<&'t str> {
        self.program.find(text).map(|found| &text[found.range()])
    }

    /// Successive non-overlapping matches: all of them when `limit` is negative, else at most `limit`.
    ///
    /// An empty match right after the previous match is skipped, as in Go.
    pub fn find_all<'t>(&self, text: &'t str, limit: i64) -> Vec<&'t str> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        self.program
            .find_iter(text)
            .take(limit)
            .map(|found| &text[found.range()])
            .collect()
    }
}
