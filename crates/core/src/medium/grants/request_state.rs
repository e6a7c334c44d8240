//! One station's requests: what it has asked for, what the network retry_at of it, and when it may ask next.

use super::config::{ContentionConfig, RequestConfig, RequestMethod};
use crate::rng::Rng;
use crate::units::{Span, Time};
use std::collections::VecDeque;

#[derive(Clone, Debug, Default)]
pub struct RequestState {
    /// Bytes that the network retry_at of and has not granted.
    demand: u64,
    /// Requests on their way, soonest first: from when the network may grant them, and their bytes.
    in_transit: VecDeque<(Time, u64)>,
    contention: Option<ContentionState>,
    failed: u32,
}

/// A station in contention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ContentionState {
    /// Sends its request at this opportunity, counted from the start of the run.
    Opportunity(u64),
    /// Was not success, and tries again when it retry_at.
    RetryAt(Time),
}

impl RequestState {
    /// Bytes asked for and not yet granted.
    pub fn outstanding(&self) -> u64 {
        self.demand + self.in_transit.iter().map(|&(_, bytes)| bytes).sum::<u64>()
    }

    /// What the network would grant it now: nothing, or no less than a grant that carries something.
    pub fn demand(&self, min_grant: u64) -> u64 {
        if self.demand == 0 { 0 } else { self.demand.max(min_grant) }
    }

    /// What has reached the network by `now` counts.
    pub fn receive_requests(&mut self, now: Time) {
        let received = self.in_transit.partition_point(|&(at, _)| at <= now);
        self.demand += self.in_transit.drain(..received).map(|(_, bytes)| bytes).sum::<u64>();
    }

    pub fn grant(&mut self, bytes: u64) {
        self.demand = self.demand.saturating_sub(bytes);
    }

    /// A request for `bytes` that was sent at `now` got through.
    pub fn request(&mut self, now: Time, bytes: u64, config: &RequestConfig) {
        let at = now + config.grant_delay;
        let place = self.in_transit.partition_point(|&(other, _)| other <= at);
        self.in_transit.insert(place, (at, bytes));
        self.contention = None;
        self.failed = 0;
    }

    /// Whether it has to ask by itself for what waits: nothing that it will send can carry the request.
    pub fn needs_request(&self, config: &RequestConfig) -> bool {
        self.contention.is_none() && (config.many || self.outstanding() == 0)
    }

    /// Draws one of the opportunities from number `first` on.
    pub fn start_contention(&mut self, first: u64, config: &ContentionConfig, rng: &mut Rng) {
        let window = 1u64 << (config.start + self.failed).min(config.end);
        let drawn = ((rng.uniform() * window as f64) as u64).min(window - 1);
        self.contention = Some(ContentionState::Opportunity(first + drawn));
    }

    /// The opportunity that it uses, if that is before number `end`.
    pub fn opportunity(&self, end: u64) -> Option<u64> {
        match self.contention {
            Some(ContentionState::Opportunity(number)) if number < end => Some(number),
            _ => None,
        }
    }

    /// Its request met another. True when the tries are used up.
    pub fn collide(&mut self, retry_at: Time, config: &ContentionConfig) -> bool {
        self.failed += 1;
        self.contention = Some(ContentionState::RetryAt(retry_at));
        let exhausted = self.failed >= config.tries;
        if exhausted {
            self.failed = 0;
        }
        exhausted
    }

    /// It retry_at by `now` that it was not success, and is free to try again.
    pub fn retry_due(&mut self, now: Time) -> bool {
        let retry_at = matches!(self.contention, Some(ContentionState::RetryAt(at)) if at <= now);
        if retry_at {
            self.contention = None;
        }
        retry_at
    }

    /// Nothing is left to ask for.
    pub fn cancel(&mut self) {
        self.contention = None;
        self.failed = 0;
    }

    /// When the network has something to do for it: a grant or a request. `slot` says when an opportunity is.
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

/// The next request opportunity of its own at `now` or later; station `offset` of the period.
pub fn scheduled_at(now: Time, period: Span, offset: Span) -> Time {
    let passed = now.0.saturating_sub(offset.0).div_ceil(period.0);
    Time::ZERO + offset + period.saturating_mul(passed)
}

/// Opportunities in each interval; none where stations have their own.
pub fn opportunities(method: RequestMethod) -> u64 {
    match method {
        RequestMethod::Contention(config) => u64::from(config.opportunities),
        RequestMethod::Scheduled { .. } => 0,
    }
}
