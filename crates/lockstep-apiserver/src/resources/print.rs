//! Encoding of stored objects in the requested representation.
//!
//! Whole objects and metadata are copied from the stored bytes. Table rows are made from one parsed object at a time.

use std::sync::Arc;

use bytes::Bytes;
use lockstep_object::metadata::Seconds;
use lockstep_object::{ApiError, Object};
use lockstep_storage::Revision;

use super::list::Page;
use super::token::Token;
use super::{Answer, Body, Origin, Request, Served, Subresource};
use crate::cache::Object as Stored;
use crate::route::Verb;
use crate::stored::Layout;
use crate::views::{
    Columns, Headers, MetaVersion, Shape, close_table, open_table, partial_start, write_object,
    write_row,
};
use lockstep_write::{parse, scale_columns, serve};

/// Estimated bytes that encoding adds to a stored object.
const WRAPPING_BYTES: usize = 64;
/// Estimated bytes of a Table row or of an object's metadata.
const LINE_BYTES: usize = 512;

/// Encoder of the objects of one response.
pub(super) struct Printer<'a> {
    pub(super) served: &'a Served,
    pub(super) columns: &'a Columns,
    pub(super) verb: Verb,
    pub(super) shape: Shape,
    pub(super) now: Seconds,
}

impl<'a> Printer<'a> {
    /// Encoder for the response to a request.
    pub(super) fn of(request: &'a Request<'_>) -> Self {
        let strategy = &request.served.resource.strategy;
        let columns = match request.subresource() {
            Ok(Some(Subresource::Scale)) => scale_columns(),
            _ => strategy.columns(request.served.version),
        };
        Self {
            served: &request.served,
            columns,
            verb: request.route.verb,
            shape: request.shape,
            now: request.now,
        }
    }

    /// Converts a response with one whole object to the requested representation. Lists and watches are encoded in it
    /// from the start, and a `Status` has no other representation.
    pub(super) fn shaped(&self, answer: Answer) -> Result<Answer, ApiError> {
        let is_done = matches!(self.verb, Verb::List | Verb::Watch | Verb::DeleteCollection);
        let (Body::Whole(body), false) = (&answer.body, is_done || self.shape == Shape::Whole)
        else {
            return Ok(answer);
        };
        let object = answer.object()?;
        if object.kind() == "Status" && object.api_version() == "v1" {
            return Ok(answer);
        }
        let mut out = Vec::with_capacity(body.len());
        self.object(&object, Headers::Shown, &mut out);
        Ok(Answer {
            code: answer.code,
            body: Body::Whole(out.into()),
        })
    }

    /// Encodes an object that has its resource version.
    pub(super) fn object(&self, object: &Object, headers: Headers, out: &mut Vec<u8>) {
        write_object(object, self.shape, self.columns, headers, self.now, out);
    }

    /// Encodes a single stored object.
    pub(super) fn stored(
        &self,
        value: &Bytes,
        revision: Revision,
        headers: Headers,
        out: &mut Vec<u8>,
    ) -> Result<(), ApiError> {
        match self.shape {
            Shape::Whole => serve(self.served, value, revision, false, out),
            Shape::Metadata(version) => self.partial(value, revision, version, out),
            Shape::Table(..) => {
                self.object(&self.parsed(value, revision)?, headers, out);
                Ok(())
            }
        }
    }

    /// Encodes the metadata of a stored object as `PartialObjectMetadata`. Schemas do not affect metadata, so the
    /// object is not parsed.
    fn partial(
        &self,
        value: &Bytes,
        revision: Revision,
        version: MetaVersion,
        out: &mut Vec<u8>,
    ) -> Result<(), ApiError> {
        let layout = Layout::of(value).ok();
        let start = out.len();
        out.extend_from_slice(partial_start(version).as_bytes());
        if layout.is_some_and(|layout| layout.serve_metadata(revision, out)) {
            out.push(b'}');
            return Ok(());
        }
        out.truncate(start);
        self.object(&self.parsed(value, revision)?, Headers::Shown, out);
        Ok(())
    }

