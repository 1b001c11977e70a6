//! Checks after the last pass: safety of mutations, and convergence of policies.

use std::collections::BTreeSet;

use lockstep_cel::{Arena, Value as CelValue};
use lockstep_object::{Object, Reason};

use super::run::{self, Context};
use super::{Applied, Mutating, Stage, View, key};
use crate::binding::Enforcement;
use crate::conditions::MatchResult;
use crate::diff;
use crate::inputs::{self, Failure, Inputs};
use crate::outcome::{Conflict, Writer};
use crate::policy::{
    Convergence, FailurePolicy, MutatingPolicy, Mutation, Reinvocation, SafetyAction, SafetyMode,
};
use crate::tuples::Tuple;

impl Mutating<'_> {
    /// Starts the checks, after webhooks and the last pass. Policies that ran are checked, whether they still match or
    /// not.
    pub fn begin_checks(&mut self, object: Option<&Object>) {
        if let Some(object) = object.filter(|_| !self.is_idle()) {
            let value = object.as_value();
            let paths = diff::changed_paths(&self.left, value);
            if self.pass > 0 {
                self.journal.add(Writer::Other, paths);
            }
        }
        self.tuples = std::mem::take(&mut self.ran);
        self.stage = Stage::Checks;
        self.cursor = 0;
    }

    /// True if a check of a tuple may find something.
    pub(super) fn is_checked(&self, tuple: &Tuple<MutatingPolicy>) -> bool {
        if tuple.binding.enforcement == Enforcement::DryRun || !self.runs.contains_key(&key(tuple))
        {
            return false;
        }
        let mutations = &tuple.policy.mutations;
        let is_safe =
            |mutation: &Mutation| !matches!(mutation.safety.mode, SafetyMode::Overwritable);
        let is_replayed =
            self.detects_conflicts && tuple.policy.reinvocation != Reinvocation::Never;
        is_replayed || mutations.iter().any(is_safe)
    }

    pub(super) fn check(&mut self, tuple: &Tuple<MutatingPolicy>, view: View<'_>) {
        let Some(object) = view.object else {
            return;
        };
        let applied = self
            .runs
            .get_mut(&key(tuple))
            .map(|runs| std::mem::take(&mut runs.applied));
        let mutations = tuple.policy.mutations.iter();
        for (mutation, applied) in mutations.zip(applied.into_iter().flatten()) {
            if let Some(applied) = applied {
                let context = self.context(tuple, object, view.old, view.kind);
                let found = violation(mutation, &applied, context, self);
                self.judge(tuple, mutation, found);
            }
        }
        if self.detects_conflicts && tuple.policy.reinvocation != Reinvocation::Never {
            self.check_convergence(tuple, object, view.old, view.kind);
        }
    }

    fn context<'c>(
        &'c self,
        tuple: &'c Tuple<MutatingPolicy>,
        object: &'c Object,
        old: Option<&'c Object>,
        kind: &'c dyn crate::facts::Kind,
    ) -> Context<'c> {
        let surroundings = self.surroundings(&tuple.version);
        Context {
            common: &tuple.policy.common,
            inputs: Inputs::new(surroundings, Some(object), old, tuple.param.as_ref()),
            object,
            old,
            kind,
        }
    }

    fn judge(
        &mut self,
        tuple: &Tuple<MutatingPolicy>,
        mutation: &Mutation,
        found: Result<Option<String>, Failure>,
    ) {
        let names = (&*tuple.policy.common.name, Some(&*tuple.binding.name));
        match found {
            Ok(Some(message)) if mutation.safety.action == SafetyAction::Warn => {
                let (policy, binding) = (names.0, &tuple.binding.name);
                self.outcome.warnings.push(format!(
                    "policy '{policy}' with binding '{binding}': {message}"
                ));
            }
            Ok(Some(message)) => self.denials.add(names, &message, Some(Reason::Invalid)),
            Err(failure) if tuple.policy.common.failure_policy == FailurePolicy::Fail => {
                self.denials
                    .add(names, &failure.message, Some(Reason::Invalid));
            }
            Ok(None) | Err(_) => {}
        }
    }

    /// Replays a policy on the final object: if it would still change it, it is in conflict with the last writers.
    fn check_convergence(
        &mut self,
        tuple: &Tuple<MutatingPolicy>,
        object: &Object,
        old: Option<&Object>,
        kind: &dyn crate::facts::Kind,
    ) {
        let context = self.context(tuple, object, old, kind);
        if context.inputs.meets_conditions(&tuple.policy.common) != MatchResult::Matches {
            return;
        }
        let mut replayed = object.clone();
        for mutation in &tuple.policy.mutations {
            let context = self.context(tuple, &replayed, old, kind);
            if let Ok(ran) = run::run(mutation, context)
                && let Some(changed) = ran.object
            {
                replayed = changed;
            }
        }
        let own = super::writer(&tuple.policy);
        let mut conflicts = BTreeSet::new();
        for path in diff::changed_paths(object.as_value(), replayed.as_value()) {
            match self.journal.last_writer(&path) {
                Some(writer) if *writer != own => {
                    conflicts.insert(Conflict {
                        policy: tuple.policy.common.name.clone(),
                        writer: writer.clone(),
                        field: diff::shown(&path),
                    });
                }
                _ => {}
            }
        }
        for conflict in conflicts {
            self.conflicts(tuple, conflict);
        }
    }

    /// The strictest `convergencePolicy` of the fighting policies applies.
    fn conflicts(&mut self, tuple: &Tuple<MutatingPolicy>, conflict: Conflict) {
        let other = match &conflict.writer {
            Writer::Policy(name) => {
                let mut bound = self.bound.iter();
                bound.find(|bound| bound.policy.common.name == *name)
            }
            Writer::Webhook(_) | Writer::Other => None,
        };
        let other = other.map_or(Convergence::Report, |bound| bound.policy.convergence);
        let Conflict {
            policy,
            writer,
            field,
        } = &conflict;
        let who = match writer {
            Writer::Policy(name) => format!("policies {policy:?} and {name:?}"),
            other => format!("policy {policy:?} and {other}"),
        };
        let message = format!("mutating admission did not converge: {who} both write {field}");
        match tuple.policy.convergence.max(other) {
            Convergence::Report => {}
            Convergence::Warn => self.outcome.warnings.push(message),
            Convergence::Deny => self.denials.add_text(message),
        }
        self.outcome.conflicts.push(conflict);
    }
}

