//! Suites of tests whose policies and objects stand in files of their own: `PolicyTest`, and those of Kyverno and
//! kaptest about policies of Kubernetes.

use std::path::{Path, PathBuf};

use lockstep_admission::api::{ApiKind, GROUP};
use lockstep_admission::policy::PolicyKind;
use lockstep_admission::request::Operation;
use lockstep_authz::User;
use lockstep_object::Object;
use serde_json::{Value, json};

use super::input;
use crate::failure::Failure;

/// Names of suites in a directory. Its other files are what they are about.
pub(super) const NAMES: [&str; 6] = [
    "lockstep-test.yaml",
    "lockstep-test.yml",
    "kyverno-test.yaml",
    "kyverno-test.yml",
    "kaptest.yaml",
    "kaptest.yml",
];

/// A case of a suite.
pub(super) struct Planned {
    pub(super) name: String,
    /// Policies, bindings, definitions, parameters, namespaces.
    pub(super) objects: Vec<Object>,
    pub(super) object: Option<Object>,
    pub(super) old: Option<Object>,
    pub(super) operation: Option<Operation>,
    pub(super) subresource: String,
    pub(super) user: User,
    pub(super) expected: Expected,
}

/// Result that a case expects. Every given part must hold.
#[derive(Default)]
pub(super) struct Expected {
    /// Any of these; none if there is no expectation.
    pub(super) outcomes: Vec<Ending>,
    /// Policy that must have run.
    pub(super) policy: Option<String>,
    pub(super) object: Option<ExpectedObject>,
    pub(super) patch: Option<Value>,
    /// Values at paths such as `metadata.labels.team`.
    pub(super) fields: Vec<(String, Value)>,
    /// Part of the message of a denial.
    pub(super) message: Option<String>,
    /// Parts of warnings.
    pub(super) warnings: Vec<String>,
}

pub(super) struct ExpectedObject {
    pub(super) object: Object,
    /// The file that `--update` rewrites.
    pub(super) file: Option<PathBuf>,
    /// True if expected and tested object have different names.
    pub(super) is_named_otherwise: bool,
}

/// End of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ending {
    Mutated,
    Unchanged,
    Denied,
    Skipped,
    Error,
}

impl Ending {
    const ALL: [Self; 5] = [
        Self::Mutated,
        Self::Unchanged,
        Self::Denied,
        Self::Skipped,
        Self::Error,
    ];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Mutated => "mutated",
            Self::Unchanged => "unchanged",
            Self::Denied => "denied",
            Self::Skipped => "skipped",
            Self::Error => "error",
        }
    }

    fn read(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == name)
    }
}

/// A suite, and the folder that its paths start from.
struct Suite<'a> {
    file: &'a Path,
    folder: &'a Path,
    value: &'a Value,
}

/// The cases of a file; none if it is no suite.
pub(super) fn read(file: &Path, value: &Value) -> Result<Option<Vec<Planned>>, Failure> {
    let suite = Suite {
        file,
        folder: file.parent().unwrap_or(Path::new("")),
        value,
    };
    let name = file.file_name().and_then(|name| name.to_str());
    let api_version = value["apiVersion"].as_str().unwrap_or_default();
    let is_kyverno = value["kind"] == "Test" && api_version.starts_with("cli.kyverno.io/")
        || name.is_some_and(|name| name.starts_with("kyverno-test."));
    let has_suites = ["vapTestSuites", "mapTestSuites", "testSuites"]
        .iter()
        .any(|field| value[field].is_array());
    let planned = if value["kind"] == "PolicyTest" {
        suite.own()
    } else if is_kyverno {
        suite.kyverno()
    } else if has_suites {
        suite.kaptest()
    } else {
        return Ok(None);
    };
    planned.map(Some)
}

