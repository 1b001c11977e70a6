//! JSON encoding of objects in a shape.

use lockstep_object::metadata::Seconds;
use lockstep_object::{Object, Value, json};

use super::{Columns, Include, MetaVersion, Shape};

/// Controls whether a Table has column definitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Headers {
    /// With column definitions.
    Shown,
    /// Without: the client has them from an earlier Table of the same watch.
    Known,
}

/// Encodes an object that has its resource version.
pub(crate) fn write_object(
    object: &Object,
    shape: Shape,
    columns: &Columns,
    headers: Headers,
    now: Seconds,
    out: &mut Vec<u8>,
) {
    match shape {
        Shape::Whole => json::encode_into(object.as_value(), out),
        Shape::Metadata(version) => write_partial(object, version, out),
        Shape::Table(version, include) => {
            let revision = json::encode_to_string(&object.resource_version().into());
            let metadata = format!(r#"{{"resourceVersion":{revision}}}"#);
            open_table(version, &metadata, columns, headers, out);
            write_row(object, version, include, columns, now, out);
            close_table(out);
        }
    }
}

/// Encodes a Table up to its first row; `metadata` is encoded list metadata.
pub(crate) fn open_table(
    version: MetaVersion,
    metadata: &str,
    columns: &Columns,
    headers: Headers,
    out: &mut Vec<u8>,
) {
    let api_version = version.api_version();
    let head = format!(r#"{{"kind":"Table","apiVersion":"{api_version}","metadata":{metadata}"#);
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(br#","columnDefinitions":"#);
    match headers {
        Headers::Shown => out.extend_from_slice(columns.definitions()),
        Headers::Known => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(br#","rows":["#);
}

/// Encodes the row of one object.
pub(crate) fn write_row(
    object: &Object,
    version: MetaVersion,
    include: Include,
    columns: &Columns,
    now: Seconds,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(br#"{"cells":"#);
    json::encode_into(&Value::Array(columns.cells(object, now)), out);
    out.extend_from_slice(br#","object":"#);
    match include {
        Include::None => out.extend_from_slice(b"null"),
        Include::Metadata => write_partial(object, version, out),
        Include::Object => json::encode_into(object.as_value(), out),
    }
    out.push(b'}');
}

/// Encodes the end of a Table.
pub(crate) fn close_table(out: &mut Vec<u8>) {
    out.extend_from_slice(b"]}");
}

fn write_partial(object: &Object, version: MetaVersion, out: &mut Vec<u8>) {
    out.extend_from_slice(partial_start(version).as_bytes());
    match object.fields().get("metadata") {
        Some(metadata) => json::encode_into(metadata, out),
        None => out.extend_from_slice(b"{}"),
    }
    out.push(b'}');
}

/// `PartialObjectMetadata` up to the value of `metadata`.
pub(crate) fn partial_start(version: MetaVersion) -> String {
    let api_version = version.api_version();
    format!(r#"{{"kind":"PartialObjectMetadata","apiVersion":"{api_version}","metadata":"#)
}
