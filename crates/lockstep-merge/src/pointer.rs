//! RFC 6901: where something is in a value.

use serde_json::Value;

/// A JSON pointer: the steps from the root.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pointer {
    steps: Vec<String>,
}

impl Pointer {
    /// Reads `/a/b~1c/0`; none if it is neither empty nor starts with a slash.
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self { steps: Vec::new() });
        }
        let unescape = |step: &str| step.replace("~1", "/").replace("~0", "~");
        let steps = text.strip_prefix('/')?.split('/').map(unescape);
        Some(Self {
            steps: steps.collect(),
        })
    }

    /// The steps.
    pub fn steps(&self) -> &[String] {
        &self.steps
    }

    /// The value it points at.
    pub fn find<'v>(&self, root: &'v Value) -> Option<&'v Value> {
        self.steps.iter().try_fold(root, |value, step| match value {
            Value::Object(fields) => fields.get(step),
            Value::Array(items) => items.get(index(step, items.len())?),
            _ => None,
        })
    }

    /// The value around the one it points at, and the last step; none at the root or if there is
    /// no such value.
    pub(crate) fn parent<'v, 'p>(
        &'p self,
        root: &'v mut Value,
    ) -> Option<(&'v mut Value, &'p str)> {
        let (last, steps) = self.steps.split_last()?;
        let parent = steps.iter().try_fold(root, |value, step| match value {
            Value::Object(fields) => fields.get_mut(step),
            Value::Array(items) => {
                let at = index(step, items.len())?;
                items.get_mut(at)
            }
            _ => None,
        })?;
        Some((parent, last))
    }

    /// Whether it points at the other one or at something inside it.
    pub(crate) fn is_inside(&self, other: &Self) -> bool {
        self.steps.starts_with(&other.steps)
    }
}

/// A place in a list. Negative numbers count from the end, as API servers accept.
pub(crate) fn index(step: &str, length: usize) -> Option<usize> {
    match step.strip_prefix('-') {
        None => digits(step),
        Some(back) => length.checked_sub(digits(back).filter(|back| *back > 0)?),
    }
}

fn digits(text: &str) -> Option<usize> {
    let is_plain = text == "0" || (!text.starts_with('0') && !text.is_empty());
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    (is_plain && is_number).then(|| text.parse().ok()).flatten()
}
