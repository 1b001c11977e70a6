//! Validation of flow schemas and priority levels.

use lockstep_object::field::{FieldError, Path};
use lockstep_object::{Value, names};

use super::{Errors, label, one_of, required, subdomain};
use crate::look::{list, number, some, text};

/// Name of the mandatory exempt flow schema and priority level.
const EXEMPT: &str = "exempt";
const PRECEDENCE_MAX: i64 = 10_000;
const QUEUES_MAX: i64 = 10_000_000;
/// Maximum entropy of shuffle sharding: the number of hash bits available.
const HASH_BITS_MAX: f64 = 60.0;
const VERBS: [&str; 9] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "proxy",
    "update",
    "watch",
];
/// Kinds of subjects, and the field of each.
const SUBJECTS: [(&str, &str); 3] = [
    ("Group", "group"),
    ("ServiceAccount", "serviceAccount"),
    ("User", "user"),
];

pub(crate) fn schema(schema: &Value, errors: &mut Errors) {
    let (name, spec) = (text(&schema["metadata"], "name"), &schema["spec"]);
    let path = Path::ROOT.field("spec");
    precedence(name, spec, &path, errors);
    if let Some(method) = some(spec, "distinguisherMethod") {
        let place = path.field("distinguisherMethod");
        let kinds = ["ByNamespace", "ByUser"];
        if !kinds.contains(&text(method, "type")) {
            let place = place.field("type");
            errors.push_with(|| FieldError::not_supported(&place, text(method, "type"), kinds));
        }
    }
    let level = text(&spec["priorityLevelConfiguration"], "name");
    let place = path.field("priorityLevelConfiguration");
    let place = place.field("name");
    if level.is_empty() {
        let why = "must reference a priority level";
        errors.push_with(|| FieldError::required(&place, why));
    } else {
        subdomain(level, &place, errors);
    }
    let place = path.field("rules");
    for (index, one) in list(spec, "rules").iter().enumerate() {
        rule(one, &place.index(index), errors);
    }
}

fn precedence(name: &str, spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let precedence = number(spec, "matchingPrecedence").unwrap_or_default();
    let why = match precedence {
        ..=0 => "must be a positive value".to_owned(),
        1 if name != EXEMPT => {
            "only the schema named 'exempt' may have matchingPrecedence 1".to_owned()
        }
        1..=PRECEDENCE_MAX => return,
        _ => format!("must not be greater than {PRECEDENCE_MAX}"),
    };
    let path = path.field("matchingPrecedence");
    errors.push_with(|| FieldError::invalid(&path, precedence, why));
}

fn rule(rule: &Value, path: &Path<'_>, errors: &mut Errors) {
    let subjects = list(rule, "subjects");
    let place = path.field("subjects");
    if subjects.is_empty() {
        let why = "subjects must contain at least one value";
        errors.push_with(|| FieldError::required(&place, why));
    }
    for (index, one) in subjects.iter().enumerate() {
        subject(one, &place.index(index), errors);
    }
    let (resources, others) = (list(rule, "resourceRules"), list(rule, "nonResourceRules"));
    if resources.is_empty() && others.is_empty() {
        let why = "at least one of resourceRules and nonResourceRules has to be non-empty";
        errors.push_with(|| FieldError::required(path, why));
    }
    let place = path.field("resourceRules");
    for (index, one) in resources.iter().enumerate() {
        resource_rule(one, &place.index(index), errors);
    }
    let place = path.field("nonResourceRules");
    for (index, one) in others.iter().enumerate() {
        path_rule(one, &place.index(index), errors);
    }
}

fn subject(subject: &Value, path: &Path<'_>, errors: &mut Errors) {
    let kind = text(subject, "kind");
    let known = SUBJECTS.iter().find(|(known, _)| *known == kind);
    let Some((_, field)) = known else {
        let known = SUBJECTS.map(|(known, _)| known);
        errors.push_with(|| FieldError::not_supported(&path.field("kind"), kind, known));
        return;
    };
    let place = path.field(field);
    match some(subject, field) {
        None => {
            let why = format!("{field} is required when subject kind is '{kind}'");
            errors.push_with(|| FieldError::required(&place, why));
        }
        Some(account) if *field == "serviceAccount" => service_account(account, &place, errors),
        Some(named) => drop(required(named, "name", &place, errors)),
    }
    // Upstream's order: service accounts, users, groups.
    for (other, field) in [SUBJECTS[1], SUBJECTS[2], SUBJECTS[0]] {
        if other != kind && some(subject, field).is_some() {
            let why = format!("{field} is forbidden when subject kind is not '{other}'");
            errors.push_with(|| FieldError::forbidden(&path.field(field), why));
        }
    }
}

