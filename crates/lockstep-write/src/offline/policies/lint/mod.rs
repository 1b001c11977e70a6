//! Findings about policies and bindings: errors that a server reports, and what it accepts and fails at later.

mod fields;
mod pairs;
mod rules;

#[cfg(test)]
mod tests;

use lockstep_admission::api::{self, ApiKind};
use lockstep_admission::policy::{
    Common, FailurePolicy, Form, MutatingPolicy, PolicyKind, Reinvocation, ValidatingPolicy,
};
use lockstep_catalog::{Registry, ResourceId};
use lockstep_cel::paths::Segment;
use lockstep_cel::{EXPRESSION_COST_MAX, Program};
use lockstep_object::{Object, Value};

use self::fields::{Fields, Kind};
use super::workspace::{Rejection, Unbound, Workspace, WorkspaceError, registry};

pub use rules::{RULES, Rule, Severity, find};

/// A finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// Position among the given objects.
    pub index: usize,
    /// The field.
    pub field: String,
    /// The problem, with what to do about it.
    pub message: String,
}

/// All findings about the policies and bindings among objects, by position and rule.
pub fn lint(objects: &[Object]) -> Result<Vec<Finding>, WorkspaceError> {
    let mut report = Report {
        registry: registry(objects)?,
        objects,
        findings: Vec::new(),
    };
    let rejected = match Workspace::new(objects, Unbound::Inert) {
        Ok(_) => Vec::new(),
        Err(WorkspaceError::Rejected(rejections)) => rejections,
        Err(error) => return Err(error),
    };
    for rejection in &rejected {
        report.refused(rejection);
    }
    let is_sound = |index: usize| rejected.iter().all(|rejection| rejection.index != index);
    let mut mutating = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        match ApiKind::of(object).filter(|_| is_sound(index)) {
            Some(ApiKind::Policy(kind)) => {
                let mut policy = object.clone();
                api::convert_early_shape(&mut policy);
                api::apply_defaults(ApiKind::Policy(kind), &mut policy);
                match kind {
                    PolicyKind::Mutating => {
                        let compiled = MutatingPolicy::compile(&policy);
                        report.mutating(index, &policy, &compiled);
                        mutating.push((index, compiled));
                    }
                    PolicyKind::Validating => {
                        report.validating(index, &policy, &ValidatingPolicy::compile(&policy));
                    }
                }
                report.bound(index, kind);
            }
            Some(ApiKind::Binding(kind)) => report.binding(index, kind),
            None => {}
        }
    }
    report.findings.extend(pairs::findings(&mutating));
    let mut findings = report.findings;
    findings.sort_by(|one, other| {
        let key = |finding: &Finding| (finding.index, finding.rule.id, finding.field.clone());
        key(one).cmp(&key(other))
    });
    findings.dedup();
    Ok(findings)
}

struct Report<'a> {
    registry: Registry,
    objects: &'a [Object],
    findings: Vec<Finding>,
}

/// An expression of a policy.
struct Expression<'a> {
    field: String,
    program: &'a Program,
}

