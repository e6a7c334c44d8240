//! Files written by a thread of their own: a disk that pauses must not delay packets.

use std::fs::File;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// How much is collected before it is handed over.
const PIECE: usize = 1 << 16;
/// Pieces waiting for the disk before the emulation has to wait too: 64 MiB, some seconds at full speed.
const WAITING: usize = 1024;

/// A file's next bytes.
type Piece = (usize, Vec<u8>);

/// The thread, and how it ended.
pub struct Background {
    thread: JoinHandle<io::Result<()>>,
}

/// One file's end here.
pub struct Stream {
    file: usize,
    waiting: Vec<u8>,
    to: SyncSender<Piece>,
}

impl Background {
    /// Starts the thread, and gives a stream for each file.
    pub fn start(files: Vec<File>) -> io::Result<(Background, Vec<Stream>)> {
        let (to, from) = sync_channel(WAITING);
        let streams = (0..files.len()).map(|file| Stream { file, waiting: Vec::new(), to: to.clone() }).collect();
        let thread = std::thread::Builder::new().name("log".into()).spawn(move || write_all(files, &from))?;
        Ok((Background { thread }, streams))
    }

    /// Waits until all is written. Every stream must have been dropped.
    pub fn finish(self) -> io::Result<()> {
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that writes files has died")))
    }
}

/// After an error the rest is taken and thrown away, so that nobody waits; the error is told at the end.
fn write_all(mut files: Vec<File>, from: &Receiver<Piece>) -> io::Result<()> {
    let mut done = Ok(());
    for (file, piece) in from {
        if done.is_ok() {
            done = files[file].write_all(&piece);
        }
    }
    done
}

impl Stream {
    /// The bytes that wait, to write into; `handed_over` afterwards.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.waiting
    }

    /// Hands over what waits if it is enough.
    pub fn handed_over(&mut self) {
        if self.waiting.len() >= PIECE {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let piece = std::mem::replace(&mut self.waiting, Vec::with_capacity(PIECE + PIECE / 4));
        // Refused only if the thread has died, which `finish` tells.
        let _ = self.to.send((self.file, piece));
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        self.handed_over();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.waiting.is_empty() {
            self.hand_over();
        }
        Ok(())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}
