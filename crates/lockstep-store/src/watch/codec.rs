//! Encoding of watch responses.

use bytes::BufMut;
use lockstep_etcd_api::etcdserverpb as pb;
use lockstep_mvcc::{Event, EventKind, KeyValue};
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};
use tonic::Status;
use tonic::codec::{BufferSettings, Codec, EncodeBuf, Encoder};
use tonic_prost::ProstCodec;

use super::shared::Content;
use crate::rpc_error::RpcError;

/// A response message.
pub(crate) enum Frame {
    /// A response without events.
    Control(pb::WatchResponse),
    /// A response with events.
    Events(Events),
}

/// Events of one watcher.
pub(crate) struct Events {
    pub(crate) header: pb::ResponseHeader,
    pub(crate) watch_id: i64,
    /// True if the revision continues in the next message.
    pub(crate) fragment: bool,
    pub(crate) content: Content,
}

const HEADER: u32 = 1;
const WATCH_ID: u32 = 2;
const FRAGMENT: u32 = 7;
const EVENTS: u32 = 11;
const EVENT_TYPE: u32 = 1;
const EVENT_KV: u32 = 2;
const EVENT_PREV_KV: u32 = 3;

impl Events {
    fn encode(&self, out: &mut impl BufMut) {
        message(HEADER, self.header.encoded_len(), out);
        self.header.encode_raw(out);
        number(WATCH_ID, self.watch_id.cast_unsigned(), out);
        number(FRAGMENT, u64::from(self.fragment), out);
        match &self.content {
            Content::Encoded(bytes) => out.put_slice(bytes),
            Content::Listed(events) => encode_events(events, out),
        }
    }
}

/// Encodes events as repeated fields.
pub(super) fn encode_events(events: &[Event], out: &mut impl BufMut) {
    for event in events {
        message(EVENTS, event_len(event), out);
        encode_event(event, out);
    }
}

/// Encoded length of [`encode_events`].
pub(super) fn events_len(events: &[Event]) -> usize {
    let lengths = events
        .iter()
        .map(|event| message_len(EVENTS, event_len(event)));
    lengths.sum()
}

fn encode_event(event: &Event, out: &mut impl BufMut) {
    if event.kind() == EventKind::Delete {
        number(EVENT_TYPE, 1, out);
    }
    message(EVENT_KV, pair_len(&event.kv), out);
    encode_pair(&event.kv, out);
    if let Some(previous) = &event.previous {
        message(EVENT_PREV_KV, pair_len(previous), out);
        encode_pair(previous, out);
    }
}

/// Encoded length of an event.
pub(crate) fn event_len(event: &Event) -> usize {
    let kind = match event.kind() {
        EventKind::Put => 0,
        EventKind::Delete => number_len(EVENT_TYPE, 1),
    };
    let previous = event.previous.as_deref();
    kind + message_len(EVENT_KV, pair_len(&event.kv))
        + previous.map_or(0, |kv| message_len(EVENT_PREV_KV, pair_len(kv)))
}

const KEY: u32 = 1;
const CREATE_REVISION: u32 = 2;
const MOD_REVISION: u32 = 3;
const VERSION: u32 = 4;
const VALUE: u32 = 5;
const LEASE: u32 = 6;

fn pair_len(kv: &KeyValue) -> usize {
    text_len(KEY, &kv.key)
        + number_len(CREATE_REVISION, kv.create_revision.0)
        + number_len(MOD_REVISION, kv.mod_revision.0)
        + number_len(VERSION, kv.version)
        + text_len(VALUE, &kv.value)
        + number_len(LEASE, kv.lease.0.cast_unsigned())
}

fn encode_pair(kv: &KeyValue, out: &mut impl BufMut) {
    text(KEY, &kv.key, out);
    number(CREATE_REVISION, kv.create_revision.0, out);
    number(MOD_REVISION, kv.mod_revision.0, out);
    number(VERSION, kv.version, out);
    text(VALUE, &kv.value, out);
    number(LEASE, kv.lease.0.cast_unsigned(), out);
}

