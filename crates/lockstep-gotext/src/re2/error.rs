//! Why a pattern was refused, in Go's words.

use std::fmt;

/// A refused pattern: what is wrong, and the part of the pattern that shows it.
///
/// Prints exactly as Go does, so that messages stored in policies and tests keep their meaning:
/// ``error parsing regexp: missing closing ): `(` ``.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("error parsing regexp: {fault}: `{fragment}`")]
pub struct PatternError {
    /// Kind of syntax error.
    pub fault: PatternFault,
    /// The offending part of the pattern; the whole pattern when no smaller part is to blame.
    pub fragment: String,
}

impl PatternError {
    pub(super) fn new(fault: PatternFault, fragment: &str) -> Self {
        Self {
            fault,
            fragment: fragment.to_owned(),
        }
    }
}

/// The kinds of fault Go distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternFault {
    /// A range that runs backwards, or an unknown class name.
    InvalidCharRange,
    /// An escape RE2 does not have, among them backreferences.
    InvalidEscape,
    /// A group name that is missing, unterminated, or not made of word characters.
    InvalidNamedCapture,
    /// Perl syntax RE2 does not have: lookaround, verbose mode, unknown flags.
    InvalidPerlOp,
    /// A repetition operator directly after another one.
    InvalidRepeatOp,
    /// A repeat count above [`REPEAT_MAX`](super::REPEAT_MAX), or a minimum above the maximum.
    InvalidRepeatSize,
    /// `[` without its `]`.
    MissingBracket,
    /// `(` without its `)`.
    MissingParen,
    /// A repetition operator with nothing before it.
    MissingRepeatArgument,
    /// A `\` that ends the pattern.
    TrailingBackslash,
    /// `)` without its `(`.
    UnexpectedParen,
    /// Deeper than [`NESTING_MAX`](super::NESTING_MAX).
    NestingDepth,
    /// Beyond [`PATTERN_BYTES_MAX`](super::PATTERN_BYTES_MAX) or [`PROGRAM_BYTES_MAX`](super::PROGRAM_BYTES_MAX).
    TooLarge,
}

impl fmt::Display for PatternFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::InvalidCharRange => "invalid character class range",
            Self::InvalidEscape => "invalid escape sequence",
            Self::InvalidNamedCapture => "invalid named capture",
            Self::InvalidPerlOp => "invalid or unsupported Perl syntax",
            Self::InvalidRepeatOp => "invalid nested repetition operator",
            Self::InvalidRepeatSize => "invalid repeat count",
            Self::MissingBracket => "missing closing ]",
            Self::MissingParen => "missing closing )",
            Self::MissingRepeatArgument => "missing argument to repetition operator",
            Self::TrailingBackslash => "trailing backslash at end of expression",
            Self::UnexpectedParen => "unexpected )",
            Self::NestingDepth => "expression nests too deeply",
            Self::TooLarge => "expression too large",
        })
    }
}