impl Suite<'_> {
    fn wrong(&self, what: impl std::fmt::Display) -> Failure {
        Failure::bad_input(format!("{}: {what}", self.file.display()))
    }

    fn texts<'v>(&self, value: &'v Value, field: &str) -> Result<Vec<&'v str>, Failure> {
        match &value[field] {
            Value::Null => Ok(Vec::new()),
            Value::String(one) => Ok(vec![one]),
            Value::Array(items) => items
                .iter()
                .map(|item| {
                    let text = item.as_str();
                    text.ok_or_else(|| self.wrong(format!("`{field}` is no list of names")))
                })
                .collect(),
            _ => Err(self.wrong(format!("`{field}` is no list of names"))),
        }
    }

    /// All objects of the files that a field lists.
    fn files(&self, field: &str) -> Result<Vec<Object>, Failure> {
        let paths = self.texts(self.value, field)?;
        let paths: Vec<PathBuf> = paths.iter().map(|path| self.folder.join(path)).collect();
        input::objects(&input::read(&paths)?)
    }

    fn file(&self, path: &str) -> Result<Object, Failure> {
        let path = self.folder.join(path);
        let mut objects = input::objects(&input::read(std::slice::from_ref(&path))?)?;
        match objects.len() {
            1 => Ok(objects.remove(0)),
            count => Err(self.wrong(format!("{} has {count} objects, not one", path.display()))),
        }
    }

    fn list(&self, value: &Value, field: &str) -> Result<Vec<Value>, Failure> {
        let items = value[field].as_array();
        let items = items.ok_or_else(|| self.wrong(format!("there is no list `{field}`")))?;
        Ok(items.clone())
    }

    fn own(&self) -> Result<Vec<Planned>, Failure> {
        let mut objects = Vec::new();
        for field in ["policies", "bindings", "crds", "params", "namespaces"] {
            objects.extend(self.files(field)?);
        }
        let cases = self.list(self.value, "cases")?;
        cases
            .iter()
            .map(|case| {
                let name = case["name"].as_str();
                let name = name.ok_or_else(|| self.wrong("a case has no name"))?;
                let one = |field: &str| match &case[field] {
                    Value::Null => Ok(None),
                    Value::String(path) => self.file(path).map(Some),
                    _ => Err(self.wrong(format!("case {name:?}: `{field}` is no file"))),
                };
                Ok(Planned {
                    name: name.to_owned(),
                    objects: objects.clone(),
                    object: one("object")?,
                    old: one("oldObject")?,
                    operation: operation(case)
                        .map_err(|given| self.wrong(format!("operation {given:?} is unknown")))?,
                    subresource: case["subresource"].as_str().unwrap_or_default().to_owned(),
                    user: user(&case["as"]["user"], &case["as"]["groups"]),
                    expected: self.expected(name, &case["expect"])?,
                })
            })
            .collect()
    }

    fn expected(&self, name: &str, expect: &Value) -> Result<Expected, Failure> {
        if !expect.is_object() {
            return Err(self.wrong(format!("case {name:?} has no `expect`")));
        }
        let outcomes = match expect["outcome"].as_str() {
            None => Vec::new(),
            Some(given) => vec![Ending::read(given).ok_or_else(|| {
                let known = Ending::ALL.map(Ending::as_str).join(", ");
                self.wrong(format!("outcome {given:?} is unknown; known are {known}"))
            })?],
        };
        let object = match &expect["object"] {
            Value::Null => None,
            Value::String(path) => Some(ExpectedObject {
                object: self.file(path)?,
                file: Some(self.folder.join(path)),
                is_named_otherwise: false,
            }),
            _ => return Err(self.wrong(format!("case {name:?}: `expect.object` is no file"))),
        };
        let fields = expect["fields"].as_object().into_iter().flatten();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let expected = Expected {
            outcomes,
            policy: text(&expect["policy"]),
            object,
            patch: Some(expect["patch"].clone()).filter(Value::is_array),
            fields: fields
                .map(|(path, value)| (path.clone(), value.clone()))
                .collect(),
            message: text(&expect["message"]["contains"]).or_else(|| text(&expect["message"])),
            warnings: self
                .texts(expect, "warnings")?
                .into_iter()
                .map(str::to_owned)
                .collect(),
        };
        Ok(expected)
    }

    /// Rows of a Kyverno `Test` about policies of Kubernetes; those about Kyverno's own kinds cannot be run.
    fn kyverno(&self) -> Result<Vec<Planned>, Failure> {
        let policies = self.files("policies")?;
        let resources = self.files("resources")?;
        let mut planned = Vec::new();
        for row in self.list(self.value, "results")? {
            let policy = row["policy"].as_str().unwrap_or_default();
            let found = policies.iter().find(|object| object.name() == policy);
            let kind = found.and_then(ApiKind::of);
            let Some(ApiKind::Policy(kind)) = kind else {
                let why = format!("policy {policy:?} is no policy of Kubernetes");
                return Err(self.wrong(why));
            };
            let mut around: Vec<Object> = resources.clone();
            let is_own = |object: &&Object| match ApiKind::of(object) {
                Some(ApiKind::Policy(_)) => object.name() == policy,
                Some(ApiKind::Binding(_)) => {
                    object.at(&["spec", "policyName"]).and_then(Value::as_str) == Some(policy)
                }
                None => true,
            };
            around.extend(policies.iter().filter(is_own).cloned());
            let result = row["result"].as_str().or(row["status"].as_str());
            let outcomes = match result.unwrap_or_default() {
                "pass" if kind == PolicyKind::Mutating => vec![Ending::Mutated],
                "pass" => vec![Ending::Unchanged],
                "fail" => vec![Ending::Denied],
                "skip" => vec![Ending::Skipped],
                "error" => vec![Ending::Error],
                other => return Err(self.wrong(format!("result {other:?} is unknown"))),
            };
            let mut names = self.texts(&row, "resources")?;
            names.extend(row["resource"].as_str());
            for name in names {
                let short = name.rsplit('/').next().unwrap_or(name);
                let wanted = row["kind"].as_str();
                let mut all = resources.iter();
                let object = all.find(|object| {
                    object.name() == short && wanted.is_none_or(|kind| object.kind() == kind)
                });
                let object = object.ok_or_else(|| self.wrong(format!("no resource {name:?}")))?;
                let patched = row["patchedResources"].as_str();
                let expected = match patched.or(row["patchedResource"].as_str()) {
                    None => None,
                    Some(path) => {
                        let paths = [self.folder.join(path)];
                        let mut all = input::objects(&input::read(&paths)?)?.into_iter();
                        let same = all.find(|object| object.name() == short);
                        let same = same.ok_or_else(|| {
                            self.wrong(format!("{path} has no object called {short}"))
                        })?;
                        Some(ExpectedObject {
                            object: same,
                            file: None,
                            is_named_otherwise: false,
                        })
                    }
                };
                planned.push(Planned {
                    name: format!("{policy}: {name} {}", result.unwrap_or_default()),
                    objects: around.clone(),
                    object: Some(object.clone()),
                    old: None,
                    operation: None,
                    subresource: String::new(),
                    user: user(&Value::Null, &Value::Null),
                    expected: Expected {
                        outcomes: outcomes.clone(),
                        object: expected,
                        ..Expected::default()
                    },
                });
            }
        }
        Ok(planned)
    }

    fn kaptest(&self) -> Result<Vec<Planned>, Failure> {
        let mut policies = self.files("policies")?;
        policies.extend(self.files("validatingAdmissionPolicies")?);
        let mut resources = self.files("resources")?;
        resources.extend(self.files("crds")?);
        let mut planned = Vec::new();
        for field in ["vapTestSuites", "mapTestSuites", "testSuites"] {
            for suite in self.value[field].as_array().into_iter().flatten() {
                let policy = suite["policy"].as_str().unwrap_or_default();
                let found = policies.iter().find(|object| {
                    object.name() == policy
                        && matches!(ApiKind::of(object), Some(ApiKind::Policy(_)))
                });
                let found = found.ok_or_else(|| self.wrong(format!("no policy {policy:?}")))?;
                for (at, test) in self.list(suite, "tests")?.iter().enumerate() {
                    let mut case = self.kaptest_case(found, test, &resources)?;
                    case.name = format!("{policy}[{at}]: {}", case.name);
                    planned.push(case);
                }
            }
        }
        Ok(planned)
    }

    fn kaptest_case(
        &self,
        policy: &Object,
        test: &Value,
        resources: &[Object],
    ) -> Result<Planned, Failure> {
        let find = |wanted: &Value| match wanted {
            Value::Null => Ok(None),
            wanted => {
                let is_wanted = |object: &&Object| {
                    let is = |field: &str, own: &str| {
                        wanted[field].as_str().is_none_or(|given| given == own)
                    };
                    is("kind", object.kind())
                        && is("name", object.name())
                        && is("namespace", object.namespace())
                };
                let found = resources.iter().find(is_wanted).cloned();
                let why = || self.wrong(format!("no resource is {wanted}"));
                found.map(Some).ok_or_else(why)
            }
        };
        let (object, old) = (find(&test["object"])?, find(&test["oldObject"])?);
        let expect = test["expect"].as_str().unwrap_or_default();
        let outcomes = match expect {
            "admit" => vec![Ending::Unchanged],
            "mutate" => vec![Ending::Mutated],
            "deny" => vec![Ending::Denied],
            "skip" => vec![Ending::Skipped],
            "error" => vec![Ending::Error],
            other => return Err(self.wrong(format!("expect {other:?} is unknown"))),
        };
        let mut objects = resources.to_vec();
        objects.push(policy.clone());
        objects.push(bound(policy, &test["param"]));
        let expected = find(&test["expectObject"])?.map(|object| ExpectedObject {
            object,
            file: None,
            is_named_otherwise: true,
        });
        let shown = object.as_ref().or(old.as_ref()).map(Object::name);
        Ok(Planned {
            name: format!("{} {expect}", shown.unwrap_or_default()),
            objects,
            operation: (object.is_none() && old.is_some()).then_some(Operation::Delete),
            object,
            old,
            subresource: String::new(),
            user: user(&test["userInfo"]["name"], &test["userInfo"]["groups"]),
            expected: Expected {
                outcomes,
                object: expected,
                message: test["deniedMessage"].as_str().map(str::to_owned),
                ..Expected::default()
            },
        })
    }
}

