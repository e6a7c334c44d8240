//! Configuration of a medium with grants and its validation. Byte counts include all headers.

use crate::config_check::{Checked, check_span};
use crate::config_form::nullable;
use crate::units::{PS_PER_S, Rate, Span};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Both directions of one channel, and how stations request uplink bandwidth, with the keys of a
/// plan (docs/inside/plan.md).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GrantConfig {
    pub down: DirectionConfig,
    pub up: DirectionConfig,
    #[serde(rename = "ask")]
    pub request: RequestMethod,
    /// From a request to the earliest grant: processing, scheduling lead and propagation.
    #[serde(rename = "grant_delay_ps")]
    pub grant_delay: Span,
    /// Transmissions carry requests for the remaining backlog.
    pub piggyback: bool,
    /// A station may send a request while another is pending.
    pub many_requests: bool,
}

/// One direction, allocated by the network interval by interval.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DirectionConfig {
    /// Capacity for all stations together, signalling excluded.
    #[serde(rename = "bps")]
    pub rate: Rate,
    /// Allocation interval: the network allocates at its start.
    #[serde(rename = "interval_ps")]
    pub interval: Span,
    #[serde(rename = "block")]
    pub layout: ShareLayout,
    /// Overhead in bytes per packet; `block_header` is per share of an interval.
    pub packet_header: u32,
    pub block_header: u32,
    /// Rate limit per station; `None` is unlimited.
    #[serde(deserialize_with = "nullable")]
    pub cap: Option<TokenBucketConfig>,
    #[serde(deserialize_with = "retransmission", serialize_with = "retransmission_or_null")]
    pub repair: RetransmissionConfig,
}

/// Null: no transmission errors.
fn retransmission<'de, D: Deserializer<'de>>(from: D) -> Result<RetransmissionConfig, D::Error> {
    Ok(nullable(from)?.unwrap_or(RetransmissionConfig::NONE))
}

fn retransmission_or_null<S: Serializer>(config: &RetransmissionConfig, into: S) -> Result<S::Ok, S::Error> {
    (*config != RetransmissionConfig::NONE).then_some(config).serialize(into)
}

/// Arrangement of the stations' shares in an interval. A plan has `block`: true or false.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(from = "bool", into = "bool")]
pub enum ShareLayout {
    /// In time: a packet arrives with its last byte.
    Serial,
    /// In frequency: everything sent in an interval arrives at its end.
    Block,
}

impl From<bool> for ShareLayout {
    fn from(block: bool) -> ShareLayout {
        if block { ShareLayout::Block } else { ShareLayout::Serial }
    }
}

impl From<ShareLayout> for bool {
    fn from(layout: ShareLayout) -> bool {
        layout == ShareLayout::Block
    }
}

/// Token bucket: long-term rate and burst in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TokenBucketConfig {
    #[serde(rename = "bps")]
    pub rate: Rate,
    pub burst: u64,
}

/// Retransmission of damaged shares: at a fixed delay (HARQ), and after the last attempt by the
/// link layer above (RLC acknowledged mode).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RetransmissionConfig {
    /// Error probability of a transmission; errors are independent.
    pub error: f64,
    /// Transmissions per round, the first included.
    pub attempts: u32,
    /// From one transmission to the next.
    #[serde(rename = "delay_ps")]
    pub delay: Span,
    /// Number of further rounds; `round_delay` is from the last failure to the start of a round.
    pub rounds: u32,
    #[serde(rename = "round_delay_ps")]
    pub round_delay: Span,
}

impl RetransmissionConfig {
    /// No transmission errors.
    pub const NONE: RetransmissionConfig =
        RetransmissionConfig { error: 0.0, attempts: 1, delay: Span::ZERO, rounds: 0, round_delay: Span::ZERO };
}

