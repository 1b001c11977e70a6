//! What is wrong with a CRD.

use std::collections::BTreeSet;

use lockstep_cel::Version;
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::names::{dns1035_label, dns1123_subdomain};
use lockstep_object::{Object, Value};
use lockstep_schema::{CheckOptions, StatusSubresource, check};

use super::Definition;
use super::definition::DefinedVersion;

/// The annotation without which groups of Kubernetes are not for others.
const APPROVED: &str = "api-approved.kubernetes.io";

/// Everything that is wrong, besides the metadata.
pub(crate) fn validate(object: &Object, old: Option<&Object>) -> FieldErrors {
    let crd = Definition::of(object);
    let old = old.map(Definition::of);
    let spec = Path::ROOT.field("spec");
    let mut errors = FieldErrors::new();
    check_name(crd, &mut errors);
    check_group(crd, &spec, &mut errors);
    check_approval(object, crd, &mut errors);
    check_scope(crd, &spec, &mut errors);
    check_names(crd, &spec.field("names"), &mut errors);
    check_versions(object, crd, old, &spec, &mut errors);
    check_conversion(object, &spec.field("conversion"), &mut errors);
    if object.at(&["spec", "preserveUnknownFields"]) == Some(&Value::Bool(true)) {
        let path = spec.field("preserveUnknownFields");
        errors.push(FieldError::invalid(&path, true, "must be false"));
    }
    if let Some(old) = old {
        check_unchanged(crd, old, &spec, &mut errors);
    }
    check_stored(crd, old, &mut errors);
    errors
}

fn check_name(crd: Definition<'_>, errors: &mut FieldErrors) {
    let wanted = format!("{}.{}", crd.names("plural"), crd.group());
    if crd.name() != wanted {
        let metadata = Path::ROOT.field("metadata");
        let detail = "must be spec.names.plural+\".\"+spec.group";
        errors.push(FieldError::invalid(
            &metadata.field("name"),
            crd.name(),
            detail,
        ));
    }
}

fn check_group(crd: Definition<'_>, spec: &Path<'_>, errors: &mut FieldErrors) {
    let (path, group) = (spec.field("group"), crd.group());
    let problems = dns1123_subdomain(group);
    if group.is_empty() {
        errors.push(FieldError::required(&path, ""));
    } else if !problems.is_empty() {
        errors.push(FieldError::invalid(&path, group, problems.join(",")));
    } else if !group.contains('.') {
        errors.push(FieldError::invalid(
            &path,
            group,
            "should be a domain with at least one dot",
        ));
    }
}

/// Groups of the Kubernetes project need its approval.
fn check_approval(object: &Object, crd: Definition<'_>, errors: &mut FieldErrors) {
    let group = crd.group();
    let belongs = |domain: &str| group == domain || group.ends_with(&format!(".{domain}"));
    if !belongs("k8s.io") && !belongs("kubernetes.io") {
        return;
    }
    let metadata = Path::ROOT.field("metadata");
    let annotations = metadata.field("annotations");
    let path = annotations.key(APPROVED);
    match object.annotation(APPROVED).unwrap_or_default() {
        "" => errors.push(FieldError::required(
            &path,
            "protected groups must have approval annotation \"api-approved.kubernetes.io\", see \
             https://github.com/kubernetes/enhancements/pull/1111",
        )),
        text if text.starts_with("unapproved") || text.starts_with("https://") => {}
        text => errors.push(FieldError::invalid(
            &path,
            text,
            "protected groups must have approval annotation \"api-approved.kubernetes.io\" with \
             either a URL or a reason starting with \"unapproved\", see \
             https://github.com/kubernetes/enhancements/pull/1111",
        )),
    }
}

fn check_scope(crd: Definition<'_>, spec: &Path<'_>, errors: &mut FieldErrors) {
    let path = spec.field("scope");
    match crd.scope() {
        "Cluster" | "Namespaced" => {}
        "" => errors.push(FieldError::required(&path, "")),
        other => errors.push(FieldError::not_supported(
            &path,
            other,
            ["Cluster", "Namespaced"],
        )),
    }
}

fn check_names(crd: Definition<'_>, path: &Path<'_>, errors: &mut FieldErrors) {
    for name in ["plural", "singular", "kind", "listKind"] {
        let (path, given) = (path.field(name), crd.names(name));
        if given.is_empty() {
            errors.push(FieldError::required(&path, ""));
            continue;
        }
        let is_kind = name.to_lowercase().ends_with("kind");
        let judged = if is_kind {
            given.to_lowercase()
        } else {
            given.to_owned()
        };
        let problems = dns1035_label(&judged).join(",");
        let detail = match (is_kind, problems.is_empty()) {
            (_, true) => continue,
            (true, false) => format!("may have mixed case, but should otherwise match: {problems}"),
            (false, false) => problems,
        };
        errors.push(FieldError::invalid(&path, given, detail));
    }
    if !crd.names("kind").is_empty() && crd.names("kind") == crd.names("listKind") {
        let detail = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(
            &path.field("listKind"),
            crd.names("listKind"),
            detail,
        ));
    }
    for list in ["shortNames", "categories"] {
        let path = path.field(list);
        for (at, name) in crd.name_list(list).into_iter().enumerate() {
            let problems = dns1035_label(name);
            if !problems.is_empty() {
                errors.push(FieldError::invalid(
                    &path.index(at),
                    name,
                    problems.join(","),
                ));
            }
        }
    }
}

