//! Canonical layout of expressions: one space around operators, two for each level of brackets. Lines stay lines.

/// A part of an expression.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Token {
    /// Name, number, string, or anything else that is kept as it is.
    Word(String),
    Operator(&'static str),
    /// `// …` up to the end of the line.
    Comment(String),
}

/// Operators and brackets, longer ones first.
const OPERATORS: [&str; 24] = [
    "&&", "||", "==", "!=", "<=", ">=", "(", ")", "[", "]", "{", "}", ",", ".", "?", ":", "<", ">",
    "+", "-", "*", "/", "%", "!",
];
const SPACED: [&str; 14] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "in",
];

/// Tokens of one line; none if a string does not end on it.
fn tokens(line: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = line.trim();
    while let Some(first) = rest.chars().next() {
        if rest.starts_with("//") {
            tokens.push(Token::Comment(rest.to_owned()));
            break;
        }
        let end = word_end(rest)?;
        if end > 0 {
            tokens.push(Token::Word(rest[..end].to_owned()));
            rest = &rest[end..];
        } else if let Some(operator) = OPERATORS
            .iter()
            .find(|operator| rest.starts_with(**operator))
        {
            tokens.push(Token::Operator(operator));
            rest = &rest[operator.len()..];
        } else {
            // A character that the language does not have: the compiler will say so.
            tokens.push(Token::Word(first.to_string()));
            rest = &rest[first.len_utf8()..];
        }
        rest = rest.trim_start();
    }
    Some(tokens)
}

/// Length of the name, number or string at the start of a text; 0 if there is none, and none if a string does not end.
fn word_end(text: &str) -> Option<usize> {
    let is_part = |c: char| c == '_' || c.is_alphanumeric();
    let name = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let prefix = &text[..name];
    let is_string_prefix =
        prefix.len() <= 2 && prefix.chars().all(|c| matches!(c, 'r' | 'R' | 'b' | 'B'));
    let after = &text[name..];
    let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''));
    let Some(quote) = quote.filter(|_| is_string_prefix) else {
        if name > 0 && prefix.starts_with(|c: char| c.is_ascii_digit()) {
            // The fraction and the exponent of a number.
            let fraction = after.strip_prefix('.').map_or(0, |digits| {
                let end = digits.find(|c| !is_part(c)).unwrap_or(digits.len());
                if digits.starts_with(|c: char| c.is_ascii_digit()) {
                    end + 1
                } else {
                    0
                }
            });
            return Some(name + fraction);
        }
        return Some(name);
    };
    let is_raw = prefix.contains(['r', 'R']);
    let triple: String = std::iter::repeat_n(quote, 3).collect();
    let close = if after.starts_with(&triple) {
        triple
    } else {
        quote.to_string()
    };
    let mut at = name + close.len();
    while at < text.len() {
        if text[at..].starts_with(&close) {
            return Some(at + close.len());
        }
        let mut chars = text[at..].chars();
        let next = chars.next()?;
        at += next.len_utf8();
        if next == '\\' && !is_raw {
            at += chars.next()?.len_utf8();
        }
    }
    None
}

/// An open bracket, and the conditional operators in it that wait for their colon.
#[derive(Default)]
struct Level {
    conditionals: usize,
}

/// The expression with canonical spaces and indentation; none if it has a string of several lines.
pub(super) fn laid_out(expression: &str) -> Option<String> {
    let mut levels = vec![Level::default()];
    let mut last: Option<Token> = None;
    let mut lines: Vec<String> = Vec::new();
    for line in expression.lines() {
        let tokens = tokens(line)?;
        let is_close = |token: &&Token| matches!(token, Token::Operator(")" | "]" | "}"));
        let closed = tokens.iter().take_while(is_close).count();
        let depth = levels.len().saturating_sub(1 + closed);
        let mut text = "  ".repeat(depth);
        let mut is_first = true;
        for token in tokens {
            let space = space_before(last.as_ref(), &token, &mut levels);
            if space && !is_first {
                text.push(' ');
            }
            is_first = false;
            match &token {
                Token::Word(word) | Token::Comment(word) => text.push_str(word),
                Token::Operator(operator) => text.push_str(operator),
            }
            last = Some(mark(last.as_ref(), token));
        }
        lines.push(text.trim_end().to_owned());
    }
    let from = lines.iter().position(|line| !line.is_empty())?;
    let to = lines.iter().rposition(|line| !line.is_empty())?;
    Some(lines[from..=to].join("\n"))
}

