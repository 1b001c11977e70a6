//! Conformance cases of the Kubernetes dialect.

use super::report::{Report, text};
use super::tagged::tagged;
use super::{Observed, Outcome};
use crate::activation::{Activation, Budget};
use crate::authorizer::{Attributes, Authorization, Authorizer, Decision, Target};
use crate::context;
use crate::dialect::Version;
use crate::env::Env;
use crate::issue::{Issue, Phase};
use crate::program::Program;
use crate::schema::{Resource, Schema};
use crate::types::Type;
use crate::value::{Arena, Opaque};
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;

pub(super) fn run(case: &Json, fixtures: &Json) -> Outcome {
    let case = &filled(case, fixtures);
    let report = observe(case);
    let expect = case.get("expect").cloned().unwrap_or_default();
    let alternatives = case
        .get("accept")
        .and_then(Json::as_array)
        .into_iter()
        .flatten();
    let complaints = report.complaints(&expect);
    let pass = complaints.is_empty()
        || alternatives
            .into_iter()
            .any(|accept| report.complaints(accept).is_empty());
    let id = text(case, "id").to_owned();
    Outcome {
        section: format!("kubernetes/{}", id.split('-').next().unwrap_or_default()),
        id,
        pass,
        required: true,
        expected: format!("{} => {expect}", text(case, "expr")),
        actual: format!("{} [{}]", report.describe(), complaints.join("; ")),
    }
}

/// The case with fixtures put in.
fn filled(json: &Json, fixtures: &Json) -> Json {
    match json {
        Json::Object(members) => match members.get("$fixture").and_then(Json::as_str) {
            Some(name) => fixtures.get(name).cloned().unwrap_or_default(),
            None => members
                .iter()
                .map(|(name, value)| (name.clone(), filled(value, fixtures)))
                .collect(),
        },
        Json::Array(elements) => elements
            .iter()
            .map(|element| filled(element, fixtures))
            .collect(),
        other => other.clone(),
    }
}

fn observe(case: &Json) -> Report {
    match text(case, "env") {
        "crd" => observe_rule(case),
        _ => observe_policy(case),
    }
}

fn run_program<'a>(
    program: &'a Program,
    activation: &Activation<'a>,
    arena: &'a Arena,
) -> (Observed, u64) {
    let mut budget = Budget::default();
    let observed = match program.evaluate(activation, arena, &mut budget) {
        Ok(value) => Observed::Value(tagged(&value)),
        Err(error) => Observed::Failed(error.to_string()),
    };
    let cost = budget.spent();
    (observed, cost)
}

/// One validation rule of a CRD.
fn observe_rule(case: &Json) -> Report {
    let is_set = |name| case.get(name).and_then(Json::as_bool).unwrap_or(false);
    let resource = if is_set("resourceRoot") {
        Resource::Root
    } else {
        Resource::Part
    };
    let schema = case
        .get("schema")
        .and_then(|schema| Schema::from_structural(schema, "selfType", resource));
    let Some(schema) = schema.map(Arc::new) else {
        return Report::refused(vec![Issue::whole(Phase::Check, "the schema has no type")]);
    };
    let is_old_optional = is_set("optionalOldSelf");
    let env = version_env(case).with_schema_variable("self", Arc::clone(&schema));
    let env = if is_old_optional {
        env.with_optional_schema_variable("oldSelf", schema)
    } else {
        env.with_schema_variable("oldSelf", schema)
    };
    let message = "cel expression must evaluate to a bool";
    let program = match env.compile_to(text(case, "expr"), &[Type::Bool], message) {
        Ok(program) => program,
        Err(issues) => return Report::refused(issues),
    };
    let arena = Arena::new();
    let mut activation = Activation::new();
    for name in ["self", "oldSelf"] {
        match case.get(name) {
            Some(json) => activation = activation.with_json(name, json),
            None if name == "oldSelf" && is_old_optional => {
                activation = activation.with_absent(name);
            }
            None => {}
        }
    }
    let (observed, cost) = run_program(&program, &activation, &arena);
    Report {
        observed,
        static_type: Some(program.static_type().to_string()),
        cost,
        estimate: program.estimate().map(|estimate| estimate.max),
        uses_old_self: Some(program.uses_variable("oldSelf")),
    }
}

