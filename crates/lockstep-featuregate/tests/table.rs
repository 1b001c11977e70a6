//! A table written in code: what lint says about it, and about the code that uses it.

#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

use lockstep_featuregate::{
    BinaryVersion, Component, features,
    lint::{Lint, SourceFile, lint_usage},
    v,
};

features! {
    kube {
        /// It works.
        Zebra { "1.36": Alpha, owner: "zoo" },
        APIThing { "1.36": Alpha, owner: "zoo" },
        /// A gate without an owner.
        Lion { "1.36": Alpha },
    }
}

fn component() -> Component {
    Component::declared(BinaryVersion::of(v(1, 36)), &[&KUBE]).unwrap()
}

/// feature-gates.md §8/FG115, §1/gate-level: our own table is in order, with owners and descriptions.
#[test]
fn a_table_in_code_is_alphabetical_and_says_who_and_what() {
    let components = [component()];
    let report = Lint {
        components: &components,
        base: None,
        version: None,
    }
    .run();
    let findings: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
    assert_eq!(
        findings,
        [
            "warning FG115 kube/APIThing: belongs before Zebra",
            "warning FG115 kube/APIThing: has no description",
            "warning FG115 kube/Lion: has no owner",
        ]
    );
}

/// feature-gates.md §8/FG119.
#[test]
fn a_gate_that_no_code_asks_for_is_found() {
    let file = |path: &str, text: &str| SourceFile {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let files = [
        file(
            "src/lists.rs",
            "if gates.enabled(ZEBRA) {}\n#[cfg(test)]\nmod t { LION; }\n",
        ),
        file(
            "src/notes.rs",
            "// API_THING is only mentioned here\nlet ZEBRA_CROSSING = 1;\n",
        ),
        file("tests/whole.rs", "enabled!(LION)"),
    ];
    let findings: Vec<String> = lint_usage(&component(), &files)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        findings,
        [
            "warning FG119 kube/APIThing: `API_THING` is not used in code",
            "warning FG119 kube/Lion: `LION` is used only in tests",
        ]
    );
}

#[test]
fn a_gate_knows_its_names() {
    assert_eq!(
        (API_THING.name(), API_THING.constant()),
        ("APIThing", "API_THING")
    );
    assert_eq!(
        (ZEBRA.component(), ZEBRA.declaration().description),
        ("kube", "It works.")
    );
    let names: Vec<&str> = KUBE.gates().map(lockstep_featuregate::Gate::name).collect();
    assert_eq!(names, ["Zebra", "APIThing", "Lion"]);
}
