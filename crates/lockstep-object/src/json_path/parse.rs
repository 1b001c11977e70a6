//! JSON path parser.

use super::{Comparison, Filter, JsonPath, Operand, Step};
use serde_json::Value;
use std::str::FromStr;

/// Longest path.
const PATH_BYTES_MAX: usize = 4096;
/// Maximum number of recursive descents in a path; each one multiplies the work.
const DESCENTS_MAX: usize = 4;
/// Maximum nesting depth of filters.
const FILTER_DEPTH_MAX: usize = 8;

/// Error of parsing a JSON path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem} at byte {at} of `{path}`")]
pub struct JsonPathError {
    path: String,
    at: usize,
    problem: &'static str,
}

impl FromStr for JsonPath {
    type Err = JsonPathError;

    fn from_str(text: &str) -> Result<Self, JsonPathError> {
        let error = |at: usize, problem: &'static str| JsonPathError {
            path: text.chars().take(PATH_BYTES_MAX).collect(),
            at,
            problem,
        };
        if text.len() > PATH_BYTES_MAX {
            return Err(error(PATH_BYTES_MAX, "the path is too long"));
        }
        let inside = text
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
            .unwrap_or(text);
        let mut reader = Reader {
            text: inside,
            at: 0,
            depth: 0,
        };
        let path = reader.path().map_err(|problem| error(reader.at, problem))?;
        match reader.rest() {
            "" => Ok(path),
            _ => Err(error(reader.at, "expected `.` or `[`")),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

type Read<T> = Result<T, &'static str>;

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str, problem: &'static str) -> Read<()> {
        if self.skip(token) {
            Ok(())
        } else {
            Err(problem)
        }
    }

    fn spaces(&mut self) {
        while self.skip(" ") {}
    }

    /// Steps, up to whatever is none.
    fn path(&mut self) -> Read<JsonPath> {
        let mut steps = Vec::new();
        loop {
            if self.skip("..") {
                self.descend(&mut steps)?;
            } else if self.skip("[") {
                steps.push(self.bracket()?);
            } else if self.skip(".") {
                // A dot alone is the value itself, and one before a bracket changes nothing.
                if let Some(step) = self.field()? {
                    steps.push(step);
                }
            } else {
                return Ok(JsonPath { steps });
            }
        }
    }

    /// Parses the part after two dots: a name, a bracket, or nothing.
    fn descend(&mut self, steps: &mut Vec<Step>) -> Read<()> {
        if steps.last() == Some(&Step::Descend) {
            return Err("invalid multiple recursive descent");
        }
        let descents = steps.iter().filter(|step| **step == Step::Descend);
        if descents.count() == DESCENTS_MAX {
            return Err("too many recursive descents");
        }
        steps.push(Step::Descend);
        steps.extend(self.field()?);
        Ok(())
    }

    /// A name up to the next dot, bracket or operator; a backslash keeps the next character.
    fn field(&mut self) -> Read<Option<Step>> {
        if self.skip("*") {
            return Ok(Some(Step::All));
        }
        let mut name = String::new();
        let mut characters = self.rest().char_indices();
        let mut length = self.rest().len();
        while let Some((at, character)) = characters.next() {
            match character {
                '\\' => match characters.next() {
                    Some((_, escaped)) => name.push(escaped),
                    None => return Err("nothing follows the backslash"),
                },
                '.' | '[' | ']' | ')' | '=' | '!' | '<' | '>' | ' ' | '}' => {
                    length = at;
                    break;
                }
                other => name.push(other),
            }
        }
        self.at += length;
        Ok((!name.is_empty()).then(|| Step::Fields(vec![name])))
    }

    fn bracket(&mut self) -> Read<Step> {
        let step = if self.skip("*") {
            Step::All
        } else if self.skip("?(") {
            let filter = self.filter()?;
            self.expect(")", "expected `)`")?;
            Step::Filter(filter)
        } else if self.rest().starts_with(['\'', '"']) {
            let mut names = vec![self.quoted()?];
            while self.skip(",") {
                self.spaces();
                let name = self.quoted()?;
                // INVARIANT: a step yields each value at most once; otherwise a short path could find more values than
                // the object has.
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            Step::Fields(names)
        } else {
            self.index_or_slice()?
        };
        self.expect("]", "expected `]`")?;
        Ok(step)
    }

    fn index_or_slice(&mut self) -> Read<Step> {
        let from = self.number()?;
        if !self.skip(":") {
            return from.map(Step::Index).ok_or("expected an index");
        }
        let to = self.number()?;
        let step = if self.skip(":") { self.number()? } else { None };
        let step = usize::try_from(step.unwrap_or(1))
            .ok()
            .filter(|step| *step > 0);
        Ok(Step::Slice {
            from,
            to,
            step: step.ok_or("a step is above zero")?,
        })
    }

    fn number(&mut self) -> Read<Option<i64>> {
        let rest = self.rest();
        let end = rest.find(|character: char| !character.is_ascii_digit() && character != '-');
        let digits = &rest[..end.unwrap_or(rest.len())];
        if digits.is_empty() {
            return Ok(None);
        }
        self.at += digits.len();
        digits.parse().map(Some).map_err(|_| "expected an integer")
    }

    fn quoted(&mut self) -> Read<String> {
        let quote = self
            .rest()
            .chars()
            .next()
            .filter(|quote| matches!(quote, '\'' | '"'));
        let quote = quote.ok_or("expected a quoted text")?;
        let mut text = String::new();
        let mut characters = self.rest().char_indices().skip(1);
        while let Some((at, character)) = characters.next() {
            match character {
                '\\' => text.push(characters.next().ok_or("the text does not end")?.1),
                end if end == quote => {
                    self.at += at + 1;
                    return Ok(text);
                }
                other => text.push(other),
            }
        }
        Err("the text does not end")
    }

    fn filter(&mut self) -> Read<Filter> {
        self.depth += 1;
        if self.depth > FILTER_DEPTH_MAX {
            return Err("filters are nested too deeply");
        }
        self.spaces();
        let left = self.operand()?;
        self.spaces();
        let comparison = self.comparison();
        let comparison = match comparison {
            None => None,
            Some(comparison) => {
                self.spaces();
                Some((comparison, self.operand()?))
            }
        };
        self.spaces();
        self.depth -= 1;
        Ok(Filter { left, comparison })
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let operators = [
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        let found = operators.into_iter().find(|(text, _)| self.skip(text));
        found.map(|(_, comparison)| comparison)
    }

    fn operand(&mut self) -> Read<Operand> {
        if self.skip("@") {
            return self.path().map(Operand::Path);
        }
        if self.rest().starts_with(['\'', '"']) {
            return self
                .quoted()
                .map(|text| Operand::Literal(Value::String(text)));
        }
        for (word, value) in [("true", true), ("false", false)] {
            if self.skip(word) {
                return Ok(Operand::Literal(Value::Bool(value)));
            }
        }
        let rest = self.rest();
        let end = rest
            .find(|character: char| !character.is_ascii_digit() && !"+-.eE".contains(character));
        let digits = &rest[..end.unwrap_or(rest.len())];
        let number = crate::json::decode(digits.as_bytes()).map_err(|_| "expected a value")?;
        self.at += digits.len();
        Ok(Operand::Literal(number.value))
    }
}
