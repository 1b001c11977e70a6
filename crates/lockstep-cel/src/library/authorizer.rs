//! Authorizer library.

use super::{Row, row};
use crate::authorizer::{Authorization, Decision, ResourceAttributes, ResourceCheck};
use crate::cost::AUTHORIZATION_CHECK;
use crate::cost::Cost::{Fixed, One, Selector};
use crate::scope::Scope;
use crate::value::{Eval, Fault, Opaque, Value};
use lockstep_gotext::formats::NamedFormat;

pub(super) const ROWS: &[Row] = &[
    row(
        "authorizer_path",
        "<Authorizer>.path(string) -> PathCheck",
        One,
        path,
    ),
    row(
        "authorizer_group",
        "<Authorizer>.group(string) -> GroupCheck",
        One,
        group,
    ),
    row(
        "authorizer_serviceaccount",
        "<Authorizer>.serviceAccount(string, string) -> Authorizer",
        One,
        service_account,
    ),
    row(
        "groupcheck_resource",
        "<GroupCheck>.resource(string) -> ResourceCheck",
        One,
        resource,
    ),
    row(
        "resourcecheck_subresource",
        "<ResourceCheck>.subresource(string) -> ResourceCheck",
        One,
        subresource,
    ),
    row(
        "resourcecheck_namespace",
        "<ResourceCheck>.namespace(string) -> ResourceCheck",
        One,
        namespace,
    ),
    row(
        "resourcecheck_name",
        "<ResourceCheck>.name(string) -> ResourceCheck",
        One,
        name,
    ),
    row(
        "pathcheck_check",
        "<PathCheck>.check(string) -> Decision",
        Fixed(AUTHORIZATION_CHECK),
        check,
    ),
    row(
        "resourcecheck_check",
        "<ResourceCheck>.check(string) -> Decision",
        Fixed(AUTHORIZATION_CHECK),
        check,
    ),
    row(
        "decision_allowed",
        "<Decision>.allowed() -> bool",
        One,
        allowed,
    ),
    row(
        "decision_reason",
        "<Decision>.reason() -> string",
        One,
        reason,
    ),
    row("decision_error", "<Decision>.error() -> string", One, error),
    row(
        "decision_errored",
        "<Decision>.errored() -> bool",
        One,
        errored,
    ),
];

pub(super) const SELECTOR_ROWS: &[Row] = &[
    row(
        "authorizer_fieldselector",
        "<ResourceCheck>.fieldSelector(string) -> ResourceCheck",
        Selector,
        field_selector,
    ),
    row(
        "authorizer_labelselector",
        "<ResourceCheck>.labelSelector(string) -> ResourceCheck",
        Selector,
        label_selector,
    ),
];

fn authorization<'a>(value: &Value<'a>) -> Result<&'a Authorization, Fault<'a>> {
    match value {
        Value::Opaque(Opaque::Authorizer(authorization)) => Ok(authorization),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn path<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let (authorization, path) = (authorization(&args[0])?, args[1].as_text()?);
    if path.trim().is_empty() {
        return Err(Fault::Fixed("path must not be empty"));
    }
    Ok(scope
        .arena
        .opaque(Opaque::PathCheck(authorization.path(path))))
}

fn group<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let check = authorization(&args[0])?.group(args[1].as_text()?);
    Ok(scope.arena.opaque(Opaque::GroupCheck(check)))
}

fn service_account<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let (namespace, name) = (args[1].as_text()?, args[2].as_text()?);
    if !NamedFormat::named("dns1123Subdomain")
        .is_some_and(|format| format.validate(name).is_empty())
    {
        return Err(Fault::Fixed("Invalid service account name"));
    }
    if !NamedFormat::named("dns1123Label")
        .is_some_and(|format| format.validate(namespace).is_empty())
    {
        return Err(Fault::Fixed("Invalid service account namespace"));
    }
    let account = authorization(&args[0])?.as_service_account(namespace, name);
    Ok(scope.arena.opaque(Opaque::Authorizer(account)))
}

fn resource<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let Value::Opaque(Opaque::GroupCheck(group)) = args[0] else {
        return Err(Fault::NoSuchOverload);
    };
    let resource = args[1].as_text()?;
    if resource.trim().is_empty() {
        return Err(Fault::Fixed("resource must not be empty"));
    }
    Ok(scope
        .arena
        .opaque(Opaque::ResourceCheck(group.resource(resource))))
}

fn resource_check<'a>(value: &Value<'a>) -> Result<&'a ResourceCheck, Fault<'a>> {
    match value {
        Value::Opaque(Opaque::ResourceCheck(check)) => Ok(check),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn with<'a>(
    scope: &Scope<'a>,
    args: &[Value<'a>],
    change: fn(&mut ResourceAttributes, String),
) -> Eval<'a> {
    let text = args[1].as_text()?.to_owned();
    let changed = resource_check(&args[0])?.with(|resource| change(resource, text));
    Ok(scope.arena.opaque(Opaque::ResourceCheck(changed)))
}

fn subresource<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    with(scope, args, |resource, text| resource.subresource = text)
}

fn namespace<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    with(scope, args, |resource, text| resource.namespace = text)
}

fn name<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    with(scope, args, |resource, text| resource.name = text)
}

fn field_selector<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    with(scope, args, |resource, text| {
        resource.field_selector = Some(text);
    })
}

fn label_selector<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    with(scope, args, |resource, text| {
        resource.label_selector = Some(text);
    })
}

fn check<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let verb = args[1].as_text()?;
    let decision = match args[0] {
        Value::Opaque(Opaque::PathCheck(check)) => check.check(verb),
        Value::Opaque(Opaque::ResourceCheck(check)) => check.check(verb),
        _ => return Err(Fault::NoSuchOverload),
    };
    Ok(scope.arena.opaque(Opaque::Decision(decision)))
}

fn decision<'a>(args: &[Value<'a>]) -> Result<&'a Decision, Fault<'a>> {
    match args[0] {
        Value::Opaque(Opaque::Decision(decision)) => Ok(decision),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn allowed<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Bool(decision(args)?.allowed))
}

fn reason<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::String(&decision(args)?.reason))
}

fn error<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::String(
        decision(args)?.error.as_deref().unwrap_or(""),
    ))
}

fn errored<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Bool(decision(args)?.error.is_some()))
}
