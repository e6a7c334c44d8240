//! The bytes of a capture in order, read in large blocks.
//!
//! Block reads instead of a memory map: a file that is truncated while it is read just ends, where
//! a map raises SIGBUS, and pipes and growing files work the same way ([ADR
//! 4](../../../../docs/inside/adr/0004-own-capture-reader.md)).

use std::io::{self, Read};

/// Size of one read: large enough to make the system call's cost negligible, small enough to stay
/// in the second-level cache.
const BLOCK: usize = 256 << 10;

pub struct Source {
    reader: Box<dyn Read + Send + Sync>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Position in the capture at which the buffer begins.
    offset: u64,
}

impl Source {
    pub fn new(reader: Box<dyn Read + Send + Sync>) -> Source {
        Source { reader, buffer: Vec::new(), start: 0, end: 0, offset: 0 }
    }

    /// Buffers at least `n` bytes; false if the input ends before. A growing file may have more
    /// later.
    #[inline]
    pub fn has(&mut self, n: usize) -> io::Result<bool> {
        if self.end - self.start >= n { Ok(true) } else { self.refill(n) }
    }

    /// The buffered bytes. Call [`Source::has`] first.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Consumes `n` buffered bytes and returns them.
    #[inline(always)]
    pub fn take(&mut self, n: usize) -> &[u8] {
        let n = n.min(self.end - self.start);
        let from = self.start;
        self.start += n;
        &self.buffer[from..from + n]
    }

    #[inline]
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
        let size = n.max(BLOCK);
        if self.buffer.len() < size {
            self.buffer.resize(size, 0);
        }
        while self.end < n {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(len) => self.end += len,
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

    /// Returns one byte per read, as a slow pipe may.
    struct OneByteReader(Vec<u8>);

    impl Read for OneByteReader {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = buffer.len().min(1).min(self.0.len());
            buffer[..n].copy_from_slice(&self.0[..n]);
            self.0.drain(..n);
            Ok(n)
        }
    }

    #[test]
    fn source_joins_short_reads_and_tracks_offset() {
        let mut source = Source::new(Box::new(OneByteReader((0..100).collect())));
        assert!(source.has(40).unwrap());
        assert_eq!(source.take(40)[39], 39);
        assert_eq!(source.offset(), 40);
        assert!(source.has(60).unwrap());
        assert!(!source.has(61).unwrap());
        assert_eq!(source.bytes()[0], 40);
    }
}
