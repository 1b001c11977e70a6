//! The mutating phase of one request, step by step.
//!
//! The caller owns the object and converts it between versions; [`Mutating`] decides what runs, and when:
//!
//! ```text
//! begin_pass → (next → run)* → end_pass     built-in plugins and webhooks run after each pass
//!      ↑_____________________________│ Again
//! begin_checks → (next → run)* → conclude
//! ```

mod checks;
mod draft;
mod journal;
mod run;
mod scoped;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use lockstep_object::{ApiError, Object, Reason, Value};
use serde_json::json;

use crate::binding::{Enforcement, ParamForm};
use crate::conditions::MatchResult;
use crate::denial::Denials;
use crate::diff;
use crate::facts::{Facts, Kind};
use crate::features::Feature;
use crate::inputs::{ErrorClass, Failure, Inputs, Surroundings};
use crate::outcome::{Annotation, Check, Outcome, Writer};
use crate::policy::{FailurePolicy, MutatingPolicy, Mutation, Reinvocation, SafetyMode};
use crate::request::{Operation, Request, ResourceVersion};
use crate::set::{Bound, PolicySet};
use crate::trace::{Event, Mutated, Trace};
use crate::tuples::{self, Tuple, TupleKey};
use journal::{Journal, Paths};
use run::{Context, Ran};

/// Most passes over the chain of one request, as upstream.
const PASSES_MAX: usize = 2;

/// Longest patch in a warning about a dry run, in bytes.
const WARNED_PATCH_BYTES_MAX: usize = 256;

/// Whether a phase records what happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tracing {
    /// Every policy that names the resource leaves a [`Trace`].
    On,
    /// Nothing is recorded.
    Off,
}

/// Continuation after a pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PassEnd {
    /// The request is denied: conclude.
    Denied,
    /// A policy changed the object: the chain runs once more after its end.
    Again,
    /// The chain does not run again: no policy changed the object, or this was the last pass.
    Settled,
}

/// One policy that runs next. The caller brings the objects into [`Turn::version`].
#[derive(Clone, Debug)]
pub struct Turn {
    tuple: usize,
    version: ResourceVersion,
}

impl Turn {
    /// The version of the resource in which the policy sees the objects.
    pub fn version(&self) -> &ResourceVersion {
        &self.version
    }
}

/// The objects of a request, in the version of a turn.
pub struct View<'v> {
    /// The object; none for a deletion or a connection without body.
    pub object: Option<&'v mut Object>,
    /// The stored object.
    pub old: Option<&'v Object>,
    /// Types and defaults of the version.
    pub kind: &'v dyn Kind,
}

/// State of the mutating phase.
pub struct Mutating<'a> {
    request: &'a Request,
    facts: &'a dyn Facts,
    tracing: Tracing,
    /// False if policies that undo the changes of one another are not looked for.
    detects_conflicts: bool,
    bound: Vec<&'a Bound<MutatingPolicy>>,
    tuples: Vec<Tuple<MutatingPolicy>>,
    /// Tuples that ran, for the checks.
    ran: Vec<Tuple<MutatingPolicy>>,
    runs: BTreeMap<TupleKey, Runs>,
    surroundings: Vec<(ResourceVersion, Surroundings)>,
    journal: Journal,
    stage: Stage,
    pass: usize,
    /// Position of the next tuple.
    cursor: usize,
    /// Mutations so far in this pass, for the keys of annotations.
    index: usize,
    is_changed: bool,
    /// The object at the end of the last pass.
    left: Value,
    denials: Denials,
    outcome: Outcome,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Pass,
    /// Policies that are affected by later ones run again.
    Affected,
    Checks,
}

/// Runs of one tuple.
#[derive(Debug, Default)]
struct Runs {
    count: u32,
    /// Length of the journal after the last run.
    last: usize,
    writes: Paths,
    /// Upstream's state for `IfNeeded`: invoked, and nothing changed since.
    is_waiting: bool,
    /// Upstream's state for `IfNeeded`: due in the next pass.
    is_due: bool,
    /// For each mutation, the object after its last run, if it ran without error.
    applied: Vec<Option<Applied>>,
}

/// State after a mutation, for its safety check.
#[derive(Debug)]
struct Applied {
    /// The object; kept only if a condition looks at it.
    object: Option<Value>,
}

