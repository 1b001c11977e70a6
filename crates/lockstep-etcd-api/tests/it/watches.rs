//! etcd-api.md §3: what a watch asks for, and events.

use std::sync::Arc;

use lockstep_etcd_api::etcdserverpb as pb;
use lockstep_etcd_api::response::Unexpected;
use lockstep_etcd_api::watch::{
    Start, create_to_wire, event_from_wire, event_to_wire, selector_from_wire, start_from_wire,
};
use lockstep_mvcc::{Event, Filters, Key, KeyRange, KeyValue, Previous, Revision, WatchSelector};

#[test]
fn an_empty_key_is_the_smallest_one() {
    let watched = |range_end: &'static [u8]| {
        let wire = pb::WatchCreateRequest {
            range_end: range_end.into(),
            ..pb::WatchCreateRequest::default()
        };
        selector_from_wire(&wire).keys
    };
    let zero = || Key::new(vec![0]).unwrap();
    assert_eq!(watched(b""), KeyRange::single(zero()));
    assert_eq!(watched(b"\0"), KeyRange::from(vec![0]));
    assert_eq!(watched(b"b"), KeyRange::between(vec![0], "b"));
}

#[test]
fn a_start_is_the_next_change_or_a_revision_or_before_all_history() {
    let start = |start_revision| {
        start_from_wire(&pb::WatchCreateRequest {
            start_revision,
            ..pb::WatchCreateRequest::default()
        })
    };
    assert_eq!(start(0), Start::Next);
    assert_eq!(start(9), Start::At(Revision(9)));
    assert_eq!(start(-1), Start::BeforeAll);
}

#[test]
fn what_a_client_asks_for_a_server_reads() {
    let selector = WatchSelector {
        keys: KeyRange::prefix("p/"),
        filters: Filters {
            no_put: false,
            no_delete: true,
        },
        previous: Previous::Return,
    };
    let wire = create_to_wire(&selector, Some(Revision(3)));
    assert_eq!(start_from_wire(&wire), Start::At(Revision(3)));
    assert_eq!(selector_from_wire(&wire), selector);
    let plain = WatchSelector::new(KeyRange::from("a"));
    let wire = create_to_wire(&plain, None);
    assert_eq!(start_from_wire(&wire), Start::Next);
    assert_eq!(selector_from_wire(&wire), plain);
}

#[test]
fn an_event_comes_back_and_one_that_contradicts_itself_does_not() {
    let kv = |version| {
        Arc::new(KeyValue {
            key: "k".into(),
            mod_revision: Revision(4),
            version,
            ..KeyValue::default()
        })
    };
    let put = Event {
        kv: kv(2),
        previous: Some(kv(1)),
    };
    let delete = Event {
        kv: kv(0),
        previous: None,
    };
    for event in [put, delete] {
        let mut wire = event_to_wire(&event);
        assert_eq!(event_from_wire(wire.clone()), Ok(event));
        wire.r#type = 1 - wire.r#type;
        let what = "an event's type and version contradict each other";
        assert_eq!(event_from_wire(wire), Err(Unexpected { what }));
    }
}
