//! Discovery: the API groups, versions and resources that the server has.

use std::collections::BTreeSet;

use http::header::{CACHE_CONTROL, ETAG, HeaderValue, IF_NONE_MATCH, VARY};
use http::{Method, StatusCode};
use lockstep_object::{ApiError, json};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::discovery::{
    Aggregated, api_group, api_group_list, api_resource_list, api_versions, group_discovery_list,
    group_versions,
};
use crate::failure::respond;
use crate::request::Request;
use crate::response::{self, Response};
use crate::state::Server;
use crate::views::accept::{self, MediaRange};
use crate::views::{Asked, Form, JSON, is_offered, mark};

/// Versions of aggregated discovery, newest first.
const AGGREGATED: &[&str] = &["v2", "v2beta1"];

/// Answers a discovery path; none for other paths.
pub(super) fn answer(server: &Server, request: &Request) -> Option<Response> {
    let segments: Vec<&str> = request.info.path.trim_matches('/').split('/').collect();
    let registry = server.api.registry();
    let document = match segments[..] {
        ["api"] => choose(server, request, Aggregated::Core),
        ["apis"] => choose(server, request, Aggregated::Named),
        ["api", version] => plain(request, api_resource_list(&registry, "", version)),
        ["apis", group] => plain(request, api_group(&registry, group)),
        ["apis", group, version] => plain(request, api_resource_list(&registry, group, version)),
        _ => return None,
    };
    if request.method != Method::GET && request.method != Method::HEAD {
        return Some(respond(&ApiError::MethodNotAllowed));
    }
    Some(document)
}

/// Current discovery paths.
pub(super) fn paths(server: &Server) -> BTreeSet<String> {
    let registry = server.api.registry();
    let mut paths = BTreeSet::from(["/api".to_owned(), "/apis".to_owned()]);
    for (group, version, _) in group_versions(&registry) {
        match group {
            "" => paths.insert(format!("/api/{version}")),
            group => {
                paths.insert(format!("/apis/{group}"));
                paths.insert(format!("/apis/{group}/{version}"))
            }
        };
    }
    paths
}

/// Aggregated discovery if the client accepts it, else the legacy list.
fn choose(server: &Server, request: &Request, half: Aggregated) -> Response {
    let registry = server.api.registry();
    for range in accept::ranges(&request.headers) {
        if let Some(version) = aggregated(&range) {
            let document = group_discovery_list(&registry, half, version);
            let media_type =
                format!("{JSON};g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList");
            return cacheable(request, &media_type, &document);
        }
        if is_offered(&range, Asked::Document) {
            break;
        }
    }
    let document = match half {
        Aggregated::Core => api_versions(&registry, &server.address()),
        Aggregated::Named => api_group_list(&registry),
    };
    plain(request, Some(document))
}

/// Version of aggregated discovery that a media range requests.
fn aggregated(range: &MediaRange) -> Option<&'static str> {
    let is_meant = range.media_type == JSON
        && range.parameter("g") == "apidiscovery.k8s.io"
        && range.parameter("as") == "APIGroupDiscoveryList";
    let mut known = AGGREGATED.iter().copied();
    known.find(|version| is_meant && range.parameter("v") == *version)
}

fn plain(request: &Request, document: Option<Value>) -> Response {
    let Some(document) = document else {
        return response::page_not_found();
    };
    match Form::negotiate(&request.headers, &request.query, Asked::Document) {
        Ok(form) => {
            let response = response::bytes(StatusCode::OK, JSON, json::encode(&document));
            mark(response, form.encoding)
        }
        Err(error) => respond(&error),
    }
}

/// Response with an `ETag`, or 304 if the client has the document already.
fn cacheable(request: &Request, media_type: &str, document: &Value) -> Response {
    let bytes = json::encode(document);
    let digest = Sha256::digest(&bytes);
    let tag: String = digest.iter().map(|byte| format!("{byte:02X}")).collect();
    let tag = format!("\"{tag}\"");
    let known = request.headers.get(IF_NONE_MATCH);
    let is_known = known.is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut response = if is_known {
        response::bytes(StatusCode::NOT_MODIFIED, media_type, Vec::new())
    } else {
        response::bytes(StatusCode::OK, media_type, bytes)
    };
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    response
}
