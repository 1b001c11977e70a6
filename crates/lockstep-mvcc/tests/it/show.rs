//! Responses as text.

use bytes::Bytes;
use lockstep_mvcc::{
    Batch, DeleteRangeResponse, EventKind, KeyValue, OpResponse, PutResponse, RangeResponse,
    Response, TxnResponse,
};

pub(crate) fn response(response: &Response) -> String {
    match response {
        Response::Put(answer) => put(answer),
        Response::DeleteRange(answer) => delete(answer),
        Response::Txn(answer) => txn(answer),
        Response::Compact => "compacted\n".to_owned(),
        Response::LeaseGrant { ttl_seconds } => format!("granted for {ttl_seconds} s\n"),
        Response::Alarm => "alarm\n".to_owned(),
        Response::LeaseRevoke => "revoked\n".to_owned(),
    }
}

fn put(answer: &PutResponse) -> String {
    let head = format!("put, revision {}\n", answer.revision);
    let previous = answer.previous.iter();
    head + &previous
        .map(|kv| format!("  was {}\n", pair(kv)))
        .collect::<String>()
}

fn delete(answer: &DeleteRangeResponse) -> String {
    let head = format!("deleted {}, revision {}\n", answer.deleted, answer.revision);
    let previous = answer.previous.iter();
    head + &previous
        .map(|kv| format!("  was {}\n", pair(kv)))
        .collect::<String>()
}

pub(crate) fn range(answer: &RangeResponse) -> String {
    let more = if answer.more { ", more" } else { "" };
    let head = format!(
        "count {}{more}, revision {}\n",
        answer.count, answer.revision
    );
    let pairs = answer.kvs.iter();
    head + &pairs
        .map(|kv| format!("  {}\n", pair(kv)))
        .collect::<String>()
}

pub(crate) fn txn(answer: &TxnResponse) -> String {
    let branch = if answer.succeeded { "then" } else { "else" };
    let mut text = format!("{branch}, revision {}\n", answer.revision);
    for response in &answer.responses {
        let answer = match response {
            OpResponse::Range(answer) => range(answer),
            OpResponse::Put(answer) => put(answer),
            OpResponse::DeleteRange(answer) => delete(answer),
            OpResponse::Txn(answer) => txn(answer),
        };
        text.extend(answer.lines().map(|line| format!("  {line}\n")));
    }
    text
}

pub(crate) fn batch(batch: &Batch) -> String {
    let mut text = String::new();
    for event in &batch.events {
        text.push_str(&match event.kind() {
            EventKind::Put => format!("put {}\n", pair(&event.kv)),
            EventKind::Delete => format!(
                "delete {} (mod {})\n",
                bytes(&event.kv.key),
                event.kv.mod_revision
            ),
        });
        if let Some(previous) = &event.previous {
            text.push_str(&format!("  was {}\n", pair(previous)));
        }
    }
    text + &format!("next {}\n", batch.next)
}

fn pair(kv: &KeyValue) -> String {
    let lease = match kv.lease.0 {
        0 => String::new(),
        lease => format!(", lease {lease}"),
    };
    format!(
        "{}={} (create {}, mod {}.{}, version {}{lease})",
        bytes(&kv.key),
        bytes(&kv.value),
        kv.create_revision,
        kv.mod_revision,
        kv.sub_revision,
        kv.version,
    )
}

pub(crate) fn bytes(bytes: &Bytes) -> String {
    bytes.escape_ascii().to_string()
}