    fn parsed(&self, value: &Bytes, revision: Revision) -> Result<Object, ApiError> {
        let mut object = parse(self.served, value, revision)?;
        object.set_meta_text("resourceVersion", &revision.0.to_string());
        Ok(object)
    }

    /// Encodes a list.
    pub(super) fn list(&self, page: &Page) -> Result<Vec<u8>, ApiError> {
        let mut out = self.list_head(page);
        self.write_items(|| page.objects.iter(), &mut out)?;
        Ok(out)
    }

    /// Encodes a list up to its first item.
    pub(super) fn list_head(&self, page: &Page) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        match self.shape {
            Shape::Whole => {
                let resource = &self.served.resource;
                let always = resource.origin == Origin::Custom;
                let head = format!(
                    r#"{{"kind":"{}","apiVersion":"{}","metadata":{},"items":["#,
                    resource.list_kind,
                    resource.api_version(self.served.version),
                    list_metadata(page, always),
                );
                out.extend_from_slice(head.as_bytes());
            }
            Shape::Metadata(version) => {
                let head = format!(
                    r#"{{"kind":"PartialObjectMetadataList","apiVersion":"{}","metadata":{},"items":["#,
                    version.api_version(),
                    list_metadata(page, false),
                );
                out.extend_from_slice(head.as_bytes());
            }
            Shape::Table(version, _) => {
                let metadata = list_metadata(page, false);
                open_table(version, &metadata, self.columns, Headers::Shown, &mut out);
            }
        }
        out
    }

    /// Encodes the items of a list and the end of the list.
    pub(super) fn items<'o, O>(&self, objects: impl Fn() -> O) -> Result<Vec<u8>, ApiError>
    where
        O: Iterator<Item = &'o Arc<Stored>>,
    {
        let mut out = Vec::new();
        self.write_items(objects, &mut out)?;
        Ok(out)
    }

    fn write_items<'o, O>(&self, objects: impl Fn() -> O, out: &mut Vec<u8>) -> Result<(), ApiError>
    where
        O: Iterator<Item = &'o Arc<Stored>>,
    {
        let size = |object: &Stored| match self.shape {
            Shape::Whole => object.value.len() + WRAPPING_BYTES,
            Shape::Metadata(_) | Shape::Table(..) => LINE_BYTES,
        };
        out.reserve(objects().map(|object| size(object)).sum());
        for (at, object) in objects().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            self.item(&object.value, object.revision, out)?;
        }
        close_table(out);
        Ok(())
    }

    /// Encodes one item of a list.
    fn item(&self, value: &Bytes, revision: Revision, out: &mut Vec<u8>) -> Result<(), ApiError> {
        match self.shape {
            Shape::Whole => serve(self.served, value, revision, true, out),
            Shape::Metadata(version) => self.partial(value, revision, version, out),
            Shape::Table(version, include) => {
                let object = self.parsed(value, revision)?;
                write_row(&object, version, include, self.columns, self.now, out);
                Ok(())
            }
        }
    }
}

/// List metadata. Lists of custom resources always have `continue`, even if empty, as upstream's do.
fn list_metadata(page: &Page, always_continue: bool) -> String {
    if page.revision == Revision::NONE {
        // Objects outside the store have no revision.
        return "{}".to_owned();
    }
    let mut metadata = format!(r#"{{"resourceVersion":"{}""#, page.revision.0);
    let token = page.next.as_ref().map(Token::to_text);
    if token.is_some() || always_continue {
        let token = token.unwrap_or_default();
        metadata.push_str(&format!(r#","continue":"{token}""#));
    }
    if let Some(remaining) = page.remaining.filter(|remaining| *remaining > 0) {
        metadata.push_str(&format!(r#","remainingItemCount":{remaining}"#));
    }
    metadata.push('}');
    metadata
}
