//! Sequence numbers wrap; only their differences have a meaning (RFC 9293, section 3.4).

/// Signed distance from `from` to `to`.
#[inline]
pub fn seq_diff(from: u32, to: u32) -> i32 {
    to.wrapping_sub(from) as i32
}

/// True if `a` precedes `b`.
#[inline]
pub fn seq_lt(a: u32, b: u32) -> bool {
    seq_diff(b, a) < 0
}

/// The later of two.
#[inline]
pub fn seq_max(a: u32, b: u32) -> u32 {
    if seq_lt(a, b) { b } else { a }
}

/// The earlier of two.
#[inline]
pub fn seq_min(a: u32, b: u32) -> u32 {
    if seq_lt(b, a) { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_keep_their_order_across_the_wrap() {
        assert!(seq_lt(u32::MAX - 1, 3) && !seq_lt(3, u32::MAX - 1) && !seq_lt(7, 7));
        assert_eq!(seq_diff(u32::MAX, 1), 2);
        assert_eq!((seq_max(u32::MAX, 1), seq_min(u32::MAX, 1)), (1, u32::MAX));
    }
}
