//! Lexer; invalid text is reported and skipped.

use crate::source::offset;

mod literal;

pub(crate) use literal::{StringFault, bytes_value, string_value};

/// The kind of a token. Punctuation is its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Ident,
    QuotedIdent,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Punct(&'static str),
    End,
}

/// A token and its bytes in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// A lexical error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unrecognized {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// Longer punctuation first, so that the first match is the longest.
const PUNCTUATION: [&str; 27] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!",
    "?", ":", "+", "*", "/", "%", "=", "&", "|",
];

/// Splits the whole text; the last token is always [`TokenKind::End`].
pub(crate) fn tokens(text: &str) -> (Vec<Token>, Vec<Unrecognized>) {
    let mut lexer = Lexer {
        text,
        bytes: text.as_bytes(),
        at: 0,
        tokens: Vec::new(),
        faults: Vec::new(),
    };
    while lexer.at < lexer.bytes.len() {
        lexer.step();
    }
    let end = offset(text.len());
    lexer.tokens.push(Token {
        kind: TokenKind::End,
        start: end,
        end,
    });
    (lexer.tokens, lexer.faults)
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    tokens: Vec<Token>,
    faults: Vec<Unrecognized>,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn emit(&mut self, kind: TokenKind, length: usize) {
        let start = offset(self.at);
        self.at += length;
        self.tokens.push(Token {
            kind,
            start,
            end: offset(self.at),
        });
    }

    fn reject(&mut self, length: usize) {
        let start = offset(self.at);
        self.at = (self.at + length.max(1)).min(self.bytes.len());
        while !self.text.is_char_boundary(self.at) {
            self.at += 1;
        }
        self.faults.push(Unrecognized {
            start,
            end: offset(self.at),
        });
    }

    fn step(&mut self) {
        match self.peek(0) {
            b' ' | b'\t' | b'\r' | b'\n' | 0x0c => self.at += 1,
            b'/' if self.peek(1) == b'/' => {
                let rest = &self.bytes[self.at..];
                self.at += rest
                    .iter()
                    .position(|&byte| byte == b'\n')
                    .unwrap_or(rest.len());
            }
            b'0'..=b'9' => self.number(),
            b'.' if self.peek(1).is_ascii_digit() => self.number(),
            b'"' | b'\'' => self.string(),
            b'`' => self.quoted_ident(),
            byte if byte == b'_' || byte.is_ascii_alphabetic() => self.word(),
            _ => self.punctuation(),
        }
    }

    fn word(&mut self) {
        let rest = &self.bytes[self.at..];
        let quote = rest
            .iter()
            .take(3)
            .position(|byte| matches!(byte, b'"' | b'\''));
        if let Some(prefix) = quote
            && is_string_prefix(&rest[..prefix])
            && let Ok(length) = literal::scan(&rest[prefix..], is_raw(&rest[..prefix]))
        {
            let bytes = rest[..prefix]
                .iter()
                .any(|letter| matches!(letter, b'b' | b'B'));
            let kind = if bytes {
                TokenKind::Bytes
            } else {
                TokenKind::String
            };
            return self.emit(kind, prefix + length);
        }
        let length = rest
            .iter()
            .position(|byte| !(*byte == b'_' || byte.is_ascii_alphanumeric()));
        self.emit(TokenKind::Ident, length.unwrap_or(rest.len()));
    }

    fn quoted_ident(&mut self) {
        let rest = &self.bytes[self.at + 1..];
        let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-/ ".contains(byte);
        let length = rest
            .iter()
            .position(|byte| !allowed(byte))
            .unwrap_or(rest.len());
        match rest.get(length) {
            Some(b'`') if length > 0 => self.emit(TokenKind::QuotedIdent, length + 2),
            _ => self.reject(length + 1),
        }
    }

    fn punctuation(&mut self) {
        let rest = &self.text[self.at..];
        match PUNCTUATION.iter().find(|punct| rest.starts_with(**punct)) {
            Some(&punct) if !matches!(punct, "=" | "&" | "|") => {
                self.emit(TokenKind::Punct(punct), punct.len());
            }
            _ => self.reject(1),
        }
    }

    fn number(&mut self) {
        if self.peek(0) == b'0' && self.peek(1) == b'x' && self.peek(2).is_ascii_hexdigit() {
            let digits = self.run(2, u8::is_ascii_hexdigit);
            return self.integer(2 + digits);
        }
        let whole = self.run(0, u8::is_ascii_digit);
        let fraction = match self.peek(whole) {
            b'.' => self.run(whole + 1, u8::is_ascii_digit),
            _ => 0,
        };
        let mantissa = if fraction > 0 {
            whole + 1 + fraction
        } else {
            whole
        };
        let exponent = self.exponent(mantissa);
        if fraction == 0 && exponent == 0 {
            return self.integer(whole);
        }
        self.emit(TokenKind::Double, mantissa + exponent);
    }

    fn integer(&mut self, length: usize) {
        match self.peek(length) {
            b'u' | b'U' => self.emit(TokenKind::Uint, length + 1),
            _ => self.emit(TokenKind::Int, length),
        }
    }

    fn exponent(&self, from: usize) -> usize {
        if !matches!(self.peek(from), b'e' | b'E') {
            return 0;
        }
        let sign = usize::from(matches!(self.peek(from + 1), b'+' | b'-'));
        match self.run(from + 1 + sign, u8::is_ascii_digit) {
            0 => 0,
            digits => 1 + sign + digits,
        }
    }

    fn run(&self, from: usize, accept: impl Fn(&u8) -> bool) -> usize {
        self.bytes[(self.at + from).min(self.bytes.len())..]
            .iter()
            .take_while(|byte| accept(byte))
            .count()
    }

    fn string(&mut self) {
        match literal::scan(&self.bytes[self.at..], false) {
            Ok(length) => self.emit(TokenKind::String, length),
            Err(length) => self.reject(length),
        }
    }
}

