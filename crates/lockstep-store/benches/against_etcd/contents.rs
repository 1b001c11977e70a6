//! Keys, values and requests of the benchmarks.

use bytes::Bytes;
use lockstep_etcd_api::etcdserverpb as pb;

use crate::client::Call;

/// Number of keys overwritten by the loads.
pub(crate) const KEYS: u64 = 10_000;
/// Number of keys for list and count.
pub(crate) const MANY_KEYS: u64 = 100_000;
pub(crate) const VALUE_BYTES: usize = 256;
pub(crate) const LARGE_VALUE_BYTES: usize = 1024;
/// The page that is listed.
const PAGE: i64 = 500;

const PREFIX: &str = "/registry/pods/";
/// Just behind all keys with the prefix.
const PREFIX_END: &str = "/registry/pods0";

/// The nth key, in an order without locality.
pub(crate) fn key(nth: u64, keys: u64) -> String {
    const STEP: u64 = 61_803;
    let number = nth * STEP % keys;
    format!("{PREFIX}namespace-{:03}/pod-{number:08}", number % 100)
}

pub(crate) fn value(bytes: usize) -> Bytes {
    const ALPHABET: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    ALPHABET.iter().copied().cycle().take(bytes).collect()
}

pub(crate) fn put(nth: u64, keys: u64, value: &Bytes) -> Call {
    let put = pb::PutRequest {
        key: key(nth, keys).into(),
        value: value.clone(),
        ..pb::PutRequest::default()
    };
    Call::new("/etcdserverpb.KV/Put", &put)
}

pub(crate) fn get(nth: u64, keys: u64) -> Call {
    let range = pb::RangeRequest {
        key: key(nth, keys).into(),
        ..pb::RangeRequest::default()
    };
    Call::new("/etcdserverpb.KV/Range", &range)
}

pub(crate) fn list() -> Call {
    let range = pb::RangeRequest {
        limit: PAGE,
        ..everything()
    };
    Call::new("/etcdserverpb.KV/Range", &range)
}

pub(crate) fn count() -> Call {
    let range = pb::RangeRequest {
        count_only: true,
        ..everything()
    };
    Call::new("/etcdserverpb.KV/Range", &range)
}

fn everything() -> pb::RangeRequest {
    pb::RangeRequest {
        key: PREFIX.into(),
        range_end: PREFIX_END.into(),
        ..pb::RangeRequest::default()
    }
}

/// A stream with several watchers of everything.
pub(crate) fn watch(watchers: usize) -> Call {
    let create = pb::WatchCreateRequest {
        key: PREFIX.into(),
        range_end: PREFIX_END.into(),
        ..pb::WatchCreateRequest::default()
    };
    let create = pb::watch_request::RequestUnion::CreateRequest(create);
    let request = pb::WatchRequest {
        request_union: Some(create),
    };
    Call::of_many("/etcdserverpb.Watch/Watch", &vec![request; watchers])
}
