//! Runs every case file. One `check` function a kind of case; a case is data.
//!
//! A file holds one table of the specification: `source` names it, `registry` is shared by its
//! `cases`, each case has a `name` and what it asks and expects. Lists of errors, warnings and
//! findings are compared whole and in order.

#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

use std::fmt::Debug;

use lockstep_featuregate::{
    BinaryVersion, Builder, Component, ForeignGates, Gates, Options, Registry, RemovedGates,
    Version, docs, file,
    lint::{Lint, lint_history},
    plan::plan,
    preflight::{Upgrade, UpgradeEffect, preflight},
};
use lockstep_testkit::cases::CaseFile;
use serde_json::Value;

/// The version of registries that do not say their own.
const BINARY: Version = Version::new(1, 37);

#[test]
fn settings_become_values_or_reasons_not_to_start() {
    run("start", check_start);
}

#[test]
fn registries_are_accepted_or_refused_with_every_reason() {
    run("registration", check_registration);
}

#[test]
fn lint_finds_what_it_should() {
    run("lint", check_lint);
}

#[test]
fn plans_name_the_release_for_each_step() {
    run("plan", check_plan);
}

#[test]
fn upgrades_are_judged_gate_by_gate() {
    run("check", check_upgrade);
}

#[test]
fn the_reference_table_tells_each_life() {
    run("docs", check_docs);
}

/// Reads the files of a folder and hands each case, with what its file shares, to `check`.
fn run(folder: &str, check: fn(&Case) -> Result<(), String>) {
    for file in CaseFile::folder(folder) {
        assert!(
            file.document()["source"].is_string(),
            "a file of {folder} does not say which rule it shows"
        );
        file.check(|case| {
            assert!(case["name"].is_string(), "a case has a name: {}", case.own);
            check(&Case {
                shared: case.shared.clone(),
                own: case.own.clone(),
            })
        });
    }
}

/// One case and the file around it.
struct Case {
    shared: Value,
    own: Value,
}

impl Case {
    /// A value of the case, or of its file as the default.
    fn get(&self, key: &str) -> &Value {
        match &self.own[key] {
            Value::Null => &self.shared[key],
            own => own,
        }
    }

    fn texts(&self, key: &str) -> Vec<String> {
        texts(&self.own[key])
    }

    fn version(&self, key: &str) -> Option<Version> {
        self.get(key)
            .as_str()
            .map(|text| Version::parse(text).unwrap())
    }

    fn components(&self) -> Result<Vec<Component>, Vec<String>> {
        let binary = BinaryVersion::of(self.version("version").unwrap_or(BINARY));
        file::read_components(self.get("registry"), binary)
            .map_err(|errors| errors.iter().map(ToString::to_string).collect())
    }

    fn registry(&self) -> Registry {
        Registry::new(self.components().expect("a registry that can be read"))
            .expect("a sound registry")
    }

    fn builder(&self) -> Builder {
        let mut builder = Builder::new(self.registry());
        for text in self.texts("flags") {
            builder = builder.flag(text);
        }
        for text in self.texts("emulated") {
            builder = builder.emulated_version(text);
        }
        for text in self.texts("minCompatibility") {
            builder = builder.min_compatibility_version(text);
        }
        for (name, value) in map(&self.own["overrides"]) {
            builder = builder.override_default("kube", &name, value.as_bool().unwrap());
        }
        let environment = map(&self.own["env"]);
        let text = |(name, value): (String, Value)| (name, value.as_str().unwrap().to_owned());
        builder = builder.environment(environment.into_iter().map(text));
        let file = map(&self.own["file"]);
        builder
            .file(file.into_iter().map(|(key, value)| (key, value.as_bool())))
            .options(self.options())
    }

    fn options(&self) -> Options {
        let options = &self.own["options"];
        let flag = |key: &str| options[key].as_bool().unwrap_or_default();
        Options {
            strict_emulation: flag("strictEmulation"),
            removed: if options["removed"] == "warn" {
                RemovedGates::Warn
            } else {
                RemovedGates::Fail
            },
            foreign: if options["foreign"] == "ignore" {
                ForeignGates::Ignore
            } else {
                ForeignGates::Fail
            },
            emulation_forward_compatible: flag("emulationForwardCompatible"),
            runtime_config_emulation_forward_compatible: flag(
                "runtimeConfigEmulationForwardCompatible",
            ),
        }
    }
}

fn texts(value: &Value) -> Vec<String> {
    let text = |value: &Value| {
        value
            .as_str()
            .unwrap_or_else(|| panic!("{value} is not a text"))
            .to_owned()
    };
    match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items.iter().map(text).collect(),
        one => vec![text(one)],
    }
}

