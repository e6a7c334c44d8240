//! One station's requests: what it has asked for, what the network knows of it, and when it may ask next.

use super::terms::{Asking, Contention, How};
use crate::rng::Rng;
use crate::units::{Span, Time};
use std::collections::VecDeque;

#[derive(Clone, Debug, Default)]
pub struct Asker {
    /// Bytes that the network knows of and has not granted.
    demand: u64,
    /// Requests on their way, soonest first: from when the network may grant them, and their bytes.
    coming: VecDeque<(Time, u64)>,
    contends: Option<Contends>,
    failed: u32,
}

/// A station in contention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Contends {
    /// Sends its request at this opportunity, counted from the start of the run.
    At(u64),
    /// Was not heard, and tries again when it knows.
    Again(Time),
}

impl Asker {
    /// Bytes asked for and not yet granted.
    pub fn asked(&self) -> u64 {
        self.demand + self.coming.iter().map(|&(_, bytes)| bytes).sum::<u64>()
    }

    /// What the network would grant it now: nothing, or no less than a grant that carries something.
    pub fn wants(&self, least: u64) -> u64 {
        if self.demand == 0 { 0 } else { self.demand.max(least) }
    }

    /// What has reached the network by `now` counts.
    pub fn hear(&mut self, now: Time) {
        let heard = self.coming.partition_point(|&(at, _)| at <= now);
        self.demand += self.coming.drain(..heard).map(|(_, bytes)| bytes).sum::<u64>();
    }

    pub fn grant(&mut self, bytes: u64) {
        self.demand = self.demand.saturating_sub(bytes);
    }

    /// A request for `bytes` that was sent at `now` got through.
    pub fn ask(&mut self, now: Time, bytes: u64, terms: &Asking) {
        let at = now + terms.grant_delay;
        let place = self.coming.partition_point(|&(other, _)| other <= at);
        self.coming.insert(place, (at, bytes));
        self.contends = None;
        self.failed = 0;
    }

    /// Whether it has to ask by itself for what waits: nothing that it will send can carry the request.
    pub fn must_ask(&self, terms: &Asking) -> bool {
        self.contends.is_none() && (terms.many || self.asked() == 0)
    }

    /// Draws one of the opportunities from number `first` on.
    pub fn contend(&mut self, first: u64, terms: &Contention, rng: &mut Rng) {
        let window = 1u64 << (terms.start + self.failed).min(terms.end);
        let drawn = ((rng.uniform() * window as f64) as u64).min(window - 1);
        self.contends = Some(Contends::At(first + drawn));
    }

    /// The opportunity that it uses, if that is before number `end`.
    pub fn opportunity(&self, end: u64) -> Option<u64> {
        match self.contends {
            Some(Contends::At(number)) if number < end => Some(number),
            _ => None,
        }
    }

    /// Its request met another. True when the tries are used up.
    pub fn collide(&mut self, knows: Time, terms: &Contention) -> bool {
        self.failed += 1;
        self.contends = Some(Contends::Again(knows));
        let spent = self.failed >= terms.tries;
        if spent {
            self.failed = 0;
        }
        spent
    }

    /// It knows by `now` that it was not heard, and is free to try again.
    pub fn retries(&mut self, now: Time) -> bool {
        let knows = matches!(self.contends, Some(Contends::Again(at)) if at <= now);
        if knows {
            self.contends = None;
        }
        knows
    }

    /// Nothing is left to ask for.
    pub fn give_up(&mut self) {
        self.contends = None;
        self.failed = 0;
    }

    /// When the network has something to do for it: a grant or a request. `slot` says when an opportunity is.
    pub fn due(&self, now: Time, slot: impl Fn(u64) -> Time) -> Time {
        let contends = match self.contends {
            None => Time::NEVER,
            Some(Contends::At(number)) => slot(number),
            Some(Contends::Again(at)) => at,
        };
        let grant = if self.demand > 0 { now } else { self.coming.front().map_or(Time::NEVER, |&(at, _)| at) };
        grant.min(contends)
    }
}

/// The next request opportunity of its own at `now` or later; station `offset` of the period.
pub fn scheduled_at(now: Time, period: Span, offset: Span) -> Time {
    let passed = now.0.saturating_sub(offset.0).div_ceil(period.0);
    Time::ZERO + offset + period.saturating_mul(passed)
}

/// Opportunities in each interval; none where stations have their own.
pub fn opportunities(how: How) -> u64 {
    match how {
        How::Contention(terms) => u64::from(terms.opportunities),
        How::Scheduled { .. } => 0,
    }
}