impl<'a> Mutating<'a> {
    /// A phase for a request. Deletions are never mutated.
    pub fn new(
        set: &'a PolicySet,
        request: &'a Request,
        facts: &'a dyn Facts,
        tracing: Tracing,
    ) -> Self {
        let bound = match request.operation {
            Operation::Delete => Vec::new(),
            Operation::Create | Operation::Update | Operation::Connect => set.mutating_for(request),
        };
        Self {
            request,
            facts,
            tracing,
            detects_conflicts: set.features().has(Feature::Convergence),
            bound,
            tuples: Vec::new(),
            ran: Vec::new(),
            runs: BTreeMap::new(),
            surroundings: Vec::new(),
            journal: Journal::default(),
            stage: Stage::Pass,
            pass: 0,
            cursor: 0,
            index: 0,
            is_changed: false,
            left: Value::Null,
            denials: Denials::default(),
            outcome: Outcome::default(),
        }
    }

    /// A phase without policies.
    pub fn idle(request: &'a Request, facts: &'a dyn Facts) -> Self {
        static NOTHING: LazyLock<PolicySet> = LazyLock::new(PolicySet::default);
        Self::new(&NOTHING, request, facts, Tracing::Off)
    }

    /// True if no policy names the resource, so that the phase may be skipped.
    pub fn is_idle(&self) -> bool {
        self.bound.is_empty()
    }

    /// Records a change by a webhook or another plugin. Changes that are not recorded are found when the next pass
    /// begins, as those of an unnamed writer.
    pub fn changed_by(&mut self, writer: Writer, before: &Value, after: &Value) {
        if self.is_idle() {
            return;
        }
        let paths = diff::changed_paths(before, after);
        if !paths.is_empty() {
            self.journal.add(writer, paths);
            self.require_reinvocation();
        }
        self.left = after.clone();
    }

    /// True if a policy changed the object in the last pass.
    pub fn is_changed(&self) -> bool {
        self.is_changed
    }

    /// Takes the checks since the last call, for metrics with their duration.
    pub fn take_checks(&mut self) -> Vec<Check> {
        std::mem::take(&mut self.outcome.checks)
    }

    /// Starts a pass: matches all policies with the object as it is now. The objects are in the requested version.
    pub fn begin_pass(&mut self, object: Option<&Object>, old: Option<&Object>) {
        if self.is_idle() {
            return;
        }
        let value = object.map_or(&Value::Null, Object::as_value);
        if self.pass > 0 && !diff::same(&self.left, value) {
            self.journal
                .add(Writer::Other, diff::changed_paths(&self.left, value));
            self.require_reinvocation();
        }
        let (tuples, misses) = tuples::collect(
            &self.bound,
            |policy: &MutatingPolicy| &policy.common,
            ParamForm::WithoutKind,
            self.request,
            self.facts,
            (object, old),
        );
        self.tuples = tuples;
        self.cursor = 0;
        self.index = 0;
        self.is_changed = false;
        self.stage = Stage::Pass;
        for miss in misses {
            self.missed(miss);
        }
        let namespace = self.request.enclosing_namespace();
        if !self.tuples.is_empty() && !namespace.is_empty() && self.facts.namespace().is_none() {
            let resource = lockstep_object::GroupResource::new("", "namespaces");
            self.outcome.error = Some(ApiError::not_found(&resource, namespace));
            self.tuples.clear();
        }
    }

    fn missed(&mut self, miss: tuples::Miss) {
        let tuples::Miss {
            policy,
            binding,
            denial,
            event,
        } = miss;
        if let Some(message) = denial {
            self.denials
                .add((&policy, binding.as_deref()), &message, None);
        }
        if self.tracing == Tracing::On {
            self.outcome.trace.push(Trace {
                policy,
                binding: binding.unwrap_or_default(),
                param: String::new(),
                pass: self.pass,
                event,
            });
        }
    }