fn service_account(account: &Value, path: &Path<'_>, errors: &mut Errors) {
    let name = text(account, "name");
    if required(account, "name", path, errors) && name != "*" {
        subdomain(name, &path.field("name"), errors);
    }
    let place = path.field("namespace");
    match text(account, "namespace") {
        "" => {
            let why = "must specify namespace for service account";
            errors.push_with(|| FieldError::required(&place, why));
        }
        namespace => label(namespace, &place, errors),
    }
}

/// Validates a list that must not be empty and in which `*` stands alone. Returns true if its items need validation.
fn items_matter(
    rule: &Value,
    (field, what): (&str, &str),
    empty: &str,
    path: &Path<'_>,
    errors: &mut Errors,
) -> bool {
    let items = list(rule, field);
    let path = path.field(field);
    let has_all = items.contains(&"*".into());
    if items.is_empty() {
        errors.push_with(|| FieldError::required(&path, empty));
    } else if has_all && items.len() > 1 {
        let why = format!("if '*' is present, must not specify other {what}");
        errors.push_with(|| FieldError::invalid(&path, items, why));
    }
    !has_all
}

fn verbs(rule: &Value, path: &Path<'_>, errors: &mut Errors) {
    let field = ("verbs", "verbs");
    let empty = "verbs must contain at least one value";
    let are_single = items_matter(rule, field, empty, path, errors);
    let verbs = list(rule, "verbs");
    let is_known = |verb: &Value| verb.as_str().is_some_and(|verb| VERBS.contains(&verb));
    if are_single && !verbs.iter().all(is_known) {
        let path = path.field("verbs");
        errors.push_with(|| FieldError::not_supported(&path, verbs, VERBS));
    }
}

fn resource_rule(rule: &Value, path: &Path<'_>, errors: &mut Errors) {
    verbs(rule, path, errors);
    let empty = |what: &str| format!("resource rules must supply at least one {what}");
    let groups = ("apiGroups", "api groups");
    items_matter(rule, groups, &empty("api group"), path, errors);
    let resources = ("resources", "resources");
    items_matter(rule, resources, &empty("resource"), path, errors);
    let namespaces = list(rule, "namespaces");
    if namespaces.is_empty() && rule["clusterScope"] == true {
        return;
    }
    let field = ("namespaces", "namespaces");
    let empty = "resource rules that are not cluster scoped must supply at least one namespace";
    if items_matter(rule, field, empty, path, errors) {
        let path = path.field("namespaces");
        for (index, namespace) in namespaces.iter().enumerate() {
            let namespace = namespace.as_str().unwrap_or_default();
            let path = path.index(index);
            for problem in names::dns1123_label(namespace) {
                let why =
                    format!("each member of this list must be '*' or a DNS-1123 label; {problem}");
                errors.push_with(|| FieldError::invalid(&path, namespace, why));
            }
        }
    }
}

fn path_rule(rule: &Value, path: &Path<'_>, errors: &mut Errors) {
    verbs(rule, path, errors);
    let field = ("nonResourceURLs", "non-resource URLs");
    let empty = "nonResourceURLs must contain at least one value";
    if items_matter(rule, field, empty, path, errors) {
        let path = path.field("nonResourceURLs");
        for (index, url) in list(rule, "nonResourceURLs").iter().enumerate() {
            let url = url.as_str().unwrap_or_default();
            if let Some(why) = wrong_with_path(url) {
                errors.push_with(|| FieldError::invalid(&path.index(index), url, why));
            }
        }
    }
}

fn wrong_with_path(url: &str) -> Option<&'static str> {
    let stars = url.matches('*').count();
    if url.is_empty() {
        Some("must not be empty")
    } else if !url.starts_with('/') {
        Some("must start with slash")
    } else if url.contains(' ') {
        Some("must not contain white-space")
    } else if url.contains("//") {
        Some("must not contain double slash")
    } else if stars > 1 || (stars == 1 && !url.ends_with("/*")) {
        Some("wildcard can only do suffix matching")
    } else {
        None
    }
}

