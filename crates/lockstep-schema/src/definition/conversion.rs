//! Conversion between versions.

use crate::keywords::{given, integer, list, schema as subschema, text};
use lockstep_gotext::url::parse_request_uri;
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::names;
use serde_json::Value;

/// Versions of `ConversionReview` that the server speaks.
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];

pub(super) fn check(
    spec: &Value,
    stored: Option<&Value>,
    path: &Path<'_>,
    errors: &mut FieldErrors,
) {
    let Some(conversion) = subschema(spec, "conversion") else {
        return;
    };
    let webhook = subschema(conversion, "webhook");
    let config_path = path.field("webhookClientConfig");
    let versions_path = path.field("conversionReviewVersions");
    match text(conversion, "strategy") {
        "Webhook" => {
            match webhook.and_then(|webhook| subschema(webhook, "clientConfig")) {
                Some(config) => client_config(config, &config_path, errors),
                None => {
                    let problem = "required when strategy is set to Webhook";
                    errors.push(FieldError::required(&config_path, problem));
                }
            }
            let before = stored
                .and_then(|stored| stored.pointer("/conversion/webhook/conversionReviewVersions"));
            let before = before.and_then(Value::as_array);
            let lenient = before
                .is_some_and(|versions| !versions.is_empty() && !versions.iter().any(is_known));
            let versions =
                webhook.map_or(&[][..], |webhook| list(webhook, "conversionReviewVersions"));
            review_versions(versions, lenient, &versions_path, errors);
            return;
        }
        "None" => {}
        "" => errors.push(FieldError::required(&path.field("strategy"), "")),
        other => errors.push(FieldError::not_supported(
            &path.field("strategy"),
            other,
            ["None", "Webhook"],
        )),
    }
    let problem = "should not be set when strategy is not set to Webhook";
    if webhook.is_some_and(|webhook| given(webhook, "clientConfig").is_some()) {
        errors.push(FieldError::forbidden(&config_path, problem));
    }
    if webhook.is_some_and(|webhook| !list(webhook, "conversionReviewVersions").is_empty()) {
        errors.push(FieldError::forbidden(&versions_path, problem));
    }
}

fn is_known(version: &Value) -> bool {
    version
        .as_str()
        .is_some_and(|version| REVIEW_VERSIONS.contains(&version))
}

fn review_versions(versions: &[Value], lenient: bool, path: &Path<'_>, errors: &mut FieldErrors) {
    if versions.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    for (index, version) in versions.iter().enumerate() {
        let path = path.index(index);
        let version = version.as_str().unwrap_or_default();
        if versions[..index].iter().any(|earlier| earlier == version) {
            errors.push(FieldError::invalid(&path, version, "duplicate version"));
            continue;
        }
        let problems = names::dns1035_label(version).into_iter();
        errors.extend(problems.map(|problem| FieldError::invalid(&path, version, problem)));
    }
    if !lenient && !versions.iter().any(is_known) {
        let problem = format!(
            "must include at least one of {}",
            REVIEW_VERSIONS.join(", ")
        );
        errors.push(FieldError::invalid(path, versions, problem));
    }
}

fn client_config(config: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    match (given(config, "url"), subschema(config, "service")) {
        (Some(url), None) => {
            check_url(url.as_str().unwrap_or_default(), &path.field("url"), errors);
        }
        (None, Some(service)) => check_service(service, &path.field("service"), errors),
        _ => errors.push(FieldError::required(
            path,
            "exactly one of url or service is required",
        )),
    }
}

/// Webhooks are called by TLS, without anything in the address that could change who answers.
fn check_url(url: &str, path: &Path<'_>, errors: &mut FieldErrors) {
    const FORM: &str = "; desired format: https://host[/path]";
    let parsed = match parse_request_uri(url) {
        Ok(parsed) => parsed,
        Err(error) => {
            let problem = format!("url must be a valid URL: {error}{FORM}");
            errors.push(FieldError::required(path, problem));
            return;
        }
    };
    if parsed.scheme() != "https" {
        let problem = format!("'https' is the only allowed URL scheme{FORM}");
        errors.push(FieldError::invalid(path, parsed.scheme(), problem));
    }
    if parsed.host().is_empty() {
        errors.push(FieldError::invalid(
            path,
            "",
            format!("host must be specified{FORM}"),
        ));
    }
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if let Some((user, _)) = authority.rsplit_once('@') {
        errors.push(FieldError::invalid(
            path,
            user,
            "user information is not permitted in the URL",
        ));
    }
    if let Some((_, fragment)) = url.split_once('#') {
        errors.push(FieldError::invalid(
            path,
            fragment,
            "fragments are not permitted in the URL",
        ));
    }
    let before_fragment = url.split('#').next().unwrap_or_default();
    if let Some((_, query)) = before_fragment.split_once('?') {
        errors.push(FieldError::invalid(
            path,
            query,
            "query parameters are not permitted in the URL",
        ));
    }
}

fn check_service(service: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    for field in ["name", "namespace"] {
        if text(service, field).is_empty() {
            let problem = format!("service {field} is required");
            errors.push(FieldError::required(&path.field(field), problem));
        }
    }
    let port = integer(service, "port").unwrap_or(443);
    if !(1..=65_535).contains(&port) {
        let problem = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(FieldError::invalid(&path.field("port"), port, problem));
    }
    let url_path = text(service, "path");
    let path = path.field("path");
    if matches!(url_path, "" | "/") {
        return;
    }
    let Some(rest) = url_path.strip_prefix('/') else {
        errors.push(FieldError::invalid(
            &path,
            url_path,
            "must start with a '/'",
        ));
        return;
    };
    for (index, segment) in rest
        .strip_suffix('/')
        .unwrap_or(rest)
        .split('/')
        .enumerate()
    {
        if segment.is_empty() {
            let problem = format!("segment[{index}] may not be empty");
            errors.push(FieldError::invalid(&path, url_path, problem));
            continue;
        }
        let problems = names::dns1123_subdomain(segment).into_iter();
        errors.extend(problems.map(|problem| {
            FieldError::invalid(&path, url_path, format!("segment[{index}]: {problem}"))
        }));
    }
}
