//! Values as the messages of errors show them.

use std::io::{self, Write};

use serde_json::{Map, Value};

use crate::{go, json};

/// Bytes of a value that an error shows; a longer one is cut, and `...` says so.
///
/// An error is smaller than the value that it is about, so that a body with many faults cannot make more of itself.
pub const SHOWN_BYTES_MAX: usize = 1024;

/// A value as a message shows it: texts as `%q` quotes them, anything else as JSON, and no more than
/// [`SHOWN_BYTES_MAX`] bytes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown(Box<str>);

impl Shown {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn text(text: &str) -> Self {
        let start = go::start_of(text, SHOWN_BYTES_MAX);
        let mut quoted = go::quote(start);
        if start.len() < text.len() {
            quoted.push_str(go::ELLIPSIS);
        }
        Self(quoted.into())
    }

    fn json(value: &(impl serde::Serialize + ?Sized)) -> Self {
        let mut start = Start(Vec::with_capacity(64));
        let fits = json::write_ordered(value, &mut start).is_ok();
        // A character that was cut in its middle is left out.
        let text = start.0.utf8_chunks().next();
        let mut text = text.map_or_else(String::new, |chunk| chunk.valid().to_owned());
        if !fits {
            text.push_str(go::ELLIPSIS);
        }
        Self(text.into())
    }
}

impl From<&Value> for Shown {
    fn from(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::text(text),
            Value::Number(number) if !number.is_i64() => {
                let double = number.as_f64().map_or_else(String::new, go::double);
                Self(double.into())
            }
            other => Self::json(other),
        }
    }
}

impl From<&Map<String, Value>> for Shown {
    fn from(entries: &Map<String, Value>) -> Self {
        Self::json(entries)
    }
}

impl From<&[Value]> for Shown {
    fn from(values: &[Value]) -> Self {
        Self::json(values)
    }
}

impl From<&[&str]> for Shown {
    fn from(texts: &[&str]) -> Self {
        Self::json(texts)
    }
}

impl From<&str> for Shown {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<&String> for Shown {
    fn from(text: &String) -> Self {
        Self::text(text)
    }
}

impl From<String> for Shown {
    fn from(text: String) -> Self {
        Self::text(&text)
    }
}

impl From<bool> for Shown {
    fn from(value: bool) -> Self {
        Self(value.to_string().into())
    }
}

impl From<i64> for Shown {
    fn from(number: i64) -> Self {
        Self(number.to_string().into())
    }
}

impl From<usize> for Shown {
    fn from(number: usize) -> Self {
        Self(number.to_string().into())
    }
}

/// The start of what is written; more than [`SHOWN_BYTES_MAX`] is an error, which ends the writing.
struct Start(Vec<u8>);

impl Write for Start {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = SHOWN_BYTES_MAX - self.0.len();
        if bytes.len() > room {
            self.0.extend_from_slice(&bytes[..room]);
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(value: &Value) -> String {
        Shown::from(value).as_str().to_owned()
    }

    #[test]
    fn a_value_is_shown_whole_up_to_the_limit_and_cut_behind_it() {
        assert_eq!(shown(&json!({"b": [1, 2.5, "ü"]})), r#"{"b":[1,2.5,"ü"]}"#);
        assert_eq!(shown(&json!("a\"b")), r#""a\"b""#);
        assert_eq!(shown(&json!(7.0)), "7");
        let text = "x".repeat(SHOWN_BYTES_MAX);
        assert_eq!(shown(&json!(text)), format!("\"{text}\""));
        let longer = format!("{text}y");
        assert_eq!(shown(&json!(longer)), format!("\"{text}\"..."));
        let list = vec![0; SHOWN_BYTES_MAX];
        let start = "0,".repeat(SHOWN_BYTES_MAX);
        let start = format!("[{start}");
        assert_eq!(
            shown(&json!(list)),
            format!("{}...", &start[..SHOWN_BYTES_MAX])
        );
    }

    #[test]
    fn a_cut_does_not_split_a_character() {
        let odd = format!("{}{}", "x".repeat(SHOWN_BYTES_MAX - 2), "ü".repeat(4));
        let start = &odd[..SHOWN_BYTES_MAX];
        assert_eq!(shown(&json!(odd)), format!("\"{start}\"..."));
        let even = format!("x{odd}");
        assert_eq!(
            shown(&json!(even)),
            format!("\"{}\"...", &even[..SHOWN_BYTES_MAX - 1])
        );
        // The bracket and the quote take two bytes, and the first half of a character the last one.
        let within = &odd[1..];
        let start = &within[..SHOWN_BYTES_MAX - 3];
        assert_eq!(shown(&json!([within])), format!("[\"{start}..."));
    }
}
