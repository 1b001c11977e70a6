//! Runs the tables in `cases/*.json`.
//!
//! A table holds rules (sentences), each with rows `[function, arguments, outcome]`. An outcome is the value returned,
//! or `{"error": message}`.

use lockstep_cel::ext::quantity::{Quantity, QuantityError};
use lockstep_cel::ext::re2::Pattern;
use serde_json::{Value, json};

/// What a row's function returned: a value, or the text of its error.
type Outcome = Result<Value, String>;

/// Runs every row of `table` through `evaluate` and reports all rows that differ at once.
fn check(table: &str, evaluate: fn(&str, &[Value]) -> Outcome) {
    let table: Value = serde_json::from_str(table).expect("a table is JSON");
    let mut differences = Vec::new();
    let mut rows = 0;
    for rule in table["rules"].as_array().expect("a table has rules") {
        for row in rule["rows"].as_array().expect("a rule has rows") {
            rows += 1;
            let function = row[0].as_str().expect("a row names its function");
            let arguments = row[1].as_array().expect("a row has arguments");
            let actual = match evaluate(function, arguments) {
                Ok(value) => value,
                Err(message) => json!({ "error": message }),
            };
            if actual != row[2] {
                let rule = rule["rule"].as_str().expect("a rule is a sentence");
                differences.push(format!("{rule}\n    row    {row}\n    actual {actual}"));
            }
        }
    }
    assert!(rows > 0, "the table has no rows");
    assert!(
        differences.is_empty(),
        "{} of {rows} rows differ:\n{}",
        differences.len(),
        differences.join("\n")
    );
}

fn text(arguments: &[Value], index: usize) -> &str {
    arguments[index].as_str().expect("a string argument")
}

fn int(arguments: &[Value], index: usize) -> i64 {
    arguments[index].as_i64().expect("an integer argument")
}

#[test]
fn patterns_follow_go_re2_syntax() {
    check(include_str!("cases/re2.json"), |function, arguments| {
        let pattern = Pattern::compile(text(arguments, 0)).map_err(|error| error.to_string())?;
        let subject = text(arguments, 1);
        Ok(match function {
            "matches" => json!(pattern.is_match(subject)),
            "find" => json!(pattern.find(subject)),
            "findAll" => json!(pattern.find_all(subject, int(arguments, 2))),
            other => panic!("no function `{other}`"),
        })
    });
}

#[test]
fn quantities_follow_kubernetes() {
    fn evaluate(function: &str, arguments: &[Value]) -> Result<Value, QuantityError> {
        let quantity = |index| Quantity::parse(text(arguments, index));
        let first = quantity(0)?;
        Ok(match function {
            "print" => json!(first.to_string()),
            "add" => json!(first.add(&quantity(1)?)?.to_string()),
            "sub" => json!(first.sub(&quantity(1)?)?.to_string()),
            "addInt" => json!(
                first
                    .add(&Quantity::from_int(int(arguments, 1)))?
                    .to_string()
            ),
            "subInt" => json!(
                first
                    .sub(&Quantity::from_int(int(arguments, 1)))?
                    .to_string()
            ),
            "compareTo" => json!(first.cmp(&quantity(1)?) as i8),
            "sign" => json!(first.sign()),
            "isInteger" => json!(first.is_integer()),
            "asInteger" => json!(first.as_integer()?),
            "asApproximateFloat" => json!(first.as_approximate_float()),
            other => panic!("no function `{other}`"),
        })
    }
    check(
        include_str!("cases/quantity.json"),
        |function, arguments| evaluate(function, arguments).map_err(|error| error.to_string()),
    );
}
