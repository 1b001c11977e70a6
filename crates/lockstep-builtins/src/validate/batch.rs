//! Validation of jobs and cron jobs.

use lockstep_object::field::{FieldError, Path};
use lockstep_object::selector::{from_label_selector, validate_label_selector};
use lockstep_object::{Value, names};
use serde_json::json;

use super::templates::{selects, template, unselected};
use super::{Errors, cron, immutable_field, job_policies, non_negative, one_of, one_of_or_none};
use crate::look::{number, some, text};

/// Maximum length of a cron job name; the controller appends an 11-character suffix to job names.
const CRON_JOB_NAME_BYTES_MAX: usize = 52;
/// Maximum parallelism of an indexed job.
const INDEXED_PARALLELISM_MAX: i64 = 100_000;

fn spec_of(object: &Value) -> &Value {
    object.get("spec").unwrap_or(&Value::Null)
}

pub(crate) fn job(job: &Value, errors: &mut Errors) {
    generated_selector(job, errors);
    let (spec, path) = (spec_of(job), Path::ROOT.field("spec"));
    job_spec(spec, &path, errors);
    own_selector(spec, &path, errors);
    let completions = number(spec, "completions").filter(|count| *count > 0);
    let is_indexed = text(spec, "completionMode") == "Indexed";
    if let Some(count) = completions.filter(|_| is_indexed) {
        let name = job["metadata"]["name"].as_str().unwrap_or_default();
        let last = format!("{name}-{}", count - 1);
        if !names::dns1123_label(&last).is_empty() {
            let metadata = Path::ROOT.field("metadata");
            let why = format!("will not able to create pod with invalid DNS label: {last}");
            errors.push_with(|| FieldError::invalid(&metadata.field("name"), name, why));
        }
    }
}

/// The selector that the server makes is not mixed with others.
fn generated_selector(job: &Value, errors: &mut Errors) {
    let spec = spec_of(job);
    let is_manual = spec.get("manualSelector") == Some(&Value::Bool(true));
    let Some(selector) = some(spec, "selector").filter(|_| !is_manual) else {
        return;
    };
    let (uid, name) = (&job["metadata"]["uid"], &job["metadata"]["name"]);
    let expected = json!({
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    });
    let labels = expected.as_object().cloned().unwrap_or_default();
    let selects = from_label_selector(selector).map(|selector| selector.matches(&labels));
    if selects == Ok(false) {
        let spec_path = Path::ROOT.field("spec");
        let why = "`selector` not auto-generated";
        errors.push_with(|| FieldError::invalid(&spec_path.field("selector"), selector, why));
    }
}

fn own_selector(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let selector = some(spec, "selector");
    match selector {
        None => errors.push_with(|| FieldError::required(&path.field("selector"), "")),
        Some(selector) => {
            errors.append(validate_label_selector(selector, &path.field("selector")));
        }
    }
    if selects(selector, &spec["template"]) == Some(false) {
        errors.push(unselected(&spec["template"], &path.field("template")));
    }
}

fn job_spec(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    for field in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        non_negative(spec, field, path, errors);
    }
    let has = |field: &str| some(spec, field).is_some();
    if has("maxFailedIndexes") && !has("backoffLimitPerIndex") {
        let why = "when maxFailedIndexes is specified";
        errors.push_with(|| FieldError::required(&path.field("backoffLimitPerIndex"), why));
    }
    job_policies::managed_by(spec, path, errors);
    let mode = text(spec, "completionMode");
    one_of_or_none(
        mode,
        &["NonIndexed", "Indexed"],
        &path.field("completionMode"),
        errors,
    );
    match mode {
        "Indexed" => indexed(spec, path, errors),
        "" | "NonIndexed" => {
            for field in ["backoffLimitPerIndex", "maxFailedIndexes"] {
                if let Some(value) = some(spec, field) {
                    let why = "requires indexed completion mode";
                    errors.push_with(|| FieldError::invalid(&path.field(field), value, why));
                }
            }
        }
        _ => {}
    }
    job_policies::failure(spec, path, errors);
    job_policies::success(spec, path, errors);
    let policy = text(spec, "podReplacementPolicy");
    let place = path.field("podReplacementPolicy");
    if has("podFailurePolicy") {
        one_of_or_none(policy, &["Failed"], &place, errors);
    } else {
        one_of_or_none(policy, &["Failed", "TerminatingOrFailed"], &place, errors);
    }
    template(&spec["template"], &path.field("template"), errors);
    restart_policy(spec, path, errors);
}

