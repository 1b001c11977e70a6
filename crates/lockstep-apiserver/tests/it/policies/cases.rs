//! The cases of `lockstep-admission` through a server: definitions, namespace, parameters and the stored object are
//! created, then policies and bindings, then the request is sent.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::StreamExt as _;
use lockstep_apiserver::admission::{Plugin, Plugins};
use lockstep_apiserver::authz::{Attributes, Authorizer, Decision, Target};
use lockstep_apiserver::builtin::{Apis, resources};
use lockstep_object::metadata::Scope;
use lockstep_object::yaml;
use lockstep_testkit::client::Answer;
use lockstep_write::offline::policies::cases::{Found, compare};
use serde_json::{Value, json};

use crate::server::Setup;
use crate::world::World;

const CASES: &str = "../lockstep-admission/tests/cases";

/// Allows every request. Expressions, whose checks name no version, are answered as the cases expect: only the
/// administrator has permissions.
fn authorizer() -> Authorizer {
    Arc::new(|attributes: &Attributes<'_>| match attributes.target {
        _ if attributes.user.is_master() => Decision::allow(""),
        Target::Resource { version: "*", .. } => Decision::no_opinion(),
        _ => Decision::allow(""),
    })
}

/// Every case file in folders of the cases, sorted.
fn files(folders: &[&str]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in folders {
        let folder = Path::new(CASES).join(folder);
        let entries = std::fs::read_dir(&folder).unwrap();
        files.extend(entries.map(|entry| entry.unwrap().path()));
    }
    files.sort();
    files
}

/// A case in progress.
struct Run {
    case: Value,
    world: World,
    warnings: Vec<String>,
}

/// Path of the collection of a kind, and whether it is namespaced.
fn collection(case: &Value, object: &Value) -> (String, bool) {
    let api_version = object["apiVersion"].as_str().unwrap();
    let kind = object["kind"].as_str().unwrap();
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let defined = case["crds"].as_array().into_iter().flatten();
    let defined =
        defined.filter(|crd| crd["spec"]["names"]["kind"] == kind && crd["spec"]["group"] == group);
    let mut found = defined.map(|crd| {
        let plural = crd["spec"]["names"]["plural"].as_str().unwrap().to_owned();
        (plural, crd["spec"]["scope"] == "Namespaced")
    });
    let (plural, is_namespaced) = found.next().unwrap_or_else(|| {
        let apis = Apis::all();
        let all = resources(lockstep_cel::Version::LATEST, &apis);
        let mut known = all.filter(|known| *known.group == *group && *known.kind == *kind);
        let known = known
            .next()
            .unwrap_or_else(|| panic!("{api_version} {kind}"));
        (known.plural.to_string(), known.scope == Scope::Namespaced)
    });
    let root = match group {
        "" => format!("/api/{version}"),
        group => format!("/apis/{group}/{version}"),
    };
    if !is_namespaced {
        return (format!("{root}/{plural}"), false);
    }
    let own = object["metadata"]["namespace"].as_str();
    let given = &case["namespace"];
    let given = given.as_str().or(given["metadata"]["name"].as_str());
    let namespace = own.or(given).unwrap_or("default");
    (format!("{root}/namespaces/{namespace}/{plural}"), true)
}

/// The texts of the `Warning` headers.
fn warnings(answer: &Answer) -> Vec<String> {
    let headers = answer.headers.get_all("warning").into_iter();
    let texts = headers.map(|header| {
        let text = header.to_str().unwrap();
        let text = text.strip_prefix("299 - \"").unwrap();
        let text = text.strip_suffix('"').unwrap();
        text.replace("\\\"", "\"").replace("\\\\", "\\")
    });
    texts.collect()
}

impl Run {
    /// Creates an object that must be accepted; one that exists already is replaced.
    async fn make(&mut self, object: &Value) -> Value {
        let (path, _) = collection(&self.case, object);
        let made = self.world.client.write("POST", &path, object).await;
        if made.status == 409 {
            let path = format!("{path}/{}", object["metadata"]["name"].as_str().unwrap());
            let replaced = self.world.patch(&path, object).await;
            assert_eq!(replaced.status, 200, "{path} {}", replaced.body);
            return replaced.json();
        }
        assert_eq!(made.status, 201, "{path} {}", made.body);
        made.json()
    }

