//! Snapshot files: streaming and decoding. `docs/reference/store-format.md` specifies the format.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use lockstep_etcd_api::etcdserverpb as pb;
use lockstep_mvcc::{DecodeError, Machine};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tonic::Status;

use crate::level::Level;
use crate::maintenance::blocking;
use crate::member::Member;

const MAGIC: &[u8; 8] = b"locksnap";
const FORMAT: u32 = 1;
/// etcd's clients verify that the content before the checksum is a multiple of this block size.
const BLOCK_BYTES: u64 = 512;
const CHECKSUM_BYTES: usize = 32;
/// Size of a message.
const CHUNK_BYTES: usize = 32 << 10;
/// Messages buffered for the client.
const CHUNKS_WAITING_MAX: usize = 4;

/// Stream of a snapshot. A thread encodes it with the client's backpressure and ends when the client disconnects.
pub(crate) struct SnapshotStream {
    header: pb::ResponseHeader,
    version: String,
    remaining_bytes: u64,
    chunks: mpsc::Receiver<Bytes>,
    _writer: tokio::task::JoinHandle<()>,
}

impl SnapshotStream {
    pub(crate) async fn new(member: &Member, machine: Machine) -> Result<Self, Status> {
        let (machine, state_bytes) = blocking(move || {
            let mut bytes = 0;
            machine.encode_to(|piece| bytes += piece.len() as u64);
            (machine, bytes)
        })
        .await?;
        let header = member.origin().header(machine.revision());
        let body_bytes = (BLOCK_BYTES + state_bytes).next_multiple_of(BLOCK_BYTES);
        let block = first_block(member, state_bytes);
        let (sender, chunks) = mpsc::channel(CHUNKS_WAITING_MAX);
        let writer = tokio::task::spawn_blocking(move || {
            let mut writer = Writer::new(sender);
            writer.write(&block);
            machine.encode_to(|piece| writer.write(piece));
            writer.finish(body_bytes);
        });
        let level = member.config.level;
        Ok(Self {
            header,
            version: level.since(Level::V3_6, level.release()),
            remaining_bytes: body_bytes,
            chunks,
            _writer: writer,
        })
    }
}

/// First block of the file, before the state.
fn first_block(member: &Member, state_bytes: u64) -> Vec<u8> {
    let mut block = Vec::new();
    block.extend_from_slice(MAGIC);
    block.extend_from_slice(&FORMAT.to_le_bytes());
    block.extend_from_slice(&[0; 4]);
    block.extend_from_slice(&member.identity.cluster_id.to_le_bytes());
    block.extend_from_slice(&member.identity.member_id.to_le_bytes());
    block.extend_from_slice(&state_bytes.to_le_bytes());
    block.resize(512, 0);
    block
}

/// Errors of decoding a snapshot.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The magic bytes are missing.
    #[error("it is no snapshot of `lockstep store`")]
    NotASnapshot,
    /// The snapshot was written by a newer version.
    #[error("it has snapshot format {found}, which this program does not know")]
    UnknownFormat {
        /// Its format.
        found: u32,
    },
    /// The checksum does not match.
    #[error("its checksum does not match")]
    Checksum,
    /// The encoded state is invalid.
    #[error(transparent)]
    Machine(#[from] DecodeError),
}

/// Decodes a snapshot.
pub fn read_snapshot(bytes: &[u8]) -> Result<Machine, SnapshotError> {
    let rest = bytes.strip_prefix(MAGIC);
    let format = rest.and_then(|rest| rest.first_chunk::<4>());
    match format.map(|format| u32::from_le_bytes(*format)) {
        Some(FORMAT) => {}
        Some(found) => return Err(SnapshotError::UnknownFormat { found }),
        None => return Err(SnapshotError::NotASnapshot),
    }
    let split = bytes.split_last_chunk::<CHECKSUM_BYTES>();
    let (body, checksum) = split.ok_or(SnapshotError::Checksum)?;
    if Sha256::digest(body).as_slice() != checksum {
        return Err(SnapshotError::Checksum);
    }
    let length = body.get(32..40).and_then(|length| length.try_into().ok());
    let length = length.and_then(|length| usize::try_from(u64::from_le_bytes(length)).ok());
    let start = usize::try_from(BLOCK_BYTES).expect("a block is small");
    let state = length.and_then(|length| body.get(start..)?.get(..length));
    Ok(Machine::decode(state.ok_or(SnapshotError::Checksum)?)?)
}

/// Collects bytes into chunks and computes the checksum.
struct Writer {
    sender: mpsc::Sender<Bytes>,
    chunk: BytesMut,
    hasher: Sha256,
    written: u64,
    /// The client is gone.
    is_over: bool,
}

impl Writer {
    fn new(sender: mpsc::Sender<Bytes>) -> Self {
        Self {
            sender,
            chunk: BytesMut::with_capacity(CHUNK_BYTES),
            hasher: Sha256::new(),
            written: 0,
            is_over: false,
        }
    }

    fn write(&mut self, mut piece: &[u8]) {
        if self.is_over {
            return;
        }
        self.hasher.update(piece);
        self.written += piece.len() as u64;
        while !piece.is_empty() {
            let room = CHUNK_BYTES - self.chunk.len();
            let (now, later) = piece.split_at(room.min(piece.len()));
            self.chunk.extend_from_slice(now);
            piece = later;
            if self.chunk.len() == CHUNK_BYTES {
                self.flush();
            }
        }
    }

    fn flush(&mut self) {
        let chunk = std::mem::replace(&mut self.chunk, BytesMut::with_capacity(CHUNK_BYTES));
        self.is_over |= self.sender.blocking_send(chunk.freeze()).is_err();
    }

    /// Pads the last block, then sends the checksum.
    fn finish(mut self, body_bytes: u64) {
        let padding = usize::try_from(body_bytes.saturating_sub(self.written));
        self.write(&vec![0; padding.unwrap_or_default()]);
        if !self.chunk.is_empty() {
            self.flush();
        }
        let checksum = std::mem::take(&mut self.hasher).finalize();
        self.chunk = BytesMut::from(checksum.as_slice());
        self.flush();
    }
}

impl Stream for SnapshotStream {
    type Item = Result<pb::SnapshotResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(blob) = ready!(self.chunks.poll_recv(cx)) else {
            return Poll::Ready(None);
        };
        self.remaining_bytes = self.remaining_bytes.saturating_sub(blob.len() as u64);
        Poll::Ready(Some(Ok(pb::SnapshotResponse {
            header: Some(self.header),
            remaining_bytes: self.remaining_bytes,
            blob,
            version: self.version.clone(),
        })))
    }
}