fn indexed(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let completions = number(spec, "completions");
    if completions.is_none() {
        let why = "when completion mode is Indexed";
        errors.push_with(|| FieldError::required(&path.field("completions"), why));
    }
    let parallelism = number(spec, "parallelism");
    if let Some(count) = parallelism.filter(|count| *count > INDEXED_PARALLELISM_MAX) {
        let why = format!(
            "must be less than or equal to {INDEXED_PARALLELISM_MAX} when completion mode is Indexed"
        );
        errors.push_with(|| FieldError::invalid(&path.field("parallelism"), count, why));
    }
    let failed = number(spec, "maxFailedIndexes");
    let is_more = |failed: &i64| completions.is_some_and(|completions| *failed > completions);
    if let Some(failed) = failed.filter(is_more) {
        let why = "must be less than or equal to completions";
        errors.push_with(|| FieldError::invalid(&path.field("maxFailedIndexes"), failed, why));
    }
}

/// Pods of a job end.
fn restart_policy(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let template = path.field("template");
    let pod = template.field("spec");
    let place = pod.field("restartPolicy");
    let policy = text(&spec["template"]["spec"], "restartPolicy");
    match policy {
        "" | "Always" => {
            let why = "valid values: \"OnFailure\", \"Never\"";
            errors.push_with(|| FieldError::required(&place, why));
        }
        "OnFailure" if some(spec, "podFailurePolicy").is_some() => {
            let why = "only \"Never\" is supported when podFailurePolicy is specified";
            errors.push_with(|| FieldError::invalid(&place, policy, why));
        }
        "Never" | "OnFailure" => {}
        other => {
            let known = ["OnFailure", "Never"];
            errors.push_with(|| FieldError::not_supported(&place, other, known));
        }
    }
}

/// Parts of the template that may change before any pod was made.
const SCHEDULING: [&str; 4] = ["affinity", "nodeSelector", "tolerations", "schedulingGates"];

pub(crate) fn job_update(new: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::ROOT.field("spec");
    let (spec, old_spec) = (spec_of(new), spec_of(old));
    job_spec(spec, &path, errors);
    own_selector(spec, &path, errors);
    completions(spec, old_spec, &path, errors);
    immutable_field(spec, old_spec, "selector", &path, errors);
    template_update(new, old, &path, errors);
    for field in [
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    ] {
        immutable_field(spec, old_spec, field, &path, errors);
    }
}

fn completions(spec: &Value, old: &Value, path: &Path<'_>, errors: &mut Errors) {
    if text(spec, "completionMode") != "Indexed" {
        immutable_field(spec, old, "completions", path, errors);
        return;
    }
    let wanted = some(spec, "completions");
    let has_moved = wanted != some(old, "completions");
    if let Some(wanted) = wanted.filter(|wanted| has_moved && **wanted != spec["parallelism"]) {
        let why = "can only be modified in tandem with spec.parallelism";
        errors.push_with(|| FieldError::invalid(&path.field("completions"), wanted, why));
    }
}

fn template_update(new: &Value, old: &Value, path: &Path<'_>, errors: &mut Errors) {
    let own = &spec_of(new)["template"];
    let mut before = spec_of(old)["template"].clone();
    let is_suspended = spec_of(old).get("suspend") == Some(&Value::Bool(true));
    let has_started = old["status"].get("startTime").is_some_and(Value::is_string);
    if is_suspended && !has_started {
        copy(own, &mut before, "metadata", &["labels", "annotations"]);
        copy(own, &mut before, "spec", &SCHEDULING);
    }
    let is_same = without_nulls(own) == without_nulls(&before);
    if !is_same {
        let place = path.field("template");
        errors.push_with(|| FieldError::invalid(&place, own, "field is immutable"));
    }
}

/// Makes fields of a part of one template those of another.
fn copy(from: &Value, to: &mut Value, part: &str, fields: &[&str]) {
    let Some(to) = to.get_mut(part).and_then(Value::as_object_mut) else {
        return;
    };
    for field in fields {
        to.insert((*field).to_owned(), from[part][*field].clone());
    }
}

