//! A pipe whose reader must not be kept waiting: a thread reads it, and the reader hears "nothing now" instead of waiting on and on.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

/// Blocks under way between the thread and the reader: a burst is taken from the pipe while the reader draws.
const BLOCKS: usize = 64;
const BLOCK: usize = 64 << 10;
/// The longest header that a format needs before it can be opened (pcap's global header).
const HEADER: usize = 24;

/// What a reader is told.
enum News {
    Block(Vec<u8>),
    Failed(io::Error),
    /// Time for the reader to do something else. It comes by time and not by silence: a steady trickle must not hide it.
    Pause,
    End,
}

/// Reads as `raw` does, but says each `wait` that there is nothing now (zero bytes). The header is waited for.
pub struct Patient {
    // In a mutex for Sync only: there is one reader.
    news: Mutex<Receiver<News>>,
    at_hand: io::Cursor<Vec<u8>>,
    header_left: usize,
    ended: Arc<AtomicBool>,
}

impl Patient {
    /// The reader, and what tells that the pipe's writer has ended and all it wrote was read.
    pub fn new(raw: Box<dyn Read + Send + Sync>, wait: Duration) -> io::Result<(Patient, Arc<AtomicBool>)> {
        let (sender, news) = sync_channel(BLOCKS);
        let pauses = sender.clone();
        Builder::new().name("capture".into()).spawn(move || pump(raw, &sender))?;
        Builder::new().name("pauses".into()).spawn(move || {
            while pauses.send(News::Pause).is_ok() {
                pause(wait);
            }
        })?;
        let ended = Arc::new(AtomicBool::new(false));
        let (news, at_hand) = (Mutex::new(news), io::Cursor::default());
        Ok((Patient { news, at_hand, header_left: HEADER, ended: Arc::clone(&ended) }, ended))
    }

    /// The next block; none at the end, or at a pause.
    fn block(&mut self) -> io::Result<Option<Vec<u8>>> {
        let news = self.news.get_mut().unwrap_or_else(PoisonError::into_inner);
        loop {
            match news.recv().unwrap_or(News::End) {
                News::Block(block) => return Ok(Some(block)),
                News::Failed(error) => return Err(error),
                News::Pause if self.header_left > 0 => {}
                News::Pause => return Ok(None),
                News::End => {
                    self.ended.store(true, Ordering::Relaxed);
                    return Ok(None);
                }
            }
        }
    }
}

impl Read for Patient {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut got = self.at_hand.read(into)?;
        if got == 0 && !self.ended.load(Ordering::Relaxed) {
            self.at_hand = io::Cursor::new(self.block()?.unwrap_or_default());
            got = self.at_hand.read(into)?;
        }
        self.header_left = self.header_left.saturating_sub(got);
        Ok(got)
    }
}

/// Hands on what comes until it ends, fails, or nobody listens any more.
fn pump(mut raw: Box<dyn Read + Send + Sync>, news: &SyncSender<News>) {
    let mut buffer = vec![0; BLOCK];
    loop {
        let said = match raw.read(&mut buffer) {
            Ok(0) => News::End,
            Ok(got) => News::Block(buffer[..got].to_vec()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => News::Failed(error),
        };
        let last = !matches!(said, News::Block(_));
        if news.send(said).is_err() || last {
            return;
        }
    }
}

/// Waits so long.
#[expect(clippy::disallowed_methods, reason = "nothing of a model: a program waits for what somebody else writes")]
pub fn pause(wait: Duration) {
    std::thread::sleep(wait);
}