pub(crate) fn level(level: &Value, errors: &mut Errors) {
    let (name, spec) = (text(&level["metadata"], "name"), &level["spec"]);
    let path = Path::ROOT.field("spec");
    let kind = text(spec, "type");
    if (name == EXEMPT) != (kind == "Exempt") {
        let why = "must be 'Exempt' if and only if `name` is 'exempt'";
        errors.push_with(|| FieldError::invalid(&path.field("type"), kind, why));
    }
    let (limited, exempt) = (some(spec, "limited"), some(spec, "exempt"));
    match kind {
        "Exempt" => {
            if limited.is_some() {
                let why = "must be nil if the type is not Limited";
                errors.push_with(|| FieldError::forbidden(&path.field("limited"), why));
            }
            if let Some(exempt) = exempt {
                shares(exempt, &path.field("exempt"), errors);
                lendable(exempt, &path.field("exempt"), errors);
            }
        }
        "Limited" => {
            if exempt.is_some() {
                let why = "must be nil if the type is Limited";
                errors.push_with(|| FieldError::forbidden(&path.field("exempt"), why));
            }
            let path = path.field("limited");
            match limited {
                Some(limited) => limits(limited, &path, errors),
                None => {
                    let why = "must not be empty when type is Limited";
                    errors.push_with(|| FieldError::required(&path, why));
                }
            }
        }
        _ => one_of(kind, &["Exempt", "Limited"], &path.field("type"), errors),
    }
}

fn shares(level: &Value, path: &Path<'_>, errors: &mut Errors) {
    let shares = number(level, "nominalConcurrencyShares");
    if let Some(shares) = shares.filter(|shares| *shares < 0) {
        let path = path.field("nominalConcurrencyShares");
        let why = "must be a non-negative integer";
        errors.push_with(|| FieldError::invalid(&path, shares, why));
    }
}

fn lendable(level: &Value, path: &Path<'_>, errors: &mut Errors) {
    let percent = number(level, "lendablePercent");
    if let Some(percent) = percent.filter(|percent| !(0..=100).contains(percent)) {
        let path = path.field("lendablePercent");
        let why = "must be between 0 and 100, inclusive";
        errors.push_with(|| FieldError::invalid(&path, percent, why));
    }
}

fn limits(limited: &Value, path: &Path<'_>, errors: &mut Errors) {
    shares(limited, path, errors);
    let place = path.field("limitResponse");
    response(&limited["limitResponse"], &place, errors);
    lendable(limited, path, errors);
    let borrowed = number(limited, "borrowingLimitPercent");
    if let Some(borrowed) = borrowed.filter(|borrowed| *borrowed < 0) {
        let path = path.field("borrowingLimitPercent");
        let why = "if specified, must be a non-negative integer";
        errors.push_with(|| FieldError::invalid(&path, borrowed, why));
    }
}

fn response(response: &Value, path: &Path<'_>, errors: &mut Errors) {
    let place = path.field("queuing");
    match (text(response, "type"), some(response, "queuing")) {
        ("Reject", Some(_)) => {
            let why = "must be nil if limited.limitResponse.type is not Limited";
            errors.push_with(|| FieldError::forbidden(&place, why));
        }
        ("Queue", None) => {
            let why = "must not be empty if limited.limitResponse.type is Limited";
            errors.push_with(|| FieldError::required(&place, why));
        }
        ("Queue", Some(queuing)) => queues(queuing, &place, errors),
        ("Reject", None) => {}
        (kind, _) => one_of(kind, &["Queue", "Reject"], &path.field("type"), errors),
    }
}

fn queues(queuing: &Value, path: &Path<'_>, errors: &mut Errors) {
    let of = |field: &str| number(queuing, field).unwrap_or_default();
    let mut wrong = |field: &str, why: String| {
        let path = path.field(field);
        errors.push_with(|| FieldError::invalid(&path, of(field), why));
    };
    if of("queueLengthLimit") <= 0 {
        wrong("queueLengthLimit", "must be positive".to_owned());
    }
    let (queues, hand) = (of("queues"), of("handSize"));
    if queues <= 0 {
        wrong("queues", "must be positive".to_owned());
    } else if queues > QUEUES_MAX {
        wrong("queues", format!("must not be greater than {QUEUES_MAX}"));
    }
    if hand <= 0 {
        wrong("handSize", "must be positive".to_owned());
    } else if hand > queues {
        let why = format!("should not be greater than queues ({queues})");
        wrong("handSize", why);
    } else if entropy_bits(queues, hand) > HASH_BITS_MAX {
        let why = format!(
            "required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {HASH_BITS_MAX}"
        );
        wrong("handSize", why);
    }
}

/// Entropy of a shuffle-sharding hand.
#[expect(
    clippy::cast_precision_loss,
    reason = "it is an estimate, and numbers of 32 bits are exact"
)]
fn entropy_bits(queues: i64, hand: i64) -> f64 {
    ((queues as f64).log2() * hand as f64).ceil()
}