fn version_env(case: &Json) -> Env {
    if text(case, "profile") == "spec" {
        return Env::spec();
    }
    let version = text(case, "compat").parse().unwrap_or(Version::LATEST);
    Env::kubernetes(version)
}

/// A policy's expression, with the variables of admission.
fn observe_policy(case: &Json) -> Report {
    let request = request(case);
    let authorizer = case.get("allow").map(|rules| {
        let user = request
            .pointer("/userInfo/username")
            .and_then(Json::as_str)
            .unwrap_or_default()
            .to_owned();
        Opaque::Authorizer(Authorization::new(Arc::new(Rules {
            user,
            rules: rules.clone(),
        })))
    });
    let mut env = policy_env(case, authorizer.is_some());
    let mut lazies: Vec<(String, Program)> = Vec::new();
    for variable in case
        .get("variables")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
    {
        match env.compile(text(variable, "Expression")) {
            Ok(program) => {
                env = env.with_lazy_variable(text(variable, "Name"), &program);
                lazies.push((text(variable, "Name").to_owned(), program));
            }
            Err(issues) => return Report::refused(issues),
        }
    }
    let program = match env.compile(text(case, "expr")) {
        Ok(program) => program,
        Err(issues) => return Report::refused(issues),
    };
    let arena = Arena::new();
    let null = Json::Null;
    let bound = |name: &str| case.get(name).unwrap_or(&null);
    let mut activation = Activation::new()
        .with_json("object", bound("object"))
        .with_json("oldObject", bound("oldObject"))
        .with_json("request", &request)
        .with_json("namespaceObject", bound("namespaceObject"))
        .with_json("params", bound("params"));
    if let Some(authorizer) = &authorizer {
        activation = activation.with_opaque("authorizer", authorizer);
    }
    for (name, program) in &lazies {
        activation = activation.with_lazy(name, program);
    }
    let (observed, cost) = run_program(&program, &activation, &arena);
    let static_type = Some(program.static_type().to_string());
    Report {
        observed,
        static_type,
        cost,
        estimate: None,
        uses_old_self: None,
    }
}

fn policy_env(case: &Json, authorizer: bool) -> Env {
    let mut env = version_env(case)
        .with_variable("object", Type::Dyn)
        .with_variable("oldObject", Type::Dyn)
        .with_schema_variable("request", context::request_schema())
        .with_schema_variable("namespaceObject", context::namespace_schema());
    if case.get("params").is_some() {
        env = env.with_variable("params", Type::Dyn);
    }
    if authorizer {
        env = env.with_variable(
            "authorizer",
            Type::opaque("kubernetes.authorization.Authorizer"),
        );
    }
    if text(case, "env") == "mutation" {
        env.with_mutation()
    } else {
        env
    }
}

/// The request with the fields a server always fills in.
fn request(case: &Json) -> Json {
    let mut request = case
        .get("request")
        .and_then(Json::as_object)
        .cloned()
        .unwrap_or_else(Map::new);
    request.entry("options").or_insert(Json::Null);
    Json::Object(request)
}

/// Allows what matches a rule in every key the rule gives.
#[derive(Debug)]
struct Rules {
    user: String,
    rules: Json,
}

impl Authorizer for Rules {
    fn authorize(&self, attributes: &Attributes) -> Decision {
        let user = attributes.user().unwrap_or_else(|| self.user.clone());
        let asked = match &attributes.target {
            Target::Path(path) => json!({"user": user, "verb": attributes.verb, "path": path}),
            Target::Resource(resource) => json!({
                "user": user,
                "verb": attributes.verb,
                "group": resource.group,
                "resource": resource.resource,
                "subresource": resource.subresource,
                "namespace": resource.namespace,
                "name": resource.name,
            }),
        };
        let allows = |rule: &Json| {
            rule.as_object().is_some_and(|rule| {
                rule.iter()
                    .all(|(key, value)| asked.get(key) == Some(value))
            })
        };
        let allowed = self.rules.as_array().into_iter().flatten().any(allows);
        let reason = if allowed {
            "allowed by rule"
        } else {
            "no rule"
        };
        Decision {
            allowed,
            reason: reason.to_owned(),
            error: None,
        }
    }
}
