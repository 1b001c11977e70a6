//! Validation of CEL expressions: compilation, scope and estimated cost.

use super::CheckOptions;
use super::nested::{self, Link};
use crate::keywords::{flag, given, integer, list, text};
use crate::rules::Scope;
use lockstep_cel::rule::{CRD_COST_MAX, Cardinality, RULE_COST_MAX, excess_message, rule_cost};
use lockstep_cel::{Program, Version};
use lockstep_object::field::{FieldError, FieldErrors, Path};
use serde_json::Value;
use std::collections::BTreeSet;

/// Maximum number of expensive expressions listed when the total cost exceeds its limit.
const DEAREST_MAX: usize = 4;

pub(super) fn check(schema: &Value, path: &Path<'_>, options: CheckOptions<'_>) -> FieldErrors {
    let mut known = Known::default();
    for stored in options.stored {
        known.collect(stored);
    }
    let mut checker = Checker {
        version: options.version,
        known,
        is_unchanged: options.stored.contains(&schema),
        errors: FieldErrors::new(),
        total: 0,
        dearest: Vec::new(),
    };
    let place = Place {
        is_root: true,
        cardinality: Cardinality::ONE,
        uncorrelatable: None,
    };
    checker.schema(schema, &place, path);
    checker.total(path);
    checker.errors
}

/// Expressions that are stored, which may use more than new ones.
#[derive(Default)]
struct Known {
    rules: BTreeSet<String>,
    messages: BTreeSet<String>,
}

impl Known {
    fn collect(&mut self, schema: &Value) {
        for rule in list(schema, "x-kubernetes-validations") {
            self.rules.insert(text(rule, "rule").to_owned());
            self.messages
                .insert(text(rule, "messageExpression").to_owned());
        }
        for (_, below) in nested::all(schema) {
            self.collect(below);
        }
    }
}

/// Context of a schema.
struct Place {
    is_root: bool,
    cardinality: Cardinality,
    /// Path of the outermost list whose items cannot be correlated.
    uncorrelatable: Option<String>,
}

struct Checker {
    version: Version,
    known: Known,
    is_unchanged: bool,
    errors: FieldErrors,
    total: u64,
    dearest: Vec<(u64, String)>,
}

impl Checker {
    fn schema(&mut self, schema: &Value, place: &Place, path: &Path<'_>) {
        let cardinality = place.cardinality.below(elements_max(schema));
        for (link, below) in nested::all(schema).filter(|(link, _)| !link.is_alternative()) {
            let is_keyed = text(schema, "x-kubernetes-list-type") == "map";
            let uncorrelatable = match link {
                Link::Items if !is_keyed => place
                    .uncorrelatable
                    .clone()
                    .or_else(|| Some(path.to_string())),
                _ => place.uncorrelatable.clone(),
            };
            let inner = Place {
                is_root: false,
                cardinality,
                uncorrelatable,
            };
            link.with_path(path, |path| self.schema(below, &inner, path));
        }
        let rules = list(schema, "x-kubernetes-validations");
        if rules.is_empty() {
            return;
        }
        let path = path.field("x-kubernetes-validations");
        let Some(scope) = Scope::of(schema, place.is_root) else {
            let problem = "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations";
            self.errors.push(FieldError::internal(&path, problem));
            return;
        };
        for (index, rule) in rules.iter().enumerate() {
            self.rule(rule, &scope, place, &path.index(index));
        }
    }

    fn rule(&mut self, rule: &Value, scope: &Scope, place: &Place, path: &Path<'_>) {
        let rule_path = path.field("rule");
        let version = if self.known.rules.contains(text(rule, "rule")) {
            Version::LATEST
        } else {
            self.version
        };
        let program = match scope.compile_rule(rule, version) {
            Ok(program) => program,
            Err(problem) => {
                self.errors
                    .push(FieldError::invalid(&rule_path, rule, problem));
                return;
            }
        };
        let cost = cost(&program, place.cardinality.of(scope.shape()));
        self.price("estimated rule cost", cost, &rule_path);
        self.message(rule, scope, path);
        self.old_self(rule, &program, place, path);
    }

    fn message(&mut self, rule: &Value, scope: &Scope, path: &Path<'_>) {
        let expression = text(rule, "messageExpression");
        if expression.is_empty() {
            return;
        }
        let path = path.field("messageExpression");
        let version = if self.known.messages.contains(expression) {
            Version::LATEST
        } else {
            self.version
        };
        match scope.compile_message(rule, version) {
            Ok(program) => self.price("estimated messageExpression cost", cost(&program, 1), &path),
            Err(problem) => self.errors.push(FieldError::invalid(&path, rule, problem)),
        }
    }

    fn old_self(&mut self, rule: &Value, program: &Program, place: &Place, path: &Path<'_>) {
        let uses_old_self = program.uses_variable("oldSelf");
        if let (true, Some(within)) = (uses_old_self, &place.uncorrelatable) {
            let problem = format!(
                "oldSelf cannot be used on the uncorrelatable portion of the schema within {within}"
            );
            self.errors.push(FieldError::invalid(
                &path.field("rule"),
                text(rule, "rule"),
                problem,
            ));
        }
        if !uses_old_self && given(rule, "optionalOldSelf").is_some() {
            let problem = "may not be set if oldSelf is not used in rule";
            let value = flag(rule, "optionalOldSelf");
            self.errors.push(FieldError::invalid(
                &path.field("optionalOldSelf"),
                value,
                problem,
            ));
        }
    }

    /// Adds to the total cost, and rejects an expression that exceeds its limit unless it is stored already.
    fn price(&mut self, what: &str, cost: u64, path: &Path<'_>) {
        if let (false, Some(problem)) = (self.is_unchanged, excess(what, cost, RULE_COST_MAX)) {
            self.errors.push(FieldError::forbidden(path, problem));
        }
        self.total = self.total.saturating_add(cost);
        if cost >= CRD_COST_MAX / 100 {
            self.dearest.push((cost, path.to_string()));
            self.dearest
                .sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
            self.dearest.truncate(DEAREST_MAX);
        }
    }

    fn total(&mut self, path: &Path<'_>) {
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        let Some(problem) = excess(what, self.total, CRD_COST_MAX) else {
            return;
        };
        for (_, dear) in std::mem::take(&mut self.dearest) {
            let detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            let mut error = FieldError::forbidden(path, detail);
            error.field = dear;
            self.errors.push(error);
        }
        self.errors.push(FieldError::forbidden(path, problem));
    }
}

fn cost(program: &Program, cardinality: u64) -> u64 {
    program
        .estimate()
        .map_or(u64::MAX, |estimate| rule_cost(estimate, cardinality))
}

fn excess(what: &str, cost: u64, limit: u64) -> Option<String> {
    let message = excess_message(cost, limit)?;
    Some(message.replacen("estimated rule cost", what, 1))
}

/// Maximum number of direct children of a value; none if unbounded.
fn elements_max(schema: &Value) -> Option<u64> {
    let limit = |keyword: &str| {
        integer(schema, keyword).map(|limit| u64::try_from(limit).unwrap_or_default())
    };
    match text(schema, "type") {
        "array" => limit("maxItems"),
        "object" if given(schema, "additionalProperties").is_some() => limit("maxProperties"),
        _ => Some(1),
    }
}