/// How stations request bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RequestMethod {
    /// Shared opportunities in each interval; requests in the same opportunity collide.
    Contention(ContentionConfig),
    /// One dedicated opportunity per station and period. It carries one bit: the first grant has a
    /// fixed size in bytes, and its transmission carries the next request.
    Scheduled {
        #[serde(rename = "period_ps")]
        period: Span,
        first_grant: u32,
    },
}

/// Truncated binary exponential back-off over opportunities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ContentionConfig {
    /// Per interval.
    pub opportunities: u32,
    /// The window is 2^start and doubles up to 2^end: start and end.
    pub backoff: [u32; 2],
    /// Failed requests before the packet at the head is dropped.
    pub tries: u32,
}

/// Larger windows are not used in practice, and would overflow the opportunity counter sooner.
const MAX_BACKOFF_EXPONENT: u32 = 20;
const MAX_ATTEMPTS: u32 = 64;

impl GrantConfig {
    /// Returns the error in the configuration, if any.
    pub fn check(&self) -> Checked {
        check_span("grant_delay_ps", self.grant_delay)?;
        if let RequestMethod::Scheduled { period, .. } = self.request {
            check_span("period_ps", period)?;
        }
        for (name, direction) in [("down", &self.down), ("up", &self.up)] {
            direction.check().map_err(|e| format!("{name}: {e}"))?;
        }
        match self.request {
            RequestMethod::Contention(ContentionConfig { opportunities, backoff: [start, end], tries }) => {
                ensure(opportunities > 0 && tries > 0, "contention needs opportunities and tries above 0")?;
                ensure(start <= end && end <= MAX_BACKOFF_EXPONENT, "back-off start exceeds its end, or the end exceeds 20")
            }
            RequestMethod::Scheduled { period, first_grant } => ensure(
                period > Span::ZERO && first_grant > self.up.block_header,
                "the request period is 0, or the first grant is not above the block header",
            ),
        }
    }
}

impl DirectionConfig {
    /// IP rate of one station that always has packets of this size, in bit/s, without the initial
    /// burst.
    pub fn ip_rate_bps(&self, packet: u32) -> u64 {
        let bps = self.rate.bps();
        let block = (u128::from(bps) * u128::from(self.interval.0)) as f64 / (8 * PS_PER_S) as f64;
        let useful = (1.0 - f64::from(self.block_header) / block) * f64::from(packet) / f64::from(packet + self.packet_header);
        let error = self.repair.error;
        let transmissions = if error < 1.0 { 1.0 / (1.0 - error) } else { 1.0 };
        let channel = bps as f64 / transmissions;
        let rate = self.cap.map_or(channel, |cap| channel.min(cap.rate.bps() as f64));
        ((rate * useful).round_ties_even() as u64).max(1)
    }

    fn check(&self) -> Checked {
        check_span("interval_ps", self.interval)?;
        check_span("delay_ps", self.repair.delay)?;
        check_span("round_delay_ps", self.repair.round_delay)?;
        ensure(self.interval > Span::ZERO, "an interval of 0 ps")?;
        ensure(self.rate.time_to_send(1) > Span::ZERO, "a byte takes less than a picosecond")?;
        ensure(
            self.rate.bytes_in(self.interval) > u64::from(self.block_header),
            "an interval has no room for data besides its header",
        )?;
        let header = u64::from(self.block_header);
        ensure(
            self.cap.is_none_or(|cap| cap.burst > header),
            "the cap has rate 0, or a burst without room for data besides the header",
        )?;
        let RetransmissionConfig { error, attempts, .. } = self.repair;
        ensure((0.0..=1.0).contains(&error), "the error probability is outside 0 to 1")?;
        ensure((1..=MAX_ATTEMPTS).contains(&attempts), "attempts are outside 1 to 64")?;
        ensure(self.repair.rounds < MAX_ATTEMPTS, "more than 63 further rounds")
    }
}

fn ensure(holds: bool, message: &str) -> Checked {
    crate::config_check::ensure(holds, || message.to_owned())
}
