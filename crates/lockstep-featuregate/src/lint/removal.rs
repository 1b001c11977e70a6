//! The rules about gates that a release no longer has.

use super::{Finding, Severity};
use crate::{Component, Feature, Stage, Version};

/// FG107: gates of `base` that are gone too early. Alpha gates may go any time.
pub(super) fn removed(
    base: &[Component],
    now: &[Component],
    version: Option<Version>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for before in base {
        let after = now
            .iter()
            .find(|component| component.name() == before.name());
        let at = version.or_else(|| after.map(|after| after.binary().line()));
        let at = at.unwrap_or(before.binary().line());
        let gone = before
            .own_features()
            .filter(|feature| after.is_none_or(|after| after.feature(&feature.name).is_none()));
        findings.extend(gone.filter_map(|feature| too_early(before.name(), feature, at)));
    }
    findings
}

fn too_early(component: &str, feature: &Feature, at: Version) -> Option<Finding> {
    let last = feature.entries.last()?;
    let message = match (last.stage, feature.remove_in()) {
        (Stage::PreAlpha | Stage::Alpha, _) => return None,
        (Stage::Beta, _) => "removed while Beta: promote or deprecate it first".to_owned(),
        (stage, None) => format!("removed while {stage} and not locked: lock it first"),
        (_, Some(due)) if at < due => {
            format!("cannot be removed until version {due} (required for emulation support)")
        }
        (_, Some(_)) => return None,
    };
    Some(Finding {
        component: component.to_owned(),
        gate: feature.name.to_string(),
        rule: "FG107",
        severity: Severity::Error,
        version: Some(at),
        message,
    })
}