/// A binding of a policy to everything, with one parameter.
fn bound(policy: &Object, param: &Value) -> Object {
    let mut binding = json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": format!("{}Binding", policy.kind()),
        "metadata": { "name": policy.name() },
        "spec": { "policyName": policy.name() },
    });
    if policy.kind() == "ValidatingAdmissionPolicy" {
        binding["spec"]["validationActions"] = json!(["Deny"]);
    }
    if param.is_object() {
        binding["spec"]["paramRef"] = json!({
            "name": param["name"], "namespace": param["namespace"], "parameterNotFoundAction": "Deny",
        });
    }
    Object::from_value(binding).expect("it is a map")
}

fn operation(case: &Value) -> Result<Option<Operation>, String> {
    Ok(Some(match case["operation"].as_str() {
        None => return Ok(None),
        Some("CREATE") => Operation::Create,
        Some("UPDATE") => Operation::Update,
        Some("DELETE") => Operation::Delete,
        Some("CONNECT") => Operation::Connect,
        Some(other) => return Err(other.to_owned()),
    }))
}

fn user(name: &Value, groups: &Value) -> User {
    let Some(name) = name.as_str() else {
        return User::new("admin", ["system:masters", "system:authenticated"]);
    };
    let groups = groups.as_array().into_iter().flatten();
    User::new(name, groups.filter_map(Value::as_str))
}
