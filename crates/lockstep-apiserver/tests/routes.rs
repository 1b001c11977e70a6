//! Parsing of requests into `RequestInfo`, case by case.

use http::Method;
use lockstep_apiserver::{Query, RequestInfo};
use lockstep_testkit::cases::{CaseFile, same};
use proptest::prelude::*;

#[test]
fn a_request_means_what_upstream_reads_in_it() {
    CaseFile::read("routes.yaml").check(|case| {
        let request = case["request"].as_str().expect("a request");
        same(&case["means"], &told(&route(request)).into())
    });
}

fn route(request: &str) -> RequestInfo {
    let (method, target) = request.split_once(' ').expect("a method and a path");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let method = Method::from_bytes(method.as_bytes()).expect("a method");
    RequestInfo::new(&method, path, &Query::parse(query))
}

fn told(info: &RequestInfo) -> String {
    let Some(resource) = &info.resource else {
        return format!("{} path {}", info.verb, info.path);
    };
    let group_version = match resource.group.as_str() {
        "" => resource.version.clone(),
        group => format!("{group}/{}", resource.version),
    };
    let namespace = match resource.namespace.as_str() {
        "" => "-",
        namespace => namespace,
    };
    let verb = match info.verb.as_str() {
        "" => "nothing",
        verb => verb,
    };
    let mut told = [
        verb,
        &group_version,
        namespace,
        &resource.resource,
        &resource.name,
    ]
    .join(" ");
    if !resource.subresource.is_empty() {
        told = format!("{told}/{}", resource.subresource);
    }
    told.trim_end().to_owned()
}

proptest! {
    #[test]
    fn no_request_is_too_strange(path in "[/a-z%.0-9]{0,40}", query in ".{0,60}") {
        for method in [Method::GET, Method::DELETE, Method::OPTIONS] {
            let info = RequestInfo::new(&method, &path, &Query::parse(&query));
            prop_assert!(info.path.starts_with('/'));
        }
    }
}
