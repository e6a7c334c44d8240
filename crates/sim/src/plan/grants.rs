//! A medium with requests and grants as `docs/plan.md` has it.

use super::check::{Checked, span};
use super::nullable;
use ackclock_core::medium::GrantConfig;
use ackclock_core::medium::grants::{
    Contention, DirectionConfig, RequestConfig, RequestMethod, RetransmissionConfig, ShareLayout, TokenBucketConfig,
};
use ackclock_core::{Rate, Span};
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrantsPlan {
    pub down: GrantsDirection,
    pub up: GrantsDirection,
    pub ask: Ask,
    pub grant_delay_ps: u64,
    pub piggyback: bool,
    pub many_requests: bool,
}

/// One direction.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrantsDirection {
    pub bps: u64,
    pub interval_ps: u64,
    /// Shares of an interval lie beside one another in frequency: what is sent arrives at its end.
    pub block: bool,
    pub packet_header: u32,
    pub block_header: u32,
    /// Null: a station may have all there is.
    #[serde(deserialize_with = "nullable")]
    pub cap: Option<StationCap>,
    /// Null: everything arrives.
    #[serde(deserialize_with = "nullable")]
    pub repair: Option<RepairPlan>,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StationCap {
    pub bps: u64,
    pub burst: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepairPlan {
    pub error: f64,
    pub attempts: u32,
    pub delay_ps: u64,
    pub rounds: u32,
    pub round_delay_ps: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Ask {
    Contention { opportunities: u32, backoff: [u32; 2], tries: u32 },
    Scheduled { period_ps: u64, first_grant: u32 },
}

const NO_REPAIR: RetransmissionConfig =
    RetransmissionConfig { error: 0.0, attempts: 1, delay: Span::ZERO, rounds: 0, round_delay: Span::ZERO };

impl GrantsDirection {
    fn terms(&self) -> Result<DirectionConfig, String> {
        if self.bps == 0 || self.cap.is_some_and(|cap| cap.bps == 0) {
            return Err("a rate of 0 b/s".into());
        }
        span("interval_ps", self.interval_ps)?;
        if let Some(repair) = self.repair {
            span("delay_ps", repair.delay_ps)?;
            span("round_delay_ps", repair.round_delay_ps)?;
        }
        Ok(DirectionConfig {
            rate: Rate::from_bps(self.bps),
            interval: Span(self.interval_ps),
            layout: if self.block { ShareLayout::Block } else { ShareLayout::Serial },
            packet_header: self.packet_header,
            block_header: self.block_header,
            cap: self.cap.map(|cap| TokenBucketConfig { rate: Rate::from_bps(cap.bps), burst: cap.burst }),
            repair: self.repair.map_or(NO_REPAIR, |repair| RetransmissionConfig {
                error: repair.error,
                attempts: repair.attempts,
                delay: Span(repair.delay_ps),
                rounds: repair.rounds,
                round_delay: Span(repair.round_delay_ps),
            }),
        })
    }
}

impl GrantsPlan {
    /// What the engine is set to; or what is wrong with it.
    pub fn terms(&self) -> Result<GrantConfig, String> {
        self.check()?;
        let how = match self.ask {
            Ask::Contention { opportunities, backoff: [start, end], tries } => {
                RequestMethod::Contention(Contention { opportunities, start, end, tries })
            }
            Ask::Scheduled { period_ps, first_grant } => RequestMethod::Scheduled { period: Span(period_ps), first_grant },
        };
        let asking =
            RequestConfig { how, grant_delay: Span(self.grant_delay_ps), piggyback: self.piggyback, many: self.many_requests };
        let way = |name: &str, way: &GrantsDirection| way.terms().map_err(|e| format!("{name}: {e}"));
        let terms = GrantConfig { down: way("down", &self.down)?, up: way("up", &self.up)?, asking };
        terms.check().map(|()| terms)
    }

    fn check(&self) -> Checked {
        span("grant_delay_ps", self.grant_delay_ps)?;
        match self.ask {
            Ask::Scheduled { period_ps, .. } => span("period_ps", period_ps),
            Ask::Contention { .. } => Ok(()),
        }
    }
}
