//! Sink of audit events: a thread writes them; events are dropped if its queue is full.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Most events in the queue.
const QUEUE_EVENTS_MAX: usize = 10_000;
/// Most bytes in the queue.
const QUEUE_BYTES_MAX: usize = 64 << 20;

/// Destination of the audit log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Destination {
    /// Standard output.
    StandardOutput,
    /// Appends to a file.
    File(PathBuf),
}

/// Audit log with one event per line. Dropping it writes the queued events.
pub struct Sink {
    sender: Option<SyncSender<String>>,
    waiting_bytes: Arc<AtomicUsize>,
    writer: Option<JoinHandle<()>>,
}

impl Sink {
    /// Opens the destination. A new file is readable by its owner only.
    pub fn open(destination: &Destination) -> io::Result<Self> {
        let output: Box<dyn Write + Send> = match destination {
            Destination::StandardOutput => Box::new(io::stdout()),
            Destination::File(path) => {
                let mut options = File::options();
                options.append(true).create(true);
                #[cfg(unix)]
                std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
                Box::new(options.open(path)?)
            }
        };
        let (sender, receiver) = sync_channel(QUEUE_EVENTS_MAX);
        let waiting_bytes = Arc::new(AtomicUsize::new(0));
        let waiting = Arc::clone(&waiting_bytes);
        let writer = thread::Builder::new().name("audit-log".to_owned());
        let writer = writer.spawn(move || write(BufWriter::new(output), &receiver, &waiting))?;
        Ok(Self {
            sender: Some(sender),
            waiting_bytes,
            writer: Some(writer),
        })
    }

    /// Queues an event. Returns false and drops it if the queue is full.
    pub(crate) fn send(&self, line: String) -> bool {
        let bytes = line.len();
        let before = self.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        let fits = before + bytes <= QUEUE_BYTES_MAX;
        let sent = fits
            && self
                .sender
                .as_ref()
                .is_some_and(|sender| sender.try_send(line).is_ok());
        if !sent {
            self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
        sent
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(writer) = self.writer.take() {
            // A panic of the writer has been logged by the panic hook.
            drop(writer.join());
        }
    }
}

fn write(mut output: impl Write, receiver: &Receiver<String>, waiting: &AtomicUsize) {
    let mut failing = false;
    while let Ok(first) = receiver.recv() {
        let mut next = Some(first);
        let mut written = Ok(());
        while let Some(line) = next {
            waiting.fetch_sub(line.len(), Ordering::Relaxed);
            written = written.and_then(|()| writeln!(output, "{line}"));
            next = receiver.try_recv().ok();
        }
        written = written.and_then(|()| output.flush());
        match written {
            Ok(()) => failing = false,
            Err(error) if !failing => {
                failing = true;
                tracing::error!(%error, "the audit log cannot be written");
            }
            Err(_) => {}
        }
    }
}