    async fn make_namespaces(&mut self) {
        let mut names: Vec<Value> = Vec::new();
        match self.case["namespace"].clone() {
            Value::Null => {}
            Value::String(name) => names.push(json!({ "metadata": { "name": name } })),
            namespace => names.push(namespace),
        }
        let lists = ["params", "policies"].map(|field| self.case[field].clone());
        let objects = lists
            .iter()
            .flat_map(|list| list.as_array().into_iter().flatten());
        let single = ["object", "oldObject"].map(|field| self.case[field].clone());
        for object in objects.chain(&single) {
            if let Some(name) = object["metadata"]["namespace"].as_str() {
                let is_known = names.iter().any(|known| known["metadata"]["name"] == name);
                if !is_known {
                    names.push(json!({ "metadata": { "name": name } }));
                }
            }
        }
        for mut namespace in names {
            namespace["apiVersion"] = "v1".into();
            namespace["kind"] = "Namespace".into();
            self.make(&namespace).await;
        }
    }

    /// Creates everything that exists before the policies.
    async fn prepare(&mut self) {
        let all = |case: &Value, field: &str| case[field].as_array().cloned().unwrap_or_default();
        for crd in all(&self.case, "crds") {
            let defined = self.world.define(&crd).await;
            assert_eq!(defined.status, 201, "{}", defined.body);
        }
        self.make_namespaces().await;
        for param in all(&self.case, "params") {
            self.make(&param).await;
        }
        let old = self.case["oldObject"].clone();
        if old.is_null() {
            return;
        }
        let mut made = self.make(&old).await;
        if !old["status"].is_null() {
            let (path, _) = collection(&self.case, &old);
            let path = format!(
                "{path}/{}/status",
                old["metadata"]["name"].as_str().unwrap()
            );
            made["status"] = old["status"].clone();
            let answer = self.world.client.write("PUT", &path, &made).await;
            assert_eq!(answer.status, 200, "{path} {}", answer.body);
        }
    }

    /// Creates policies and bindings; returns the statuses of those that are refused.
    async fn make_policies(&mut self) -> Vec<Value> {
        let mut refused = Vec::new();
        for field in ["policies", "bindings"] {
            let all = self.case[field].as_array().cloned().unwrap_or_default();
            for object in all {
                let (path, _) = collection(&self.case, &object);
                let made = self.world.client.write("POST", &path, &object).await;
                self.warnings.extend(warnings(&made));
                if made.status != 201 {
                    refused.push(made.json());
                }
            }
        }
        refused
    }

    async fn send(&mut self) -> Answer {
        let case = &self.case;
        let operation = case["operation"].as_str().unwrap_or_else(|| {
            if case["oldObject"].is_null() {
                "CREATE"
            } else {
                "UPDATE"
            }
        });
        let mut object = match &case["object"] {
            Value::Null => case["oldObject"].clone(),
            object => object.clone(),
        };
        let (mut path, _) = collection(case, &object);
        let name = object["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let method = match operation {
            "CREATE" => "POST",
            "UPDATE" => "PUT",
            "DELETE" => "DELETE",
            other => panic!("{other} cannot be sent"),
        };
        if method != "POST" {
            path = format!("{path}/{name}");
        }
        if method == "PUT" {
            let stored = self.world.get(&path).await;
            for field in ["resourceVersion", "uid"] {
                object["metadata"][field] = stored["metadata"][field].clone();
            }
        }
        if let Some(subresource) = self.case["subresource"].as_str() {
            path = format!("{path}/{subresource}");
        }
        if self.case["dryRun"] == true {
            path = format!("{path}?dryRun=All");
        }
        let mut headers = vec![("content-type", "application/json")];
        let user = self.case["user"].clone();
        if let Some(name) = user["username"].as_str() {
            headers.push(("impersonate-user", name));
            let groups = user["groups"].as_array().into_iter().flatten();
            headers.extend(groups.map(|group| ("impersonate-group", group.as_str().unwrap())));
        }
        let body = if method == "DELETE" {
            String::new()
        } else {
            object.to_string()
        };
        self.world.client.send(method, &path, &headers, body).await
    }

    async fn run(&mut self) -> Found {
        self.prepare().await;
        let refused_policies = self.make_policies().await;
        if !refused_policies.is_empty() {
            return Found {
                refused_policies,
                ..Found::default()
            };
        }
        let answer = self.send().await;
        self.warnings.extend(warnings(&answer));
        let mut found = Found {
            warnings: std::mem::take(&mut self.warnings),
            ..Found::default()
        };
        if answer.status.as_u16() >= 400 {
            found.refused_request = Some(answer.json());
        } else if self.case["operation"] != "DELETE" {
            found.object = answer.json();
            let given = match &self.case["object"] {
                Value::Null => &self.case["oldObject"],
                object => object,
            };
            if given["metadata"]["namespace"].is_null()
                && let Some(metadata) = found.object["metadata"].as_object_mut()
            {
                metadata.remove("namespace");
            }
        }
        found
    }
}