fn map(value: &Value) -> Vec<(String, Value)> {
    let entries = value.as_object().into_iter().flatten();
    entries
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn same<T: PartialEq + Debug>(what: &str, actual: &T, expected: &T) -> Result<(), String> {
    if actual == expected {
        return Ok(());
    }
    Err(format!(
        "  {what}\n    expected {expected:#?}\n    actual   {actual:#?}"
    ))
}

fn check_start(case: &Case) -> Result<(), String> {
    let builder = case.builder();
    let dry = builder.check();
    let gates = match builder.try_finish() {
        Ok(started) => started.gates,
        Err(errors) => {
            same("dry validation", &dry, &Err(errors.clone()))?;
            if let Some(text) = case.own["text"].as_str() {
                same("text", &errors.to_string(), &text.to_owned())?;
            }
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            return same("errors", &errors, &case.texts("errors"));
        }
    };
    same("errors", &Vec::new(), &case.texts("errors"))?;
    for component in gates.components() {
        let name = component.component().name().to_owned();
        let expected = if name == "kube" {
            "warnings".to_owned()
        } else {
            format!("{name}Warnings")
        };
        let warnings: Vec<String> = component
            .warnings()
            .iter()
            .map(ToString::to_string)
            .collect();
        same(&expected, &warnings, &case.texts(&expected))?;
    }
    check_values(case, &gates)
}

fn check_values(case: &Case, gates: &Gates) -> Result<(), String> {
    for (name, expected) in map(&case.own["enabled"]) {
        same(&name, &gates.get(&name), &expected.as_bool())?;
    }
    for (name, expected) in map(&case.own["why"]) {
        let why = gates.explain(&name).ok_or(format!("{name} is not known"))?;
        let held = why.held;
        let locked = if held.lock_to_default { " locked" } else { "" };
        let (stage, since, source) = (held.stage, held.version, why.source.name());
        let told = format!(
            "{stage} since {since}, default {}{locked}, by {source}",
            held.default
        );
        same(
            &format!("why {name}"),
            &told,
            &expected.as_str().unwrap().to_owned(),
        )?;
    }
    for component in gates.components() {
        let key = match component.component().name() {
            "kube" => "versions".to_owned(),
            name => format!("{name}Versions"),
        };
        let versions = component.versions();
        let actual = format!("{} {}", versions.emulation, versions.min_compatibility);
        if let Some(expected) = case.own[&key].as_str() {
            same(&key, &actual, &expected.to_owned())?;
        }
    }
    let kube = gates
        .component("kube")
        .expect("every case has a component kube");
    for (key, actual) in [("string", gates.to_string()), ("log", kube.start_line())] {
        if let Some(expected) = case.own[key].as_str() {
            same(key, &actual, &expected.to_owned())?;
        }
    }
    if case.own.get("known").is_some() {
        same("known", &kube.known(), &case.texts("known"))?;
    }
    for component in gates.components() {
        let key = match component.component().name() {
            "kube" => "metrics".to_owned(),
            name => format!("{name}Metrics"),
        };
        let samples = component.samples();
        let samples = samples.iter().map(ToString::to_string).collect();
        if case.own.get(&key).is_some() {
            same(&key, &samples, &case.texts(&key))?;
        }
    }
    Ok(())
}

fn check_registration(case: &Case) -> Result<(), String> {
    let result = case.components().and_then(|components| {
        Registry::new(components).map_err(|errors| errors.iter().map(ToString::to_string).collect())
    });
    same(
        "errors",
        &result.err().unwrap_or_default(),
        &case.texts("errors"),
    )
}

fn check_lint(case: &Case) -> Result<(), String> {
    let components = case.components().map_err(|errors| format!("{errors:?}"))?;
    let base = match &case.own["base"] {
        Value::Null => None,
        base => Some(file::read_components(base, BinaryVersion::of(BINARY)).unwrap()),
    };
    let mut report = Lint {
        components: &components,
        base: base.as_deref(),
        version: case.version("version"),
    }
    .run();
    if case.own.get("history").is_some() {
        let releases =
            file::read_history(&case.own["history"]).map_err(|errors| errors.to_string())?;
        report.extend(lint_history("kube", &releases));
    }
    let findings: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
    same("findings", &findings, &case.texts("findings"))?;
    match case.own["summary"].as_str() {
        Some(summary) => same("summary", &report.summary(), &summary.to_owned()),
        None => Ok(()),
    }
}

fn check_plan(case: &Case) -> Result<(), String> {
    let components = case.components().map_err(|errors| format!("{errors:?}"))?;
    let from = case.version("version").unwrap_or(BINARY);
    let until = case.version("until").unwrap_or(from.plus_minors(3));
    let steps: Vec<String> = components
        .iter()
        .flat_map(|component| plan(component, from, until))
        .map(|step| {
            format!(
                "{} {} {}: {}",
                step.version,
                step.action.name(),
                step.gate,
                step.reason
            )
        })
        .collect();
    same("steps", &steps, &case.texts("steps"))
}

fn check_upgrade(case: &Case) -> Result<(), String> {
    let upgrade = Upgrade {
        from: case.version("from").unwrap_or(BINARY),
        to: case.version("to").expect("a case says where to"),
        known_until: case.version("knownUntil"),
    };
    let rows = match preflight(&case.builder(), upgrade) {
        Ok(rows) => rows,
        Err(errors) => {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            return same("errors", &errors, &case.texts("errors"));
        }
    };
    let refuses = rows.iter().any(|row| row.effect.refuses());
    let tell = |row: &lockstep_featuregate::preflight::Checked| {
        let detail = match &row.effect {
            UpgradeEffect::DefaultChanges { old, new } => format!(" {old}→{new}"),
            UpgradeEffect::Removed { in_version } => format!(" {in_version}"),
            UpgradeEffect::LockedOtherValue { since } => format!(" {since}"),
            UpgradeEffect::Unknown(hint) => hint.to_string(),
            UpgradeEffect::Ok | UpgradeEffect::WillWarn | UpgradeEffect::Unavailable => {
                String::new()
            }
        };
        format!("{}: {}{detail}", row.gate, row.effect.name())
    };
    same(
        "rows",
        &rows.iter().map(tell).collect(),
        &case.texts("rows"),
    )?;
    same(
        "refuses",
        &refuses,
        &case.own["refuses"].as_bool().unwrap_or_default(),
    )
}

fn check_docs(case: &Case) -> Result<(), String> {
    let components = case.components().map_err(|errors| format!("{errors:?}"))?;
    let table = docs::markdown(&components);
    same(
        "table",
        &table,
        &case.own["table"].as_str().unwrap().to_owned(),
    )
}