impl Report<'_> {
    fn add(&mut self, id: &str, index: usize, field: impl Into<String>, message: String) {
        self.findings.push(Finding {
            rule: find(id).expect("the table has every rule"),
            index,
            field: field.into(),
            message,
        });
    }

    fn refused(&mut self, rejection: &Rejection) {
        for error in &rejection.fields {
            self.add("LP001", rejection.index, error.field.clone(), error.body());
        }
    }

    fn mutating(&mut self, index: usize, object: &Object, policy: &MutatingPolicy) {
        let kinds = self.rules(index, object);
        let mut expressions = common_expressions(&policy.common);
        for (at, mutation) in policy.mutations.iter().enumerate() {
            let Ok(program) = &mutation.program else {
                continue;
            };
            let form = match mutation.form {
                Form::Apply => "apply",
                Form::ApplyConfiguration(_) => "applyConfiguration.expression",
                Form::JsonPatch => "jsonPatch.expression",
            };
            let field = format!("spec.mutations[{at}].{form}");
            let writes = program.paths().writes;
            if mutation.form != Form::JsonPatch && !mutation.is_per_value {
                for write in &writes {
                    for kind in &kinds {
                        if let Some(why) = kind.cannot_write(&write.path, mutation.form) {
                            let (id, message) = why;
                            self.add(id, index, field.clone(), message);
                        }
                    }
                }
            }
            let is_guarded = !policy.common.conditions.is_empty();
            if mutation.form == Form::JsonPatch
                && program.text().contains("/-\"")
                && !program.text().contains('?')
                && !is_guarded
                && policy.reinvocation != Reinvocation::Never
            {
                let message = "each run appends an element; test for it first, or set \
                     reinvocationPolicy: Never";
                self.add("LP005", index, field.clone(), message.to_owned());
            }
            let own = writes.iter().find(|write| {
                !write.prefix
                    && !write.path.is_empty()
                    && !write.path.contains(&Segment::Any)
                    && mutation.reads.contains(&write.path)
            });
            if let Some(own) = own
                && mutation.form != Form::JsonPatch
                && policy.reinvocation != Reinvocation::Never
                && !is_guarded
                && !program.text().contains('?')
            {
                let path = lockstep_admission::diff::shown(&own.path);
                let message = format!(
                    "the new value of {path} is computed from itself, so that another run changes it again; \
                     test whether it is set, or set reinvocationPolicy: Never"
                );
                self.add("LP005", index, field.clone(), message);
            }
            expressions.push(Expression { field, program });
        }
        self.expressions(index, &policy.common, &kinds, &expressions);
        self.params(index, &policy.common, PolicyKind::Mutating);
    }

    fn validating(&mut self, index: usize, object: &Object, policy: &ValidatingPolicy) {
        let kinds = self.rules(index, object);
        let mut expressions = common_expressions(&policy.common);
        for (at, validation) in policy.validations.iter().enumerate() {
            if let Ok(program) = &validation.program {
                let field = format!("spec.validations[{at}].expression");
                expressions.push(Expression { field, program });
            }
            if let Some(program) = &validation.message_program {
                let field = format!("spec.validations[{at}].messageExpression");
                expressions.push(Expression { field, program });
            }
        }
        for (at, annotation) in policy.audit_annotations.iter().enumerate() {
            if let Ok(program) = &annotation.program {
                let field = format!("spec.auditAnnotations[{at}].valueExpression");
                expressions.push(Expression { field, program });
            }
        }
        self.expressions(index, &policy.common, &kinds, &expressions);
        self.params(index, &policy.common, PolicyKind::Validating);
    }

    /// The kinds that rules name without wildcards; a finding for each name that is not served.
    fn rules(&mut self, index: usize, policy: &Object) -> Vec<Kind> {
        let mut kinds = Vec::new();
        let mut absent = Vec::new();
        let rules = policy.at(&["spec", "matchConstraints", "resourceRules"]);
        let rules = rules.and_then(Value::as_array).into_iter().flatten();
        for (at, rule) in rules.enumerate() {
            let texts = |field: &str| {
                let items = rule[field].as_array().into_iter().flatten();
                items.filter_map(Value::as_str).collect::<Vec<_>>()
            };
            let resources = texts("resources");
            for resource in resources.iter().filter(|name| !name.contains('*')) {
                let (plural, subresource) = resource.split_once('/').unwrap_or((resource, ""));
                let mut is_served = false;
                for group in texts("apiGroups") {
                    for version in texts("apiVersions") {
                        if group == "*" || version == "*" {
                            let mut all = self.registry.iter();
                            is_served |= all.any(|served| *served.plural == *plural);
                            continue;
                        }
                        let id = ResourceId {
                            group,
                            version,
                            plural,
                        };
                        if let Some(served) = self.registry.find(id) {
                            is_served = true;
                            if matches!(subresource, "" | "status") {
                                kinds.push(Kind::new(served, self.objects));
                            }
                        }
                    }
                }
                if !is_served {
                    absent.push((at, (*resource).to_owned()));
                }
            }
        }
        for (at, resource) in absent {
            let field = format!("spec.matchConstraints.resourceRules[{at}]");
            let message = format!(
                "no served resource is called {resource} in these groups and versions; if it is \
                 defined by a CustomResourceDefinition, give that too"
            );
            self.add("LP010", index, field, message);
        }
        kinds
    }

    fn expressions(
        &mut self,
        index: usize,
        common: &Common,
        kinds: &[Kind],
        expressions: &[Expression<'_>],
    ) {
        let fields = Fields::of(expressions.iter().map(|expression| expression.program));
        for Expression { field, program } in expressions {
            for (id, message) in fields.problems(program, kinds) {
                if id == "LP003" && common.failure_policy == FailurePolicy::Ignore {
                    let message = format!("{message}; failurePolicy: Ignore hides that error");
                    self.add("LP009", index, field.clone(), message);
                } else {
                    self.add(id, index, field.clone(), message);
                }
            }
            let cost = program.estimate().map_or(0, |estimate| estimate.min);
            if cost > EXPRESSION_COST_MAX {
                let message =
                    format!("it costs at least {cost}, and {EXPRESSION_COST_MAX} is the limit");
                self.add("LP008", index, field.clone(), message);
            }
        }
        for (at, variable) in common.variables.iter().enumerate() {
            let name = &*variable.name;
            let word = format!("variables.{name}");
            let is_used = expressions.iter().any(|expression| {
                let own = format!("spec.variables[{at}].expression");
                expression.field != own && has_word(expression.program.text(), &word)
            });
            let is_replaced = common.variables[at + 1..]
                .iter()
                .any(|later| *later.name == *name);
            if is_replaced || !is_used {
                let why = if is_replaced {
                    format!("a later variable is called {name} too, and replaces it everywhere")
                } else {
                    format!("no expression uses {word}")
                };
                self.add("LP013", index, format!("spec.variables[{at}].name"), why);
            }
        }
    }

    /// Whether the kind of parameters is known, and bindings give parameters.
    fn params(&mut self, index: usize, common: &Common, kind: PolicyKind) {
        let Some(wanted) = &common.param_kind else {
            return;
        };
        let (group, version) = wanted
            .api_version
            .rsplit_once('/')
            .unwrap_or(("", &wanted.api_version));
        let is_known = self.registry.iter().any(|served| {
            *served.group == *group
                && served.kind == wanted.kind
                && served.served_version(version).is_some()
        });
        if !is_known {
            let message = format!(
                "no served kind is {} {}; give its CustomResourceDefinition",
                wanted.api_version, wanted.kind
            );
            self.add("LP012", index, "spec.paramKind", message);
        }
        for (at, binding) in self.objects.iter().enumerate() {
            let is_own = ApiKind::of(binding) == Some(ApiKind::Binding(kind))
                && policy_name(binding) == &*common.name;
            let reference = binding.at(&["spec", "paramRef"]);
            if is_own && reference.is_none_or(Value::is_null) {
                let message = format!(
                    "policy {} has a paramKind and the binding no paramRef, so params is null",
                    common.name
                );
                self.add("LP012", at, "spec", message);
            }
        }
    }

    /// Whether a policy has a binding, if there are bindings at all.
    fn bound(&mut self, index: usize, kind: PolicyKind) {
        let name = self.objects[index].name();
        let mut bindings = self
            .objects
            .iter()
            .filter(|object| ApiKind::of(object) == Some(ApiKind::Binding(kind)))
            .peekable();
        if bindings.peek().is_some() && !bindings.any(|binding| policy_name(binding) == name) {
            let message = format!("no binding names {name}, so it has no effect");
            self.add("LP011", index, "metadata.name", message);
        }
    }

    fn binding(&mut self, index: usize, kind: PolicyKind) {
        let wanted = policy_name(&self.objects[index]);
        let mut policies = self
            .objects
            .iter()
            .filter(|object| ApiKind::of(object) == Some(ApiKind::Policy(kind)));
        if !policies.any(|policy| policy.name() == wanted) {
            let message = format!("no policy is called {wanted}, so the binding has no effect");
            self.add("LP011", index, "spec.policyName", message);
        }
    }
}

fn policy_name(binding: &Object) -> &str {
    let name = binding.at(&["spec", "policyName"]);
    name.and_then(Value::as_str).unwrap_or_default()
}

/// True if a text has a word that no longer word contains.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c == '_' || c.is_ascii_alphanumeric();
    text.match_indices(word)
        .any(|(at, _)| !text[at + word.len()..].starts_with(is_part))
}

fn common_expressions(common: &Common) -> Vec<Expression<'_>> {
    let conditions = common
        .conditions
        .programs()
        .map(|(at, program)| Expression {
            field: format!("spec.matchConditions[{at}].expression"),
            program,
        });
    let variables = common.variables.iter().enumerate();
    let variables = variables.filter_map(|(at, variable)| {
        Some(Expression {
            field: format!("spec.variables[{at}].expression"),
            program: variable.program.as_deref().ok()?,
        })
    });
    conditions.chain(variables).collect()
}
