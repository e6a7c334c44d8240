//! A stream's sequence numbers on a line that does not wrap, from 0 at its first byte.

/// Where a stream began and where it was last.
#[derive(Debug, Clone, Copy, Default)]
pub struct SeqUnwrapper {
    /// The first byte's number.
    origin: Option<u32>,
    last: i64,
}

impl SeqUnwrapper {
    /// The place of a number that passes; it becomes the last one. A SYN takes the number before the first byte.
    pub fn place(&mut self, number: u32, syn: bool) -> i64 {
        if self.origin.is_none() {
            self.origin = Some(number.wrapping_add(u32::from(syn)));
        }
        self.last = self.near(number);
        self.last
    }

    /// The place of a number nearest to the last one.
    pub fn near(&self, number: u32) -> i64 {
        let wrapped = (self.last as u32).wrapping_add(self.origin.unwrap_or(number));
        self.last + i64::from(number.wrapping_sub(wrapped) as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::SeqUnwrapper;

    #[test]
    fn a_stream_of_six_gigabytes_stays_on_one_line() {
        let mut stream = SeqUnwrapper::default();
        let isn = u32::MAX - 9;
        assert_eq!(stream.place(isn, true), -1);
        for step in 0..6_000i64 {
            let number = isn.wrapping_add(1).wrapping_add((step * 1_000_000) as u32);
            assert_eq!(stream.place(number, false), step * 1_000_000);
        }
        // An old segment, and one ahead, without moving on.
        assert_eq!(stream.near(isn.wrapping_add(1).wrapping_add(5_998_000_000u64 as u32)), 5_998_000_000);
        assert_eq!(stream.near(isn.wrapping_add(1).wrapping_add(6_001_000_000u64 as u32)), 6_001_000_000);
    }
}
