//! A pipe whose reader must not be kept waiting: a thread reads it, and the reader hears "nothing now" instead of waiting on and on.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Blocks under way between the thread and the reader: a burst is taken from the pipe while the reader draws.
const BLOCKS: usize = 64;
const BLOCK: usize = 64 << 10;
/// The longest header that a format needs before it can be opened (pcap's global header).
const HEADER: usize = 24;

/// Reads as `raw` does, but says that there is nothing now (zero bytes) when `wait` went by since it last did. The header is waited for.
pub struct Patient {
    // In a mutex for Sync only: there is one reader.
    blocks: Mutex<Receiver<io::Result<Vec<u8>>>>,
    at_hand: io::Cursor<Vec<u8>>,
    wait: Duration,
    last_pause: Instant,
    header_left: usize,
    ended: Arc<AtomicBool>,
}

impl Patient {
    /// The reader, and what tells that the pipe's writer has ended and all it wrote was read.
    pub fn new(raw: Box<dyn Read + Send + Sync>, wait: Duration) -> io::Result<(Patient, Arc<AtomicBool>)> {
        let (sender, blocks) = sync_channel(BLOCKS);
        std::thread::Builder::new().name("capture".into()).spawn(move || pump(raw, &sender))?;
        let ended = Arc::new(AtomicBool::new(false));
        let reader = Patient {
            blocks: Mutex::new(blocks),
            at_hand: io::Cursor::default(),
            wait,
            last_pause: Instant::now(),
            header_left: HEADER,
            ended: Arc::clone(&ended),
        };
        Ok((reader, ended))
    }

    /// The next block; none at the end, or when the wait is over.
    fn block(&mut self) -> io::Result<Option<Vec<u8>>> {
        let blocks = self.blocks.get_mut().unwrap_or_else(PoisonError::into_inner);
        let got = if self.header_left > 0 {
            blocks.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            blocks.recv_timeout(self.wait.saturating_sub(self.last_pause.elapsed()))
        };
        match got {
            Ok(block) => block.map(Some),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                self.ended.store(true, Ordering::Relaxed);
                Ok(None)
            }
        }
    }
}

impl Read for Patient {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut got = self.at_hand.read(into)?;
        // A steady trickle must not hide the pause: it is due by the clock, not by silence.
        if got == 0 && (self.header_left > 0 || self.last_pause.elapsed() < self.wait) {
            self.at_hand = io::Cursor::new(self.block()?.unwrap_or_default());
            got = self.at_hand.read(into)?;
        }
        if got == 0 {
            self.last_pause = Instant::now();
        }
        self.header_left = self.header_left.saturating_sub(got);
        Ok(got)
    }
}

/// Hands on what comes until it ends, fails, or nobody listens any more.
fn pump(mut raw: Box<dyn Read + Send + Sync>, blocks: &SyncSender<io::Result<Vec<u8>>>) {
    let mut buffer = vec![0; BLOCK];
    loop {
        let block = match raw.read(&mut buffer) {
            Ok(0) => return,
            Ok(got) => Ok(buffer[..got].to_vec()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let failed = block.is_err();
        if blocks.send(block).is_err() || failed {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Patient;
    use std::io::{self, Read};
    use std::sync::Mutex;
    use std::sync::atomic::Ordering;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::{Duration, Instant};

    /// What a writer sends, as a pipe would give it.
    struct Pipe(Mutex<Receiver<Vec<u8>>>);

    impl Read for Pipe {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let Ok(block) = self.0.get_mut().unwrap().recv() else { return Ok(0) };
            into[..block.len()].copy_from_slice(&block);
            Ok(block.len())
        }
    }

    #[test]
    fn the_header_is_waited_for_a_pause_is_told_and_nothing_is_lost() {
        let (writer, pipe) = channel();
        let wait = Duration::from_millis(30);
        let (mut reader, ended) = Patient::new(Box::new(Pipe(Mutex::new(pipe))), wait).unwrap();
        let late = std::thread::spawn(move || {
            std::thread::sleep(2 * wait);
            writer.send(vec![7; 24]).unwrap();
            writer
        });
        let mut into = [0; 100];
        assert_eq!(reader.read(&mut into).unwrap(), 24, "the header came late and was waited for");
        let writer = late.join().unwrap();
        assert_eq!(reader.read(&mut into).unwrap(), 0, "nothing now");
        assert!(!ended.load(Ordering::Relaxed));
        writer.send(vec![8; 60]).unwrap();
        drop(writer);
        let (mut got, until) = (0, Instant::now() + Duration::from_secs(5));
        while !ended.load(Ordering::Relaxed) && Instant::now() < until {
            got += reader.read(&mut into[..7]).unwrap();
        }
        assert_eq!(got, 60);
    }

    #[test]
    fn a_steady_trickle_is_interrupted_by_a_pause() {
        let (writer, pipe) = channel();
        let (mut reader, _) = Patient::new(Box::new(Pipe(Mutex::new(pipe))), Duration::from_millis(20)).unwrap();
        writer.send(vec![0; 24]).unwrap();
        let trickle = std::thread::spawn(move || {
            while writer.send(vec![1]).is_ok() {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let (mut into, mut pauses) = ([0; 64], 0);
        let until = Instant::now() + Duration::from_secs(5);
        while pauses < 3 && Instant::now() < until {
            pauses += usize::from(reader.read(&mut into).unwrap() == 0);
        }
        drop(reader);
        trickle.join().unwrap();
        assert_eq!(pauses, 3);
    }
}
