//! Compatibility with etcd 3.4 clients whose `:authority` is a URL.
//!
//! They send some maintenance requests with the endpoint as configured, `http://host:port`, as the authority. The
//! HTTP/2 library resets such a request, so the bytes are rewritten before it reads them: `://` becomes `x--`. The
//! replacement has the same length in plain and in Huffman coding, so no length and no header table changes. The
//! server does not use the authority.
//!
//! Header blocks split over several frames are not rewritten; these clients send them in one.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::frames::{Frames, HEADERS};

const PADDED: u8 = 0x08;
const PRIORITY: u8 = 0x20;

/// URL schemes in the encodings a header value can have.
const REWRITES: [Rewrite; 4] = [
    Rewrite {
        found: b"http://",
        replaced: b"httpx--",
        last_bits: 0xff,
    },
    Rewrite {
        found: b"https://",
        replaced: b"httpsx--",
        last_bits: 0xff,
    },
    Rewrite {
        found: &[0x9d, 0x29, 0xae, 0xe3, 0x0c, 0x00],
        replaced: &[0x9d, 0x29, 0xaf, 0xca, 0xcb, 0x00],
        last_bits: 0x80,
    },
    Rewrite {
        found: &[0x9d, 0x29, 0xad, 0x17, 0x18, 0x60],
        replaced: &[0x9d, 0x29, 0xad, 0x1e, 0x56, 0x58],
        last_bits: 0xfc,
    },
];

struct Rewrite {
    found: &'static [u8],
    /// Replacement of equal length.
    replaced: &'static [u8],
    /// Mask of the last byte; in Huffman coding the next character starts there.
    last_bits: u8,
}

impl Rewrite {
    fn apply(&self, value: &mut [u8]) {
        let (Some((found_last, found)), Some((replaced_last, replaced))) =
            (self.found.split_last(), self.replaced.split_last())
        else {
            return;
        };
        let Some((last, beginning)) = value
            .get_mut(..self.found.len())
            .and_then(<[u8]>::split_last_mut)
        else {
            return;
        };
        if beginning == found && *last & self.last_bits == *found_last {
            beginning.copy_from_slice(replaced);
            *last = *last & !self.last_bits | replaced_last;
        }
    }
}

/// A connection that rewrites authorities.
pub(super) struct RewrittenAuthority<T> {
    connection: T,
    frames: Frames,
}

impl<T> RewrittenAuthority<T> {
    pub(super) fn new(connection: T) -> Self {
        Self {
            connection,
            frames: Frames::of_client(),
        }
    }
}

/// Parses incoming bytes and rewrites authorities.
fn pass(frames: &mut Frames, bytes: &mut [u8]) {
    let mut at = 0;
    while let Some(head) = frames.next(bytes, &mut at) {
        if head.kind == HEADERS
            && let Some(block) = bytes[at..].get_mut(..head.payload)
        {
            rewrite_headers(block, head.flags);
        }
    }
}

/// Rewrites the authority in a `HEADERS` payload. Undecodable payloads are left unchanged.
fn rewrite_headers(payload: &mut [u8], flags: u8) {
    let padding = usize::from(flags & PADDED != 0);
    let priority = 5 * usize::from(flags & PRIORITY != 0);
    if let Some(block) = payload.get_mut(padding + priority..) {
        // Padding after the header fields is not decodable, which ends the rewriting.
        rewrite_block(block);
    }
}

fn rewrite_block(block: &mut [u8]) -> Option<()> {
    /// Index of `:authority` in the HPACK static table.
    const AUTHORITY: usize = 1;
    let mut at = 0;
    loop {
        let first = *block.get(at)?;
        let name = match first {
            // An indexed field or a table size update: no literal value.
            0x80.. => {
                integer(block, &mut at, 7)?;
                continue;
            }
            0x20..0x40 => {
                integer(block, &mut at, 5)?;
                continue;
            }
            0x40..0x80 => integer(block, &mut at, 6)?,
            _ => integer(block, &mut at, 4)?,
        };
        if name == 0 {
            let length = integer(block, &mut at, 7)?;
            at = at.checked_add(length)?;
        }
        let length = integer(block, &mut at, 7)?;
        let end = at.checked_add(length)?;
        let value = block.get_mut(at..end)?;
        if name == AUTHORITY {
            for rewrite in &REWRITES {
                rewrite.apply(value);
            }
        }
        at = end;
    }
}

/// Decodes an HPACK integer with a prefix of `bits` bits.
fn integer(block: &[u8], at: &mut usize, bits: u32) -> Option<usize> {
    /// Limit of continuation bytes; longer integers do not occur in valid headers.
    const BYTES_MAX: usize = 4;
    let mask = (1_usize << bits) - 1;
    let mut value = usize::from(*block.get(*at)?) & mask;
    *at += 1;
    if value < mask {
        return Some(value);
    }
    for nth in 0..BYTES_MAX {
        let byte = usize::from(*block.get(*at)?);
        *at += 1;
        value += (byte & 0x7f) << (7 * nth);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

impl<T: AsyncRead + Unpin> AsyncRead for RewrittenAuthority<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { connection, frames } = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(connection).poll_read(cx, buffer))?;
        pass(frames, &mut buffer.filled_mut()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for RewrittenAuthority<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().connection).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().connection).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().connection).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().connection).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
