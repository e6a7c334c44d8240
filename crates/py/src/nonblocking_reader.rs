//! A reader for pipes that does not block longer than an interval: a thread reads the pipe, and the
//! reader returns 0 bytes when the interval has passed.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

/// Blocks that the thread reads ahead, so that a burst is read from the pipe while the caller is
/// busy.
const BLOCKS: usize = 64;
const BLOCK: usize = 64 << 10;
/// Maximum size of a header that a format needs to be opened (the global header of pcap).
const HEADER: usize = 24;

enum Event {
    Block(Vec<u8>),
    Failed(io::Error),
    /// The interval has passed. Sent by time, not by silence, as a slow stream may never be silent.
    Interval,
    End,
}

/// Reads like the wrapped reader, but returns 0 bytes once every interval. Blocks until the header
/// is complete.
pub struct NonblockingReader {
    // A mutex for `Sync`; there is one reader.
    events: Mutex<Receiver<Event>>,
    block: io::Cursor<Vec<u8>>,
    header_left: usize,
    ended: Arc<AtomicBool>,
}

impl NonblockingReader {
    /// The reader, and a flag that is set when the pipe has ended and all of it was read.
    pub fn new(raw: Box<dyn Read + Send + Sync>, interval: Duration) -> io::Result<(NonblockingReader, Arc<AtomicBool>)> {
        let (sender, events) = sync_channel(BLOCKS);
        let intervals = sender.clone();
        Builder::new().name("capture".into()).spawn(move || pump(raw, &sender))?;
        Builder::new().name("intervals".into()).spawn(move || {
            while intervals.send(Event::Interval).is_ok() {
                pause(interval);
            }
        })?;
        let ended = Arc::new(AtomicBool::new(false));
        let (events, block) = (Mutex::new(events), io::Cursor::default());
        Ok((NonblockingReader { events, block, header_left: HEADER, ended: Arc::clone(&ended) }, ended))
    }

    /// The next block; none at the end, or at an interval.
    fn next_block(&mut self) -> io::Result<Option<Vec<u8>>> {
        let events = self.events.get_mut().unwrap_or_else(PoisonError::into_inner);
        loop {
            match events.recv().unwrap_or(Event::End) {
                Event::Block(block) => return Ok(Some(block)),
                Event::Failed(error) => return Err(error),
                Event::Interval if self.header_left > 0 => {}
                Event::Interval => return Ok(None),
                Event::End => {
                    self.ended.store(true, Ordering::Relaxed);
                    return Ok(None);
                }
            }
        }
    }
}

impl Read for NonblockingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut count = self.block.read(buffer)?;
        if count == 0 && !self.ended.load(Ordering::Relaxed) {
            self.block = io::Cursor::new(self.next_block()?.unwrap_or_default());
            count = self.block.read(buffer)?;
        }
        self.header_left = self.header_left.saturating_sub(count);
        Ok(count)
    }
}

/// Sends what it reads until the pipe ends, fails, or the receiver is dropped.
fn pump(mut raw: Box<dyn Read + Send + Sync>, events: &SyncSender<Event>) {
    let mut buffer = vec![0; BLOCK];
    loop {
        let event = match raw.read(&mut buffer) {
            Ok(0) => Event::End,
            Ok(count) => Event::Block(buffer[..count].to_vec()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Event::Failed(error),
        };
        let last = !matches!(event, Event::Block(_));
        if events.send(event).is_err() || last {
            return;
        }
    }
}

/// Sleeps.
#[expect(clippy::disallowed_methods, reason = "no model runs here: a program waits for another process")]
pub fn pause(duration: Duration) {
    std::thread::sleep(duration);
}
