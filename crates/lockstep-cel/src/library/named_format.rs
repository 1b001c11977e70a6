//! Kubernetes format library.

use super::{Row, row};
use crate::cost::Cost::{One, Validate};
use crate::scope::Scope;
use crate::value::{Eval, Fault, List, Opaque, Value};
use lockstep_gotext::formats::NamedFormat;

pub(super) const ROWS: &[Row] = &[
    row(
        "format_named",
        "format.named(string) -> optional(NamedFormat)",
        One,
        named,
    ),
    row(
        "format_validate",
        "<NamedFormat>.validate(string) -> optional(list(string))",
        Validate,
        validate,
    ),
    row(
        "format_dns1123_label",
        "format.dns1123Label() -> NamedFormat",
        One,
        dns1123_label,
    ),
    row(
        "format_dns1123_subdomain",
        "format.dns1123Subdomain() -> NamedFormat",
        One,
        dns1123_subdomain,
    ),
    row(
        "format_dns1035_label",
        "format.dns1035Label() -> NamedFormat",
        One,
        dns1035_label,
    ),
    row(
        "format_qualified_name",
        "format.qualifiedName() -> NamedFormat",
        One,
        qualified_name,
    ),
    row(
        "format_dns1123_label_prefix",
        "format.dns1123LabelPrefix() -> NamedFormat",
        One,
        dns1123_label_prefix,
    ),
    row(
        "format_dns1123_subdomain_prefix",
        "format.dns1123SubdomainPrefix() -> NamedFormat",
        One,
        dns1123_subdomain_prefix,
    ),
    row(
        "format_dns1035_label_prefix",
        "format.dns1035LabelPrefix() -> NamedFormat",
        One,
        dns1035_label_prefix,
    ),
    row(
        "format_label_value",
        "format.labelValue() -> NamedFormat",
        One,
        label_value,
    ),
    row("format_uri", "format.uri() -> NamedFormat", One, uri),
    row("format_uuid", "format.uuid() -> NamedFormat", One, uuid),
    row("format_byte", "format.byte() -> NamedFormat", One, byte),
    row("format_date", "format.date() -> NamedFormat", One, date),
    row(
        "format_datetime",
        "format.datetime() -> NamedFormat",
        One,
        datetime,
    ),
];

fn named<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    match NamedFormat::named(args[0].as_text()?) {
        Some(format) => Ok(scope.some(scope.arena.opaque(Opaque::Format(format)))),
        None => Ok(Value::Optional(None)),
    }
}

fn constant<'a>(scope: &Scope<'a>, name: &str) -> Eval<'a> {
    let format = NamedFormat::named(name).ok_or(Fault::NoSuchOverload)?;
    Ok(scope.arena.opaque(Opaque::Format(format)))
}

fn dns1123_label<'a>(scope: &Scope<'a>, _: &[Value<'a>]) -> Eval<'a> {
    constant(scope, "dns1123Label")
}

fn dns1123_subdomain<'a>(scope: &Scope<'a>, _: &[Value<'a>]) -> Eval<'a> {
    constant(scope, "dns1123Subdomain")
}

fn dns1035_label<'a>(scope: &Scope<'a>, _: &[Value<'a>]) -> Eval<'a> {
    constant(scope, "dns1035Label")
}

fn qualified_name<'a>(scope: &Scope<'a>, _: &[Value<'a>]) -> Eval<'a> {
    constant(scope, "qualifiedName")
}

fn dns1123_label_prefix<'a>(scope: &Scope<'a>, _: &[Value<'a>]) -> Eval<'a> {
    constant(scope, "dns1123LabelPrefix")
}

fn dns1123_subdomain_prefix<'a>(scope: &Scope<'a>, _: &[Value<'a>]) -> Eval<'a> {
    constant(scope, "dns1123SubdomainPrefix")
}

fn dns1035_label_prefix<'a>(scope: &Scope<'a>, _: &[Value<'a>]) -> Eval<'a> {
    constant(scope, "dns1035LabelPrefix")
}

fn label_value<'a>(scope: &Scope<'a>, _: &[Value<'a>]) -> Eval<'a> {
    constant(scope, "labelValue")
}

fn uri<'a>(scope: &Scope<'a>, _: &[Value<'a>]) -> Eval<'a> {
    constant(scope, "uri")
}

fn uuid<'a>(scope: &Scope<'a>, _: &[Value<'a>]) -> Eval<'a> {
    constant(scope, "uuid")
}

fn byte<'a>(scope: &Scope<'a>, _: &[Value<'a>]) -> Eval<'a> {
    constant(scope, "byte")
}

fn date<'a>(scope: &Scope<'a>, _: &[Value<'a>]) -> Eval<'a> {
    constant(scope, "date")
}

fn datetime<'a>(scope: &Scope<'a>, _: &[Value<'a>]) -> Eval<'a> {
    constant(scope, "datetime")
}

/// `validate`: none if the text has the format, otherwise the list of error messages.
fn validate<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let Value::Opaque(Opaque::Format(format)) = args[0] else {
        return Err(Fault::NoSuchOverload);
    };
    let messages = format.validate(args[1].as_text()?);
    if messages.is_empty() {
        return Ok(Value::Optional(None));
    }
    let mut values = scope.arena.vec_with(messages.len());
    for message in &messages {
        values.push(scope.text(message)?);
    }
    Ok(scope.some(Value::List(List::Built(values.into_bump_slice()))))
}
