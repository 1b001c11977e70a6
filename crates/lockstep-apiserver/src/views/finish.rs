//! The last thing that happens to an answer: from the JSON that handlers write to what the client
//! asked for.

use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, VARY};
use lockstep_object::{Status, json, yaml};

use super::gzip::{self, GZIP_BYTES_MIN};
use super::indent::indented;
use super::message::as_message;
use super::{Asked, Encoding, Form, JSON, PROTOBUF, YAML, on_deep_stack};
use crate::blocking_pool::BlockingPool;
use crate::failure::respond;
use crate::request::Request;
use crate::response::{Response, ResponseBody};

/// Answers above this, and all in YAML, are rewritten where nobody waits for the thread.
const INLINE_BYTES_MAX: usize = 64 * 1024;
/// How many times larger than its JSON an answer may become by indentation, besides
/// [`GROWTH_BYTES`].
const GROWTH_MAX: usize = 8;
/// What every answer may grow by.
const GROWTH_BYTES: usize = 1 << 20;

/// Says how an answer is to be written if it is JSON.
pub(crate) fn mark(mut response: Response, encoding: Encoding) -> Response {
    let content_type = response.headers().get(CONTENT_TYPE);
    if content_type.is_some_and(|content_type| content_type == JSON) {
        response.extensions_mut().insert(encoding);
    }
    response
}

/// The same for an answer that has no form but its own, such as a refusal: as the client wants it,
/// or as it is.
pub(crate) fn mark_as_asked(response: Response, request: &Request) -> Response {
    let form = Form::negotiate(&request.headers, &request.query, Asked::Document);
    mark(response, form.unwrap_or_default().encoding)
}

/// Rewrites a whole answer as it was marked, and compresses it if that is worth it. Streams are
/// left alone.
pub(crate) async fn finish(rewriters: &BlockingPool, request: &Request, response: &mut Response) {
    let encoding = response.extensions_mut().remove::<Encoding>();
    let encoding = encoding.unwrap_or_default();
    let Some(body) = response.body().whole() else {
        return;
    };
    let compress = gzip::is_accepted(&request.headers);
    if encoding == Encoding::Json && (body.len() <= GZIP_BYTES_MIN || !compress) {
        return;
    }
    let body = body.joined();
    let is_quick = encoding != Encoding::Yaml && body.len() <= INLINE_BYTES_MAX;
    let rewritten = if is_quick {
        rewrite(body, encoding, compress)
    } else {
        let work = rewriters.run(move || rewrite(body, encoding, compress));
        let failed = || Err(Status::internal_error("the answer could not be written"));
        work.await.unwrap_or_else(failed)
    };
    match rewritten {
        Ok(rewritten) => put(response, rewritten),
        Err(status) => refuse(response, &status),
    }
}

/// A body in its last form.
struct Rewritten {
    bytes: Bytes,
    encoding: Encoding,
    is_compressed: bool,
}

fn rewrite(body: Bytes, encoding: Encoding, compress: bool) -> Result<Rewritten, Status> {
    let bytes = match encoding {
        Encoding::Json => body,
        Encoding::IndentedJson => {
            let bytes_max = grown(body.len());
            indented(&body, bytes_max).map_or(body, Bytes::from)
        }
        Encoding::Yaml => as_yaml(&body)?.into(),
        Encoding::Protobuf => as_message(&body)?.into(),
    };
    let is_compressed = compress && bytes.len() > GZIP_BYTES_MIN;
    Ok(Rewritten {
        bytes: if is_compressed {
            gzip::compressed(&bytes).into()
        } else {
            bytes
        },
        encoding,
        is_compressed,
    })
}

fn grown(bytes: usize) -> usize {
    bytes
        .saturating_mul(GROWTH_MAX)
        .saturating_add(GROWTH_BYTES)
}

fn as_yaml(body: &[u8]) -> Result<String, Status> {
    let decoded = json::decode(body);
    let decoded = decoded.map_err(|error| Status::internal_error(&error.to_string()))?;
    let bytes_max = grown(body.len());
    let written = on_deep_stack(|| yaml::encode_within(&decoded.value, bytes_max));
    let written = written.map_err(|error| Status::internal_error(&error.to_string()))?;
    written.ok_or_else(|| Status::internal_error("the answer is too large as YAML; ask for JSON"))
}

fn put(response: &mut Response, rewritten: Rewritten) {
    *response.body_mut() = ResponseBody::Whole(rewritten.bytes.into());
    let headers: &mut HeaderMap = response.headers_mut();
    let media_type = match rewritten.encoding {
        Encoding::Json | Encoding::IndentedJson => JSON,
        Encoding::Yaml => YAML,
        Encoding::Protobuf => PROTOBUF,
    };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    if rewritten.is_compressed {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
    }
}

/// Puts a failure in the place of an answer, which keeps the headers it has.
fn refuse(response: &mut Response, status: &Status) {
    let (parts, body) = respond(status).into_parts();
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    *response.body_mut() = body;
    response.headers_mut().extend(parts.headers);
}