/// A template without fields that hold nothing.
fn without_nulls(template: &Value) -> Value {
    let mut template = template.clone();
    for part in ["metadata", "spec"] {
        if let Some(fields) = template.get_mut(part).and_then(Value::as_object_mut) {
            fields.retain(|_, value| !value.is_null());
        }
    }
    template
}

pub(crate) fn cron_job(cron: &Value, errors: &mut Errors) {
    cron_spec(cron, None, errors);
    let name = cron["metadata"]["name"].as_str().unwrap_or_default();
    if name.len() > CRON_JOB_NAME_BYTES_MAX {
        let metadata = Path::ROOT.field("metadata");
        let why = format!("must be no more than {CRON_JOB_NAME_BYTES_MAX} characters");
        errors.push_with(|| FieldError::invalid(&metadata.field("name"), name, why));
    }
}

fn cron_spec(cron: &Value, old: Option<&Value>, errors: &mut Errors) {
    let (spec, path) = (spec_of(cron), Path::ROOT.field("spec"));
    let (schedule, place) = (text(spec, "schedule"), path.field("schedule"));
    if schedule.is_empty() {
        errors.push_with(|| FieldError::required(&place, ""));
    } else {
        if let Err(why) = cron::check(schedule) {
            errors.push_with(|| FieldError::invalid(&place, schedule, why));
        }
        let had_zone = old.is_some_and(|old| text(spec_of(old), "schedule").contains("TZ"));
        if schedule.contains("TZ") {
            let why = match (had_zone, some(spec, "timeZone")) {
                (true, None) => "",
                (true, Some(_)) => "cannot use both timeZone field and TZ or CRON_TZ in schedule",
                (false, _) => "cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
            };
            if !why.is_empty() {
                errors.push_with(|| FieldError::invalid(&place, schedule, why));
            }
        }
    }
    non_negative(spec, "startingDeadlineSeconds", &path, errors);
    let is_new = old.is_none_or(|old| spec_of(old).get("timeZone") != spec.get("timeZone"));
    if let Some(zone) = some(spec, "timeZone")
        .and_then(Value::as_str)
        .filter(|_| is_new)
    {
        time_zone(zone, &path.field("timeZone"), errors);
    }
    let policy = text(spec, "concurrencyPolicy");
    let known = ["Allow", "Forbid", "Replace"];
    one_of(policy, &known, &path.field("concurrencyPolicy"), errors);
    job_template(&spec["jobTemplate"], &path.field("jobTemplate"), errors);
    non_negative(spec, "successfulJobsHistoryLimit", &path, errors);
    non_negative(spec, "failedJobsHistoryLimit", &path, errors);
}

/// Validates the form of a time zone; the controller knows which zones exist.
fn time_zone(zone: &str, path: &Path<'_>, errors: &mut Errors) {
    if zone.is_empty() {
        let why = "timeZone must be nil or non-empty string";
        errors.push_with(|| FieldError::invalid(path, zone, why));
        return;
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || "_+-".contains(c);
    let is_bad = |part: &str| {
        part.is_empty() || part.starts_with('-') || part.len() > 14 || !part.chars().all(fits)
    };
    if zone.split('/').any(is_bad) {
        let why = format!("unknown time zone {zone}");
        errors.push_with(|| FieldError::invalid(path, zone, why));
    } else if zone.eq_ignore_ascii_case("Local") {
        let why =
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        errors.push_with(|| FieldError::invalid(path, zone, why));
    }
}

fn job_template(template: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (spec, path) = (spec_of(template), path.field("spec"));
    job_spec(spec, &path, errors);
    if let Some(selector) = some(spec, "selector") {
        let why = "`selector` will be auto-generated";
        errors.push_with(|| FieldError::invalid(&path.field("selector"), selector, why));
    }
    if spec.get("manualSelector") == Some(&Value::Bool(true)) {
        let path = path.field("manualSelector");
        errors.push_with(|| FieldError::not_supported(&path, true, ["nil", "false"]));
    }
}

pub(crate) fn cron_job_update(new: &Value, old: &Value, errors: &mut Errors) {
    cron_spec(new, Some(old), errors);
}