    /// The policy that runs next; none at the end of a pass or of the checks.
    #[expect(
        clippy::should_implement_trait,
        reason = "the caller runs each turn on objects of its own"
    )]
    pub fn next(&mut self) -> Option<Turn> {
        match self.stage {
            Stage::Pass => {
                while let Some(tuple) = self.tuples.get(self.cursor) {
                    self.cursor += 1;
                    if self.pass == 0 || self.is_due(tuple) {
                        return Some(self.turn(self.cursor - 1));
                    }
                }
                self.stage = Stage::Affected;
                self.next()
            }
            Stage::Affected => {
                let found = self.tuples.iter().position(|tuple| self.is_affected(tuple));
                found.map(|at| self.turn(at))
            }
            Stage::Checks => {
                while let Some(tuple) = self.tuples.get(self.cursor) {
                    self.cursor += 1;
                    if self.is_checked(tuple) {
                        return Some(self.turn(self.cursor - 1));
                    }
                }
                None
            }
        }
    }

    fn turn(&self, tuple: usize) -> Turn {
        Turn {
            tuple,
            version: self.tuples[tuple].version.clone(),
        }
    }

    /// True if a tuple runs in a second pass.
    fn is_due(&self, tuple: &Tuple<MutatingPolicy>) -> bool {
        let Some(runs) = self.runs.get(&key(tuple)) else {
            return false;
        };
        match tuple.policy.reinvocation {
            Reinvocation::Never => false,
            Reinvocation::IfNeeded => runs.is_due && !self.is_futile(tuple, runs),
            Reinvocation::IfAffected(_) => self.is_affected(tuple),
        }
    }

    /// True if another run certainly changes nothing: nothing but the policy itself wrote anything, merging is
    /// idempotent, and the policy does not read what it wrote.
    fn is_futile(&self, tuple: &Tuple<MutatingPolicy>, runs: &Runs) -> bool {
        let policy = &tuple.policy;
        let is_merge = |mutation: &Mutation| mutation.form != crate::policy::Form::JsonPatch;
        let reads = policy.reads();
        policy.mutations.iter().all(is_merge)
            && policy.common.conditions.is_empty()
            && !self.journal.has_others_since(&writer(policy), runs.last)
            && !runs
                .writes
                .iter()
                .any(|written| reads.iter().any(|read| diff::overlap(read, written)))
    }

    /// True if a policy with `IfAffected` runs again because others wrote what it reads or writes.
    fn is_affected(&self, tuple: &Tuple<MutatingPolicy>) -> bool {
        let Reinvocation::IfAffected(limit) = tuple.policy.reinvocation else {
            return false;
        };
        let Some(runs) = self.runs.get(&key(tuple)) else {
            return false;
        };
        if runs.count > u32::from(limit) {
            return false;
        }
        let mut paths = tuple.policy.reads();
        paths.extend(runs.writes.iter().cloned());
        self.journal
            .is_affected(&writer(&tuple.policy), runs.last, &paths)
    }

    /// Runs the policy of a turn on the objects.
    pub fn run(&mut self, turn: &Turn, view: View<'_>) {
        let tuple = self.tuples[turn.tuple].clone();
        self.prepare(&tuple.version);
        if self.stage == Stage::Checks {
            self.check(&tuple, view);
            return;
        }
        let Some(object) = view.object else {
            return;
        };
        if !self.meets_conditions(&tuple, object, view.old) {
            return;
        }
        let is_again = self.runs.contains_key(&key(&tuple));
        match tuple.binding.enforcement {
            Enforcement::Apply => {
                let before = object.as_value().clone();
                let mut writes = Paths::new();
                let mut applied = Vec::new();
                for mutation in &tuple.policy.mutations {
                    let ran = self.mutate(&tuple, mutation, object, view.old, view.kind);
                    self.report(&tuple, mutation, &ran, object, is_again);
                    let Ok(ran) = ran else {
                        applied.push(None);
                        continue;
                    };
                    writes.extend(ran.writes.iter().cloned());
                    let is_untested = ran.is_untested;
                    if let Some(changed) = ran.object {
                        *object = changed;
                    }
                    let is_kept = matches!(mutation.safety.mode, SafetyMode::Conditional(_));
                    applied.push((!is_untested).then(|| Applied {
                        object: is_kept.then(|| object.as_value().clone()),
                    }));
                }
                let is_changed = !diff::same(&before, object.as_value());
                self.ran(&tuple, writes, applied, is_changed);
            }
            Enforcement::DryRun => {
                let mut copy = object.clone();
                for mutation in &tuple.policy.mutations {
                    let ran = self.mutate(&tuple, mutation, &copy, view.old, view.kind);
                    self.report(&tuple, mutation, &ran, &copy, is_again);
                    if let Ok(Ran {
                        object: Some(changed),
                        ..
                    }) = ran
                    {
                        copy = changed;
                    }
                }
                self.warn_of_dry_run(&tuple, object.as_value(), copy.as_value());
            }
        }
    }

    /// Keeps the inputs that all expressions on a version share.
    fn prepare(&mut self, version: &ResourceVersion) {
        if !self.surroundings.iter().any(|(known, _)| known == version) {
            let surroundings = Surroundings::new(self.request, version, self.facts);
            self.surroundings.push((version.clone(), surroundings));
        }
    }

    fn surroundings(&self, version: &ResourceVersion) -> &Surroundings {
        let mut all = self.surroundings.iter();
        let found = all.find(|(known, _)| known == version);
        &found.expect("a turn prepares its version").1
    }

    fn meets_conditions(
        &mut self,
        tuple: &Tuple<MutatingPolicy>,
        object: &Object,
        old: Option<&Object>,
    ) -> bool {
        let surroundings = self.surroundings(&tuple.version);
        let inputs = Inputs::new(surroundings, Some(object), old, tuple.param.as_ref());
        let event = match inputs.meets_conditions(&tuple.policy.common) {
            MatchResult::Matches => return true,
            MatchResult::DoesNotMatch(condition) => Event::Skipped(condition),
            MatchResult::Error(error) => {
                if tuple.policy.common.failure_policy == FailurePolicy::Fail
                    && tuple.binding.enforcement == Enforcement::Apply
                {
                    let names = (&*tuple.policy.common.name, Some(&*tuple.binding.name));
                    self.denials.add(names, &error, Some(Reason::Invalid));
                }
                Event::ConditionError(error)
            }
        };
        self.trace(tuple, event);
        false
    }

    fn mutate(
        &self,
        tuple: &Tuple<MutatingPolicy>,
        mutation: &Mutation,
        object: &Object,
        old: Option<&Object>,
        kind: &dyn Kind,
    ) -> Result<Ran, Failure> {
        let surroundings = self.surroundings(&tuple.version);
        run::run(
            mutation,
            Context {
                common: &tuple.policy.common,
                inputs: Inputs::new(surroundings, Some(object), old, tuple.param.as_ref()),
                object,
                old,
                kind,
            },
        )
    }

    /// Notes the outcome of one mutation: denial, metrics, annotations, trace.
    fn report(
        &mut self,
        tuple: &Tuple<MutatingPolicy>,
        mutation: &Mutation,
        ran: &Result<Ran, Failure>,
        before: &Object,
        is_again: bool,
    ) {
        let common = &tuple.policy.common;
        let is_dry_run = tuple.binding.enforcement == Enforcement::DryRun;
        let failure = ran.as_ref().err();
        let fails = common.failure_policy == FailurePolicy::Fail && !is_dry_run;
        if let Some(failure) = failure.filter(|_| fails) {
            let names = (&*common.name, Some(&*tuple.binding.name));
            self.denials
                .add(names, &failure.message, Some(Reason::Invalid));
        }
        self.outcome.checks.push(Check {
            policy: common.name.clone(),
            binding: tuple.binding.name.clone(),
            class: failure.map_or(ErrorClass::None, |failure| failure.class),
            is_rejection: failure.is_some() && fails,
            actions: Vec::new(),
        });
        let changed = ran.as_ref().ok().and_then(|ran| ran.object.as_ref());
        let patch = changed.map(|after| diff::json_patch(before.as_value(), after.as_value()));
        self.annotate(
            tuple,
            mutation,
            patch.as_deref(),
            failure.is_some() && !fails,
        );
        if self.tracing == Tracing::On {
            let event = Event::Mutated(Mutated {
                mutation: mutation.name.clone(),
                patch: patch.unwrap_or_default(),
                error: failure.map(|failure| failure.message.clone()),
                is_untested: ran.as_ref().is_ok_and(|ran| ran.is_untested),
                is_dry_run,
                is_again,
            });
            self.trace(tuple, event);
        }
    }

    fn annotate(
        &mut self,
        tuple: &Tuple<MutatingPolicy>,
        mutation: &Mutation,
        patch: Option<&[Value]>,
        is_ignored: bool,
    ) {
        let place = format!(
            "policy.admission.k8s.io/round_{}_index_{}",
            self.pass, self.index
        );
        self.index += 1;
        let applied = tuple.binding.enforcement == Enforcement::Apply;
        let note = json!({
            "policy": tuple.policy.common.name,
            "binding": tuple.binding.name,
            "param": tuple.param_name(),
            "mutation": mutation.name,
            "mutated": patch.is_some() && applied,
            "failedOpen": is_ignored,
        });
        self.outcome.annotations.push(Annotation {
            key: format!("mutation.{place}"),
            value: note.to_string(),
            is_detailed: false,
        });
        if let Some(patch) = patch {
            self.outcome.annotations.push(Annotation {
                key: format!("patch.{place}"),
                value: Value::from(patch.to_vec()).to_string(),
                is_detailed: true,
            });
        }
    }

    fn warn_of_dry_run(&mut self, tuple: &Tuple<MutatingPolicy>, before: &Value, after: &Value) {
        let patch = diff::json_patch(before, after);
        if patch.is_empty() {
            return;
        }
        let patch = Value::from(patch).to_string();
        let shown = cut(&patch, WARNED_PATCH_BYTES_MAX);
        self.outcome.warnings.push(format!(
            "policy '{}' with binding '{}' (dry run) would apply: {shown}",
            tuple.policy.common.name, tuple.binding.name
        ));
    }

    /// Ends the run of a tuple.
    fn ran(
        &mut self,
        tuple: &Tuple<MutatingPolicy>,
        writes: Paths,
        applied: Vec<Option<Applied>>,
        is_changed: bool,
    ) {
        if is_changed {
            self.is_changed = true;
            self.require_reinvocation();
            self.journal.add(writer(&tuple.policy), writes.clone());
            let name = tuple.policy.common.name.clone();
            let fields = self.outcome.mutated.entry(name).or_default();
            fields.extend(writes.iter().map(|path| diff::shown(path)));
        }
        let last = self.journal.len();
        if !self.runs.contains_key(&key(tuple)) {
            self.ran.push(tuple.clone());
        }
        let runs = self.runs.entry(key(tuple)).or_default();
        runs.count += 1;
        runs.last = last;
        runs.writes.extend(writes);
        runs.applied = applied;
        runs.is_due = false;
        runs.is_waiting = tuple.policy.reinvocation == Reinvocation::IfNeeded;
    }

    /// Something changed the object: policies that were invoked before are due again.
    fn require_reinvocation(&mut self) {
        for runs in self.runs.values_mut() {
            runs.is_due |= std::mem::take(&mut runs.is_waiting);
        }
    }

    /// Ends a pass, with the object in the requested version again.
    pub fn end_pass(&mut self, object: Option<&Object>) -> PassEnd {
        if self.is_idle() {
            return PassEnd::Settled;
        }
        self.left = object.map_or(Value::Null, |object| object.as_value().clone());
        if self.is_changed {
            // As upstream, also the policy that changed the object last is due again.
            self.require_reinvocation();
        }
        self.pass += 1;
        if !self.denials.is_empty() || self.outcome.error.is_some() {
            PassEnd::Denied
        } else if self.is_changed && self.pass < PASSES_MAX {
            PassEnd::Again
        } else {
            PassEnd::Settled
        }
    }

    fn trace(&mut self, tuple: &Tuple<MutatingPolicy>, event: Event) {
        if self.tracing == Tracing::On {
            self.outcome.trace.push(Trace {
                policy: tuple.policy.common.name.clone(),
                binding: tuple.binding.name.clone(),
                param: tuple.param_name(),
                pass: self.pass,
                event,
            });
        }
    }

    /// Ends the phase.
    pub fn conclude(self) -> Outcome {
        let mut outcome = self.outcome;
        if outcome.error.is_none() {
            outcome.error = self.denials.into_error(self.request);
        }
        outcome
    }
}

fn key(tuple: &Tuple<MutatingPolicy>) -> TupleKey {
    tuple.key(&tuple.policy.common.name)
}

fn writer(policy: &MutatingPolicy) -> Writer {
    Writer::Policy(policy.common.name.clone())
}

/// The start of a text, with at most so many bytes.
fn cut(text: &str, bytes_max: usize) -> &str {
    let end = (0..=bytes_max.min(text.len()))
        .rev()
        .find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}
