//! Bodies that are not what the path says, and fields that mean nothing.

use lockstep_object::incoming::{self, FieldValidation, KindOrigin};
use lockstep_object::{ApiError, GroupVersionKind, json};
use serde_json::json;

fn take(body: &str, owner: KindOrigin) -> Result<serde_json::Value, String> {
    let expected = match owner {
        KindOrigin::BuiltIn => GroupVersionKind::new("", "v1", "ConfigMap"),
        KindOrigin::Custom => GroupVersionKind::new("ex.io", "v1", "Widget"),
    };
    let bytes = body.as_bytes();
    let shown = |error: ApiError| format!("{} {}", error.code(), error);
    match json::decode(bytes) {
        Err(error) => Err(shown(incoming::malformed(
            &expected.kind,
            bytes,
            &error.to_string(),
        ))),
        Ok(decoded) => match incoming::check_body_kind(decoded.value, bytes, &expected, owner) {
            Ok(object) => Ok(object.into_value()),
            Err(status) => Err(shown(status)),
        },
    }
}

/// api-machinery.md §5/bad-json, §5/no-type, §5/type-from-route, §5/other-kind
#[test]
fn bodies_that_are_not_what_the_path_says_are_refused_in_upstreams_words() {
    let cases = [
        (
            "{\"a\":",
            KindOrigin::Custom,
            "400 the object provided is unrecognized (must be of type Widget): couldn't get version/kind; json parse error: \
             unexpected end of JSON input ({\"a\":)",
        ),
        (
            "",
            KindOrigin::Custom,
            "400 the object provided is unrecognized (must be of type Widget): couldn't get version/kind; json parse error: \
             unexpected end of JSON input (<empty>)",
        ),
        (
            "[1]",
            KindOrigin::Custom,
            "400 the object provided is unrecognized (must be of type Widget): couldn't get version/kind; json parse error: \
             json: cannot unmarshal array into an object (5b315d)",
        ),
        (
            "{\"apiVersion\":\"ex.io/v1\",\"spec\":{}}",
            KindOrigin::Custom,
            "400 the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in \
             '{\"apiVersion\":\"ex.io/v1\",\"spec\":{}}' ({\"apiVersion\":\"ex.io/v1\",\"spec ...)",
        ),
        (
            "{\"kind\":\"Widget\"}",
            KindOrigin::Custom,
            "400 the API version in the data () does not match the expected API version (ex.io/v1)",
        ),
        (
            "{\"apiVersion\":\"ex.io/v1\",\"kind\":\"Wodget\",\"metadata\":{\"name\":\"a\"}}",
            KindOrigin::Custom,
            "422 Wodget.ex.io \"a\" is invalid: kind: Invalid value: \"Wodget\": must be Widget",
        ),
        (
            "{\"apiVersion\":\"v1\",\"kind\":\"Secret\"}",
            KindOrigin::BuiltIn,
            "400 Secret in version \"v1\" cannot be handled as a ConfigMap: no kind \"Secret\" is registered for version \"v1\"",
        ),
    ];
    for (body, owner, expected) in cases {
        assert_eq!(take(body, owner), Err(expected.to_owned()), "{body}");
    }
    let taken = take("{\"data\":{}}", KindOrigin::BuiltIn);
    assert_eq!(
        taken,
        Ok(json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {}}))
    );
}

/// api-machinery.md §5/wrong-type
#[test]
fn a_field_of_the_wrong_type_names_kind_and_version() {
    let gvk = GroupVersionKind::new("", "v1", "ConfigMap");
    let problem =
        "json: cannot unmarshal number into Go struct field ConfigMap.data of type string";
    let status = incoming::mistyped(&gvk, problem);
    assert_eq!(
        (status.code(), status.to_string()),
        (
            400,
            format!("ConfigMap in version \"v1\" cannot be handled as a ConfigMap: {problem}")
        )
    );
}

/// api-machinery.md §9, fieldValidation
#[test]
fn fields_that_mean_nothing_are_ignored_warned_of_or_refused() {
    let duplicates = ["spec.color".to_owned()];
    let unknown = ["spec.ports[0].qq".to_owned(), "metadata.zzz".to_owned()];
    let judge =
        |name: &str| FieldValidation::named(name).map(|level| level.judge(&duplicates, &unknown));
    let told = [
        "duplicate field \"spec.color\"",
        "unknown field \"spec.ports[0].qq\"",
        "unknown field \"metadata.zzz\"",
    ]
    .map(str::to_owned);
    assert_eq!(judge("Ignore"), Ok(Ok(Vec::new())));
    assert_eq!(judge(""), Ok(Ok(told.to_vec())));
    assert_eq!(judge("Warn"), Ok(Ok(told.to_vec())));
    assert_eq!(
        judge("Strict"),
        Ok(Err(format!("strict decoding error: {}", told.join(", "))))
    );
    assert_eq!(FieldValidation::Strict.judge(&[], &[]), Ok(Vec::new()));
    let yaml = ["line 5: key \"a\" already set in map".to_owned()];
    assert_eq!(FieldValidation::Warn.judge(&yaml, &[]), Ok(yaml.to_vec()));
    let refused = FieldValidation::named("strict")
        .expect_err("the case counts")
        .to_string();
    assert_eq!(
        refused,
        "fieldValidation: Unsupported value: \"strict\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\""
    );
}
