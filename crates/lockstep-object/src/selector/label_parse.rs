//! The text form of label selectors: `a=b,c in (d, e),!f,g>1`.

use super::label::{LabelRequirement, LabelSelector, Operator};
use crate::field::{FieldError, Path};
use crate::names;
use std::collections::BTreeSet;
use std::str::FromStr;

/// Errors of parsing a label selector, in upstream's wording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LabelSelectorError(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Comma,
    Open,
    Close,
    Not,
    Operator(Operator, &'a str),
    /// An unknown operator.
    Unknown(&'a str),
    End,
}

impl Token<'_> {
    fn literal(&self) -> String {
        match self {
            Self::Word(text) | Self::Operator(_, text) => (*text).to_owned(),
            Self::Comma => ",".to_owned(),
            Self::Open => "(".to_owned(),
            Self::Close => ")".to_owned(),
            Self::Not => "!".to_owned(),
            Self::Unknown(text) => format!("error expected: keyword found '{text}'"),
            Self::End => String::new(),
        }
    }
}

fn is_symbol(byte: u8) -> bool {
    b"=!(),><".contains(&byte)
}

fn is_space(byte: u8) -> bool {
    b" \t\r\n".contains(&byte)
}

/// Cuts the next token off the text.
fn next_token<'a>(rest: &mut &'a str) -> Token<'a> {
    *rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
    let Some(first) = rest.bytes().next().filter(|byte| *byte != 0) else {
        return Token::End;
    };
    if !is_symbol(first) {
        let length = rest
            .bytes()
            .position(|byte| byte == 0 || is_symbol(byte) || is_space(byte));
        return Token::Word(cut(rest, length.unwrap_or(rest.len())));
    }
    let two = rest.get(..2).unwrap_or_default();
    let operator = match (two, first) {
        ("==", _) => Operator::DoubleEquals,
        ("!=", _) => Operator::NotEquals,
        (_, b'=') => Operator::Equals,
        (_, b'>') => Operator::GreaterThan,
        (_, b'<') => Operator::LessThan,
        (_, b',') => return cut_as(rest, Token::Comma),
        (_, b'(') => return cut_as(rest, Token::Open),
        (_, b')') => return cut_as(rest, Token::Close),
        (_, b'!') => return cut_as(rest, Token::Not),
        _ => return Token::Unknown(cut(rest, 1)),
    };
    let length = match operator {
        Operator::DoubleEquals | Operator::NotEquals => 2,
        _ => 1,
    };
    Token::Operator(operator, cut(rest, length))
}

fn cut<'a>(rest: &mut &'a str, length: usize) -> &'a str {
    let (token, remaining) = rest.split_at(length);
    *rest = remaining;
    token
}

fn cut_as<'a>(rest: &mut &'a str, token: Token<'a>) -> Token<'a> {
    cut(rest, 1);
    token
}

struct Parser<'a> {
    rest: &'a str,
    next: Token<'a>,
}

fn error<T>(text: String) -> Result<T, LabelSelectorError> {
    Err(LabelSelectorError(text))
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        let mut rest = text;
        let next = next_token(&mut rest);
        Self { rest, next }
    }

    fn take(&mut self) -> Token<'a> {
        let next = next_token(&mut self.rest);
        std::mem::replace(&mut self.next, next)
    }

    fn parse(mut self) -> Result<Vec<LabelRequirement>, LabelSelectorError> {
        let mut requirements = Vec::new();
        loop {
            match self.next {
                Token::End => return Ok(requirements),
                Token::Word(_) | Token::Not => {}
                other => {
                    let found = other.literal();
                    return error(format!(
                        "found '{found}', expected: !, identifier, or 'end of string'"
                    ));
                }
            }
            let requirement = self.requirement().map_err(|LabelSelectorError(text)| {
                LabelSelectorError(format!("unable to parse requirement: {text}"))
            })?;
            requirements.push(requirement);
            match self.take() {
                Token::End => return Ok(requirements),
                Token::Comma if matches!(self.next, Token::Word(_) | Token::Not) => {}
                Token::Comma => {
                    let found = self.next.literal();
                    return error(format!("found '{found}', expected: identifier after ','"));
                }
                other => {
                    let found = other.literal();
                    return error(format!("found '{found}', expected: ',' or 'end of string'"));
                }
            }
        }
    }

    fn requirement(&mut self) -> Result<LabelRequirement, LabelSelectorError> {
        let negated = self.next == Token::Not;
        if negated {
            self.take();
        }
        let key = match self.take() {
            Token::Word(key) => key,
            other => return error(format!("found '{}', expected: identifier", other.literal())),
        };
        let problems = names::qualified_name(key);
        if !problems.is_empty() {
            return error(FieldError::invalid(&Path::ROOT, key, problems.join("; ")).to_string());
        }
        let alone = matches!(self.next, Token::End | Token::Comma);
        let none = BTreeSet::<&str>::new();
        match (negated, alone) {
            (true, _) => build(key, Operator::DoesNotExist, none),
            (false, true) => build(key, Operator::Exists, none),
            (false, false) => {
                let operator = self.operator()?;
                let values = match operator {
                    Operator::In | Operator::NotIn => self.values()?,
                    _ => self.exact_value()?,
                };
                build(key, operator, values)
            }
        }
    }

    fn operator(&mut self) -> Result<Operator, LabelSelectorError> {
        match self.take() {
            Token::Operator(operator, _) => Ok(operator),
            Token::Word("in") => Ok(Operator::In),
            Token::Word("notin") => Ok(Operator::NotIn),
            other => error(format!(
                "found '{}', expected: in, notin, =, ==, !=, gt, lt",
                other.literal()
            )),
        }
    }

    fn exact_value(&mut self) -> Result<BTreeSet<&'a str>, LabelSelectorError> {
        if matches!(self.next, Token::End | Token::Comma) {
            return Ok(BTreeSet::from([""]));
        }
        match self.take() {
            Token::Word(value) => Ok(BTreeSet::from([value])),
            other => error(format!("found '{}', expected: identifier", other.literal())),
        }
    }

    /// `(a, b)`; nothing before or after a comma is the empty value.
    fn values(&mut self) -> Result<BTreeSet<&'a str>, LabelSelectorError> {
        match self.take() {
            Token::Open => {}
            other => return error(format!("found '{}' expected: '('", other.literal())),
        }
        let mut values = BTreeSet::new();
        loop {
            match self.next {
                Token::Word(value) => {
                    self.take();
                    values.insert(value);
                }
                Token::Comma | Token::Close => {
                    values.insert("");
                }
                other => {
                    let found = other.literal();
                    return error(format!("found '{found}', expected: ',', ')' or identifier"));
                }
            }
            match self.take() {
                Token::Close => return Ok(values),
                Token::Comma => {}
                other => {
                    return error(format!("found '{}', expected: ',' or ')'", other.literal()));
                }
            }
        }
    }
}

fn build(
    key: &str,
    operator: Operator,
    values: BTreeSet<&str>,
) -> Result<LabelRequirement, LabelSelectorError> {
    LabelRequirement::new(key, operator, values, &Path::ROOT).map_err(|errors| {
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        LabelSelectorError(match &texts[..] {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        })
    })
}

impl FromStr for LabelSelector {
    type Err = LabelSelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Parser::new(text).parse().map(Self::new)
    }
}
