//! JSON of built-in kinds: what is read, how it is printed, and what is refused.

#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

use lockstep_kinds::{Table, typed};
use lockstep_testkit::cases::CaseFile;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Case {
    name: String,
    kind: String,
    input: Value,
    output: Option<Value>,
    #[serde(default)]
    unknown: Vec<String>,
    error: Option<String>,
}

fn check(case: &Case) {
    let table = Table::builtin();
    let mut words = case.kind.rsplitn(3, '/');
    let (kind, version) = (words.next().unwrap(), words.next().unwrap());
    let id = table
        .kind(words.next().unwrap_or(""), version, kind)
        .unwrap();
    let mut object = case.input.as_object().unwrap().clone();
    let mut unknown = Vec::new();
    match typed::read(table, id, &mut object, &mut unknown) {
        Err(error) => assert_eq!(Some(error.to_string()), case.error, "{}", case.name),
        Ok(()) => {
            assert_eq!(None, case.error, "{}", case.name);
            let expected = case.output.as_ref().unwrap_or(&case.input);
            assert_eq!(Value::Object(object), *expected, "{}", case.name);
            assert_eq!(unknown, case.unknown, "{}", case.name);
        }
    }
}

#[test]
fn objects_are_read_as_their_go_types_read_them() {
    for file in ["refused.yaml", "printed.yaml"] {
        for case in CaseFile::read(file).cases() {
            check(&serde_json::from_value(case.own.clone()).unwrap());
        }
    }
}
