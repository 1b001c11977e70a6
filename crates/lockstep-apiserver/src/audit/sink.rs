//! Sink of audit events: a thread writes them; events are dropped if its queue is full.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use super::rotation::{LogFile, Rotation};

/// Most events in the queue.
const QUEUE_EVENTS_MAX: usize = 10_000;
/// Most bytes in the queue.
const QUEUE_BYTES_MAX: usize = 64 << 20;

/// Destination of the audit log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Destination {
    /// Standard output.
    StandardOutput,
    /// Appends to a file, which is renamed when it is full.
    File(PathBuf, Rotation),
}

/// Open destination.
enum Output {
    StandardOutput(io::Stdout),
    File(LogFile),
}

impl Output {
    fn write_line(&mut self, line: &str) -> io::Result<()> {
        match self {
            Self::StandardOutput(output) => writeln!(output, "{line}"),
            Self::File(file) => file.write_line(line),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::StandardOutput(output) => output.flush(),
            Self::File(file) => file.flush(),
        }
    }

    fn reopen(&mut self) -> io::Result<()> {
        match self {
            Self::StandardOutput(_) => Ok(()),
            Self::File(file) => file.reopen(),
        }
    }
}

/// Asks the audit log to open its file again before the next event, after another program renamed it.
#[derive(Clone, Debug)]
pub struct Reopen(Arc<AtomicBool>);

impl Reopen {
    /// Asks for it.
    pub fn request(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Audit log with one event per line. Dropping it writes the queued events.
pub struct Sink {
    sender: Option<SyncSender<String>>,
    waiting_bytes: Arc<AtomicUsize>,
    reopen: Reopen,
    writer: Option<JoinHandle<()>>,
}

impl Sink {
    /// Opens the destination. A new file is readable by its owner only.
    pub fn open(destination: &Destination) -> io::Result<Self> {
        let output = match destination {
            Destination::StandardOutput => Output::StandardOutput(io::stdout()),
            Destination::File(path, rotation) => Output::File(LogFile::open(path, *rotation)?),
        };
        let (sender, receiver) = sync_channel(QUEUE_EVENTS_MAX);
        let waiting_bytes = Arc::new(AtomicUsize::new(0));
        let waiting = Arc::clone(&waiting_bytes);
        let writer = thread::Builder::new().name("audit-log".to_owned());
        let reopen = Reopen(Arc::default());
        let asked = reopen.clone();
        let writer = writer.spawn(move || write(output, &receiver, &waiting, &asked))?;
        Ok(Self {
            sender: Some(sender),
            waiting_bytes,
            reopen,
            writer: Some(writer),
        })
    }

    /// Asks this log to open its file again.
    pub fn reopen(&self) -> Reopen {
        self.reopen.clone()
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

fn write(mut output: Output, receiver: &Receiver<String>, waiting: &AtomicUsize, reopen: &Reopen) {
    let mut failing = false;
    while let Ok(first) = receiver.recv() {
        let mut next = Some(first);
        let mut written = Ok(());
        if reopen.0.swap(false, Ordering::Acquire) {
            written = output.reopen();
        }
        while let Some(line) = next {
            waiting.fetch_sub(line.len(), Ordering::Relaxed);
            let line_written = output.write_line(&line);
            written = written.and(line_written);
            next = receiver.try_recv().ok();
        }
        let flushed = output.flush();
        written = written.and(flushed);
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
