//! Text built in `const` code, so that the compiler can print it.

use crate::Version;

/// Room for the longest sentence with two names of the longest length.
const TEXT_LENGTH_MAX: usize = 512;

/// A short text on the stack, truncated to its capacity.
pub(crate) struct Text {
    bytes: [u8; TEXT_LENGTH_MAX],
    length: usize,
}

impl Text {
    pub(crate) const fn new() -> Self {
        Self {
            bytes: [0; TEXT_LENGTH_MAX],
            length: 0,
        }
    }

    pub(crate) const fn str(mut self, text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() && self.length < TEXT_LENGTH_MAX {
            self.bytes[self.length] = bytes[at];
            self.length += 1;
            at += 1;
        }
        self
    }

    pub(crate) const fn bool(self, value: bool) -> Self {
        self.str(if value { "true" } else { "false" })
    }

    pub(crate) const fn version(self, version: Version) -> Self {
        self.number(version.major())
            .str(".")
            .number(version.minor())
    }

    const fn number(self, number: u16) -> Self {
        let text = if number >= 10 {
            self.number(number / 10)
        } else {
            self
        };
        text.digit(number % 10)
    }

    const fn digit(self, digit: u16) -> Self {
        const DIGITS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
        self.str(DIGITS[digit as usize])
    }

    /// The text so far; a truncated character at the end is left out.
    pub(crate) const fn as_str(&self) -> &str {
        let mut length = self.length;
        loop {
            match str::from_utf8(self.bytes.split_at(length).0) {
                Ok(text) => return text,
                Err(_) => length -= 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_built_in_const_code_and_cut_at_its_limit() {
        const SENTENCE: Text = Text::new()
            .str("from ")
            .version(Version::new(1, 36))
            .str(" ")
            .bool(true);
        assert_eq!(SENTENCE.as_str(), "from 1.36 true");
        let long = "é".repeat(TEXT_LENGTH_MAX);
        assert_eq!(
            Text::new().str("x").str(&long).as_str().chars().count(),
            TEXT_LENGTH_MAX / 2
        );
    }
}
