//! Configuration of a medium with grants and its validation. Byte counts include all headers.

use crate::units::{Rate, Span};

/// Both directions of one channel, and how stations request uplink bandwidth.
#[derive(Clone, Debug, PartialEq)]
pub struct GrantConfig {
    pub down: DirectionConfig,
    pub up: DirectionConfig,
    pub request: RequestConfig,
}

/// One direction, allocated by the network interval by interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DirectionConfig {
    /// Capacity for all stations together, signalling excluded.
    pub rate: Rate,
    /// Allocation interval: the network allocates at its start.
    pub interval: Span,
    pub layout: ShareLayout,
    /// Overhead in bytes per packet; `block_header` is per share of an interval.
    pub packet_header: u32,
    pub block_header: u32,
    /// Rate limit per station; `None` is unlimited.
    pub cap: Option<TokenBucketConfig>,
    pub repair: RetransmissionConfig,
}

/// Arrangement of the stations' shares in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareLayout {
    /// In time: a packet arrives with its last byte.
    Serial,
    /// In frequency: everything sent in an interval arrives at its end.
    Block,
}

/// Token bucket: long-term rate and burst in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucketConfig {
    pub rate: Rate,
    pub burst: u64,
}

/// Retransmission of damaged shares: at a fixed delay (HARQ), and after the last attempt by the
/// link layer above (RLC acknowledged mode).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetransmissionConfig {
    /// Error probability of a transmission; errors are independent.
    pub error: f64,
    /// Transmissions per round, the first included.
    pub attempts: u32,
    /// From one transmission to the next.
    pub delay: Span,
    /// Number of further rounds; `round_delay` is from the last failure to the start of a round.
    pub rounds: u32,
    pub round_delay: Span,
}

/// How stations request bandwidth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestConfig {
    pub method: RequestMethod,
    /// From a request to the earliest grant: processing, scheduling lead and propagation.
    pub grant_delay: Span,
    /// Transmissions carry requests for the remaining backlog.
    pub piggyback: bool,
    /// A station may send a request while another is pending.
    pub many: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestMethod {
    /// Shared opportunities in each interval; requests in the same opportunity collide.
    Contention(ContentionConfig),
    /// One dedicated opportunity per station and period. It carries one bit: the first grant has a
    /// fixed size in bytes, and its transmission carries the next request.
    Scheduled { period: Span, first_grant: u32 },
}

/// Truncated binary exponential back-off over opportunities: the window is 2^start and doubles up
/// to 2^end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentionConfig {
    /// Per interval.
    pub opportunities: u32,
    pub start: u32,
    pub end: u32,
    /// Failed requests before the packet at the head is dropped.
    pub tries: u32,
}

/// Larger windows are not used in practice, and would overflow the opportunity counter sooner.
const MAX_BACKOFF_EXPONENT: u32 = 20;
const MAX_ATTEMPTS: u32 = 64;

impl GrantConfig {
    /// Returns the error in the configuration, if any.
    pub fn check(&self) -> Result<(), String> {
        for (name, direction) in [("down", &self.down), ("up", &self.up)] {
            direction.check().map_err(|e| format!("{name}: {e}"))?;
        }
        match self.request.method {
            RequestMethod::Contention(c) => {
                ensure(c.opportunities > 0 && c.tries > 0, "contention needs opportunities and tries above 0")?;
                ensure(c.start <= c.end && c.end <= MAX_BACKOFF_EXPONENT, "back-off start exceeds its end, or the end exceeds 20")
            }
            RequestMethod::Scheduled { period, first_grant } => ensure(
                period > Span::ZERO && first_grant > self.up.block_header,
                "the request period is 0, or the first grant is not above the block header",
            ),
        }
    }
}

impl DirectionConfig {
    fn check(&self) -> Result<(), String> {
        ensure(self.interval > Span::ZERO, "an interval of 0 ps")?;
        ensure(self.rate.bps() > 0, "a rate of 0 b/s")?;
        ensure(self.rate.time_to_send(1) > Span::ZERO, "a byte takes less than a picosecond")?;
        ensure(
            self.rate.bytes_in(self.interval) > u64::from(self.block_header),
            "an interval has no room for data besides its header",
        )?;
        let header = u64::from(self.block_header);
        ensure(
            self.cap.is_none_or(|cap| cap.rate.bps() > 0 && cap.burst > header),
            "the cap has rate 0, or a burst without room for data besides the header",
        )?;
        let RetransmissionConfig { error, attempts, .. } = self.repair;
        ensure((0.0..=1.0).contains(&error), "the error probability is outside 0 to 1")?;
        ensure((1..=MAX_ATTEMPTS).contains(&attempts), "attempts are outside 1 to 64")?;
        ensure(self.repair.rounds < MAX_ATTEMPTS, "more than 63 further rounds")
    }
}

fn ensure(holds: bool, what: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what.to_owned()) }
}
