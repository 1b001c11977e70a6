//! Clients that speak HTTP without TLS are told so.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The first byte of every TLS connection.
const TLS_HANDSHAKE: u8 = 0x16;
const ANSWER: &[u8] =
    b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/// More of what such a client sends is not read.
const READ_BYTES_MAX: u64 = 64 << 10;

/// Looks at the first byte; answers and is true if it is the beginning of plain HTTP.
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

/// Bytes that nobody read when a socket closes would make the client lose the answer.
async fn answer(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(ANSWER).await?;
    stream.shutdown().await?;
    let mut rest = stream.take(READ_BYTES_MAX);
    tokio::io::copy(&mut rest, &mut tokio::io::sink()).await?;
    Ok(())
}
