//! Requests that cost a server most, drawn at random: all kinds it serves, all verbs, all patch types, bodies from
//! [`lockstep_testkit::bodies`].

use std::fmt;

use kube::Client;
use kube::client::Body;
use lockstep_kinds::{Table, TypeId};
use lockstep_testkit::bodies::{Fill, Place, customs, json_patches};
use serde_json::Value;

use crate::outage::get;

/// Namespace of the hostile user.
pub(crate) const NAMESPACE: &str = "hostile";
/// Name of all objects of the hostile user.
const NAME: &str = "x";

/// A resource that the server serves, with the places of its kind that can be filled.
pub(crate) struct Target {
    group_version: String,
    kind: String,
    plural: String,
    is_namespaced: bool,
    contents: Contents,
}

enum Contents {
    /// Lists and maps of a built-in kind.
    Places(Vec<Place>),
    /// The definition of [`customs`] with this index.
    Custom(usize),
}

/// All resources that can be created and patched, from discovery.
pub(crate) async fn targets(client: &Client) -> Vec<Target> {
    let groups: Value = json(client, "/apis").await;
    let preferred = groups["groups"].as_array().unwrap().iter();
    let preferred = preferred.map(|group| group["preferredVersion"]["groupVersion"].as_str());
    let mut paths = vec![("v1".to_owned(), "/api/v1".to_owned())];
    paths.extend(preferred.map(|group_version| {
        let group_version = group_version.unwrap();
        (group_version.to_owned(), format!("/apis/{group_version}"))
    }));
    let mut targets = Vec::new();
    for (group_version, path) in paths {
        let list = json(client, &path).await;
        for resource in list["resources"].as_array().unwrap() {
            targets.extend(target(&group_version, resource));
        }
    }
    targets
}

async fn json(client: &Client, path: &str) -> Value {
    let (code, body) = get(client, path).await;
    assert_eq!(code, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

fn target(group_version: &str, resource: &Value) -> Option<Target> {
    let text = |field: &str| resource[field].as_str().unwrap().to_owned();
    let verbs = resource["verbs"].as_array().unwrap();
    let has_verbs = ["create", "patch"]
        .iter()
        .all(|verb| verbs.iter().any(|has| has == verb));
    let plural = text("name");
    if !has_verbs || plural.contains('/') {
        return None;
    }
    let kind = text("kind");
    let (group, version) = group_version.split_once('/').unwrap_or(("", group_version));
    let contents = match plural.strip_prefix("costs") {
        Some(number) if group == "ex.io" => Contents::Custom(number.parse().unwrap()),
        _ => Contents::Places(Place::all(type_of(group, version, &kind)?)),
    };
    Some(Target {
        group_version: group_version.to_owned(),
        kind,
        plural,
        is_namespaced: resource["namespaced"].as_bool().unwrap(),
        contents,
    })
}

fn type_of(group: &str, version: &str, kind: &str) -> Option<TypeId> {
    Table::builtin().kind(group, version, kind)
}

/// A request of the hostile user.
#[derive(Clone)]
pub(crate) struct Request {
    method: &'static str,
    path: String,
    content_type: &'static str,
    accept: &'static str,
    body: String,
    /// Contents of the body, for people.
    note: String,
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            method,
            path,
            content_type,
            accept,
            body,
            note,
        } = self;
        let bytes = body.len();
        write!(
            f,
            "{method} {path} ({content_type}, {accept}, {bytes} bytes, {note})"
        )
    }
}

impl Request {
    /// Whether the response has no end.
    pub(crate) fn is_watch(&self) -> bool {
        self.path.contains("watch=true")
    }

    /// Deletion of the object that a successful request leaves.
    pub(crate) fn cleanup(&self) -> Option<Self> {
        let is_write = matches!(self.method, "POST" | "PUT" | "PATCH");
        if !is_write || self.path.contains("dryRun=All") {
            return None;
        }
        let path = self.path.split('?').next()?;
        let path = match self.method {
            "POST" => format!("{path}/{NAME}"),
            _ => path.to_owned(),
        };
        Some(Self {
            method: "DELETE",
            path: path + "?gracePeriodSeconds=0",
            content_type: "application/json",
            accept: "application/json",
            body: String::new(),
            note: "clean up".to_owned(),
        })
    }

    pub(crate) fn into_http(self) -> hyper::Request<Body> {
        hyper::Request::builder()
            .method(self.method)
            .uri(self.path)
            .header("content-type", self.content_type)
            .header("accept", self.accept)
            .body(Body::from(self.body.into_bytes()))
            .unwrap()
    }
}

const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";
const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf,application/json";

/// A repeatable sequence of requests (`SplitMix64`).
pub(crate) struct Random(u64);

