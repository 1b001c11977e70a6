//! The gates of a definition, and whether they are open.

use lockstep_object::{Object, Value};

use crate::path::FieldPath;

/// The annotation that holds gates for those whose tools drop the field.
pub const ANNOTATION: &str = "lockstep.dev/custom-feature-gates";

/// How far along a field is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Off unless somebody switches it on.
    Alpha,
    /// On unless somebody switches it off.
    Beta,
    /// On.
    Stable,
    /// About to go away.
    Deprecated,
}

impl Stage {
    /// All of them by name.
    pub const NAMED: [(&'static str, Self); 4] = [
        ("alpha", Self::Alpha),
        ("beta", Self::Beta),
        ("deprecated", Self::Deprecated),
        ("stable", Self::Stable),
    ];

    /// The stage with a name.
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::NAMED.iter().find(|(known, _)| *known == name);
        found.map(|(_, stage)| *stage)
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Alpha => "alpha",
            Self::Beta => "beta",
            Self::Stable => "stable",
            Self::Deprecated => "deprecated",
        }
    }
}

/// Why a gate is in its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// What is stable is on.
    Stable,
    /// `enabled` says so.
    Enabled,
    /// `default` says so.
    Default,
    /// Nothing is said, and the stage decides.
    Stage,
}

impl Rule {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Enabled => "enabled",
            Self::Default => "default",
            Self::Stage => "stage",
        }
    }
}

/// What becomes of a request that says something about a field whose gate is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// That part of it does not happen.
    #[default]
    Drop,
    /// It is refused.
    Reject,
}

/// One gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// Its name.
    pub name: String,
    /// How far along its fields are.
    pub stage: Stage,
    /// What whoever runs the cluster says.
    pub enabled: Option<bool>,
    /// What whoever made the gate says.
    pub default: Option<bool>,
    /// What users of a deprecated field are told.
    pub warning: Option<String>,
    /// Its fields; none where the path cannot be read.
    pub paths: Vec<Option<FieldPath>>,
}

/// The gates of a definition in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GateList {
    /// Who made them; empty if nobody says.
    pub component: String,
    /// What becomes of requests for fields whose gate is closed.
    pub policy: Policy,
    /// The gates.
    pub gates: Vec<Gate>,
}

/// Whether a gate is open, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// Whether it is open.
    pub enabled: bool,
    /// What decided.
    pub rule: Rule,
}

impl Gate {
    /// Whether it is open.
    pub fn state(&self) -> State {
        let (enabled, rule) = match (self.stage, self.enabled, self.default) {
            (Stage::Stable, _, _) => (true, Rule::Stable),
            (_, Some(enabled), _) => (enabled, Rule::Enabled),
            (_, None, Some(default)) => (default, Rule::Default),
            (Stage::Beta, None, None) => (true, Rule::Stage),
            (Stage::Alpha | Stage::Deprecated, None, None) => (false, Rule::Stage),
        };
        State { enabled, rule }
    }
}

impl GateList {
    /// The gates of a definition, in its spec or else in its annotation. What cannot be read gates nothing.
    pub fn of(definition: &Object) -> Self {
        let parsed = match source(definition) {
            Source::Nowhere => return Self::default(),
            Source::Spec(gates) => return Self::read(gates),
            Source::Annotation(text) => serde_json::from_str::<Value>(text),
        };
        parsed.map(|gates| Self::read(&gates)).unwrap_or_default()
    }

    /// Reads `customFeatureGates`. A gate without a name or a stage gates nothing.
    pub fn read(value: &Value) -> Self {
        let list = value.get("featureGates").and_then(Value::as_array);
        let gates = list.into_iter().flatten().filter_map(read_gate);
        Self {
            component: text(value, "component").unwrap_or_default().to_owned(),
            policy: match text(value, "disabledFieldPolicy") {
                Some("Reject") => Policy::Reject,
                _ => Policy::Drop,
            },
            gates: gates.collect(),
        }
    }

    /// A gate as people refer to it: `component/name`.
    pub fn reference(&self, gate: &Gate) -> String {
        match self.component.as_str() {
            "" => gate.name.clone(),
            component => format!("{component}/{}", gate.name),
        }
    }
}

/// Where a definition keeps its gates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Source<'d> {
    Nowhere,
    Spec(&'d Value),
    Annotation(&'d str),
}

pub(crate) fn source(definition: &Object) -> Source<'_> {
    match of_spec(definition) {
        Some(gates) => Source::Spec(gates),
        None => match definition.annotation(ANNOTATION) {
            Some(text) => Source::Annotation(text),
            None => Source::Nowhere,
        },
    }
}

pub(crate) fn of_spec(definition: &Object) -> Option<&Value> {
    let gates = definition.at(&["spec", "customFeatureGates"]);
    gates.filter(|gates| !gates.is_null())
}

fn text<'v>(value: &'v Value, field: &str) -> Option<&'v str> {
    value.get(field).and_then(Value::as_str)
}

fn read_gate(value: &Value) -> Option<Gate> {
    let flag = |field: &str| value.get(field).and_then(Value::as_bool);
    let paths = value.get("fieldPaths").and_then(Value::as_array);
    let paths = paths.into_iter().flatten();
    let paths = paths.map(|path| FieldPath::parse(path.as_str()?).ok());
    Some(Gate {
        name: text(value, "name")
            .filter(|name| !name.is_empty())?
            .to_owned(),
        stage: Stage::named(text(value, "preRelease")?)?,
        enabled: flag("enabled"),
        default: flag("default"),
        warning: text(value, "fieldDeprecationWarning").map(str::to_owned),
        paths: paths.collect(),
    })
}
