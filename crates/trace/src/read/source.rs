//! The bytes of a capture in order, read in large blocks.
//!
//! Plain reads instead of a memory map: a file that shrinks while it is read then simply ends, where a map would raise SIGBUS,
//! and pipes and growing files work the same way ([ADR 4](../../../../docs/adr/0004-own-capture-reader.md)).

use std::io::{self, Read};

/// One read: large enough that the system call costs nothing, small enough to stay in a core's second-level cache.
const BLOCK: usize = 256 << 10;

pub struct Source {
    reader: Box<dyn Read + Send + Sync>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Where in the capture the buffer begins.
    offset: u64,
}

impl Source {
    pub fn new(reader: Box<dyn Read + Send + Sync>) -> Source {
        Source { reader, buffer: Vec::new(), start: 0, end: 0, offset: 0 }
    }

    /// True when at least `n` bytes are at hand. False at the end of what there is now; a growing file may have more later.
    #[inline]
    pub fn has(&mut self, n: usize) -> io::Result<bool> {
        if self.end - self.start >= n { Ok(true) } else { self.refill(n) }
    }

    /// What is at hand. Call [`Source::has`] first.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Steps over `n` bytes at hand and returns them.
    #[inline(always)]
    pub fn take(&mut self, n: usize) -> &[u8] {
        let n = n.min(self.end - self.start);
        let from = self.start;
        self.start += n;
        &self.buffer[from..from + n]
    }

    pub fn skip(&mut self, n: usize) {
        self.take(n);
    }

    /// Position of the next byte, after decompression.
    pub fn offset(&self) -> u64 {
        self.offset + self.start as u64
    }

    #[cold]
    #[inline(never)]
    fn refill(&mut self, n: usize) -> io::Result<bool> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.offset += self.start as u64;
        self.end -= self.start;
        self.start = 0;
        let room = n.max(BLOCK);
        if self.buffer.len() < room {
            self.buffer.resize(room, 0);
        }
        while self.end < n {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(got) => self.end += got,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::Source;
    use std::io::{self, Read};

    /// Gives one byte a call, as a slow pipe may.
    struct Drip(Vec<u8>);

    impl Read for Drip {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let n = into.len().min(1).min(self.0.len());
            into[..n].copy_from_slice(&self.0[..n]);
            self.0.drain(..n);
            Ok(n)
        }
    }

    #[test]
    fn short_reads_are_put_together_and_the_position_is_kept() {
        let mut source = Source::new(Box::new(Drip((0..100).collect())));
        assert!(source.has(40).unwrap());
        assert_eq!(source.take(40)[39], 39);
        assert_eq!(source.offset(), 40);
        assert!(source.has(60).unwrap());
        assert!(!source.has(61).unwrap());
        assert_eq!(source.bytes()[0], 40);
    }
}