/// Encodes a bytes field unless it is empty.
fn text(tag: u32, bytes: &[u8], out: &mut impl BufMut) {
    if !bytes.is_empty() {
        message(tag, bytes.len(), out);
        out.put_slice(bytes);
    }
}

fn text_len(tag: u32, bytes: &[u8]) -> usize {
    match bytes.len() {
        0 => 0,
        length => message_len(tag, length),
    }
}

/// Encodes a number field unless it is zero.
fn number(tag: u32, value: u64, out: &mut impl BufMut) {
    if value != 0 {
        encode_key(tag, WireType::Varint, out);
        encode_varint(value, out);
    }
}

fn number_len(tag: u32, value: u64) -> usize {
    match value {
        0 => 0,
        value => key_len(tag) + encoded_len_varint(value),
    }
}

/// Encodes the tag and length of a length-delimited field.
fn message(tag: u32, length: usize, out: &mut impl BufMut) {
    encode_key(tag, WireType::LengthDelimited, out);
    encode_varint(length as u64, out);
}

fn message_len(tag: u32, length: usize) -> usize {
    key_len(tag) + encoded_len_varint(length as u64) + length
}

pub(crate) struct WatchCodec;

pub(crate) struct FrameEncoder;

impl Codec for WatchCodec {
    type Encode = Frame;
    type Decode = pb::WatchRequest;
    type Encoder = FrameEncoder;
    type Decoder = <ProstCodec<pb::WatchResponse, pb::WatchRequest> as Codec>::Decoder;

    fn encoder(&mut self) -> Self::Encoder {
        FrameEncoder
    }

    fn decoder(&mut self) -> Self::Decoder {
        ProstCodec::<pb::WatchResponse, pb::WatchRequest>::raw_decoder(BufferSettings::default())
    }
}

impl Encoder for FrameEncoder {
    type Item = Frame;
    type Error = Status;

    fn encode(&mut self, frame: Frame, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        match frame {
            Frame::Control(response) => {
                let encoded = response.encode(out);
                encoded.map_err(|error| RpcError::Encode(error).into())
            }
            Frame::Events(events) => {
                events.encode(out);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lockstep_etcd_api::watch::event_to_wire;
    use lockstep_mvcc::{LeaseId, Revision};

    use super::*;
    use crate::watch::shared::SharedEvents;

    fn pair(version: u64, value: &'static str, lease: i64) -> Arc<KeyValue> {
        Arc::new(KeyValue {
            key: "key".into(),
            value: value.into(),
            create_revision: Revision(2),
            mod_revision: Revision(300),
            sub_revision: 9,
            version,
            lease: LeaseId(lease),
        })
    }

    #[test]
    fn events_have_the_bytes_that_the_generated_code_gives_them() {
        let events = vec![
            Event {
                kv: pair(1, "value", 0),
                previous: None,
            },
            Event {
                kv: pair(2, "", -7),
                previous: Some(pair(1, "value", 5)),
            },
            Event {
                kv: pair(0, "", 0),
                previous: Some(pair(2, "x", 0)),
            },
        ];
        let header = pb::ResponseHeader {
            cluster_id: u64::MAX,
            member_id: 2,
            revision: 300,
            raft_term: 4,
        };
        for (watch_id, fragment) in [(0, false), (-1, true), (17, false)] {
            let generated = pb::WatchResponse {
                header: Some(header),
                watch_id,
                fragment,
                events: events.iter().map(event_to_wire).collect(),
                ..pb::WatchResponse::default()
            };
            let listed = Content::Listed(events.clone());
            for content in [listed, SharedEvents::default().share(events.clone())] {
                let frame = Events {
                    header,
                    watch_id,
                    fragment,
                    content,
                };
                let mut bytes = Vec::new();
                frame.encode(&mut bytes);
                assert_eq!(bytes, generated.encode_to_vec());
            }
        }
        for event in &events {
            assert_eq!(event_len(event), event_to_wire(event).encoded_len());
        }
        let mut bytes = Vec::new();
        encode_events(&events, &mut bytes);
        assert_eq!(events_len(&events), bytes.len());
    }
}
