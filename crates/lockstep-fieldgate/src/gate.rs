//! Gates of a `CustomResourceDefinition` and their state.

use lockstep_object::{Object, Value};

use crate::path::FieldPath;

/// Annotation that holds gates for clients whose tools drop the unknown spec field.
pub const ANNOTATION: &str = "lockstep.dev/custom-feature-gates";

/// Maturity stage of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Off by default.
    Alpha,
    /// On by default.
    Beta,
    /// Always on.
    Stable,
    /// Off by default; the field will be removed.
    Deprecated,
}

impl Stage {
    /// All stages with their names.
    pub const NAMED: [(&'static str, Self); 4] = [
        ("alpha", Self::Alpha),
        ("beta", Self::Beta),
        ("deprecated", Self::Deprecated),
        ("stable", Self::Stable),
    ];

    /// Looks up a stage by name.
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::NAMED.iter().find(|(known, _)| *known == name);
        found.map(|(_, stage)| *stage)
    }

    /// Name of the stage.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Alpha => "alpha",
            Self::Beta => "beta",
            Self::Stable => "stable",
            Self::Deprecated => "deprecated",
        }
    }
}

/// The rule that determined the state of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Stable gates are always on.
    Stable,
    /// Set by `enabled`.
    Enabled,
    /// Set by `default`.
    Default,
    /// Derived from the stage.
    Stage,
}

impl Rule {
    /// Name of the rule in status and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Enabled => "enabled",
            Self::Default => "default",
            Self::Stage => "stage",
        }
    }
}

/// Handling of requests that change a field of a closed gate (`disabledFieldPolicy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// Ignores the change and returns a warning.
    #[default]
    Drop,
    /// Rejects the request.
    Reject,
}

/// A feature gate of a `CustomResourceDefinition`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// Name of the gate.
    pub name: String,
    /// Maturity stage.
    pub stage: Stage,
    /// Setting of the cluster administrator.
    pub enabled: Option<bool>,
    /// Default chosen by the author of the gate.
    pub default: Option<bool>,
    /// Warning text for users of a deprecated field.
    pub warning: Option<String>,
    /// Gated fields; none for a path that does not parse.
    pub paths: Vec<Option<FieldPath>>,
}

/// The gates of a definition, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GateList {
    /// The component that owns the gates; may be empty.
    pub component: String,
    /// Handling of requests that change fields of closed gates.
    pub policy: Policy,
    /// The gates.
    pub gates: Vec<Gate>,
}

/// State of a gate with its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// True if the gate is open.
    pub enabled: bool,
    /// The rule that determined the state.
    pub rule: Rule,
}

impl Gate {
    /// Computes the state: stable, then `enabled`, then `default`, then the stage.
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
    /// Reads the gates of a definition from its spec or, failing that, its annotation. Unparseable gates have no
    /// effect.
    pub fn of(definition: &Object) -> Self {
        let parsed = match source(definition) {
            Source::Nowhere => return Self::default(),
            Source::Spec(gates) => return Self::read(gates),
            Source::Annotation(text) => serde_json::from_str::<Value>(text),
        };
        parsed.map(|gates| Self::read(&gates)).unwrap_or_default()
    }

    /// Reads `customFeatureGates`. Gates without a name or stage are skipped.
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

    /// Reference to a gate in messages: `component/name`.
    pub fn reference(&self, gate: &Gate) -> String {
        match self.component.as_str() {
            "" => gate.name.clone(),
            component => format!("{component}/{}", gate.name),
        }
    }
}

/// The location of the gates in a definition.
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
