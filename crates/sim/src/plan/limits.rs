//! How large a plan may be: beyond these a run could only end in wrapped integers or exhausted memory.

/// The longest span, 100 days: `Time` holds 213, so now plus any span still fits.
pub const LONGEST_PS: u64 = 100 * 86_400 * 1_000_000_000_000;
/// Elements and endpoints: the core's index numbers 2^24.
pub const MEMBERS: u64 = 1 << 24;
/// Rows of a time series, some 100 bytes each.
pub const ROWS: u64 = 100_000_000;
/// An IP packet's length is a 16-bit field.
pub const PACKET: u32 = 65_535;
/// The largest window that 16 bits and a scale of 14 can advertise (RFC 7323, section 2.3).
pub const WINDOW: u32 = 65_535 << 14;
/// IPv4 and UDP headers: a datagram is at least these.
pub const UDP_HEADER: u16 = 28;
