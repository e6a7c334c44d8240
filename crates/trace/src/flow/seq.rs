//! Sequence numbers wrap; only their differences mean anything (RFC 9293, section 3.4).

/// How far `to` lies ahead of `from`; negative when behind.
#[inline]
pub fn ahead(from: u32, to: u32) -> i32 {
    to.wrapping_sub(from) as i32
}

/// True if `a` comes before `b`.
#[inline]
pub fn before(a: u32, b: u32) -> bool {
    ahead(b, a) < 0
}

/// The later of two.
#[inline]
pub fn later(a: u32, b: u32) -> u32 {
    if before(a, b) { b } else { a }
}

/// The earlier of two.
#[inline]
pub fn earlier(a: u32, b: u32) -> u32 {
    if before(b, a) { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_survives_the_wrap() {
        assert!(before(u32::MAX - 1, 3) && !before(3, u32::MAX - 1) && !before(7, 7));
        assert_eq!(ahead(u32::MAX, 1), 2);
        assert_eq!((later(u32::MAX, 1), earlier(u32::MAX, 1)), (1, u32::MAX));
    }
}
