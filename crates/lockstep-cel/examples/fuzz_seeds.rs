//! Writes case files as inputs a fuzzer can start from: `fuzz_seeds FOLDER FILE…`, one input a case and form.

#![expect(unreachable_pub, reason = "the module is shared with a library")]

#[path = "../tests/fuzz/generate.rs"]
mod generate;
#[path = "../tests/fuzz/words.rs"]
mod words;

use generate::{Case, PIECES, TREE};
use serde_json::{Value as Json, json};
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("usage: fuzz_seeds FOLDER FILE…")?;
    std::fs::create_dir_all(&folder)?;
    let mut count = 0;
    for file in arguments {
        let file: Json = serde_json::from_str(&std::fs::read_to_string(file)?)?;
        let cases = file.get("cases").or_else(|| file.get("tests"));
        for case in cases.and_then(Json::as_array).into_iter().flatten() {
            for input in inputs(case).into_iter().flatten() {
                std::fs::write(Path::new(&folder).join(format!("seed-{count:05}")), input)?;
                count += 1;
            }
        }
    }
    Ok(())
}

/// A case as it is written, and its bytes as choices; texts with zero bytes cannot be written.
fn inputs(case: &Json) -> Option<[Vec<u8>; 3]> {
    let text = case.get("expr")?.as_str()?;
    let object = case.get("object").or_else(|| case.get("self"));
    let object = object.cloned().unwrap_or(Json::Null);
    let schema = case.get("schema").cloned().unwrap_or(json!({}));
    let written = Case::to_bytes(text, &object, &schema);
    let tagged = |tag: u8| [&[tag], text.as_bytes()].concat();
    let read = Case::of(&written);
    let whole = (&*read.text, &read.object, &read.schema) == (text, &object, &schema);
    whole.then(|| [tagged(TREE), tagged(PIECES), written])
}
