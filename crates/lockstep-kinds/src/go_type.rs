//! Go type names for error messages.

use crate::table::{Field, Package};

/// The type of a whole field: `[]v1.Container`.
pub(crate) fn whole(package: &Package, field: &Field) -> String {
    print(package, field.expression)
}

/// The type of an item or value of a field, or of the field itself: `v1.Container`.
pub(crate) fn item(package: &Package, field: &Field) -> String {
    let expression = field.expression;
    let item = match expression.strip_prefix("[]") {
        Some(item) => item,
        None => expression
            .split_once(']')
            .map_or(expression, |(_, value)| value),
    };
    print(package, item)
}

fn print(package: &Package, expression: &str) -> String {
    if let Some(item) = expression.strip_prefix("[]") {
        return format!("[]{}", print(package, item));
    }
    if let Some((key, value)) = expression
        .strip_prefix("map[")
        .and_then(|rest| rest.split_once(']'))
    {
        return format!("map[{}]{}", print(package, key), print(package, value));
    }
    match expression {
        "bytes" => "[]uint8".to_owned(),
        "bool" | "float64" | "int32" | "int64" | "string" => expression.to_owned(),
        _ => {
            let (from, name) = expression
                .rsplit_once('.')
                .unwrap_or((package.short, expression));
            let from = from.rsplit_once('/').map_or(from, |(_, version)| version);
            format!("{from}.{name}")
        }
    }
}
