//! Watches: what is asked for, and events.

use std::sync::Arc;

use bytes::Bytes;
use lockstep_mvcc::{Event, EventKind, Filters, KeyRange, Previous, Revision, WatchSelector};

use crate::request::number;
use crate::response::{Unexpected, pair_from_wire, pair_to_wire};
use crate::{etcdserverpb as pb, mvccpb};
use mvccpb::event::EventType;
use pb::watch_create_request::FilterType;

/// Where a watch begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// With the next change.
    Next,
    /// With the changes of a revision, which may be in the future.
    At(Revision),
    /// Before everything, where no history is.
    BeforeAll,
}

/// Where a request wants to begin.
pub fn start_from_wire(wire: &pb::WatchCreateRequest) -> Start {
    match u64::try_from(wire.start_revision) {
        Ok(0) => Start::Next,
        Ok(at) => Start::At(Revision(at)),
        Err(_) => Start::BeforeAll,
    }
}

/// What a request wants to see. An empty key stands for the smallest one; kinds to filter that do
/// not exist are passed over, as etcd does.
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

/// A watch as a client asks for it, by an id that the server chooses.
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

/// An event; its bytes are shared.
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

/// An event as a client reads it.
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
