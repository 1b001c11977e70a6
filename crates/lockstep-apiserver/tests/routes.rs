//! What requests mean, case by case.

use http::Method;
use lockstep_apiserver::{Query, RequestInfo};
use proptest::prelude::*;
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    request: String,
    means: String,
}

#[test]
fn a_request_means_what_upstream_reads_in_it() {
    let cases: Vec<Case> =
        serde_saphyr::from_str(include_str!("cases/routes.yaml")).expect("the cases are readable");
    assert!(!cases.is_empty(), "routes.yaml has no case");
    for case in cases {
        assert_eq!(told(&route(&case.request)), case.means, "{}", case.request);
    }
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
