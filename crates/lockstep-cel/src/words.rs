//! Reserved words.

/// Words that cannot be names, only fields.
pub(crate) const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];
/// Words of the grammar: neither names nor fields.
pub(crate) const KEYWORDS: [&str; 4] = ["in", "true", "false", "null"];

/// True if a variable may have this name: an identifier that is no word of the grammar and not reserved.
pub fn is_identifier(name: &str) -> bool {
    let is_word = |c: char| c == '_' || c.is_ascii_alphanumeric();
    name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && name.chars().all(is_word)
        && !RESERVED.contains(&name)
        && !KEYWORDS.contains(&name)
}