fn is_raw(letters: &[u8]) -> bool {
    letters.iter().any(|letter| matches!(letter, b'r' | b'R'))
}

fn is_string_prefix(letters: &[u8]) -> bool {
    match letters {
        [one] => matches!(one, b'r' | b'R' | b'b' | b'B'),
        [first, second] => {
            let pair = [first.to_ascii_lowercase(), second.to_ascii_lowercase()];
            pair == *b"rb" || pair == *b"br"
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> (Vec<&str>, Vec<&str>) {
        let (tokens, faults) = tokens(text);
        let slice = |start: u32, end: u32| &text[start as usize..end as usize];
        let words = tokens.iter().filter(|token| token.kind != TokenKind::End);
        (
            words.map(|token| slice(token.start, token.end)).collect(),
            faults
                .iter()
                .map(|fault| slice(fault.start, fault.end))
                .collect(),
        )
    }

    #[test]
    fn tokens_are_the_longest_match() {
        assert_eq!(
            words("1u+0x1F*.5e-3>=a.b // c").0,
            ["1u", "+", "0x1F", "*", ".5e-3", ">=", "a", ".", "b"]
        );
        assert_eq!(
            words("r'a\\' b\"x\" rb'''q''' rx 1. 0X1").0,
            ["r'a\\'", "b\"x\"", "rb'''q'''", "rx", "1", ".", "0", "X1"]
        );
        assert_eq!(
            words("1.foo 1e 1ex").0,
            ["1", ".", "foo", "1", "e", "1", "ex"]
        );
    }

    #[test]
    fn text_that_is_no_token_is_skipped_and_reported() {
        assert_eq!(words("a = $b"), (vec!["a", "b"], vec!["=", "$"]));
        assert_eq!(words("'\\z'"), (vec![], vec!["'\\z", "'"]));
        assert_eq!(words("\"a\\\nb\""), (vec!["b"], vec!["\"a\\\n", "\""]));
        assert_eq!(words("ä & `a"), (vec![], vec!["ä", "&", "`a"]));
    }
}
