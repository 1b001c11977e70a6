//! Final encoding of responses: from the JSON that handlers write to the negotiated encoding.

use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, VARY};
use lockstep_object::{ApiError, json, yaml};

use super::gzip::{self, GZIP_BYTES_MIN};
use super::indent::indented;
use super::message::as_message;
use super::{Asked, Encoding, Form, JSON, PROTOBUF, YAML, on_deep_stack};
use crate::failure::respond;
use crate::heavy_work::HeavyWork;
use crate::request::Request;
use crate::response::{Response, ResponseBody};

/// Largest body that is rewritten on the async thread; larger ones, and all YAML, are heavy work.
const INLINE_BYTES_MAX: usize = 64 * 1024;
/// Largest ratio of an indented response to its JSON, in addition to [`GROWTH_BYTES`].
const GROWTH_MAX: usize = 8;
/// Fixed allowance for the growth of a response by indentation.
const GROWTH_BYTES: usize = 1 << 20;

/// Sets the encoding that `finish` applies to a JSON response.
pub(crate) fn mark(mut response: Response, encoding: Encoding) -> Response {
    let content_type = response.headers().get(CONTENT_TYPE);
    if content_type.is_some_and(|content_type| content_type == JSON) {
        response.extensions_mut().insert(encoding);
    }
    response
}

/// Negotiates and sets the encoding of a response without a representation of its own, such as an error; JSON if the
/// negotiation fails.
pub(crate) fn mark_as_asked(response: Response, request: &Request) -> Response {
    let form = Form::negotiate(&request.headers, &request.query, Asked::Document);
    mark(response, form.unwrap_or_default().encoding)
}

/// Rewrites a complete response in its encoding and compresses it if it is large. Streams are not changed.
pub(crate) async fn finish(heavy: &HeavyWork, request: &Request, response: &mut Response) {
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
        let work = heavy.run(&request.user.name, move || {
            rewrite(body, encoding, compress)
        });
        let failed = || Err(ApiError::internal("the answer could not be written"));
        work.await.unwrap_or_else(failed)
    };
    match rewritten {
        Ok(rewritten) => put(response, rewritten),
        Err(error) => refuse(response, &error),
    }
}

/// Body in its final encoding.
struct Rewritten {
    bytes: Bytes,
    encoding: Encoding,
    is_compressed: bool,
}

fn rewrite(body: Bytes, encoding: Encoding, compress: bool) -> Result<Rewritten, ApiError> {
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

fn as_yaml(body: &[u8]) -> Result<String, ApiError> {
    let decoded = json::decode(body);
    let decoded = decoded.map_err(|error| ApiError::internal(error.to_string()))?;
    let bytes_max = grown(body.len());
    let written = on_deep_stack(|| yaml::encode_within(&decoded.value, bytes_max));
    let written = written.map_err(|error| ApiError::internal(error.to_string()))?;
    written.ok_or_else(|| ApiError::internal("the answer is too large as YAML; ask for JSON"))
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

/// Replaces a response by an error but keeps its headers.
fn refuse(response: &mut Response, error: &ApiError) {
    let (parts, body) = respond(error).into_parts();
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    *response.body_mut() = body;
    response.headers_mut().extend(parts.headers);
}
