//! What a medium with grants is set to. Bytes count from the packet's first header to the last; times are simulated.

use crate::units::{Rate, Span};

/// Both directions of one channel and the direction in which stations ask for the upper one.
#[derive(Clone, Debug, PartialEq)]
pub struct GrantConfig {
    pub down: DirectionConfig,
    pub up: DirectionConfig,
    pub request: RequestConfig,
}

/// One direction, which the network shares out interval by interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DirectionConfig {
    /// What can be granted, all stations together, signalling aside.
    pub rate: Rate,
    /// The network decides who sends what at the start of each.
    pub interval: Span,
    pub layout: ShareLayout,
    /// Bytes that go with each packet, and with each station's share of an interval.
    pub packet_header: u32,
    pub block_header: u32,
    /// What one station may send on average; none is all there is.
    pub cap: Option<TokenBucketConfig>,
    pub repair: RetransmissionConfig,
}

/// RequestMethod the stations' shares of an interval lie beside one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareLayout {
    /// One after another: a packet is there when its last byte is.
    Serial,
    /// Beside one another in frequency: whatever is sent arrives when the interval ends.
    Block,
}

/// A token bucket: bits a second in the long run, and bytes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucketConfig {
    pub rate: Rate,
    pub burst: u64,
}

/// What happens to a share that arrives damaged. It is sent again at a fixed time (HARQ), and what still fails is asked for again by the
/// link control above (RLC, acknowledged mode).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetransmissionConfig {
    /// Share of transmissions that fail, each by itself.
    pub error: f64,
    /// Transmissions in one round, the first included.
    pub attempts: u32,
    /// From one transmission to the next.
    pub delay: Span,
    /// Further rounds, and how long after the last failure each begins.
    pub rounds: u32,
    pub round_delay: Span,
}

/// RequestMethod a station says that it has something to send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestConfig {
    pub method: RequestMethod,
    /// From a request until the grant may begin: processing, the network's own lead and the direction there and back.
    pub grant_delay: Span,
    /// What a station sends says what more it has.
    pub piggyback: bool,
    /// A station may ask while it waits for a grant.
    pub many: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestMethod {
    /// Some opportunities in each interval are anybody's; two requests in one are lost.
    Contention(ContentionConfig),
    /// Each station has an opportunity of its own once a period. It says only that there is something: the first grant is of a fixed
    /// size in bytes, and what goes in it says how much more there is.
    Scheduled { period: Span, first_grant: u32 },
}

/// Truncated binary exponential back-off over opportunities: the window is 2^start and doubles up to 2^end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentionConfig {
    /// In each interval.
    pub opportunities: u32,
    pub start: u32,
    pub end: u32,
    /// Requests in vain before the packet at the head is given up.
    pub tries: u32,
}

/// Wider windows than this nobody uses, and the count of opportunities stays far from its limits.
const MAX_BACKOFF_EXPONENT: u32 = 20;
const MAX_ATTEMPTS: u32 = 64;

impl GrantConfig {
    /// What is wrong with them, if something is.
    pub fn check(&self) -> Result<(), String> {
        for (name, direction) in [("down", &self.down), ("up", &self.up)] {
            direction.check().map_err(|e| format!("{name}: {e}"))?;
        }
        match self.request.method {
            RequestMethod::Contention(c) => {
                ensure(c.opportunities > 0 && c.tries > 0, "contention needs opportunities and tries above 0")?;
                ensure(
                    c.start <= c.end && c.end <= MAX_BACKOFF_EXPONENT,
                    "the back-off's window must start below its end, at most 2^20",
                )
            }
            RequestMethod::Scheduled { period, first_grant } => ensure(
                period > Span::ZERO && first_grant > self.up.block_header,
                "a request's period and first grant must be above 0",
            ),
        }
    }
}

impl DirectionConfig {
    fn check(&self) -> Result<(), String> {
        ensure(self.interval > Span::ZERO, "an interval of 0 ps")?;
        ensure(self.rate.bps() > 0, "a rate of 0 b/s")?;
        ensure(self.rate.time_to_send(1) > Span::ZERO, "less than a picosecond for a byte")?;
        ensure(
            self.rate.bytes_in(self.interval) > u64::from(self.block_header),
            "an interval that holds no byte beside its header",
        )?;
        let header = u64::from(self.block_header);
        ensure(
            self.cap.is_none_or(|cap| cap.rate.bps() > 0 && cap.burst > header),
            "a cap of 0, or a burst without a byte beside its header",
        )?;
        let RetransmissionConfig { error, attempts, .. } = self.repair;
        ensure((0.0..=1.0).contains(&error), "a share of damaged transmissions outside 0 to 1")?;
        ensure((1..=MAX_ATTEMPTS).contains(&attempts), "1 to 64 attempts are possible")?;
        ensure(self.repair.rounds < MAX_ATTEMPTS, "at most 63 further rounds are possible")
    }
}

fn ensure(holds: bool, what: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what.to_owned()) }
}
