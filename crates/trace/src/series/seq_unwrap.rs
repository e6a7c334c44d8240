//! Unwrapping of sequence numbers to 64-bit stream offsets, with 0 at the first byte.

/// First sequence seq and last offset of a stream.
#[derive(Debug, Clone, Copy, Default)]
pub struct SeqUnwrapper {
    /// Sequence seq of the first byte.
    origin: Option<u32>,
    last: i64,
}

impl SeqUnwrapper {
    /// The offset of a sequence seq, which becomes the last one. A SYN has the sequence seq before
    /// the first byte.
    pub fn advance(&mut self, seq: u32, syn: bool) -> i64 {
        if self.origin.is_none() {
            self.origin = Some(seq.wrapping_add(u32::from(syn)));
        }
        self.last = self.nearest(seq);
        self.last
    }

    /// The first sequence number has passed.
    #[inline]
    pub fn is_known(&self) -> bool {
        self.origin.is_some()
    }

    /// The offset of a sequence seq nearest to the last one.
    pub fn nearest(&self, seq: u32) -> i64 {
        let wrapped = (self.last as u32).wrapping_add(self.origin.unwrap_or(seq));
        self.last + i64::from(seq.wrapping_sub(wrapped) as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::SeqUnwrapper;

    #[test]
    fn offsets_increase_when_the_sequence_number_wraps() {
        let mut stream = SeqUnwrapper::default();
        let isn = u32::MAX - 9;
        assert_eq!(stream.advance(isn, true), -1);
        for step in 0..6_000i64 {
            let seq = isn.wrapping_add(1).wrapping_add((step * 1_000_000) as u32);
            assert_eq!(stream.advance(seq, false), step * 1_000_000);
        }
        // `nearest` does not change the state.
        assert_eq!(stream.nearest(isn.wrapping_add(1).wrapping_add(5_998_000_000u64 as u32)), 5_998_000_000);
        assert_eq!(stream.nearest(isn.wrapping_add(1).wrapping_add(6_001_000_000u64 as u32)), 6_001_000_000);
    }
}
