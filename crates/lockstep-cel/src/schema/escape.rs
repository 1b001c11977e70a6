//! Escaping of property names in expressions.

use crate::words::{KEYWORDS, RESERVED};

/// Escaped field name of a property; none if it has no valid name.
pub fn field_name(property: &str) -> Option<Box<str>> {
    if is_reserved(property) {
        return Some(format!("__{property}__").into());
    }
    let starts_well = property.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_.-/".contains(c);
    if !starts_well || !property.chars().all(allowed) {
        return None;
    }
    let escaped = property.replace("__", "__underscores__");
    Some(
        escaped
            .replace('.', "__dot__")
            .replace('-', "__dash__")
            .replace('/', "__slash__")
            .into(),
    )
}

/// True if a field name is an unescaped reserved word.
pub(crate) fn is_reserved(field: &str) -> bool {
    RESERVED.contains(&field) || KEYWORDS.contains(&field)
}

/// The plain spelling of a reserved word that may also be used as a field name.
pub(super) fn plain_name(property: &str) -> Option<Box<str>> {
    RESERVED.contains(&property).then(|| property.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn property_names_are_escaped_as_the_table_says() {
        let cases = [
            ("host-name", Some("host__dash__name")),
            ("a.b/c", Some("a__dot__b__slash__c")),
            ("a__dot__b", Some("a__underscores__dot__underscores__b")),
            ("snake_case", Some("snake_case")),
            ("package", Some("__package__")),
            ("in", Some("__in__")),
            ("$ref", None),
            ("1a", None),
            ("", None),
        ];
        for (property, expected) in cases {
            assert_eq!(field_name(property).as_deref(), expected, "{property}");
        }
    }
}
