//! What requests mean, case by case.

use lockstep_apiserver::{
    query::{BadNumber, Query},
    route::Route,
};
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
    for case in cases {
        assert_eq!(told(&route(&case.request)), case.means, "{}", case.request);
    }
}

fn route(request: &str) -> Route {
    let (method, target) = request.split_once(' ').expect("a method and a path");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Route::of(method, path, &Query::new(query))
}

fn told(route: &Route) -> String {
    let resource = match route {
        Route::Path { verb, path } => return format!("{} path {path}", verb.as_str()),
        Route::Resource(resource) => resource,
    };
    let namespace = match resource.namespace.as_str() {
        "" => "-",
        namespace => namespace,
    };
    let mut told = [
        resource.verb.as_str(),
        &resource.group_version(),
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

#[test]
fn numbers_are_numbers_or_errors() {
    let query = Query::new("limit=5&big=99999999999999999999&empty=&text=x&limit=7");
    let bad = |value: &str| {
        Err(BadNumber {
            value: value.to_owned(),
        })
    };
    assert_eq!(query.number("limit"), Ok(Some(5)));
    assert_eq!(query.number("absent"), Ok(None));
    assert_eq!(query.number("big"), bad("99999999999999999999"));
    assert_eq!(query.number("empty"), bad(""));
    assert_eq!(query.number("text"), bad("x"));
}

#[test]
fn values_are_decoded_once_and_pluses_are_blanks() {
    let query = Query::new("labelSelector=a+in+(b%2Cc)&x=%2525&y=%ff");
    assert_eq!(query.get("labelSelector").as_deref(), Some("a in (b,c)"));
    assert_eq!(query.get("x").as_deref(), Some("%25"));
    assert_eq!(query.get("y").as_deref(), Some("\u{fffd}"));
}

proptest! {
    #[test]
    fn no_request_is_too_strange(method in ".{0,8}", path in "[/a-z%.0-9]{0,40}", query in ".{0,60}") {
        let route = Route::of(&method, &path, &Query::new(&query));
        prop_assert!(!route.verb().as_str().is_empty());
    }
}
