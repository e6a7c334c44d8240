//! Policer: a token bucket without a queue. A packet that finds tokens for its length passes and takes
//! them; another one is dropped, or marked CE (RFC 2475, section 2.3.3.3; tc-police(8)).

use super::Framing;
use super::token_bucket::TokenBucket;
use crate::config_check::{Checked, ensure};
use crate::config_form::is_default;
use crate::element::{DropReason, Element, Output, Port};
use crate::packet::Packet;
use crate::units::{Rate, Time};
use serde::{Deserialize, Serialize};

/// With the keys of a plan (docs/inside/plan.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PolicerConfig {
    #[serde(rename = "bps")]
    pub rate: Rate,
    /// Bytes of the bucket, with framing.
    pub burst: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub exceed: Exceed,
    /// How the policer counts a packet.
    #[serde(default, skip_serializing_if = "is_default")]
    pub framing: Framing,
}

/// What happens to a packet without tokens. It takes none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Exceed {
    #[default]
    Drop,
    /// ECN-capable packets are marked, others dropped.
    Ce,
}

impl PolicerConfig {
    pub fn check(&self) -> Checked {
        ensure(self.burst > 0, || "policer.burst is 0 bytes: no packet passes".into())
    }
}

pub struct Policer {
    config: PolicerConfig,
    tokens: TokenBucket,
}

impl Policer {
    pub fn new(config: PolicerConfig) -> Policer {
        Policer { config, tokens: TokenBucket::new(config.rate, config.burst) }
    }
}

impl Element for Policer {
    fn push(&mut self, now: Time, _port: Port, mut packet: Packet, out: &mut Output<'_>) {
        let bytes = u64::from(self.config.framing.wire_len(&packet));
        if self.tokens.holds(now, bytes) {
            self.tokens.spend(bytes);
        } else if self.config.exceed == Exceed::Drop || !out.mark(&mut packet) {
            return out.drop(packet, DropReason::Policed);
        }
        out.forward(Port(0), packet);
    }

    fn wake(&mut self, _now: Time, _out: &mut Output<'_>) {}

    fn due(&self) -> Time {
        Time::NEVER
    }

    fn occupancy(&self) -> u64 {
        0
    }
}
