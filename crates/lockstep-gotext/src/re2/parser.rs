//! Reads a whole pattern into an expression tree, with an explicit stack instead of recursion.

use regex_syntax::hir::{Class, ClassUnicode, Dot, Hir, Look};

use super::class;
use super::error::{PatternError, PatternFault};
use super::escape;
use super::group::{self, Flags, Opening};
use super::repeat::{self, Operator};
use super::{CLASS_RANGES_MAX, NESTING_MAX, PATTERN_BYTES_MAX};

/// A piece of the tree with the two measures Go limits.
pub(super) struct Node {
    pub(super) hir: Hir,
    /// Height of the tree below and including this node.
    pub(super) height: u32,
    /// Largest product of counted repetitions along any path below this node.
    pub(super) repeats: u32,
}

impl Node {
    fn leaf(hir: Hir) -> Self {
        Self {
            hir,
            height: 1,
            repeats: 1,
        }
    }

    fn join(mut parts: Vec<Self>, combine: fn(Vec<Hir>) -> Hir) -> Self {
        if parts.len() == 1
            && let Some(only) = parts.pop()
        {
            return only;
        }
        let height = parts.iter().map(|part| part.height).max().unwrap_or(0);
        let repeats = parts.iter().map(|part| part.repeats).max().unwrap_or(1);
        let hirs = parts.into_iter().map(|part| part.hir).collect();
        Self {
            hir: combine(hirs),
            height: height + 1,
            repeats,
        }
    }
}

/// An open group: the alternatives finished so far, and the sequence being read.
struct Frame {
    alternatives: Vec<Node>,
    sequence: Vec<Node>,
    /// Flags to return to when the group closes.
    flags_outside: Flags,
}

impl Frame {
    fn new(flags_outside: Flags) -> Self {
        Self {
            alternatives: Vec::new(),
            sequence: Vec::new(),
            flags_outside,
        }
    }

    fn end_alternative(&mut self) {
        let sequence = std::mem::take(&mut self.sequence);
        self.alternatives.push(Node::join(sequence, Hir::concat));
    }

    fn close(mut self) -> Node {
        self.end_alternative();
        Node::join(self.alternatives, Hir::alternation)
    }
}

struct Parser<'p> {
    pattern: &'p str,
    flags: Flags,
    /// Groups around the innermost one, outermost first.
    outer: Vec<Frame>,
    frame: Frame,
    /// Ranges in all sets so far.
    class_ranges: usize,
}

/// Parses `pattern` as Go's `regexp.Compile` would.
pub(super) fn parse(pattern: &str) -> Result<Hir, PatternError> {
    if pattern.len() > PATTERN_BYTES_MAX {
        let shown = pattern.chars().take(64).collect::<String>();
        return Err(PatternError::new(PatternFault::TooLarge, &shown));
    }
    let mut parser = Parser {
        pattern,
        flags: Flags::default(),
        outer: Vec::new(),
        frame: Frame::new(Flags::default()),
        class_ranges: 0,
    };
    parser.run()?;
    if !parser.outer.is_empty() {
        return Err(PatternError::new(PatternFault::MissingParen, pattern));
    }
    let root = parser.frame.close();
    check_height(&root, pattern)?;
    Ok(root.hir)
}

fn check_height(node: &Node, pattern: &str) -> Result<(), PatternError> {
    if node.height > NESTING_MAX {
        return Err(PatternError::new(PatternFault::NestingDepth, pattern));
    }
    Ok(())
}

impl<'p> Parser<'p> {
    fn run(&mut self) -> Result<(), PatternError> {
        let mut rest = self.pattern;
        // Where the previous step began, if it was a repetition: Go refuses two in a row.
        let mut previous_repeat: Option<&'p str> = None;
        while let Some(first) = rest.chars().next() {
            let before = rest;
            if let Some(operator) = Operator::read(before)? {
                rest = self.repeat(&operator, before, previous_repeat)?;
                previous_repeat = Some(before);
                continue;
            }
            previous_repeat = None;
            rest = self.step(first, before)?;
        }
        Ok(())
    }

