//! Operations of a resource: paths, methods and parameters, independent of the OpenAPI version.

use std::collections::BTreeMap;

use lockstep_kinds::schema::GroupVersionKind;

use crate::schemas::{DELETE_OPTIONS, PATCH, STATUS, Schema};
use crate::{Part, Resource, Source};

/// A parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) place: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) description: &'static str,
}

/// Something that can be done.
#[derive(Debug, Clone)]
pub(crate) struct Operation<'a> {
    pub(crate) method: &'static str,
    pub(crate) action: &'static str,
    pub(crate) id: String,
    pub(crate) tag: String,
    pub(crate) gvk: GroupVersionKind<'a>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Option<Body<'a>>,
    /// Codes, and what comes with them.
    pub(crate) answers: &'static [u16],
    pub(crate) answer: Schema,
    /// True if protobuf is supported.
    pub(crate) has_protobuf: bool,
    pub(crate) streams: bool,
}

/// Request body.
#[derive(Debug, Clone)]
pub(crate) struct Body<'a> {
    pub(crate) schema: Schema,
    pub(crate) is_required: bool,
    /// The media types of a patch; none for objects, which come in any.
    pub(crate) media_types: &'a [&'a str],
}

/// Everything at one path.
#[derive(Debug, Clone, Default)]
pub(crate) struct Path<'a> {
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) operations: Vec<Operation<'a>>,
}

const fn query(name: &'static str, kind: &'static str, description: &'static str) -> Parameter {
    Parameter {
        name,
        place: "query",
        kind,
        description,
    }
}

const fn path(name: &'static str, description: &'static str) -> Parameter {
    Parameter {
        name,
        place: "path",
        kind: "string",
        description,
    }
}

const NAME: Parameter = path("name", "name of the object");
const NAMESPACE: Parameter = path("namespace", "namespace of the object");
const PRETTY: Parameter = query("pretty", "string", "whether the answer is indented");
const DRY_RUN: Parameter = query(
    "dryRun",
    "string",
    "`All` goes through everything and keeps nothing",
);
const FIELD_MANAGER: Parameter = query("fieldManager", "string", "who makes the change");
const FIELD_VALIDATION: Parameter = query(
    "fieldValidation",
    "string",
    "what becomes of unknown and duplicate fields: `Ignore`, `Warn` or `Strict`",
);
const FORCE: Parameter = query(
    "force",
    "boolean",
    "whether an apply takes fields from others",
);
const RESOURCE_VERSION: Parameter = query(
    "resourceVersion",
    "string",
    "which state is asked for; empty for the newest",
);
const LIST: &[Parameter] = &[
    query(
        "allowWatchBookmarks",
        "boolean",
        "whether a watch may tell how far it is",
    ),
    query("continue", "string", "where the page before ended"),
    query(
        "fieldSelector",
        "string",
        "only objects with these values of fields",
    ),
    query("labelSelector", "string", "only objects with these labels"),
    query("limit", "integer", "how many objects a page has"),
    RESOURCE_VERSION,
    query(
        "resourceVersionMatch",
        "string",
        "how `resourceVersion` is meant: `Exact` or `NotOlderThan`",
    ),
    query(
        "sendInitialEvents",
        "boolean",
        "whether a watch begins with the present state",
    ),
    query("timeoutSeconds", "integer", "how long it may take"),
    query("watch", "boolean", "changes instead of a list"),
];
const DELETE: &[Parameter] = &[
    DRY_RUN,
    query(
        "gracePeriodSeconds",
        "integer",
        "how long the object may take to end",
    ),
    query(
        "orphanDependents",
        "boolean",
        "whether what it owns stays; use `propagationPolicy`",
    ),
    query(
        "propagationPolicy",
        "string",
        "what becomes of what it owns: `Orphan`, `Background` or `Foreground`",
    ),
];
const WRITE: &[Parameter] = &[DRY_RUN, FIELD_MANAGER, FIELD_VALIDATION];

/// All paths of a resource.
pub(crate) fn paths<'a>(resource: &Resource<'a>) -> BTreeMap<String, Path<'a>> {
    let mut paths = BTreeMap::new();
    let root = resource.root();
    let plural = resource.plural;
    let of_collection = [
        verb("list", "get", "list", "list"),
        verb("create", "post", "post", "create"),
        verb("deletecollection", "delete", "deletecollection", "delete"),
    ];
    let of_object = [
        verb("get", "get", "get", "read"),
        verb("update", "put", "put", "replace"),
        verb("patch", "patch", "patch", "patch"),
        verb("delete", "delete", "delete", "delete"),
    ];
    let (start, scope) = if resource.is_namespaced {
        (
            format!("{root}/namespaces/{{namespace}}"),
            vec![NAMESPACE, PRETTY],
        )
    } else {
        (root.clone(), vec![PRETTY])
    };
    let at =
        |paths: &mut BTreeMap<String, Path<'a>>, path: String, parameters, verbs: &[Verb], part| {
            let operations: Vec<Operation<'a>> = verbs
                .iter()
                .filter(|verb| verb.is_allowed(resource, part))
                .map(|verb| operation(resource, part, verb, false))
                .collect();
            if !operations.is_empty() {
                paths.insert(
                    path,
                    Path {
                        parameters,
                        operations,
                    },
                );
            }
        };
    let named: Vec<Parameter> = [NAME].into_iter().chain(scope.clone()).collect();
    at(
        &mut paths,
        format!("{start}/{plural}"),
        scope,
        &of_collection,
        None,
    );
    let object = format!("{start}/{plural}/{{name}}");
    at(&mut paths, object.clone(), named.clone(), &of_object, None);
    for part in &resource.parts {
        let path = format!("{object}/{}", part.name);
        at(&mut paths, path, named.clone(), &of_object, Some(part));
    }
    if resource.is_namespaced && resource.verbs.contains(&"list") {
        let everywhere = Path {
            parameters: vec![PRETTY],
            operations: vec![operation(resource, None, &of_collection[0], true)],
        };
        paths.insert(format!("{root}/{plural}"), everywhere);
    }
    paths
}

