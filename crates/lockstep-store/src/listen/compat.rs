//! Requests of etcd 3.4's client library whose `:authority` is a URL.
//!
//! It asks some maintenance requests with the endpoint as it was given, `http://host:port`, for
//! authority. The HTTP/2 library resets such a request before anybody sees it, so the bytes are
//! mended on their way in: `://` becomes `x--`. All of it stays as long as it was, encoded by
//! Huffman's code or not, so no length changes and no table of headers. Nobody reads the authority.
//!
//! A block of headers that comes in pieces is left alone; these clients send theirs in one.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::frames::{Frames, HEADERS};

const PADDED: u8 = 0x08;
const PRIORITY: u8 = 0x20;

/// The beginnings of URLs in the forms that a header's value can have.
const MENDS: [Mend; 4] = [
    Mend {
        found: b"http://",
        replaced: b"httpx--",
        last_bits: 0xff,
    },
    Mend {
        found: b"https://",
        replaced: b"httpsx--",
        last_bits: 0xff,
    },
    Mend {
        found: &[0x9d, 0x29, 0xae, 0xe3, 0x0c, 0x00],
        replaced: &[0x9d, 0x29, 0xaf, 0xca, 0xcb, 0x00],
        last_bits: 0x80,
    },
    Mend {
        found: &[0x9d, 0x29, 0xad, 0x17, 0x18, 0x60],
        replaced: &[0x9d, 0x29, 0xad, 0x1e, 0x56, 0x58],
        last_bits: 0xfc,
    },
];

struct Mend {
    found: &'static [u8],
    /// As long as what was found.
    replaced: &'static [u8],
    /// Which bits of the last byte belong to it; in Huffman's code the next letter begins there.
    last_bits: u8,
}

impl Mend {
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

/// A connection whose requests are mended.
pub(super) struct Lenient<T> {
    connection: T,
    frames: Frames,
}

impl<T> Lenient<T> {
    pub(super) fn new(connection: T) -> Self {
        Self {
            connection,
            frames: Frames::of_client(),
        }
    }
}

/// Looks at what has come, and mends it.
fn pass(frames: &mut Frames, bytes: &mut [u8]) {
    let mut at = 0;
    while let Some(head) = frames.next(bytes, &mut at) {
        if head.kind == HEADERS
            && let Some(block) = bytes[at..].get_mut(..head.payload)
        {
            mend_headers(block, head.flags);
        }
    }
}

/// Mends the authority in the payload of a frame of headers. What cannot be read is left alone.
fn mend_headers(payload: &mut [u8], flags: u8) {
    let padding = usize::from(flags & PADDED != 0);
    let priority = 5 * usize::from(flags & PRIORITY != 0);
    if let Some(block) = payload.get_mut(padding + priority..) {
        // Padding at the end reads as nonsense, behind all headers.
        mend_block(block);
    }
}

fn mend_block(block: &mut [u8]) -> Option<()> {
    /// The name in the table that all connections begin with.
    const AUTHORITY: usize = 1;
    let mut at = 0;
    loop {
        let first = *block.get(at)?;
        let name = match first {
            // A header that the table has, or a new size for the table: no value.
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
            for mend in &MENDS {
                mend.apply(value);
            }
        }
        at = end;
    }
}

/// An integer whose first byte gives `bits` bits to it.
fn integer(block: &[u8], at: &mut usize, bits: u32) -> Option<usize> {
    /// Longer integers than any header has are not read.
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

impl<T: AsyncRead + Unpin> AsyncRead for Lenient<T> {
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

impl<T: AsyncWrite + Unpin> AsyncWrite for Lenient<T> {
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