/// A sign before a value is part of it: nothing is put between them.
fn mark(before: Option<&Token>, token: Token) -> Token {
    match token {
        Token::Operator("-" | "!") if is_prefix(before) => Token::Operator("!"),
        Token::Operator("?") if is_marker(before) => Token::Operator("!"),
        other => other,
    }
}

/// True if a value begins here, so that `-` is a sign.
fn is_prefix(before: Option<&Token>) -> bool {
    match before {
        None | Some(Token::Comment(_)) => true,
        Some(Token::Operator(operator)) => !matches!(*operator, ")" | "]" | "}"),
        Some(Token::Word(word)) => word == "in",
    }
}

/// True if `?` marks an optional entry or selection.
fn is_marker(before: Option<&Token>) -> bool {
    matches!(before, None | Some(Token::Operator("{" | "," | "." | "[")))
}

fn space_before(last: Option<&Token>, token: &Token, levels: &mut Vec<Level>) -> bool {
    let after = match last {
        None | Some(Token::Comment(_)) => return track(token, last, levels, false),
        Some(Token::Operator(operator)) => *operator,
        Some(Token::Word(word)) if word == "in" => "in",
        Some(Token::Word(_)) => "word",
    };
    let space = match token {
        Token::Comment(_) => true,
        Token::Word(word) if word == "in" => true,
        Token::Word(_) => !matches!(after, "(" | "[" | "{" | "." | "!"),
        Token::Operator(operator) => match *operator {
            ")" | "]" | "}" | "," | "." => false,
            "(" | "[" | "{" => !matches!(after, "word" | "(" | "[" | "{" | "." | "!" | ")" | "]"),
            "?" => !is_marker(last) || after == ",",
            ":" => levels.last().is_some_and(|level| level.conditionals > 0),
            "-" | "!" if is_prefix(last) => !matches!(after, "(" | "[" | "{" | "." | "!"),
            other => SPACED.contains(&other),
        },
    };
    track(token, last, levels, space)
}

/// Follows brackets and conditionals.
fn track(token: &Token, last: Option<&Token>, levels: &mut Vec<Level>, space: bool) -> bool {
    if let Token::Operator(operator) = token {
        match *operator {
            "(" | "[" | "{" => levels.push(Level::default()),
            ")" | "]" | "}" if levels.len() > 1 => drop(levels.pop()),
            "?" if !is_marker(last) => {
                if let Some(level) = levels.last_mut() {
                    level.conditionals += 1;
                }
            }
            ":" => {
                if let Some(level) = levels.last_mut() {
                    level.conditionals = level.conditionals.saturating_sub(1);
                }
            }
            _ => {}
        }
    }
    space
}

/// The expression without any space that has no meaning; two expressions that differ in their layout alone are equal
/// here.
pub(super) fn essence(expression: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    for line in expression.lines() {
        for token in tokens(line)? {
            parts.push(match token {
                Token::Word(word) | Token::Comment(word) => word,
                Token::Operator(operator) => operator.to_owned(),
            });
        }
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_and_indentation_are_canonical_and_strings_stay() {
        for (given, expected) in [
            ("a&&b  ||!c", "a && b || !c"),
            ("a.b( c,d )[ 0 ]", "a.b(c, d)[0]"),
            ("x?-1:- 2", "x ? -1 : -2"),
            (
                "{ \"a b\" :1,?'c':optional.none() }",
                "{\"a b\": 1, ?'c': optional.none()}",
            ),
            (
                "Object{ spec:Object.spec{?n: a ? 1:2} }",
                "Object{spec: Object.spec{?n: a ? 1 : 2}}",
            ),
            (
                "object.?a[ ?'b' ].orValue( 1.5e3 )",
                "object.?a[?'b'].orValue(1.5e3)",
            ),
            ("'x'in  y   // why\n&&z", "'x' in y // why\n&& z"),
            ("r'a\\' + \"q\\\" ( \"", "r'a\\' + \"q\\\" ( \""),
            ("a - -1 - (b)", "a - -1 - (b)"),
            ("f(\ng(1,\n2),\n)", "f(\n  g(1,\n    2),\n)"),
            ("[1,2]+[ 3 ]", "[1, 2] + [3]"),
        ] {
            let laid = laid_out(given).unwrap();
            assert_eq!(laid, expected);
            assert_eq!(laid_out(&laid).as_ref(), Some(&laid));
            assert_eq!(essence(given), essence(&laid));
        }
        assert_eq!(laid_out("'''a\nb'''"), None);
        assert_eq!(laid_out("\"never"), None);
    }
}