/// A verb of RBAC, its method, what clients call it, and how its operation is named.
struct Verb {
    granted: &'static str,
    method: &'static str,
    action: &'static str,
    named: &'static str,
}

const fn verb(
    granted: &'static str,
    method: &'static str,
    action: &'static str,
    named: &'static str,
) -> Verb {
    Verb {
        granted,
        method,
        action,
        named,
    }
}

impl Verb {
    fn is_allowed(&self, resource: &Resource<'_>, part: Option<&Part<'_>>) -> bool {
        let verbs = part.map_or(&resource.verbs, |part| &part.verbs);
        verbs.contains(&self.granted)
    }
}

fn operation<'a>(
    resource: &Resource<'a>,
    part: Option<&Part<'a>>,
    verb: &Verb,
    everywhere: bool,
) -> Operation<'a> {
    let own = [resource.group, resource.version, resource.kind];
    let [group, version, kind] = part.and_then(|part| part.kind).unwrap_or(own);
    let shown = if [group, version, kind] == own {
        Schema::Object
    } else {
        Schema::Named(schema_of_part(group, version, kind))
    };
    let Exchange {
        parameters,
        body,
        answers,
        answer,
    } = exchange(resource, verb, shown);
    Operation {
        method: verb.method,
        action: verb.action,
        id: id(resource, part, verb, everywhere),
        tag: format!(
            "{}_{}",
            camel(group_word(resource.group), false),
            resource.version
        ),
        gvk: GroupVersionKind {
            group,
            kind,
            version,
        },
        parameters,
        body,
        answers,
        answer,
        has_protobuf: resource.source == Source::BuiltIn,
        streams: verb.action == "list",
    }
}

/// Parameters, request body and response of an operation.
struct Exchange<'a> {
    parameters: Vec<Parameter>,
    body: Option<Body<'a>>,
    answers: &'static [u16],
    answer: Schema,
}

fn exchange<'a>(resource: &Resource<'a>, verb: &Verb, shown: Schema) -> Exchange<'a> {
    let body = |schema: Schema| Body {
        schema,
        is_required: true,
        media_types: &[],
    };
    let (parameters, body, answers, answer): (Vec<Parameter>, _, &'static [u16], _) =
        match verb.action {
            "list" => (LIST.to_vec(), None, &[200], Schema::List),
            "get" => (Vec::new(), None, &[200], shown),
            "post" => (
                WRITE.to_vec(),
                Some(body(shown.clone())),
                &[200, 201, 202],
                shown,
            ),
            "put" => (
                WRITE.to_vec(),
                Some(body(shown.clone())),
                &[200, 201],
                shown,
            ),
            "patch" => {
                let patch = Body {
                    media_types: resource.patch_types,
                    ..body(Schema::Named(PATCH.to_owned()))
                };
                let parameters = WRITE.iter().chain(&[FORCE]).copied().collect();
                (parameters, Some(patch), &[200, 201], shown)
            }
            _ => {
                let options = Body {
                    is_required: false,
                    ..body(Schema::Named(DELETE_OPTIONS.to_owned()))
                };
                let status = Schema::Named(STATUS.to_owned());
                let is_collection = verb.action == "deletecollection";
                let more = LIST
                    .iter()
                    .filter(|row| is_collection && row.name != "watch");
                let parameters = DELETE.iter().chain(more).copied().collect();
                (parameters, Some(options), &[200, 202], status)
            }
        };
    Exchange {
        parameters,
        body,
        answers,
        answer,
    }
}

/// The schema of what a part is shown as, which is a built-in kind.
fn schema_of_part(group: &str, version: &str, kind: &str) -> String {
    let table = lockstep_kinds::Table::builtin();
    let id = table.kind(group, version, kind);
    id.map_or_else(|| STATUS.to_owned(), |id| table.published_name(id))
}

/// `listCoreV1NamespacedConfigMap`
fn id(resource: &Resource<'_>, part: Option<&Part<'_>>, verb: &Verb, everywhere: bool) -> String {
    let group = camel(group_word(resource.group), true);
    let version = camel(resource.version, true);
    let collection = if verb.action == "deletecollection" {
        "Collection"
    } else {
        ""
    };
    let scope = if resource.is_namespaced && !everywhere {
        "Namespaced"
    } else {
        ""
    };
    let part = camel(part.map_or("", |part| part.name), true);
    let all = if everywhere { "ForAllNamespaces" } else { "" };
    let (named, kind) = (verb.named, resource.kind);
    format!("{named}{group}{version}{collection}{scope}{kind}{part}{all}")
}

fn group_word(group: &str) -> &str {
    match group {
        "" => "core",
        group => group.strip_suffix(".k8s.io").unwrap_or(group),
    }
}

/// `rbac.authorization` as `rbacAuthorization`, or with a capital letter.
fn camel(text: &str, is_upper: bool) -> String {
    let words = text.split(['.', '-']).enumerate();
    let words = words.map(|(at, word)| {
        let mut letters = word.chars();
        match letters.next() {
            Some(first) if is_upper || at > 0 => {
                first.to_ascii_uppercase().to_string() + letters.as_str()
            }
            _ => word.to_owned(),
        }
    });
    words.collect()
}