fn check_versions(
    object: &Object,
    crd: Definition<'_>,
    old: Option<Definition<'_>>,
    spec: &Path<'_>,
    errors: &mut FieldErrors,
) {
    let path = spec.field("versions");
    let all = || {
        object
            .at(&["spec", "versions"])
            .cloned()
            .unwrap_or_default()
    };
    let versions: Vec<DefinedVersion<'_>> = crd.versions().collect();
    if versions.is_empty() {
        errors.push(FieldError::required(&path, ""));
        return;
    }
    let mut seen = BTreeSet::new();
    if !versions.iter().all(|version| seen.insert(version.name())) {
        errors.push(FieldError::invalid(
            &path,
            all(),
            "must contain unique version names",
        ));
    }
    if versions
        .iter()
        .filter(|version| version.is_storage())
        .count()
        != 1
    {
        let detail = "must have exactly one version marked as storage version";
        errors.push(FieldError::invalid(&path, all(), detail));
    }
    let first = versions.first().and_then(|version| version.schema());
    let is_shared = first.is_some() && versions.iter().all(|version| version.schema() == first);
    for (at, version) in versions.iter().enumerate() {
        let path = path.index(at);
        let problems = dns1035_label(version.name());
        if !problems.is_empty() {
            let detail = problems.join(",");
            errors.push(FieldError::invalid(
                &path.field("name"),
                version.name(),
                detail,
            ));
        }
        check_deprecation(*version, &path, errors);
        if !is_shared {
            let schema = path.field("schema");
            check_schema(*version, old, &schema.field("openAPIV3Schema"), errors);
        }
    }
    if is_shared {
        let validation = spec.field("validation");
        check_schema(
            versions[0],
            old,
            &validation.field("openAPIV3Schema"),
            errors,
        );
    }
}

fn check_deprecation(version: DefinedVersion<'_>, path: &Path<'_>, errors: &mut FieldErrors) {
    let warning = &version.value()["deprecationWarning"];
    if !warning.is_null() && !version.is_deprecated() {
        let detail = "can only be set for deprecated versions";
        let path = path.field("deprecationWarning");
        errors.push(FieldError::invalid(&path, warning.clone(), detail));
    }
}

fn check_schema(
    version: DefinedVersion<'_>,
    old: Option<Definition<'_>>,
    path: &Path<'_>,
    errors: &mut FieldErrors,
) {
    let Some(schema) = version.schema() else {
        errors.push(FieldError::required(path, "schemas are required"));
        return;
    };
    let mut before = old.into_iter().flat_map(Definition::versions);
    let before = before.find(|old| old.name() == version.name());
    let has_status = version
        .subresources()
        .is_some_and(|parts| parts.contains_key("status"));
    let options = CheckOptions {
        version: Version::LATEST,
        stored: before.and_then(DefinedVersion::schema),
        status: if has_status {
            StatusSubresource::Present
        } else {
            StatusSubresource::Absent
        },
    };
    errors.extend(check(schema, path, options));
}

/// Conversion by a webhook is not served.
fn check_conversion(object: &Object, path: &Path<'_>, errors: &mut FieldErrors) {
    let strategy = object.at(&["spec", "conversion", "strategy"]);
    let strategy = strategy.and_then(Value::as_str).unwrap_or_default();
    if strategy != "None" {
        errors.push(FieldError::not_supported(
            &path.field("strategy"),
            strategy,
            ["None"],
        ));
    }
}

/// What objects in the store depend on.
fn check_unchanged(
    crd: Definition<'_>,
    old: Definition<'_>,
    spec: &Path<'_>,
    errors: &mut FieldErrors,
) {
    let names = spec.field("names");
    let mut rows = vec![
        (spec.field("group"), crd.group(), old.group()),
        (spec.field("scope"), crd.scope(), old.scope()),
    ];
    if old.is("Established") {
        for name in ["kind", "plural"] {
            rows.push((names.field(name), crd.names(name), old.names(name)));
        }
    }
    for (path, now, before) in rows {
        if now != before {
            errors.push(FieldError::invalid(&path, now, "field is immutable"));
        }
    }
}

/// A version that objects may still be stored in stays.
fn check_stored(crd: Definition<'_>, old: Option<Definition<'_>>, errors: &mut FieldErrors) {
    if old.is_none() {
        return;
    }
    let status = Path::ROOT.field("status");
    let path = status.field("storedVersions");
    for (at, version) in crd.stored_versions().into_iter().enumerate() {
        if crd.versions().any(|known| known.name() == version) {
            continue;
        }
        let detail = format!(
            "missing from spec.versions; {version} was previously a storage version, and must \
             remain in spec.versions until a storage migration ensures no data remains persisted \
             in {version} and removes {version} from status.storedVersions"
        );
        errors.push(FieldError::invalid(&path.index(at), version, detail));
    }
}
