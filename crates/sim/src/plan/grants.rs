//! A medium with requests and grants (`docs/plan.md`).

use super::check::{Checked, span};
use super::nullable;
use ackclock_core::medium::GrantConfig;
use ackclock_core::medium::grants::{
    ContentionConfig, DirectionConfig, RequestConfig, RequestMethod, RetransmissionConfig, ShareLayout, TokenBucketConfig,
};
use ackclock_core::{Rate, Span};
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrantsPlan {
    pub down: GrantsDirection,
    pub up: GrantsDirection,
    #[serde(rename = "ask")]
    pub request: RequestPlan,
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
    /// Stations share an interval in frequency: their packets arrive at its end.
    pub block: bool,
    pub packet_header: u32,
    pub block_header: u32,
    /// Null: no limit for a station.
    #[serde(deserialize_with = "nullable")]
    pub cap: Option<StationRateLimit>,
    /// Null: no transmission errors.
    #[serde(deserialize_with = "nullable")]
    pub repair: Option<RetransmissionPlan>,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StationRateLimit {
    pub bps: u64,
    pub burst: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetransmissionPlan {
    pub error: f64,
    pub attempts: u32,
    pub delay_ps: u64,
    pub rounds: u32,
    pub round_delay_ps: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RequestPlan {
    Contention { opportunities: u32, backoff: [u32; 2], tries: u32 },
    Scheduled { period_ps: u64, first_grant: u32 },
}

const NO_RETRANSMISSION: RetransmissionConfig =
    RetransmissionConfig { error: 0.0, attempts: 1, delay: Span::ZERO, rounds: 0, round_delay: Span::ZERO };

impl GrantsDirection {
    fn config(&self) -> Result<DirectionConfig, String> {
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
            repair: self.repair.map_or(NO_RETRANSMISSION, |repair| RetransmissionConfig {
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
    /// The core's configuration, or the error in the plan.
    pub fn config(&self) -> Result<GrantConfig, String> {
        self.check()?;
        let method = match self.request {
            RequestPlan::Contention { opportunities, backoff: [start, end], tries } => {
                RequestMethod::Contention(ContentionConfig { opportunities, start, end, tries })
            }
            RequestPlan::Scheduled { period_ps, first_grant } => {
                RequestMethod::Scheduled { period: Span(period_ps), first_grant }
            }
        };
        let request =
            RequestConfig { method, grant_delay: Span(self.grant_delay_ps), piggyback: self.piggyback, many: self.many_requests };
        let direction = |name: &str, plan: &GrantsDirection| plan.config().map_err(|e| format!("{name}: {e}"));
        let config = GrantConfig { down: direction("down", &self.down)?, up: direction("up", &self.up)?, request };
        config.check().map(|()| config)
    }

    fn check(&self) -> Checked {
        span("grant_delay_ps", self.grant_delay_ps)?;
        match self.request {
            RequestPlan::Scheduled { period_ps, .. } => span("period_ps", period_ps),
            RequestPlan::Contention { .. } => Ok(()),
        }
    }
}
