//! Files written by a thread of their own: a disk that pauses must not delay packets.
//!
//! The emulating thread runs before all others where it may, the writing one does not. So they share no lock that the writer may hold while
//! it is kept from running, the allocator's included: pieces go round in a ring of buffers that are exchanged, never freed, and the
//! emulating thread only tries.

use crate::clock::RealTime;
use nix::fcntl::{FallocateFlags, fallocate};
use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// How much is collected before it is handed over.
const PIECE: usize = 1 << 16;
/// Pieces waiting for the disk: 4 MiB.
const SLOTS: usize = 64;
/// When the disk is slower than that, so much is kept by each stream before the emulation has to wait.
const MOST_KEPT: usize = 1 << 24;
/// How often the writer looks.
const LOOK: Duration = Duration::from_millis(5);

/// A file's next bytes.
struct Piece {
    file: usize,
    full: bool,
    bytes: Vec<u8>,
}

/// The ring. Only streams move `filled`, which they do in one thread.
struct Ring {
    slots: Vec<Mutex<Piece>>,
    filled: AtomicUsize,
}

/// The thread, and what it could not write.
pub struct Background {
    thread: JoinHandle<Option<Broken>>,
}

/// The error that ended the log before the emulation ended. Files hold whole records up to that time.
#[derive(Debug)]
pub struct Broken {
    /// Seconds from the beginning.
    pub after_s: f64,
    pub error: io::Error,
}

/// One file's end here. They must all stay in one thread.
pub struct Stream {
    file: usize,
    waiting: Vec<u8>,
    ring: Arc<Ring>,
}

impl Background {
    /// Starts the thread and returns a stream for each file. A write error is reported to `broken` at once.
    pub fn start(files: Vec<File>, broken: fn(&Broken)) -> io::Result<(Background, Vec<Stream>)> {
        let slot = || Mutex::new(Piece { file: 0, full: false, bytes: Vec::with_capacity(PIECE + PIECE / 4) });
        let ring = Arc::new(Ring { slots: (0..SLOTS).map(|_| slot()).collect(), filled: AtomicUsize::new(0) });
        let stream = |file| Stream { file, waiting: Vec::with_capacity(PIECE + PIECE / 4), ring: ring.clone() };
        let streams = (0..files.len()).map(stream).collect();
        let thread = std::thread::Builder::new().name("log".into()).spawn(move || write_all(files, &ring, broken))?;
        Ok((Background { thread }, streams))
    }

    /// Waits until all is written. Every stream must have been dropped.
    pub fn finish(self) -> Option<Broken> {
        let died = || Broken { after_s: 0.0, error: io::Error::other("the thread that writes files has died") };
        self.thread.join().unwrap_or_else(|_| Some(died()))
    }
}

/// Reserves disk space for a file's first piece, where the file system supports fallocate.
pub fn reserve(file: &File) {
    let _ = fallocate(file, FallocateFlags::FALLOC_FL_KEEP_SIZE, 0, (PIECE + PIECE / 4) as i64);
}

/// Runs until every stream is closed. After a write error (a full disk) the rest of that file is discarded, so that no stream blocks. Returns the
/// first error.
fn write_all(mut files: Vec<File>, ring: &Arc<Ring>, report: fn(&Broken)) -> Option<Broken> {
    let real = RealTime::start();
    let mut broken = None;
    // The length of each file; none after a write error.
    let mut whole: Vec<Option<u64>> = vec![Some(0); files.len()];
    let mut emptied = 0;
    loop {
        // Asked before the ring is, as the last stream fills a slot and then goes.
        let alone = Arc::strong_count(ring) == 1;
        if ring.filled.load(Ordering::Acquire) == emptied {
            if alone {
                return broken;
            }
            std::thread::park_timeout(LOOK);
            continue;
        }
        if let Ok(mut piece) = ring.slots[emptied % SLOTS].lock() {
            if let Some(length) = whole[piece.file] {
                let file = &mut files[piece.file];
                whole[piece.file] = match file.write_all(&piece.bytes) {
                    Ok(()) => Some(length + piece.bytes.len() as u64),
                    Err(error) => {
                        // A piece ends with a row or a block: truncated before the failed piece, the file holds whole records.
                        // The freed space remains for the smaller files.
                        let _ = file.set_len(length);
                        if broken.is_none() {
                            let found = Broken { after_s: real.now().as_secs(), error };
                            report(&found);
                            broken = Some(found);
                        }
                        None
                    }
                };
            }
            piece.bytes.clear();
            piece.full = false;
        }
        emptied += 1;
    }
}

impl Stream {
    /// The bytes that wait, to write into; `handed_over` afterwards.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.waiting
    }

    /// Hands over what waits if it is enough.
    #[inline]
    pub fn handed_over(&mut self) {
        if self.waiting.len() >= PIECE {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        while !self.exchange() && self.waiting.len() >= MOST_KEPT {
            std::thread::park_timeout(LOOK);
        }
    }

    /// Gives what waits for an empty buffer, if the ring has one.
    fn exchange(&mut self) -> bool {
        let filled = self.ring.filled.load(Ordering::Relaxed);
        let Ok(mut slot) = self.ring.slots[filled % SLOTS].try_lock() else { return false };
        if slot.full {
            return false;
        }
        std::mem::swap(&mut slot.bytes, &mut self.waiting);
        (slot.file, slot.full) = (self.file, true);
        drop(slot);
        self.ring.filled.store(filled + 1, Ordering::Release);
        true
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        self.handed_over();
        Ok(bytes.len())
    }

    /// Waits until the ring has it.
    fn flush(&mut self) -> io::Result<()> {
        while !self.waiting.is_empty() && !self.exchange() {
            std::thread::park_timeout(LOOK);
        }
        Ok(())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_streams_write_is_in_their_files_in_order_and_more_than_the_ring_holds_is_kept() {
        let folder = std::env::temp_dir().join(format!("ackclock-background-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let paths = ["one", "other"].map(|name| folder.join(name));
        let files = paths.iter().map(|path| File::create(path).unwrap()).collect();
        let (background, mut streams) = Background::start(files, |_| ()).unwrap();
        let expected: Vec<Vec<u8>> = (0..2u8)
            .map(|file| {
                let bytes: Vec<u8> = (0..20_000_000u32).map(|n| (n >> 7) as u8 ^ file).collect();
                bytes.chunks(999).for_each(|chunk| streams[usize::from(file)].write_all(chunk).unwrap());
                bytes
            })
            .collect();
        drop(streams);
        assert!(background.finish().is_none());
        for (path, bytes) in paths.iter().zip(&expected) {
            assert!(std::fs::read(path).unwrap() == *bytes);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
    // finding("L5")
    #[test]
    fn files_end_with_a_whole_piece_and_streams_never_wait_when_a_write_fails() {
        let folder = std::env::temp_dir().join(format!("ackclock-broken-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("good");
        // Every write to the second file fails, as on a full disk.
        let files = vec![File::create(&path).unwrap(), File::open("/dev/null").unwrap()];
        let (background, mut streams) =
            Background::start(files, |broken| assert!(broken.error.raw_os_error().is_some())).unwrap();
        let row = [b'x'; 100];
        for _ in 0..10 * SLOTS * PIECE / row.len() {
            streams[0].write_all(&row).unwrap();
            streams[1].write_all(&row).unwrap();
        }
        drop(streams);
        let broken = background.finish().expect("a file that cannot be written");
        assert!(broken.after_s < 60.0);
        assert_eq!(std::fs::metadata(&path).unwrap().len() % row.len() as u64, 0);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
