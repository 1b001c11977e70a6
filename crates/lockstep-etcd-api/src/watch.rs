//! Conversion of watch requests and events.

use std::sync::Arc;

use bytes::Bytes;
use lockstep_mvcc::{Event, EventKind, Filters, KeyRange, Previous, Revision, WatchSelector};

use crate::request::number;
use crate::response::{Unexpected, pair_from_wire, pair_to_wire};
use crate::{etcdserverpb as pb, mvccpb};
use mvccpb::event::EventType;
use pb::watch_create_request::FilterType;

/// Start of a watch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// The next change.
    Next,
    /// A revision, which may be in the future.
    At(Revision),
    /// A negative revision, which is always compacted.
    BeforeAll,
}

/// Decodes the start revision.
pub fn start_from_wire(wire: &pb::WatchCreateRequest) -> Start {
    match u64::try_from(wire.start_revision) {
        Ok(0) => Start::Next,
        Ok(at) => Start::At(Revision(at)),
        Err(_) => Start::BeforeAll,
    }
}

/// Decodes the key range and filters. An empty key is the smallest one; unknown filters are ignored, as in etcd.
pub fn selector_from_wire(wire: &pb::WatchCreateRequest) -> WatchSelector {
    let key = if wire.key.is_empty() {
        Bytes::from_static(&[0])
    } else {
        wire.key.clone()
    };
    let keys = KeyRange::from_wire(key, wire.range_end.clone());
    WatchSelector {
        keys: keys.expect("the key is not empty"),
        filters: Filters {
            no_put: wire.filters().any(|kind| kind == FilterType::Noput),
            no_delete: wire.filters().any(|kind| kind == FilterType::Nodelete),
        },
        previous: if wire.prev_kv {
            Previous::Return
        } else {
            Previous::Omit
        },
    }
}

/// Encodes a watch request with an id chosen by the server.
pub fn create_to_wire(selector: &WatchSelector, from: Option<Revision>) -> pb::WatchCreateRequest {
    let (key, range_end) = selector.keys.to_wire();
    let no_put = selector.filters.no_put.then_some(FilterType::Noput);
    let no_delete = selector.filters.no_delete.then_some(FilterType::Nodelete);
    let filters = no_put.into_iter().chain(no_delete);
    pb::WatchCreateRequest {
        key,
        range_end,
        start_revision: number(from.unwrap_or_default()),
        progress_notify: false,
        filters: filters.map(Into::into).collect(),
        prev_kv: selector.previous == Previous::Return,
        watch_id: 0,
        fragment: false,
    }
}

/// Encodes an event; its bytes are shared.
pub fn event_to_wire(event: &Event) -> mvccpb::Event {
    let kind = match event.kind() {
        EventKind::Put => EventType::Put,
        EventKind::Delete => EventType::Delete,
    };
    mvccpb::Event {
        r#type: kind.into(),
        kv: Some(pair_to_wire(&event.kv)),
        prev_kv: event.previous.as_deref().map(pair_to_wire),
    }
}

/// Decodes an event.
pub fn event_from_wire(wire: mvccpb::Event) -> Result<Event, Unexpected> {
    let kind = wire.r#type();
    let kv = wire.kv.ok_or(Unexpected {
        what: "an event has no key",
    })?;
    let event = Event {
        kv: Arc::new(pair_from_wire(kv)?),
        previous: wire.prev_kv.map(pair_from_wire).transpose()?.map(Arc::new),
    };
    let told = match kind {
        EventType::Put => EventKind::Put,
        EventType::Delete => EventKind::Delete,
    };
    if event.kind() != told {
        let what = "an event's type and version contradict each other";
        return Err(Unexpected { what });
    }
    Ok(event)
}
