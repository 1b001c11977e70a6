//! YAML work that recurses as deep as the document nests.

use std::io;
use std::thread;

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use lockstep_object::json;
use lockstep_object::yaml::{self, YAML_STACK_BYTES};
use serde_json::Value;

use super::message::from_message;
use super::{PROTOBUF, YAML};

/// Stack size for that work. Encoding recurses deeper than decoding, because JSON may nest deeper than YAML.
const STACK_BYTES: usize = 2 * YAML_STACK_BYTES;

/// Runs YAML work on a thread with enough stack for the deepest valid document. Fails if the thread cannot be started.
pub(crate) fn on_deep_stack<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let builder = thread::Builder::new().stack_size(STACK_BYTES);
        let running = builder.spawn_scoped(scope, work)?;
        let done = running.join();
        Ok(done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Decodes a body by its `Content-Type`; none if it cannot be decoded.
pub(crate) fn read(headers: &HeaderMap, body: &[u8]) -> Option<Value> {
    let content_type = headers
        .get(CONTENT_TYPE)
        .and_then(|text| text.to_str().ok());
    let media_type = content_type.and_then(|text| text.split(';').next());
    match media_type.unwrap_or_default().trim() {
        YAML => {
            let decoded = on_deep_stack(|| yaml::decode(body)).ok()?;
            decoded.ok().map(|decoded| decoded.value)
        }
        PROTOBUF => from_message(body),
        _ => json::read(body),
    }
}
