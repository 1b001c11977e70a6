//! Reference table of gates in Markdown.

use std::fmt::Write;

use crate::{Component, Entry, Feature, Stage, Version};

/// One table for all components, sorted by component and name.
pub fn markdown(components: &[Component]) -> String {
    let mut table = String::from(
        "| Feature | Component | Enabled since | Locked since | Alpha | Beta | GA | Deprecated \
         | Depends on | Description |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for component in components {
        for feature in component.own_features() {
            writeln!(table, "{}", row(component, feature)).expect("writing to a String");
        }
    }
    table
}

fn row(component: &Component, feature: &Feature) -> String {
    let stage = |stage| range(feature, |entry| entry.stage == stage);
    let enabled = enabled_since(feature);
    let cells = [
        format!("`{}`", feature.name),
        component.name().to_owned(),
        enabled.map_or_else(String::new, |version| version.to_string()),
        feature
            .locked_since()
            .map_or_else(String::new, |version| version.to_string()),
        stage(Stage::Alpha),
        stage(Stage::Beta),
        stage(Stage::Ga),
        stage(Stage::Deprecated),
        component
            .depends_on(&feature.name)
            .map(|on| format!("`{on}`"))
            .collect::<Vec<_>>()
            .join(", "),
        feature.description.replace('|', "\\|"),
    ];
    format!("| {} |", cells.join(" | "))
}

/// The version since which the default has been on without interruption.
fn enabled_since(feature: &Feature) -> Option<Version> {
    let on = feature
        .entries
        .iter()
        .rev()
        .take_while(|entry| entry.default);
    on.last().map(|entry| entry.version)
}

/// `1.30–1.31` while the history goes on in another stage, `1.32–` when it does not.
fn range(feature: &Feature, belongs: impl Fn(&Entry) -> bool) -> String {
    let Some(first) = feature.entries.iter().position(&belongs) else {
        return String::new();
    };
    let start = feature.entries[first].version;
    match feature.entries[first..]
        .iter()
        .find(|entry| !belongs(entry))
    {
        Some(next) if next.version.minus_minors(1) <= start => start.to_string(),
        Some(next) => format!("{start}–{}", next.version.minus_minors(1)),
        None => format!("{start}–"),
    }
}
