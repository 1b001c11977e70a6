//! Expressions of a stored policy: unchanged ones keep compiling after a downgrade.

use std::collections::BTreeSet;

use lockstep_object::{Object, Value};

use crate::envs::Use;
use crate::look::{list, text};

/// Expressions of the stored policy, by kind, for the validation of an update.
#[derive(Clone, Debug, Default)]
pub struct StoredExpressions {
    all: BTreeSet<(ExpressionKind, String)>,
}

/// Field that holds an expression. An expression that moves to another kind of field is new.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum ExpressionKind {
    Condition,
    /// Variables and validations, as upstream.
    Value,
    Message,
    Audit,
    ApplyConfiguration,
    JsonPatch,
    Apply,
    Safety,
}

impl ExpressionKind {
    /// The environment of the expression.
    pub(crate) fn purpose(self) -> Use {
        match self {
            Self::Condition => Use::Conditions,
            Self::Value | Self::Audit => Use::Variables,
            Self::Message => Use::Message,
            Self::ApplyConfiguration | Self::JsonPatch => Use::Mutation,
            Self::Apply => Use::Apply,
            Self::Safety => Use::Safety,
        }
    }
}

impl StoredExpressions {
    /// The expressions of a stored policy of either kind.
    pub fn of(policy: &Object) -> Self {
        let null = Value::Null;
        let spec = policy.at(&["spec"]).unwrap_or(&null);
        let mut stored = Self::default();
        let mut add = |kind, text: &str| {
            stored.all.insert((kind, text.to_owned()));
        };
        for condition in list(spec, "matchConditions") {
            add(ExpressionKind::Condition, text(condition, "expression"));
        }
        for variable in list(spec, "variables") {
            add(ExpressionKind::Value, text(variable, "expression"));
        }
        for validation in list(spec, "validations") {
            add(ExpressionKind::Value, text(validation, "expression"));
            add(
                ExpressionKind::Message,
                text(validation, "messageExpression"),
            );
        }
        for annotation in list(spec, "auditAnnotations") {
            add(ExpressionKind::Audit, text(annotation, "valueExpression"));
        }
        for mutation in list(spec, "mutations") {
            let configuration = &mutation["applyConfiguration"];
            add(
                ExpressionKind::ApplyConfiguration,
                text(configuration, "expression"),
            );
            add(
                ExpressionKind::JsonPatch,
                text(&mutation["jsonPatch"], "expression"),
            );
            add(ExpressionKind::Apply, text(mutation, "apply"));
            for condition in list(&mutation["safety"], "conditions") {
                add(ExpressionKind::Safety, text(condition, "expression"));
            }
        }
        stored
    }

    pub(crate) fn has(&self, kind: ExpressionKind, text: &str) -> bool {
        self.all.contains(&(kind, text.to_owned()))
    }
}
