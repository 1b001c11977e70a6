//! The rules as data. Every case names its row.

#![expect(
    clippy::unwrap_used,
    reason = "a case file that does not fit its check is a failure"
)]

use lockstep_kinds::{Table, TypeId};
use lockstep_merge::typed::Duplicates;
use lockstep_merge::types::BuiltInTypes;
use lockstep_merge::{JsonPatch, merge_patch, strategic_merge};
use lockstep_object::json::normalise_numbers;
use lockstep_testkit::cases::CaseFile;
use serde_json::{Value, json};

/// Compares what `judge` makes of each case of a file with its `result`.
fn run(file: &str, judge: impl Fn(&Value) -> Value) {
    let file = CaseFile::read(file).map(normalise_numbers);
    file.results("result", |case| judge(case.own));
}

#[test]
fn operations_are_applied_in_order() {
    run("json-patch.yaml", |case| {
        let mut object = case["object"].clone();
        let patch = match JsonPatch::from_value(&case["patch"]) {
            Ok(patch) => patch,
            Err(error) => return json!({"error": error.to_string()}),
        };
        match patch.apply(&mut object) {
            Err(error) => json!({"error": error.to_string()}),
            Ok(()) if patch.unknown_fields().is_empty() => object,
            Ok(()) => json!({"object": object, "unknown": patch.unknown_fields()}),
        }
    });
}

#[test]
fn what_is_given_replaces_and_null_removes() {
    run("merge-patch.yaml", |case| {
        let mut object = case["object"].clone();
        merge_patch(&mut object, &case["patch"]);
        object
    });
}

/// The type that a case names: `Pod`, `apps/v1 Deployment`.
fn kind(name: &Value) -> TypeId {
    let (api_version, kind) = name
        .as_str()
        .unwrap()
        .split_once(' ')
        .unwrap_or_else(|| ("v1", name.as_str().unwrap()));
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    Table::builtin().kind(group, version, kind).unwrap()
}

#[test]
fn lists_are_merged_by_the_keys_of_the_kind() {
    run("strategic-merge.yaml", |case| {
        let mut object = case["object"].as_object().unwrap().clone();
        let patch = case["patch"].as_object().unwrap().clone();
        match strategic_merge(Table::builtin(), kind(&case["kind"]), &mut object, patch) {
            Ok(()) => object.into(),
            Err(error) => json!({"error": error.to_string()}),
        }
    });
}

#[test]
fn fields_of_built_in_kinds_are_owned_as_their_types_say() {
    let types = BuiltInTypes::of(Table::builtin());
    run("builtin-fields.yaml", |case| {
        let of_kind = types.get(kind(&case["kind"])).unwrap();
        if let Err(errors) = of_kind.validate(&case["object"], Duplicates::Refused) {
            return json!({"error": errors.to_string()});
        }
        of_kind.owned(&case["object"]).unwrap().to_fields()
    });
}
