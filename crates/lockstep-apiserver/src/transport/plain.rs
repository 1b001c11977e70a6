//! 400 for clients that speak plain HTTP to the TLS port.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// First byte of every TLS connection.
const TLS_HANDSHAKE: u8 = 0x16;
const ANSWER: &[u8] =
    b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/// Most bytes that are read from such a client.
const READ_BYTES_MAX: u64 = 64 << 10;

/// Peeks at the first byte. If it begins plain HTTP, answers 400 and returns true.
pub(super) async fn is_plain_http(stream: &mut TcpStream) -> bool {
    let mut first = [0];
    let peeked = stream.peek(&mut first).await;
    let plain =
        matches!(peeked, Ok(1)) && first[0] != TLS_HANDSHAKE && first[0].is_ascii_uppercase();
    if plain && let Err(error) = answer(stream).await {
        tracing::debug!(%error, "a client without TLS went away");
    }
    plain
}

/// Sends the response, then reads the rest: closing a socket with unread bytes resets it and discards the response.
async fn answer(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(ANSWER).await?;
    stream.shutdown().await?;
    let mut rest = stream.take(READ_BYTES_MAX);
    tokio::io::copy(&mut rest, &mut tokio::io::sink()).await?;
    Ok(())
}
