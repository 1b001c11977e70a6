//! Validation of job status: conditions, counters and indexes must be consistent.

use lockstep_object::Value;
use lockstep_object::field::{FieldError, Path};

use super::Errors;
use super::job_policies::count_indexes;
use super::statuses::counts;
use crate::look::{list, number, some, text};

/// The faults of a new status, without those that the old one had already.
pub(crate) fn check(new: &Value, old: &Value, errors: &mut Errors) {
    let (mut found, mut before) = (Errors::new(), Errors::new());
    faults(new, &mut found);
    faults(old, &mut before);
    found.retain(|fault| !before.as_slice().contains(fault));
    errors.append(found);
    let path = Path::ROOT.field("status");
    for field in ["failed", "succeeded"] {
        let of = |job: &Value| number(&job["status"], field).unwrap_or_default();
        if of(new) < of(old) {
            let why = format!("cannot decrease the {field} counter");
            errors.push_with(|| FieldError::invalid(&path.field(field), of(new), why));
        }
    }
}

fn faults(job: &Value, errors: &mut Errors) {
    let status = &job["status"];
    counts(
        status,
        &["active", "succeeded", "failed", "ready", "terminating"],
        errors,
    );
    conditions(status, errors);
    indexes(job, errors);
    let path = Path::ROOT.field("status");
    let of = |field: &str| number(status, field).unwrap_or_default();
    let is_finished = is(status, "Complete") || is(status, "Failed");
    if is_finished && of("terminating") > 0 {
        let why = "terminating>0 is invalid for finished job";
        let path = path.field("terminating");
        errors.push_with(|| FieldError::invalid(&path, of("terminating"), why));
    }
    if some(status, "ready").is_some() && of("ready") > of("active") {
        let why = "cannot set more ready pods than active";
        errors.push_with(|| FieldError::invalid(&path.field("ready"), of("ready"), why));
    }
    for other in ["Failed", "FailureTarget"] {
        if is(status, "SuccessCriteriaMet") && is(status, other) {
            let why = format!("cannot set SuccessCriteriaMet=True and {other}=true conditions");
            errors.push_with(|| FieldError::invalid_whole(&path.field("conditions"), why));
        }
    }
}

fn is(status: &Value, condition: &str) -> bool {
    let mut conditions = list(status, "conditions").iter();
    conditions.any(|it| text(it, "type") == condition && text(it, "status") == "True")
}

/// Validates the finished conditions.
fn conditions(status: &Value, errors: &mut Errors) {
    let path = Path::ROOT.field("status");
    let place = path.field("conditions");
    let (complete, failed) = (is(status, "Complete"), is(status, "Failed"));
    let mut wrong = |why: &str| errors.push_with(|| FieldError::invalid_whole(&place, why));
    if complete && failed {
        wrong("cannot set Complete=True and Failed=true conditions");
    }
    if complete && is(status, "FailureTarget") {
        wrong("cannot set Complete=True and FailureTarget=true conditions");
    }
    let ended = some(status, "completionTime");
    let place = path.field("completionTime");
    match ended {
        Some(time) if !complete => {
            let why = "cannot set completionTime when there is no Complete=True condition";
            errors.push_with(|| FieldError::invalid(&place, time, why));
        }
        None if complete => {
            let why = "completionTime is required for Complete jobs";
            errors.push_with(|| FieldError::required(&place, why));
        }
        _ => {}
    }
    // Times of the one form compare as texts.
    let began = some(status, "startTime").and_then(Value::as_str);
    let ended = ended.and_then(Value::as_str);
    if let Some(ended) = ended.filter(|ended| began.is_some_and(|began| *ended < began)) {
        let why = "must be equal to or after `startTime`";
        errors.push_with(|| FieldError::invalid(&place, ended, why));
    }
    let place = path.field("conditions");
    let mut wrong = |why: &str| errors.push_with(|| FieldError::invalid_whole(&place, why));
    if failed && !is(status, "FailureTarget") {
        wrong("cannot set Failed=True condition without the FailureTarget=true condition");
    }
    if complete && !is(status, "SuccessCriteriaMet") {
        wrong("cannot set Complete=True condition without the SuccessCriteriaMet=true condition");
    }
    let active = number(status, "active").unwrap_or_default();
    if (complete || failed) && active > 0 {
        let why = "active>0 is invalid for finished job";
        errors.push_with(|| FieldError::invalid(&path.field("active"), active, why));
    }
    if (complete || failed) && began.is_none() {
        let why = "startTime is required for finished job";
        errors.push_with(|| FieldError::required(&path.field("startTime"), why));
    }
}

/// Validates completed and failed indexes.
fn indexes(job: &Value, errors: &mut Errors) {
    let (spec, status, path) = (&job["spec"], &job["status"], Path::ROOT.field("status"));
    let completions = number(spec, "completions");
    let by_index = some(spec, "backoffLimitPerIndex").is_some();
    let completed = text(status, "completedIndexes");
    let failed = some(status, "failedIndexes").and_then(Value::as_str);
    let mut check = |field: &str, indexes: &str| {
        let counted = completions.map(|completions| count_indexes(indexes, completions));
        if let Some(Err(why)) = counted {
            let why = format!("error parsing {field}: {why}");
            errors.push_with(|| FieldError::invalid(&path.field(field), indexes, why));
        }
    };
    check("completedIndexes", completed);
    if let Some(failed) = failed.filter(|_| by_index) {
        check("failedIndexes", failed);
    }
    if !completed.is_empty() && text(spec, "completionMode") != "Indexed" {
        let why = "cannot set non-empty completedIndexes when non-indexed completion mode";
        let path = path.field("completedIndexes");
        errors.push_with(|| FieldError::invalid(&path, completed, why));
    }
    if let Some(failed) = failed.filter(|_| !by_index) {
        let why = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
        let path = path.field("failedIndexes");
        errors.push_with(|| FieldError::invalid(&path, failed, why));
    }
}
