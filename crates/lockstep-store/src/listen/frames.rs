//! Where frames of HTTP/2 begin in a stream of bytes, however the bytes are cut.

/// What a client begins with.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEAD_BYTES: usize = 9;

/// Data of a stream.
pub(super) const DATA: u8 = 0;
/// The headers of a stream, or what comes after its data.
pub(super) const HEADERS: u8 = 1;
/// The end of a stream in disorder.
pub(super) const RST_STREAM: u8 = 3;
/// A sign of life, or the answer to one.
pub(super) const PING: u8 = 6;
/// The last frame of a connection.
pub(super) const GO_AWAY: u8 = 7;
/// Marks an answer among pings.
pub(super) const ACK: u8 = 0x01;
/// Marks the last frame of one direction of a stream.
pub(super) const END_STREAM: u8 = 0x01;

/// What a frame begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head {
    /// How many bytes follow.
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

/// Finds the frames of one direction.
pub(super) struct Frames(Position);

/// Where in the bytes the next one stands.
enum Position {
    /// So many bytes into what a client of HTTP/2 begins with.
    Preface(usize),
    /// So many bytes before the next frame.
    Inside(usize),
    /// Some bytes of a frame's head have come.
    Head([u8; HEAD_BYTES], usize),
    /// It is another protocol.
    Other,
}

impl Frames {
    /// What a client sends.
    pub(super) fn of_client() -> Self {
        Self(Position::Preface(0))
    }

    /// What a server sends.
    pub(super) fn of_server() -> Self {
        Self(Position::Inside(0))
    }

    /// Whether a frame has ended and no other has begun.
    pub(super) fn is_between(&self) -> bool {
        matches!(self.0, Position::Inside(0) | Position::Head(_, 0))
    }

    /// The next frame that begins or goes on in `bytes` from `at` on; `at` moves behind its head.
    /// None when all bytes are looked at.
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