/// The violation of the safety of a mutation, if there is one.
fn violation(
    mutation: &Mutation,
    applied: &Applied,
    context: Context<'_>,
    phase: &Mutating<'_>,
) -> Result<Option<String>, Failure> {
    let undone = |what: &str| format!("mutation {:?} was undone{what}", mutation.name);
    match &mutation.safety.mode {
        SafetyMode::Overwritable => Ok(None),
        SafetyMode::Exact => {
            let ran = run::run(mutation, context)?;
            let Some(path) = ran.writes.first().filter(|_| ran.object.is_some()) else {
                return Ok(None);
            };
            let writer = match phase.journal.last_writer(path) {
                Some(writer) => format!(" (last written by {writer})"),
                None => String::new(),
            };
            Ok(Some(undone(&format!(" at {}{writer}", diff::shown(path)))))
        }
        SafetyMode::Conditional(conditions) => {
            let null = lockstep_object::Value::Null;
            let arena = Arena::new();
            let activation = context.inputs.activation(context.common);
            let after = applied.object.as_ref().unwrap_or(&null);
            let activation = activation.with_json("applied", after);
            for condition in conditions {
                let mut budget = inputs::budget();
                let value = inputs::evaluate(&condition.program, &activation, &arena, &mut budget)?;
                if !matches!(value, CelValue::Bool(true)) {
                    let text = condition.program.as_ref().map(lockstep_cel::Program::text);
                    let why = match &*condition.message {
                        "" => format!("failed condition: {}", text.unwrap_or_default().trim()),
                        message => message.to_owned(),
                    };
                    return Ok(Some(undone(&format!(": {why}"))));
                }
            }
            Ok(None)
        }
    }
}