    /// Reads one construct that is not a repetition and returns what follows it.
    fn step(&mut self, first: char, before: &'p str) -> Result<&'p str, PatternError> {
        let after = &before[first.len_utf8()..];
        match first {
            '(' => return self.open(before),
            ')' => self.close()?,
            '|' => self.frame.end_alternative(),
            '[' => {
                let (set, rest) = class::read_bracket(before, self.flags.fold_case)?;
                self.push_set(set)?;
                return Ok(rest);
            }
            '\\' => return self.escape(before),
            '.' if self.flags.dot_matches_newline => self.push(Hir::dot(Dot::AnyChar)),
            '.' => self.push(Hir::dot(Dot::AnyCharExceptLF)),
            '^' if self.flags.multi_line => self.push(Hir::look(Look::StartLF)),
            '^' => self.push(Hir::look(Look::Start)),
            '$' if self.flags.multi_line => self.push(Hir::look(Look::EndLF)),
            '$' => self.push(Hir::look(Look::End)),
            literal => self.push_char(u32::from(literal)),
        }
        Ok(after)
    }

    fn push(&mut self, hir: Hir) {
        self.frame.sequence.push(Node::leaf(hir));
    }

    /// A pattern pays for the ranges of all its sets together.
    fn push_set(&mut self, set: ClassUnicode) -> Result<(), PatternError> {
        self.class_ranges += set.ranges().len();
        if self.class_ranges > CLASS_RANGES_MAX {
            return Err(PatternError::new(PatternFault::TooLarge, self.pattern));
        }
        self.push(Hir::class(Class::Unicode(set)));
        Ok(())
    }

    fn push_char(&mut self, code_point: u32) {
        let hir = class::literal(code_point, self.flags.fold_case);
        self.push(hir);
    }

    fn open(&mut self, before: &'p str) -> Result<&'p str, PatternError> {
        let (opening, rest) = group::read(before, self.flags)?;
        match opening {
            Opening::FlagsOnly(flags) => self.flags = flags,
            Opening::Group(flags) => {
                let inner = Frame::new(self.flags);
                self.outer.push(std::mem::replace(&mut self.frame, inner));
                self.flags = flags;
            }
        }
        Ok(rest)
    }

    fn close(&mut self) -> Result<(), PatternError> {
        let Some(enclosing) = self.outer.pop() else {
            let fault = PatternFault::UnexpectedParen;
            return Err(PatternError::new(fault, self.pattern));
        };
        let closed = std::mem::replace(&mut self.frame, enclosing);
        self.flags = closed.flags_outside;
        let node = closed.close();
        check_height(&node, self.pattern)?;
        self.frame.sequence.push(node);
        Ok(())
    }

    fn repeat(
        &mut self,
        operator: &Operator<'p>,
        before: &'p str,
        previous_repeat: Option<&'p str>,
    ) -> Result<&'p str, PatternError> {
        let text = repeat::consumed(before, operator.rest);
        if let Some(previous) = previous_repeat {
            let both = repeat::consumed(previous, operator.rest);
            return Err(PatternError::new(PatternFault::InvalidRepeatOp, both));
        }
        let Some(argument) = self.frame.sequence.pop() else {
            let fault = PatternFault::MissingRepeatArgument;
            return Err(PatternError::new(fault, text));
        };
        let repeated = operator.apply(argument, self.flags.swap_greed, text)?;
        check_height(&repeated, self.pattern)?;
        self.frame.sequence.push(repeated);
        Ok(operator.rest)
    }

    fn escape(&mut self, before: &'p str) -> Result<&'p str, PatternError> {
        if let Some(quoted) = before.strip_prefix("\\Q") {
            let (literal, rest) = quoted.split_once("\\E").unwrap_or((quoted, ""));
            for character in literal.chars() {
                self.push_char(u32::from(character));
            }
            return Ok(rest);
        }
        if let Some((look, rest)) = assertion(before) {
            self.push(Hir::look(look));
            return Ok(rest);
        }
        if let Some((set, rest)) = class::read_escape(before, self.flags.fold_case)? {
            self.push_set(set)?;
            return Ok(rest);
        }
        let (code_point, rest) = escape::read(before)?;
        self.push_char(code_point);
        Ok(rest)
    }
}

/// `\A`, `\z`, `\b`, `\B` at the start of `text`, with what follows. Word boundaries are ASCII.
fn assertion(text: &str) -> Option<(Look, &str)> {
    let look = match text.as_bytes().get(1)? {
        b'A' => Look::Start,
        b'z' => Look::End,
        b'b' => Look::WordAscii,
        b'B' => Look::WordAsciiNegate,
        _ => return None,
    };
    Some((look, &text[2..]))
}
