//! Parsing of literals, identifiers, calls, selections and bracketed expressions.

use super::Parser;
use crate::ast::{Element, Entry, Expr, FieldInit, Literal, NodeId, SelectMode};
use crate::lexer::{self, StringFault, Token, TokenKind};
use crate::words::{KEYWORDS, RESERVED};

impl Parser<'_> {
    /// A primary expression followed by any number of `.f`, `.f()`, `[i]`.
    pub(super) fn member(&mut self) -> NodeId {
        let mut node = self.primary();
        while !self.stopped {
            if let Some(dot) = self.accept(".") {
                node = self.after_dot(node, dot);
            } else if let Some(bracket) = self.accept("[") {
                let optional = self.optional_mark(Some(bracket));
                let index = self.expression();
                self.expect("]");
                node = self.push(
                    Expr::Index {
                        operand: node,
                        index,
                        optional,
                    },
                    bracket.start,
                );
            } else {
                break;
            }
        }
        node
    }

    fn after_dot(&mut self, operand: NodeId, dot: Token) -> NodeId {
        let optional = self.optional_mark(Some(dot));
        let Some((field, quoted)) = self.field_name() else {
            return operand;
        };
        if let Some(open) = self.token_if_open(quoted || optional) {
            let args = self.arguments();
            return self.member_call(operand, &field, args, open);
        }
        let mode = if optional {
            SelectMode::Optional
        } else {
            SelectMode::Value
        };
        self.push(
            Expr::Select {
                operand,
                field,
                mode,
            },
            dot.start,
        )
    }

    fn token_if_open(&mut self, never: bool) -> Option<Token> {
        if never { None } else { self.accept("(") }
    }

    /// `?` before a field, an index or an element. After a dot or a bracket it is one operator with that.
    fn optional_mark(&mut self, before: Option<Token>) -> bool {
        let Some(mark) = self.accept("?") else {
            return false;
        };
        if !self.syntax.optionals {
            let start = before.unwrap_or(mark).start;
            let operator = before.map_or("", |token| self.slice(token));
            let message = format!("unsupported syntax '{operator}?'");
            self.error(start, message);
        }
        true
    }

    /// The name after a dot or before a colon, and whether it was written in backquotes.
    fn field_name(&mut self) -> Option<(Box<str>, bool)> {
        let token = self.token();
        match token.kind {
            TokenKind::Ident if !KEYWORDS.contains(&self.slice(token)) => {
                self.advance();
                Some((self.slice(token).into(), false))
            }
            TokenKind::QuotedIdent => {
                self.advance();
                if !self.syntax.quoted_fields {
                    self.error(token.start, "unsupported syntax: '`'");
                }
                Some((self.slice(token).trim_matches('`').into(), true))
            }
            _ => {
                let message = format!(
                    "Syntax error: no viable alternative at input '{}'",
                    self.slice(token)
                );
                self.error(token.start, message);
                None
            }
        }
    }

    fn primary(&mut self) -> NodeId {
        let token = self.token();
        match token.kind {
            TokenKind::Punct("(") => {
                self.advance();
                let inner = self.expression();
                self.expect(")");
                inner
            }
            TokenKind::Punct("[") => self.list(),
            TokenKind::Punct("{") => self.map(),
            TokenKind::Punct(".") => self.name(),
            TokenKind::Punct("-") => self.literal(),
            TokenKind::Ident => match self.slice(token) {
                "true" | "false" | "null" => self.literal(),
                "in" => self.unexpected(token),
                _ => self.name(),
            },
            TokenKind::QuotedIdent | TokenKind::Punct(_) | TokenKind::End => self.unexpected(token),
            _ => self.literal(),
        }
    }

    fn unexpected(&mut self, token: Token) -> NodeId {
        let message = format!(
            "Syntax error: mismatched input '{}' expecting {{'[', '{{', '(', '.', '-', '!', 'true', 'false', \
             'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}}",
            self.slice(token)
        );
        if !matches!(
            token.kind,
            TokenKind::Punct(")" | "]" | "}" | "," | ":" | "?")
        ) {
            self.advance();
        }
        self.error_node(token.start, message)
    }

    // --- names, calls, objects ---

    fn name(&mut self) -> NodeId {
        let dot = self.accept(".");
        if let Some(node) = self.object_literal(dot) {
            return node;
        }
        let token = self.token();
        if token.kind != TokenKind::Ident || KEYWORDS.contains(&self.slice(token)) {
            return self.unexpected(token);
        }
        self.advance();
        let word = self.slice(token);
        if RESERVED.contains(&word) {
            let message = format!("reserved identifier: {word}");
            self.error(token.start, message);
        }
        let name: Box<str> = if dot.is_some() {
            format!(".{word}").into()
        } else {
            word.into()
        };
        match self.accept("(") {
            Some(open) => {
                let args = self.arguments();
                self.global_call(&name, args, open)
            }
            None => self.push(Expr::Ident(name), dot.unwrap_or(token).start),
        }
    }

    /// `a.b.C{…}`, recognised by looking ahead to the brace.
    fn object_literal(&mut self, dot: Option<Token>) -> Option<NodeId> {
        let mut length = 0;
        loop {
            if self.ahead(length).kind != TokenKind::Ident {
                return None;
            }
            match self.ahead(length + 1).kind {
                TokenKind::Punct("{") => break,
                TokenKind::Punct(".") => length += 2,
                _ => return None,
            }
        }
        let mut name = String::from(if dot.is_some() { "." } else { "" });
        for _ in 0..=length {
            let token = self.advance();
            name.push_str(self.slice(token));
        }
        let brace = self.advance();
        let fields = self.fields();
        self.expect("}");
        Some(self.push(
            Expr::Struct {
                name: name.into(),
                fields,
            },
            brace.start,
        ))
    }

    fn fields(&mut self) -> Vec<FieldInit> {
        let mut fields = Vec::new();
        while !self.at_close("}") {
            let optional = self.optional_mark(None);
            let Some((name, _)) = self.field_name() else {
                break;
            };
            let at = self.token().start;
            self.expect(":");
            fields.push(FieldInit {
                name,
                value: self.expression(),
                optional,
                at,
            });
            if self.accept(",").is_none() {
                break;
            }
        }
        fields
    }

    fn arguments(&mut self) -> Vec<NodeId> {
        let mut args = Vec::new();
        if self.accept(")").is_some() {
            return args;
        }
        loop {
            args.push(self.expression());
            if self.accept(",").is_none() {
                break;
            }
        }
        self.expect(")");
        args
    }

    // --- brackets ---

    fn at_close(&self, close: &'static str) -> bool {
        self.stopped
            || matches!(self.token().kind, TokenKind::End)
            || self.token().kind == TokenKind::Punct(close)
    }

    fn list(&mut self) -> NodeId {
        let bracket = self.advance();
        let mut elements = Vec::new();
        while !self.at_close("]") {
            let optional = self.optional_mark(None);
            elements.push(Element {
                value: self.expression(),
                optional,
            });
            if self.accept(",").is_none() {
                break;
            }
        }
        self.expect("]");
        self.push(Expr::List(elements), bracket.start)
    }

    fn map(&mut self) -> NodeId {
        let brace = self.advance();
        let mut entries = Vec::new();
        while !self.at_close("}") {
            let optional = self.optional_mark(None);
            let key = self.expression();
            self.expect(":");
            entries.push(Entry {
                key,
                value: self.expression(),
                optional,
            });
            if self.accept(",").is_none() {
                break;
            }
        }
        self.expect("}");
        self.push(Expr::Map(entries), brace.start)
    }

    // --- literals ---

    fn literal(&mut self) -> NodeId {
        let first = self.token();
        let sign = if self.accept("-").is_some() { "-" } else { "" };
        let token = self.advance();
        match self.literal_value(token, sign) {
            Ok(literal) => self.push(Expr::Literal(literal), first.start),
            Err(message) => self.error_node(first.start, message),
        }
    }

    fn literal_value(&self, token: Token, sign: &str) -> Result<Literal, &'static str> {
        let text = self.slice(token);
        match token.kind {
            TokenKind::Int => integer(text, sign)
                .map(Literal::Int)
                .ok_or("invalid int literal"),
            TokenKind::Uint => unsigned(&text[..text.len() - 1])
                .map(Literal::Uint)
                .ok_or("invalid uint literal"),
            TokenKind::Double => double(text, sign)
                .map(Literal::Double)
                .ok_or("invalid double literal"),
            TokenKind::String => lexer::string_value(text)
                .map(Literal::String)
                .map_err(fault_text),
            TokenKind::Bytes => lexer::bytes_value(text)
                .map(Literal::Bytes)
                .map_err(fault_text),
            _ if text == "null" => Ok(Literal::Null),
            _ => Ok(Literal::Bool(text == "true")),
        }
    }
}

fn fault_text(fault: StringFault) -> &'static str {
    match fault {
        StringFault::CodePoint => "invalid unicode code point",
        StringFault::Unescape => "unable to unescape string",
    }
}

fn digits(text: &str) -> (&str, u32) {
    text.strip_prefix("0x").map_or((text, 10), |hex| (hex, 16))
}

fn integer(text: &str, sign: &str) -> Option<i64> {
    let (digits, radix) = digits(text);
    i64::from_str_radix(&format!("{sign}{digits}"), radix).ok()
}

fn unsigned(text: &str) -> Option<u64> {
    let (digits, radix) = digits(text);
    u64::from_str_radix(digits, radix).ok()
}

fn double(text: &str, sign: &str) -> Option<f64> {
    format!("{sign}{text}")
        .parse()
        .ok()
        .filter(|value: &f64| value.is_finite())
}
