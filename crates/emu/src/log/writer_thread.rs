//! A thread that writes the log's files: a slow disk must not delay packets.
//!
//! The emulating thread has real-time priority, the writer has not. To avoid priority inversion the
//! emulating thread never waits for a lock that the writer may hold, including the allocator's:
//! chunks pass through a ring of buffers that are swapped, never freed, and the emulating thread
//! only uses `try_lock`.

use crate::clock::MonotonicClock;
use nix::fcntl::{FallocateFlags, fallocate};
use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// Bytes that a stream collects before it passes them to the writer.
const CHUNK: usize = 1 << 16;
/// Chunks in the ring: 4 MiB.
const SLOTS: usize = 64;
/// Bytes that a stream buffers while the ring is full. Beyond that the emulating thread waits for
/// the disk.
const MAX_BUFFERED: usize = 1 << 24;
/// Polling interval of the writer.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The next bytes of a file.
struct Chunk {
    file: usize,
    is_full: bool,
    bytes: Vec<u8>,
}

/// The ring of chunks. Only the streams, which share a thread, advance `filled`.
struct ChunkRing {
    slots: Vec<Mutex<Chunk>>,
    /// Number of chunks filled so far.
    filled: AtomicUsize,
}

/// The writer thread. It returns its first write error.
pub struct WriterThread {
    thread: JoinHandle<Option<WriteError>>,
}

/// The error that ended the log before the emulation's end. Until then the files have whole
/// records.
#[derive(Debug)]
pub struct WriteError {
    /// Seconds from the start.
    pub after_s: f64,
    pub error: io::Error,
}

/// Buffered output to one file. All streams must be used in one thread.
pub struct FileStream {
    file: usize,
    buffer: Vec<u8>,
    ring: Arc<ChunkRing>,
}

impl WriterThread {
    /// Starts the thread. Returns a stream per file. Calls `report` at the first write error.
    pub fn start(files: Vec<File>, report: fn(&WriteError)) -> io::Result<(WriterThread, Vec<FileStream>)> {
        let slot = || Mutex::new(Chunk { file: 0, is_full: false, bytes: Vec::with_capacity(CHUNK + CHUNK / 4) });
        let ring = Arc::new(ChunkRing { slots: (0..SLOTS).map(|_| slot()).collect(), filled: AtomicUsize::new(0) });
        let stream = |file| FileStream { file, buffer: Vec::with_capacity(CHUNK + CHUNK / 4), ring: ring.clone() };
        let streams = (0..files.len()).map(stream).collect();
        let thread = std::thread::Builder::new().name("log".into()).spawn(move || write_all(files, &ring, report))?;
        Ok((WriterThread { thread }, streams))
    }

    /// Waits until all data is written. All streams must have been dropped.
    pub fn finish(self) -> Option<WriteError> {
        let panicked = || WriteError { after_s: 0.0, error: io::Error::other("the log's writer thread panicked") };
        self.thread.join().unwrap_or_else(|_| Some(panicked()))
    }
}

/// Reserves disk space for a file's first chunk, if the file system supports fallocate.
pub fn reserve(file: &File) {
    let _ = fallocate(file, FallocateFlags::FALLOC_FL_KEEP_SIZE, 0, (CHUNK + CHUNK / 4) as i64);
}

/// Runs until all streams are dropped. After a write error (a full disk) further data of that file
/// is discarded, so that no stream blocks. Returns the first error.
fn write_all(mut files: Vec<File>, ring: &Arc<ChunkRing>, report: fn(&WriteError)) -> Option<WriteError> {
    let clock = MonotonicClock::start();
    let mut first_error = None;
    // The length of each file; none after a write error.
    let mut lengths: Vec<Option<u64>> = vec![Some(0); files.len()];
    let mut written = 0;
    loop {
        // Read before `filled`: the last stream fills a slot before it is dropped.
        let is_last = Arc::strong_count(ring) == 1;
        if ring.filled.load(Ordering::Acquire) == written {
            if is_last {
                return first_error;
            }
            std::thread::park_timeout(POLL_INTERVAL);
            continue;
        }
        if let Ok(mut chunk) = ring.slots[written % SLOTS].lock() {
            if let Some(length) = lengths[chunk.file] {
                let file = &mut files[chunk.file];
                lengths[chunk.file] = match file.write_all(&chunk.bytes) {
                    Ok(()) => Some(length + chunk.bytes.len() as u64),
                    Err(error) => {
                        // A chunk ends with a row or a block: truncated before the failed chunk,
                        // the file has whole records. The freed space is left for the smaller
                        // files.
                        let _ = file.set_len(length);
                        if first_error.is_none() {
                            let failure = WriteError { after_s: clock.now().as_secs(), error };
                            report(&failure);
                            first_error = Some(failure);
                        }
                        None
                    }
                };
            }
            chunk.bytes.clear();
            chunk.is_full = false;
        }
        written += 1;
    }
}

