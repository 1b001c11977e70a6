//! Lint rules that compare a definition with its previous release.

use lockstep_object::metadata::is_type_or_metadata;
use lockstep_object::{Object, Value};

use super::{Findings, LintRule, below, named, place_text};
use crate::gate::{Gate, GateList, Stage};
use crate::path::{FieldPath, Segment};
use crate::place;

/// Compares gates and storage-version schema with those of the previous release.
pub(super) fn check((gates, schema): (&GateList, &Value), base: &Object, findings: &mut Findings) {
    let before = GateList::of(base);
    let Some((_, old)) = place::storage(base) else {
        return;
    };
    let mut growth = Growth {
        gates,
        findings,
        way: Vec::new(),
    };
    growth.fields(schema, old, None);
    stages((gates, &before), old, findings);
    removed((&before, gates), schema, findings);
}

struct Growth<'a> {
    gates: &'a GateList,
    findings: &'a mut Findings,
    way: Vec<Segment>,
}

impl Growth<'_> {
    /// Reports new fields below existing ones. `atomic` is the outermost atomic list on the way.
    fn fields(&mut self, new: &Value, old: &Value, atomic: Option<&str>) {
        let is_resource = self.way.is_empty() || new["x-kubernetes-embedded-resource"] == true;
        let fields = new["properties"].as_object().into_iter().flatten();
        for (name, field) in fields {
            if is_resource && is_type_or_metadata(name) {
                continue;
            }
            self.way.push(Segment::Name(name.as_str().into()));
            match old["properties"].get(name) {
                Some(old) => self.fields(field, old, atomic),
                None => self.new_field(atomic),
            }
            self.way.pop();
        }
        let is_atomic = new["items"].is_object() && new["x-kubernetes-list-type"] != "map";
        let own = is_atomic.then(|| place_text(&self.way));
        for keyword in ["items", "additionalProperties"] {
            if new[keyword].is_object() && old[keyword].is_object() {
                self.way.push(Segment::Each);
                let atomic = atomic.or(own.as_deref());
                self.fields(&new[keyword], &old[keyword], atomic);
                self.way.pop();
            }
        }
    }

    fn new_field(&mut self, atomic: Option<&str>) {
        let path = FieldPath::of(&self.way);
        let mut gated = self
            .gates
            .gates
            .iter()
            .flat_map(|gate| gate.paths.iter().flatten());
        if gated.any(|gated| gated.covers(&path) || path.covers(gated)) {
            return;
        }
        match atomic {
            Some(list) => self.findings.add(
                LintRule::Atomic,
                format!(
                    "{path} is new and can have no gate: the elements of {list} are not told apart; gate {list}, or make it a list map (x-kubernetes-list-type: map)"
                ),
            ),
            None => self.findings.add(
                LintRule::Ungated,
                format!(
                    "{path} is new and has no gate: a downgrade to the previous release loses its stored values"
                ),
            ),
        }
    }
}

fn find<'g>(gates: &'g GateList, name: &str) -> Option<&'g Gate> {
    gates.gates.iter().find(|gate| gate.name == name)
}

fn has(schema: &Value, path: &FieldPath) -> bool {
    let mut segments = path.segments().iter();
    let found = segments.try_fold(schema, |node, segment| below(node, segment));
    found.is_some()
}

/// Reports gates that skipped a stage.
fn stages((gates, before): (&GateList, &GateList), old: &Value, findings: &mut Findings) {
    for gate in &gates.gates {
        let gate_name = named(gates, gate);
        let from = find(before, &gate.name).map(|before| before.stage);
        match (from, gate.stage) {
            (Some(Stage::Alpha), Stage::Stable) => findings.add(
                LintRule::StageSkipped,
                format!("gate {gate_name} was alpha and is stable: it never was beta"),
            ),
            (None, Stage::Beta | Stage::Stable) => {
                let mut paths = gate.paths.iter().flatten();
                if let Some(path) = paths.find(|path| !has(old, path)) {
                    findings.add(
                        LintRule::StageSkipped,
                        format!("gate {gate_name} is new, and so is {path}: it never was alpha"),
                    );
                }
            }
            _ => {}
        }
    }
}

/// Reports gates that were removed before their fields were stable, except those that a server warns about already.
fn removed((before, gates): (&GateList, &GateList), schema: &Value, findings: &mut Findings) {
    let unstable = before.gates.iter();
    let unstable = unstable.filter(|gate| matches!(gate.stage, Stage::Alpha | Stage::Beta));
    for gate in unstable {
        for path in gate.paths.iter().flatten() {
            let mut left = gates
                .gates
                .iter()
                .flat_map(|gate| gate.paths.iter().flatten());
            if left.any(|left| left.covers(path)) {
                continue;
            }
            let name = named(before, gate);
            let consequence = match (has(schema, path), gate.state().enabled) {
                (true, false) => continue,
                (true, true) => "is free for good",
                (false, _) => "is gone from the schema, and what is stored in it is lost",
            };
            findings.add(
                LintRule::RemovedEarly,
                format!("gate {name} is gone before it was stable: {path} {consequence}"),
            );
        }
    }
}