/// Servers that run cases at the same time.
const SERVERS: usize = 6;

/// Runs one case on a server of its own; the problems, if there are any.
async fn check_file(path: PathBuf) -> Option<String> {
    let short = path.strip_prefix(CASES).unwrap().display().to_string();
    let case = yaml::decode(&std::fs::read(&path).unwrap()).unwrap().value;
    let world = World::start(Setup {
        authorizer: authorizer(),
        plugins: Plugins::without([Plugin::ServiceAccount, Plugin::Priority]),
        // No config maps but those of the case.
        controllers: "-root-ca-certificate-publisher-controller,*",
        ..Setup::own()
    });
    let mut run = Run {
        case,
        world: world.await,
        warnings: Vec::new(),
    };
    let found = run.run().await;
    let problems = compare(&run.case, &found);
    run.world.server.stop().await;
    (!problems.is_empty()).then(|| format!("{short}\n  {}", problems.join("\n  ")))
}

/// Runs the cases of folders whose position modulo `parts` is `part`, so that no test takes long on a busy machine.
async fn check(folders: &[&str], (part, parts): (usize, usize)) {
    let files = files(folders).into_iter().skip(part).step_by(parts);
    let files: Vec<PathBuf> = files.collect();
    let count = files.len();
    assert!(count > 0, "there are no cases");
    let runs = futures::stream::iter(files.into_iter().map(check_file));
    let found: Vec<Option<String>> = runs.buffer_unordered(SERVERS).collect().await;
    let mut failed: Vec<String> = found.into_iter().flatten().collect();
    failed.sort();
    let failed_count = failed.len();
    assert!(
        failed.is_empty(),
        "{failed_count} of {count} cases fail:\n{}",
        failed.join("\n")
    );
}

/// Library and server agree about every case: one test for each part of some folders.
macro_rules! cases {
    ($($(#[$row:meta])* $name:ident: $folders:expr, $part:literal of $parts:literal;)*) => {
        $($(#[$row])*
        #[tokio::test]
        async fn $name() {
            check(&$folders, ($part, $parts)).await;
        })*
    };
}

cases! {
    /// mutating-admission.md §4, §5
    edges_end_on_a_server_as_they_say: ["edge"], 0 of 3;
    /// mutating-admission.md §4, §5
    more_edges_end_on_a_server_as_they_say: ["edge"], 1 of 3;
    /// mutating-admission.md §4, §5
    the_other_edges_end_on_a_server_as_they_say: ["edge"], 2 of 3;
    /// mutating-admission.md §2.6, §3.2
    merges_end_on_a_server_as_they_say: ["merge", "order"], 0 of 1;
    /// mutating-admission.md §0, §2.8, §2.10, §3.1, §3.5, §3.7
    removals_and_reports_end_on_a_server_as_they_say:
        ["convergence", "defaults", "design", "dry-run", "failures", "unset"], 0 of 1;
    /// mutating-admission.md §2.3, §2.4, §2.9, §3.3
    inputs_end_on_a_server_as_they_say: ["environment", "params", "reinvocation", "safety"], 0 of 1;
    /// mutating-admission.md §2.2, §2.7
    matches_and_patches_end_on_a_server_as_they_say: ["json-patch", "matching"], 0 of 1;
    /// mutating-admission.md §9
    validating_policies_end_on_a_server_as_they_say: ["validating"], 0 of 2;
    /// mutating-admission.md §9
    more_validating_policies_end_on_a_server_as_they_say: ["validating"], 1 of 2;
    /// mutating-admission.md §1
    refused_policies_end_on_a_server_as_they_say: ["validation"], 0 of 2;
    /// mutating-admission.md §1
    more_refused_policies_end_on_a_server_as_they_say: ["validation"], 1 of 2;
}

/// Every folder of cases is named above.
#[test]
fn every_folder_of_cases_is_run() {
    let source = include_str!("cases.rs");
    for entry in std::fs::read_dir(CASES).unwrap() {
        let folder = entry.unwrap().file_name().into_string().unwrap();
        assert!(source.contains(&format!("\"{folder}\"")), "{folder}");
    }
}
