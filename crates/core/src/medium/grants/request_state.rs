//! Bandwidth requests of one station: pending requests, the demand known to the network, and the
//! contention state.

use super::config::{ContentionConfig, GrantConfig, RequestMethod};
use crate::rng::Rng;
use crate::units::{Span, Time};
use std::collections::VecDeque;

#[derive(Clone, Debug, Default)]
pub struct RequestState {
    /// Bytes requested and not granted, as known to the network.
    demand: u64,
    /// Requests in transit, earliest first: the earliest grant time, and the bytes.
    in_transit: VecDeque<(Time, u64)>,
    contention: Option<ContentionState>,
    failed: u32,
}

/// State of a station in contention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ContentionState {
    /// Sends its request in this opportunity, counted from the start of the run.
    Opportunity(u64),
    /// Collided; retries at this time, when it detects the collision.
    RetryAt(Time),
}

impl RequestState {
    /// Bytes requested and not granted.
    pub fn outstanding(&self) -> u64 {
        self.demand + self.in_transit.iter().map(|&(_, bytes)| bytes).sum::<u64>()
    }

    /// Demand that the network would grant now: zero, or at least `min_grant`.
    pub fn demand(&self, min_grant: u64) -> u64 {
        if self.demand == 0 { 0 } else { self.demand.max(min_grant) }
    }

    /// Adds the requests that the network has received by `now` to the demand.
    pub fn receive_requests(&mut self, now: Time) {
        let received = self.in_transit.partition_point(|&(at, _)| at <= now);
        self.demand += self.in_transit.drain(..received).map(|(_, bytes)| bytes).sum::<u64>();
    }

    pub fn grant(&mut self, bytes: u64) {
        self.demand = self.demand.saturating_sub(bytes);
    }

    /// A request for `bytes` was sent successfully at `now`.
    pub fn request(&mut self, now: Time, bytes: u64, config: &GrantConfig) {
        let at = now + config.grant_delay;
        let place = self.in_transit.partition_point(|&(other, _)| other <= at);
        self.in_transit.insert(place, (at, bytes));
        self.contention = None;
        self.failed = 0;
    }

    /// True if the station must send a request of its own: no other transmission can carry one.
    pub fn needs_request(&self, config: &GrantConfig) -> bool {
        self.contention.is_none() && (config.many_requests || self.outstanding() == 0)
    }

    /// Draws an opportunity from number `first` on.
    pub fn start_contention(&mut self, first: u64, config: &ContentionConfig, rng: &mut Rng) {
        let [start, end] = config.backoff;
        let window = 1u64 << (start + self.failed).min(end);
        let drawn = ((rng.uniform() * window as f64) as u64).min(window - 1);
        self.contention = Some(ContentionState::Opportunity(first + drawn));
    }

    /// The station's opportunity, if it is before number `end`.
    pub fn opportunity(&self, end: u64) -> Option<u64> {
        match self.contention {
            Some(ContentionState::Opportunity(number)) if number < end => Some(number),
            _ => None,
        }
    }

    /// The request collided. True if the retries are exhausted.
    pub fn collide(&mut self, retry_at: Time, config: &ContentionConfig) -> bool {
        self.failed += 1;
        self.contention = Some(ContentionState::RetryAt(retry_at));
        let exhausted = self.failed >= config.tries;
        if exhausted {
            self.failed = 0;
        }
        exhausted
    }

    /// True if the collision has been detected by `now`; the station may retry.
    pub fn retry_due(&mut self, now: Time) -> bool {
        let retry_at = matches!(self.contention, Some(ContentionState::RetryAt(at)) if at <= now);
        if retry_at {
            self.contention = None;
        }
        retry_at
    }

    /// Ends contention: there is nothing to request.
    pub fn cancel(&mut self) {
        self.contention = None;
        self.failed = 0;
    }

    /// Time of the next grant or request. `slot` maps an opportunity to its time.
    pub fn due(&self, now: Time, slot: impl Fn(u64) -> Time) -> Time {
        let contention = match self.contention {
            None => Time::NEVER,
            Some(ContentionState::Opportunity(number)) => slot(number),
            Some(ContentionState::RetryAt(at)) => at,
        };
        let grant = if self.demand > 0 { now } else { self.in_transit.front().map_or(Time::NEVER, |&(at, _)| at) };
        grant.min(contention)
    }
}

/// The next dedicated opportunity at or after `now`, with phase `offset`.
pub fn scheduled_at(now: Time, period: Span, offset: Span) -> Time {
    let passed = now.0.saturating_sub(offset.0).div_ceil(period.0);
    Time::ZERO + offset + period.saturating_mul(passed)
}

/// Shared opportunities per interval; zero with dedicated ones.
pub fn opportunities(method: RequestMethod) -> u64 {
    match method {
        RequestMethod::Contention(config) => u64::from(config.opportunities),
        RequestMethod::Scheduled { .. } => 0,
    }
}
