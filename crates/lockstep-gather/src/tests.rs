//! Buffering, sending and limits.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use super::*;

/// A stream that records its writes and accepts a limited number of bytes.
#[derive(Default)]
struct Pieces {
    taken: Vec<Vec<u8>>,
    room: usize,
    is_shut: bool,
    is_broken: bool,
}

impl AsyncWrite for Pieces {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let pieces = self.get_mut();
        if pieces.is_broken {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let count = bytes.len().min(pieces.room);
        if count == 0 {
            return Poll::Pending;
        }
        pieces.room -= count;
        pieces.taken.push(bytes[..count].to_vec());
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().is_shut = true;
        Poll::Ready(Ok(()))
    }
}

/// A protocol that writes these frames, flushes after each, and then waits.
struct Frames<'f> {
    io: Gather<Pieces>,
    left: Vec<&'f [u8]>,
}

impl Future for Frames<'_> {
    type Output = Result<(), Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let frames = &mut *self;
        while let Some(frame) = frames.left.first().copied() {
            let written = Pin::new(&mut frames.io).poll_write(context, frame);
            let Poll::Ready(Ok(count)) = written else {
                return Poll::Pending;
            };
            frames.left[0] = &frame[count..];
            if count == frame.len() {
                frames.left.remove(0);
            }
            assert!(Pin::new(&mut frames.io).poll_flush(context).is_ready());
        }
        Poll::Pending
    }
}

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn with_room(room: usize) -> (Gather<Pieces>, Outgoing<Pieces>) {
    gather(Pieces {
        room,
        ..Pieces::default()
    })
}

fn sizes(outgoing: &Outgoing<Pieces>) -> Vec<usize> {
    outgoing
        .0
        .lock()
        .stream
        .taken
        .iter()
        .map(Vec::len)
        .collect()
}

fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

const ALONE: &(dyn Fn() -> bool + Sync) = &|| false;
const SHARED: &(dyn Fn() -> bool + Sync) = &|| true;

#[test]
fn what_is_written_leaves_in_one_piece_when_the_connection_rests() {
    let (io, outgoing) = with_room(usize::MAX);
    let left = vec![&b"headers "[..], b"data ", b"data"];
    let mut frames = Frames { io, left };
    let mut driven = Driven::new(Pin::new(&mut frames), &outgoing, ALONE);
    assert!(poll_once(&mut driven).is_pending());
    assert_eq!(outgoing.0.lock().stream.taken, [b"headers data data"]);
    assert!(poll_once(&mut driven).is_pending());
    assert_eq!(sizes(&outgoing), [17], "nothing is sent twice");
}

#[test]
fn where_others_may_have_something_too_they_get_one_turn() {
    let (io, outgoing) = with_room(usize::MAX);
    let mut frames = Frames {
        io,
        left: vec![&b"one "[..]],
    };
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    let mut driven = Driven::new(Pin::new(&mut frames), &outgoing, SHARED);
    assert!(Pin::new(&mut driven).poll(&mut context).is_pending());
    assert_eq!(
        (sizes(&outgoing), woken.0.load(Ordering::Relaxed)),
        (vec![], 1)
    );
    driven.connection.left.push(b"two");
    assert!(Pin::new(&mut driven).poll(&mut context).is_pending());
    assert_eq!(outgoing.0.lock().stream.taken, [b"one two"]);
    assert!(Pin::new(&mut driven).poll(&mut context).is_pending());
    assert_eq!(
        woken.0.load(Ordering::Relaxed),
        1,
        "an empty buffer does not wake the task again"
    );
}

#[test]
fn no_more_is_gathered_than_the_limit_for_a_client_that_takes_nothing() {
    let (io, outgoing) = with_room(10);
    let middle = vec![7; GATHERED_BYTES_MAX / 8];
    let mut frames = Frames {
        io,
        left: vec![&middle; 24],
    };
    let mut driven = Driven::new(Pin::new(&mut frames), &outgoing, ALONE);
    assert!(poll_once(&mut driven).is_pending());
    assert_eq!(sizes(&outgoing), [10]);
    assert_eq!(outgoing.0.lock().waiting.len(), GATHERED_BYTES_MAX);
    outgoing.0.lock().stream.room = usize::MAX;
    assert!(poll_once(&mut driven).is_pending());
    let taken = outgoing.0.lock().stream.taken.concat();
    assert_eq!(taken, middle.repeat(24));
    let expected = [
        10,
        GATHERED_BYTES_MAX - 10,
        GATHERED_BYTES_MAX,
        GATHERED_BYTES_MAX,
    ];
    assert_eq!(sizes(&outgoing), expected);
    let kept = outgoing.0.lock().waiting.capacity();
    assert!(kept <= IDLE_BYTES_MAX, "{kept} bytes are kept for nothing");
}

#[test]
fn a_large_piece_leaves_as_it_is_and_in_its_turn() {
    let (io, outgoing) = with_room(usize::MAX);
    let large = vec![7; LARGE_BYTES];
    let mut frames = Frames {
        io,
        left: vec![b"before", &large, b"behind", b"it"],
    };
    let mut driven = Driven::new(Pin::new(&mut frames), &outgoing, ALONE);
    assert!(poll_once(&mut driven).is_pending());
    let taken = outgoing.0.lock().stream.taken.clone();
    assert_eq!(taken, [b"before".to_vec(), large, b"behindit".to_vec()]);
}

#[test]
fn a_large_piece_waits_for_what_was_written_before() {
    let (mut io, outgoing) = with_room(3);
    let context = &mut Context::from_waker(Waker::noop());
    let large = vec![7; LARGE_BYTES];
    assert!(Pin::new(&mut io).poll_write(context, b"before").is_ready());
    assert!(Pin::new(&mut io).poll_write(context, &large).is_pending());
    assert_eq!(outgoing.0.lock().stream.taken, [b"bef"]);
    outgoing.0.lock().stream.room = 13;
    let written = Pin::new(&mut io).poll_write(context, &large);
    assert!(matches!(written, Poll::Ready(Ok(10))), "{written:?}");
    let taken = outgoing.0.lock().stream.taken.clone();
    assert_eq!(taken, [b"bef".to_vec(), b"ore".to_vec(), vec![7; 10]]);
}

#[test]
fn an_end_sends_what_waits_before_it_shuts() {
    let (mut io, outgoing) = with_room(usize::MAX);
    let context = &mut Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut io).poll_write(context, b"goodbye").is_ready());
    assert!(Pin::new(&mut io).poll_shutdown(context).is_ready());
    let gathered = outgoing.0.lock();
    assert_eq!(gathered.stream.taken, [b"goodbye"]);
    assert!(gathered.stream.is_shut);
}

#[test]
fn a_stream_that_is_broken_ends_the_connection() {
    let (io, outgoing) = with_room(usize::MAX);
    outgoing.0.lock().stream.is_broken = true;
    let mut frames = Frames {
        io,
        left: vec![&b"data"[..]],
    };
    let mut driven = Driven::new(Pin::new(&mut frames), &outgoing, ALONE);
    let Poll::Ready(Err(Ended::Send(error))) = poll_once(&mut driven) else {
        panic!("nothing can be sent");
    };
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
}
