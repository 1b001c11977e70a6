//! Incremental parser of HTTP/2 frame headers.

/// Connection preface of a client.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEAD_BYTES: usize = 9;

/// `DATA` frame.
pub(super) const DATA: u8 = 0;
/// `HEADERS` frame.
pub(super) const HEADERS: u8 = 1;
/// `RST_STREAM` frame.
pub(super) const RST_STREAM: u8 = 3;
/// `PING` frame.
pub(super) const PING: u8 = 6;
/// `GOAWAY` frame.
pub(super) const GO_AWAY: u8 = 7;
/// `ACK` flag.
pub(super) const ACK: u8 = 0x01;
/// `END_STREAM` flag.
pub(super) const END_STREAM: u8 = 0x01;

/// Header of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head {
    /// Length of the payload.
    pub(super) payload: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl Head {
    fn read(bytes: [u8; HEAD_BYTES]) -> Self {
        let [a, b, c, kind, flags, stream @ ..] = bytes;
        Self {
            payload: usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c),
            kind,
            flags,
            // The first bit is reserved.
            stream: u32::from_be_bytes(stream) & (u32::MAX >> 1),
        }
    }
}

/// Parser of one direction of a connection.
pub(super) struct Frames(Position);

/// Position in the byte stream.
enum Position {
    /// Bytes of the preface received so far.
    Preface(usize),
    /// Payload bytes left before the next frame.
    Inside(usize),
    /// A partial frame header.
    Head([u8; HEAD_BYTES], usize),
    /// The connection is not HTTP/2.
    Other,
}

impl Frames {
    /// Parser of bytes from a client.
    pub(super) fn of_client() -> Self {
        Self(Position::Preface(0))
    }

    /// Parser of bytes from a server.
    pub(super) fn of_server() -> Self {
        Self(Position::Inside(0))
    }

    /// True at a frame boundary.
    pub(super) fn is_between(&self) -> bool {
        matches!(self.0, Position::Inside(0) | Position::Head(_, 0))
    }

    /// The next frame header completed in `bytes` from `at` on; `at` moves behind it. `None` when all bytes are
    /// consumed.
    pub(super) fn next(&mut self, bytes: &[u8], at: &mut usize) -> Option<Head> {
        while let Some(rest) = bytes.get(*at..).filter(|rest| !rest.is_empty()) {
            match &mut self.0 {
                Position::Other => {
                    *at = bytes.len();
                    return None;
                }
                Position::Preface(seen) => {
                    let expected = &PREFACE[*seen..];
                    let length = expected.len().min(rest.len());
                    self.0 = if rest[..length] != expected[..length] {
                        Position::Other
                    } else if length == expected.len() {
                        Position::Inside(0)
                    } else {
                        Position::Preface(*seen + length)
                    };
                    *at += length;
                }
                Position::Inside(0) => self.0 = Position::Head([0; HEAD_BYTES], 0),
                Position::Inside(left) => {
                    let length = (*left).min(rest.len());
                    *left -= length;
                    *at += length;
                }
                Position::Head(head, have) => {
                    let length = (HEAD_BYTES - *have).min(rest.len());
                    head[*have..*have + length].copy_from_slice(&rest[..length]);
                    *have += length;
                    *at += length;
                    if *have == HEAD_BYTES {
                        let head = Head::read(*head);
                        self.0 = Position::Inside(head.payload);
                        return Some(head);
                    }
                }
            }
        }
        None
    }
}
