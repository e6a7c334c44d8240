//! Maximum segment size of one end.

use crate::compact::compact;
use crate::decode::Segment;

/// What any host accepts, bytes (RFC 9293, section 3.7.1).
pub(super) const MIN_MSS: u32 = 536;

/// Zero before it is known.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mss {
    bytes: u16,
}

compact!(Mss { bytes });

impl Mss {
    /// The end sends at most this number of bytes in a segment.
    pub fn limit(&mut self, bytes: u16) {
        self.bytes = if self.bytes == 0 { bytes } else { self.bytes.min(bytes) };
    }

    /// The packet is one that the host or the card has merged (TSO, GRO).
    #[inline]
    pub fn is_exceeded_by(self, s: &Segment<'_>) -> bool {
        s.payload > u32::from(self.bytes)
    }

    /// The packet has a full segment, or more: no algorithm holds it back until another one is acknowledged.
    /// Without an MSS, of the minimum that hosts accept (RFC 9293, section 3.7.1).
    pub fn is_filled_by(self, s: &Segment<'_>) -> bool {
        let mss = if self.bytes > 0 { u32::from(self.bytes) } else { MIN_MSS };
        s.payload + u32::from(s.header_len).saturating_sub(20) >= mss
    }

    /// Full segments in a packet. The MSS includes options (RFC 6691), but some stacks do not count
    /// them.
    #[inline]
    pub fn segments_in(self, s: &Segment<'_>) -> u32 {
        if !self.is_exceeded_by(s) || self.bytes == 0 {
            return 1;
        }
        s.payload.div_ceil(u32::from(self.bytes).saturating_sub(u32::from(s.header_len) - 20).max(1))
    }
}
