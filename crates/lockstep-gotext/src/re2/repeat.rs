//! Repetition operators: `*`, `+`, `?`, and counts in braces.

use regex_syntax::hir::{Hir, Repetition};

use super::REPEAT_MAX;
use super::error::{PatternError, PatternFault};
use super::parser::Node;

/// A repetition operator as written, with its optional `?`.
pub(super) struct Operator<'p> {
    min: u32,
    max: Option<u32>,
    lazy: bool,
    /// The pattern after the operator.
    pub(super) rest: &'p str,
}

impl<'p> Operator<'p> {
    /// Reads the operator at the start of `text`. `None` when there is none, which includes a brace that does not
    /// hold a well-formed count: such a brace is a literal.
    pub(super) fn read(text: &'p str) -> Result<Option<Self>, PatternError> {
        let (min, max, rest) = match text.as_bytes().first() {
            Some(b'*') => (0, None, &text[1..]),
            Some(b'+') => (1, None, &text[1..]),
            Some(b'?') => (0, Some(1), &text[1..]),
            Some(b'{') => match read_count(text) {
                Some(count) => count,
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        let too_large = min > REPEAT_MAX || max.is_some_and(|max| max > REPEAT_MAX || min > max);
        if too_large {
            let fault = PatternFault::InvalidRepeatSize;
            return Err(PatternError::new(fault, consumed(text, rest)));
        }
        let (lazy, rest) = match rest.strip_prefix('?') {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        Ok(Some(Self {
            min,
            max,
            lazy,
            rest,
        }))
    }

    /// Repeats `argument`; `text` is the operator as written, for the error.
    pub(super) fn apply(
        &self,
        argument: Node,
        swap_greed: bool,
        text: &str,
    ) -> Result<Node, PatternError> {
        let repeats = match self.max.unwrap_or(self.min) {
            0 if self.max.is_some() => 1,
            0 | 1 => argument.repeats,
            many => argument.repeats.saturating_mul(many),
        };
        if repeats > REPEAT_MAX {
            let fault = PatternFault::InvalidRepeatSize;
            return Err(PatternError::new(fault, text));
        }
        let hir = Hir::repetition(Repetition {
            min: self.min,
            max: self.max,
            greedy: self.lazy == swap_greed,
            sub: Box::new(argument.hir),
        });
        Ok(Node {
            hir,
            height: argument.height + 1,
            repeats,
        })
    }
}

/// The part of `before` that was read when `rest` is left.
pub(super) fn consumed<'p>(before: &'p str, rest: &str) -> &'p str {
    &before[..before.len() - rest.len()]
}

/// `{n}`, `{n,}` or `{n,m}`, without leading zeros.
fn read_count(text: &str) -> Option<(u32, Option<u32>, &str)> {
    let (min, rest) = read_number(&text[1..])?;
    if let Some(rest) = rest.strip_prefix('}') {
        return Some((min, Some(min), rest));
    }
    let rest = rest.strip_prefix(',')?;
    if let Some(rest) = rest.strip_prefix('}') {
        return Some((min, None, rest));
    }
    let (max, rest) = read_number(rest)?;
    Some((min, Some(max), rest.strip_prefix('}')?))
}

/// A decimal number without leading zeros; one too large for its type reads as the largest.
fn read_number(text: &str) -> Option<(u32, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(length);
    if digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    Some((digits.parse().unwrap_or(u32::MAX), rest))
}
