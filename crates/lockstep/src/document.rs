//! YAML and JSON files in and out. All YAML goes through here.

use std::{io::Read, path::Path};

use serde_json::Value;

use crate::failure::Failure;

/// The largest file a command reads.
const FILE_BYTES_MAX: u64 = 3 * 1024 * 1024;

/// Reads a YAML or JSON document from a file, or from standard input when the path is `-`.
pub(crate) fn read(path: &Path) -> Result<Value, Failure> {
    let text = read_text(path)?;
    parse(&text).map_err(|Problem { place, what }| {
        let place = place
            .map(|(line, column)| format!(":{line}:{column}"))
            .unwrap_or_default();
        Failure::bad_input(format!("{}{place}: {what}", path.display()))
    })
}

/// Parse error of a document, with its line and column where known.
#[derive(Debug, PartialEq, Eq)]
struct Problem {
    place: Option<(u64, u64)>,
    what: String,
}

/// Reads a text file, or standard input when the path is `-`.
pub(crate) fn read_text(path: &Path) -> Result<String, Failure> {
    let cannot =
        |problem: String| Failure::bad_input(format!("cannot read {}: {problem}", path.display()));
    let source: Box<dyn Read> = if path == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        Box::new(std::fs::File::open(path).map_err(|error| cannot(error.to_string()))?)
    };
    let mut text = String::new();
    let mut limited = source.take(FILE_BYTES_MAX + 1);
    limited
        .read_to_string(&mut text)
        .map_err(|error| cannot(error.to_string()))?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(cannot(format!("it is larger than {FILE_BYTES_MAX} bytes")));
    }
    Ok(text)
}

/// One document; a key given twice is an error. JSON is YAML too.
fn parse(text: &str) -> Result<Value, Problem> {
    let options = serde_saphyr::options! { legacy_octal_numbers: true, with_snippet: false };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let told = error.to_string();
        let what = told
            .split(", set DuplicateKeyPolicy")
            .next()
            .unwrap_or(&told)
            .to_owned();
        Problem {
            place: error.location().map(|place| (place.line(), place.column())),
            what,
        }
    })
}

/// The document as YAML with sorted keys.
pub(crate) fn to_yaml(document: &Value) -> String {
    serde_saphyr::to_string(document).expect("a value made of strings and numbers is YAML")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// feature-gates.md §5/file: a key given twice is an error.
    #[test]
    fn a_duplicate_key_is_refused_with_its_place() {
        assert_eq!(
            parse("featureGates:\n  A: true\n  A: false\n"),
            Err(Problem {
                place: Some((3, 3)),
                what: "duplicate mapping key: A".to_owned()
            })
        );
    }

    #[test]
    fn booleans_are_read_as_kubectl_reads_them() {
        assert_eq!(
            parse("a: yes\nb: \"yes\"\n"),
            Ok(json!({ "a": true, "b": "yes" }))
        );
        assert_eq!(parse("\u{feff}{\"a\": 1}"), Ok(json!({ "a": 1 })));
    }

    #[test]
    fn strings_that_read_as_something_else_are_quoted() {
        assert_eq!(
            to_yaml(&json!({ "v": "1.36", "is": "yes" })),
            "is: \"yes\"\nv: \"1.36\"\n"
        );
    }
}
