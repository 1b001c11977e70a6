//! OpenAPI: the index and documents of v3, and the single document of v2.

use http::StatusCode;
use http::header::{CACHE_CONTROL, ETAG, EXPIRES, HeaderValue, IF_NONE_MATCH, LOCATION, VARY};
use lockstep_object::{ApiError, Map, Value, json};

use crate::clock;
use crate::failure::respond;
use crate::openapi::{Document, V2, hash_at, index};
use crate::request::Request;
use crate::response::{self, Response};
use crate::state::Server;
use crate::views::accept;

const JSON: &str = "application/json";
/// Media type that clients accept; the next constant is the `Content-Type` of the response, as upstream spells it.
const PROTOBUF_V2: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const PROTOBUF_V2_TOLD: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
/// Cache lifetime (`Expires`) of a document whose URL contains its hash.
const YEAR_SECONDS: i64 = 365 * 24 * 60 * 60;

/// `/openapi/v2`
pub(super) async fn v2(server: &Server, request: &Request) -> Response {
    let form = accept::ranges(&request.headers)
        .into_iter()
        .find_map(|range| match range.media_type.as_str() {
            JSON | "application/*" | "*/*" => Some((V2::Json, JSON)),
            PROTOBUF_V2 | PROTOBUF_V2_TOLD => Some((V2::Protobuf, PROTOBUF_V2_TOLD)),
            _ => None,
        });
    let Some((form, media_type)) = form else {
        return respond(&ApiError::not_acceptable(&[JSON, PROTOBUF_V2]));
    };
    match server.openapi.v2(&server.api, &server.heavy, form).await {
        None => respond(&ApiError::internal("the document could not be made")),
        Some(document) => tagged(request, media_type, document),
    }
}

/// `/openapi/v3` and the paths below it.
pub(super) async fn v3(server: &Server, request: &Request, path: &str) -> Response {
    let takes_json = accept::ranges(&request.headers)
        .iter()
        .any(|range| [JSON, "application/*", "*/*"].contains(&range.media_type.as_str()));
    if !takes_json {
        return respond(&ApiError::not_acceptable(&[JSON]));
    }
    if path.is_empty() {
        return paths(server);
    }
    let Some(hash) = hash_at(&server.api.registry(), path) else {
        return response::page_not_found();
    };
    let asked = request.query.get("hash");
    if asked.is_some_and(|asked| asked != hash) {
        return moved(path, &hash);
    }
    let Some(document) = server.openapi.v3(&server.api, &server.heavy, path).await else {
        return response::page_not_found();
    };
    if asked.is_some_and(|asked| asked != document.hash) {
        return moved(path, &document.hash);
    }
    let mut response = tagged(request, JSON, document);
    if asked.is_some() {
        keep_for_a_year(&mut response);
    }
    response
}

/// Index of the documents.
fn paths(server: &Server) -> Response {
    let paths = index(&server.api.registry())
        .into_iter()
        .map(|(path, hash)| {
            let url = format!("/openapi/v3/{path}?hash={hash}");
            let entry = Map::from_iter([("serverRelativeURL".to_owned(), Value::from(url))]);
            (path, Value::from(entry))
        });
    let paths = Value::Object(paths.collect());
    let document = Map::from_iter([("paths".to_owned(), paths)]);
    response::bytes(StatusCode::OK, JSON, json::encode(&document.into()))
}

/// Redirect to the URL with the current hash.
fn moved(path: &str, hash: &str) -> Response {
    let mut response = response::bytes(StatusCode::MOVED_PERMANENTLY, JSON, Vec::new());
    if let Ok(url) = HeaderValue::from_str(&format!("/openapi/v3/{path}?hash={hash}")) {
        response.headers_mut().insert(LOCATION, url);
    }
    response
}

/// Response with an `ETag`, or 304 if the client has the document already.
fn tagged(request: &Request, media_type: &str, document: Document) -> Response {
    let tag = format!("\"{}\"", document.hash);
    let known = request.headers.get(IF_NONE_MATCH);
    let is_known = known.is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut response = if is_known {
        response::bytes(StatusCode::NOT_MODIFIED, media_type, Vec::new())
    } else {
        response::bytes(StatusCode::OK, media_type, document.bytes)
    };
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    response
}

fn keep_for_a_year(response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
    let until = jiff::Timestamp::from_second(clock::now().wall.as_second() + YEAR_SECONDS);
    let until = until.map(|until| until.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string());
    if let Some(until) = until
        .ok()
        .and_then(|text| HeaderValue::from_str(&text).ok())
    {
        headers.insert(EXPIRES, until);
    }
}