impl Random {
    /// Sequence of one connection.
    pub(crate) fn new(seed: u64, connection: usize) -> Self {
        Self(
            seed.wrapping_mul(0x9e37_79b9)
                .wrapping_add(connection as u64 * 7919),
        )
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).expect("smaller than `end`")
    }

    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    /// The next request, with a body of no more bytes than that.
    pub(crate) fn request(&mut self, targets: &[Target], bytes_max: usize) -> Request {
        let target = &targets[self.below(targets.len())];
        if self.below(5) == 0 {
            return self.read(target);
        }
        let bytes = bytes_max >> self.of(&[0, 0, 1, 3, 6]);
        // Room for what surrounds the contents.
        let bytes = bytes.saturating_sub(1024).max(64);
        self.write(target, bytes)
    }

    fn read(&mut self, target: &Target) -> Request {
        let collection = target.collection();
        let all = format!("{}/{}", target.root(), target.plural);
        let (method, path) = match self.below(8) {
            0 => ("GET", format!("{collection}/{NAME}")),
            1 => ("GET", format!("{all}?limit=500")),
            2 => (
                "GET",
                format!("{all}?fieldSelector=metadata.name%3Dx&labelSelector=a%2C%21b"),
            ),
            3 => ("GET", all + "?watch=true&resourceVersion=0"),
            4 => (
                "GET",
                all + "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan\
                              &allowWatchBookmarks=true",
            ),
            5 => ("DELETE", format!("{collection}?dryRun=All")),
            6 => ("GET", "/openapi/v2".to_owned()),
            _ => ("GET", all),
        };
        Request {
            method,
            path,
            content_type: "application/json",
            accept: self.of(&[
                "application/json",
                TABLE,
                METADATA,
                PROTOBUF,
                "application/yaml",
            ]),
            body: String::new(),
            note: "read".to_owned(),
        }
    }

    fn write(&mut self, target: &Target, bytes: usize) -> Request {
        let (body, pointer, note) = self.object(target, bytes);
        let object = format!("{}/{NAME}", target.collection());
        let (method, path, content_type, body) = match self.below(8) {
            0 => ("PUT", object, "application/json", body),
            1 => ("PATCH", object, "application/merge-patch+json", body),
            2 => (
                "PATCH",
                object,
                "application/strategic-merge-patch+json",
                body,
            ),
            3 => ("PATCH", object, "application/apply-patch+yaml", body),
            4 => {
                let mut patches = json_patches(&pointer, bytes);
                let at = self.below(patches.len());
                (
                    "PATCH",
                    object,
                    "application/json-patch+json",
                    patches.swap_remove(at).1,
                )
            }
            5 => ("POST", target.collection(), "application/yaml", body),
            _ => ("POST", target.collection(), "application/json", body),
        };
        // Cluster-wide objects could stop the other users by what they say, for instance a webhook.
        let is_stored = target.is_namespaced && self.below(2) == 0;
        let mut query = format!(
            "fieldManager=hostile&fieldValidation={}",
            self.of(&["Strict", "Warn", "Ignore"])
        );
        if !is_stored {
            query += "&dryRun=All";
        }
        if content_type == "application/apply-patch+yaml" {
            query += "&force=true";
        }
        Request {
            method,
            path: format!("{path}?{query}"),
            content_type,
            accept: self.of(&["application/json", PROTOBUF]),
            body,
            note,
        }
    }

    /// An object, a JSON pointer to its list, and a name for its contents.
    fn object(&mut self, target: &Target, bytes: usize) -> (String, String, String) {
        let names = (target.group_version.as_str(), target.kind.as_str());
        match &target.contents {
            Contents::Places(places) if places.is_empty() => {
                let body = format!(
                    "{{\"apiVersion\":\"{}\",\"kind\":\"{}\",\"metadata\":{{\"name\":\"{NAME}\"}}}}",
                    names.0, names.1
                );
                (
                    body,
                    "/metadata/finalizers".to_owned(),
                    "no lists".to_owned(),
                )
            }
            Contents::Places(places) => {
                let place = &places[self.below(places.len())];
                let fill = self.of(&Fill::ALL);
                let body = place.body(names, fill, bytes);
                (body, place.pointer(), format!("{} {fill:?}", place.path()))
            }
            Contents::Custom(at) => {
                let (name, _, spec) = customs(bytes).swap_remove(*at);
                let body = format!(
                    "{{\"apiVersion\":\"{}\",\"kind\":\"{}\",\"metadata\":{{\"name\":\"{NAME}\"}},\"spec\":{spec}}}",
                    names.0, names.1
                );
                (body, "/spec/l".to_owned(), name.to_owned())
            }
        }
    }
}

impl Target {
    fn root(&self) -> String {
        let prefix = if self.group_version.contains('/') {
            "/apis"
        } else {
            "/api"
        };
        format!("{prefix}/{}", self.group_version)
    }

    fn collection(&self) -> String {
        let namespace = if self.is_namespaced {
            format!("/namespaces/{NAMESPACE}")
        } else {
            String::new()
        };
        format!("{}{namespace}/{}", self.root(), self.plural)
    }
}
