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
