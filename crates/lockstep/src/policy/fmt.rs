//! `lockstep policy fmt`.

use std::path::{Path, PathBuf};

use lockstep_object::{Value, yaml};

use super::layout;
use crate::failure::{Exit, Failure};
use crate::{document, manifests, output};

/// Fields whose blocks are expressions.
const EXPRESSIONS: [&str; 4] = [
    "expression",
    "apply",
    "messageExpression",
    "valueExpression",
];

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep policy fmt policies/\n  lockstep policy fmt --check policies/\n  lockstep policy fmt - < policy.yaml\n\nExpressions in blocks (`|`, `>`) get one space around operators and two for each level of brackets; their lines stay.\nSpaces at line ends, repeated blank lines and tabs at the start of lines are removed elsewhere. Comments and the order of\nkeys stay. Ends with 1 with --check if a file would change."
)]
pub(crate) struct Arguments {
    /// Files or directories with policies, `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Change nothing, and name the files that would change
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(arguments: &Arguments, quiet: bool) -> Result<Exit, Failure> {
    let mut changed = 0;
    for place in &arguments.files {
        for path in manifests::files(place)? {
            let text = document::read_text(&path)?;
            let wrong = |what: &str| Failure::bad_input(format!("{}: {what}", path.display()));
            let formatted = formatted(&text);
            let is_same = same(&text, &formatted).map_err(|why| wrong(&why))?;
            if !is_same {
                return Err(wrong(
                    "the file has a form that cannot be kept; it was not changed",
                ));
            }
            if path == Path::new("-") && !arguments.check {
                output::data(&formatted);
                continue;
            }
            if formatted == text {
                continue;
            }
            changed += 1;
            if !quiet {
                output::data(&format!("{}\n", path.display()));
            }
            if !arguments.check {
                std::fs::write(&path, formatted).map_err(|error| wrong(&error.to_string()))?;
            }
        }
    }
    Ok(if arguments.check && changed > 0 {
        Exit::No
    } else {
        Exit::Yes
    })
}

/// A block scalar: the indentation of its key, and the lines of its content.
struct Block<'t> {
    indent: usize,
    is_expression: bool,
    is_folded: bool,
    lines: Vec<&'t str>,
}

fn formatted(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut block: Option<Block<'_>> = None;
    for line in text.lines() {
        if let Some(open) = &mut block {
            if line.trim().is_empty() || indent(line) > open.indent {
                open.lines.push(line);
                continue;
            }
            lines.extend(closed(block.take().as_ref()));
        }
        let line = line.trim_end();
        let is_repeated = line.is_empty() && lines.last().is_none_or(String::is_empty);
        if !is_repeated {
            lines.push(line.to_owned());
        }
        block = opened(line);
    }
    lines.extend(closed(block.as_ref()));
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.join("\n") + "\n"
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The block that a line such as `- expression: >-` opens.
fn opened(line: &str) -> Option<Block<'static>> {
    let content = line.split(" #").next().unwrap_or(line).trim_end();
    let (key, indicator) = content.rsplit_once(": ")?;
    let style = indicator
        .chars()
        .next()
        .filter(|c| matches!(c, '|' | '>'))?;
    let is_plain = indicator[1..].chars().all(|c| matches!(c, '-' | '+'));
    let name = key.trim_start_matches([' ', '-']);
    let start = key.len() - name.len();
    Some(Block {
        indent: start,
        is_expression: is_plain && EXPRESSIONS.contains(&name),
        is_folded: style == '>',
        lines: Vec::new(),
    })
}

/// Lines of a block, in canonical layout if it is an expression.
fn closed(block: Option<&Block<'_>>) -> Vec<String> {
    let Some(block) = block else {
        return Vec::new();
    };
    let kept = || block.lines.iter().map(|line| (*line).to_owned()).collect();
    let content = block.lines.join("\n");
    // Folding joins lines, so that a comment would swallow what follows it.
    if !block.is_expression || block.is_folded && content.contains("//") {
        return kept();
    }
    let Some(laid) = layout::laid_out(&content) else {
        return kept();
    };
    let margin = " ".repeat(block.indent + 2);
    let lines = laid.lines().map(|line| match line {
        "" => String::new(),
        line => format!("{margin}{line}"),
    });
    let blank = block
        .lines
        .iter()
        .rev()
        .take_while(|line| line.trim().is_empty());
    // One blank line after a block separates it from what follows.
    lines.chain(blank.take(1).map(|_| String::new())).collect()
}

/// True if two texts have the same documents, apart from the layout of expressions.
fn same(one: &str, other: &str) -> Result<bool, String> {
    let (one, other) = (decoded(one)?, decoded(other)?);
    Ok(one.len() == other.len() && one.iter().zip(&other).all(|(one, other)| alike(one, other)))
}

fn decoded(text: &str) -> Result<Vec<Value>, String> {
    let documents = manifests::documents(text);
    let decoded = documents
        .iter()
        .map(|(_, part)| yaml::decode(part.as_bytes()));
    decoded
        .map(|decoded| {
            decoded
                .map(|it| it.value)
                .map_err(|error| error.to_string())
        })
        .collect()
}

fn alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(name, value)| other.get(name).is_some_and(|other| alike(value, other)))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| alike(one, other))
        }
        (Value::String(one), Value::String(other)) => {
            one == other
                || layout::essence(one).is_some() && layout::essence(one) == layout::essence(other)
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_expressions_are_laid_out_and_everything_else_stays() {
        let given = "# about\na: 1   \n\n\nspec:\n  x:   {a: b}\n  mutations:\n  - apply: |\n        Object{\n         metadata:Object.metadata{labels:{\"a\":\"b\"}} // why\n          }\n  - expression: >-\n          a&&b\n  - note: |\n      a&&b   \n  - expression: a&&b # stays\n\n\n";
        let expected = "# about\na: 1\n\nspec:\n  x:   {a: b}\n  mutations:\n  - apply: |\n      Object{\n        metadata: Object.metadata{labels: {\"a\": \"b\"}} // why\n      }\n  - expression: >-\n      a && b\n  - note: |\n      a&&b   \n  - expression: a&&b # stays\n";
        let found = formatted(given);
        assert_eq!(found, expected);
        assert_eq!(formatted(&found), found);
        assert_eq!(same(given, &found), Ok(true));
    }

    #[test]
    fn a_change_of_meaning_would_be_noticed() {
        assert_eq!(same("a: b && c\n", "a: b || c\n"), Ok(false));
        assert_eq!(same("a: 'x  y'\n", "a: 'x y'\n"), Ok(true));
        assert_eq!(same("a: '\"x  y\"'\n", "a: '\"x y\"'\n"), Ok(false));
    }
}