impl FileStream {
    /// The buffer, to append to. Call `flush_if_full` afterwards.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Passes the buffer to the writer if it has a chunk.
    #[inline]
    pub fn flush_if_full(&mut self) {
        if self.buffer.len() >= CHUNK {
            self.pass_on();
        }
    }

    fn pass_on(&mut self) {
        while !self.swap() && self.buffer.len() >= MAX_BUFFERED {
            std::thread::park_timeout(POLL_INTERVAL);
        }
    }

    /// Swaps the buffer for an empty one, if the ring has one.
    fn swap(&mut self) -> bool {
        let filled = self.ring.filled.load(Ordering::Relaxed);
        let Ok(mut slot) = self.ring.slots[filled % SLOTS].try_lock() else { return false };
        if slot.is_full {
            return false;
        }
        std::mem::swap(&mut slot.bytes, &mut self.buffer);
        (slot.file, slot.is_full) = (self.file, true);
        drop(slot);
        self.ring.filled.store(filled + 1, Ordering::Release);
        true
    }
}

impl Write for FileStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        self.flush_if_full();
        Ok(bytes.len())
    }

    /// Waits until the ring has taken all data.
    fn flush(&mut self) -> io::Result<()> {
        while !self.buffer.is_empty() && !self.swap() {
            std::thread::park_timeout(POLL_INTERVAL);
        }
        Ok(())
    }
}

impl Drop for FileStream {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_all_bytes_in_order_when_streams_write_more_than_the_ring_holds() {
        let folder = std::env::temp_dir().join(format!("ackclock-writer-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let paths = ["one", "other"].map(|name| folder.join(name));
        let files = paths.iter().map(|path| File::create(path).unwrap()).collect();
        let (writer, mut streams) = WriterThread::start(files, |_| ()).unwrap();
        let expected: Vec<Vec<u8>> = (0..2u8)
            .map(|file| {
                let bytes: Vec<u8> = (0..20_000_000u32).map(|n| (n >> 7) as u8 ^ file).collect();
                bytes.chunks(999).for_each(|chunk| streams[usize::from(file)].write_all(chunk).unwrap());
                bytes
            })
            .collect();
        drop(streams);
        assert!(writer.finish().is_none());
        for (path, bytes) in paths.iter().zip(&expected) {
            assert!(std::fs::read(path).unwrap() == *bytes);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    // finding("L5")
    #[test]
    fn files_end_with_a_whole_chunk_and_streams_never_block_when_a_write_fails() {
        let folder = std::env::temp_dir().join(format!("ackclock-write-error-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("good");
        // Every write to the second file fails, as on a full disk.
        let files = vec![File::create(&path).unwrap(), File::open("/dev/null").unwrap()];
        let (writer, mut streams) =
            WriterThread::start(files, |failure| assert!(failure.error.raw_os_error().is_some())).unwrap();
        let row = [b'x'; 100];
        for _ in 0..10 * SLOTS * CHUNK / row.len() {
            streams[0].write_all(&row).unwrap();
            streams[1].write_all(&row).unwrap();
        }
        drop(streams);
        let failure = writer.finish().expect("a file that cannot be written");
        assert!(failure.after_s < 60.0);
        assert_eq!(std::fs::metadata(&path).unwrap().len() % row.len() as u64, 0);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
