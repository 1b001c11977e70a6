//! `RangeStream`: a range read in chunks at one revision.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use lockstep_etcd_api::etcdserverpb as pb;
use lockstep_mvcc::{Bounds, Content, Range, Sort, SortOrder, SortTarget};
use tokio_stream::Stream;
use tonic::Status;

use crate::level::Level;
use crate::member::Member;
use crate::rpc_error::RpcError;

/// Target size of a chunk.
const CHUNK_BYTES: usize = 1 << 20;
/// Key-values of the first chunk; their size determines the next chunk.
const CHUNK_PAIRS_FIRST: usize = 100;
/// Maximum key-values of a chunk, because collecting them holds the read lock.
const CHUNK_PAIRS_MAX: usize = 10_000;

/// Reads the next chunk when the client has consumed the previous one.
pub(crate) struct RangeStream {
    member: Arc<Member>,
    /// The remaining range; the first chunk pins the revision.
    rest: Range,
    /// Remaining limit.
    wanted: usize,
    chunk_pairs: usize,
    /// Header and count of the first chunk, repeated in the last one.
    first: Option<(pb::ResponseHeader, i64)>,
    is_done: bool,
}

impl RangeStream {
    pub(crate) fn new(member: Arc<Member>, range: Range) -> Result<Self, RpcError> {
        if member.config.level < Level::V3_7 {
            return Err(RpcError::NoRangeStream);
        }
        let key_order = Sort {
            target: SortTarget::Key,
            order: SortOrder::Ascend,
        };
        if range.sort.is_some_and(|sort| sort != key_order) {
            return Err(RpcError::RangeStreamOption("custom sort orders"));
        }
        let unbounded = Bounds::default();
        if range.mod_revisions != unbounded || range.create_revisions != unbounded {
            return Err(RpcError::RangeStreamOption("revision filters"));
        }
        Ok(Self {
            member,
            wanted: match range.limit {
                0 => usize::MAX,
                limit => limit,
            },
            chunk_pairs: CHUNK_PAIRS_FIRST,
            first: None,
            is_done: false,
            rest: range,
        })
    }

    fn next_chunk(&mut self) -> Result<pb::RangeResponse, Status> {
        self.rest.limit = self.chunk_pairs.min(self.wanted);
        let answer = self.member.range(&self.rest)?;
        let mut chunk = self.member.origin().range(&answer);
        self.rest.at.get_or_insert(answer.revision);
        self.wanted -= answer.kvs.len();
        if let Some(last) = answer.kvs.last() {
            let mut behind = last.key.to_vec();
            behind.push(0);
            self.rest.keys = self.rest.keys.starting_at(Bytes::from(behind));
            let bytes: usize = answer
                .kvs
                .iter()
                .map(|kv| kv.key.len() + kv.value.len())
                .sum();
            let pair_bytes = (bytes / answer.kvs.len()).max(1);
            self.chunk_pairs = (CHUNK_BYTES / pair_bytes).clamp(1, CHUNK_PAIRS_MAX);
        }
        let header = chunk.header.take().unwrap_or_default();
        let (header, count) = *self.first.get_or_insert((header, chunk.count));
        let is_counting = self.rest.content == Content::CountOnly;
        self.is_done = is_counting || !answer.more || self.wanted == 0;
        if self.is_done {
            chunk.header = Some(header);
            chunk.count = count;
        } else {
            chunk.count = 0;
            chunk.more = false;
        }
        Ok(chunk)
    }
}

impl Stream for RangeStream {
    type Item = Result<pb::RangeStreamResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_done {
            return Poll::Ready(None);
        }
        let chunk = self.next_chunk();
        self.is_done |= chunk.is_err();
        let chunk = chunk.map(|chunk| pb::RangeStreamResponse {
            range_response: Some(chunk),
        });
        Poll::Ready(Some(chunk))
    }
}
