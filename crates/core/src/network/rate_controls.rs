//! Controllers of shapers' rates: after a pinger was called, its responses and readings go to the
//! controllers of its shapers, which change their rates at once.

use super::{AnyElement, EndpointId, Network, NodeId};
use crate::autorate::{PingResponse, RateController, RateLimits, RateSample};
use crate::element::{Element, QueueId};
use crate::endpoint::AnyEndpoint;
use crate::link::Shaper;
use crate::timer_tree::TimerOwner;
use crate::units::{PS_PER_S, Time};

/// The controllers by pinger.
#[derive(Default)]
pub(super) struct RateControls {
    /// The shapers of each.
    all: Vec<Vec<ControlledShaper>>,
    /// By endpoint: its shapers. May be shorter than the list of endpoints.
    of: Vec<Option<u32>>,
}

/// A shaper, and what its controller decides by.
pub struct ControlledShaper {
    pub node: NodeId,
    /// Which one-way delay counts: 0 downstream, 1 upstream.
    pub direction: usize,
    pub limits: RateLimits,
    pub controller: Box<dyn RateController + Send>,
    achieved: AchievedRate,
}

/// The rate that left the shaper in the last interval.
#[derive(Clone, Copy, Debug, Default)]
struct AchievedRate {
    bytes: u64,
    at: Time,
    bps: u64,
    readings: u64,
}

impl AchievedRate {
    fn read(&mut self, now: Time, bytes: u64) {
        let span = u128::from((now - self.at).0);
        let bits = u128::from(bytes - self.bytes) * 8 * u128::from(PS_PER_S);
        let bps = bits.checked_div(span).and_then(|bps| u64::try_from(bps).ok()).unwrap_or(0);
        *self = AchievedRate { bytes, at: now, bps, readings: self.readings + 1 };
    }
}

impl ControlledShaper {
    pub fn new(
        node: NodeId,
        direction: usize,
        limits: RateLimits,
        controller: Box<dyn RateController + Send>,
    ) -> ControlledShaper {
        ControlledShaper { node, direction, limits, controller, achieved: AchievedRate::default() }
    }

    /// Gives the controller a response, and the shaper the rate that it chooses.
    fn respond(&mut self, shaper: &mut Shaper, response: &PingResponse) {
        let AchievedRate { bps, readings, .. } = self.achieved;
        let sample = RateSample {
            now: response.at,
            reflector: response.reflector,
            delay: response.delay[self.direction],
            rtt: response.rtt,
            achieved_bps: bps,
            readings,
            rate: shaper.rate(),
        };
        let rate = self.limits.clamp(self.controller.on_sample(&sample));
        if rate != shaper.rate() {
            shaper.set_rate(response.at, rate);
        }
    }
}

impl RateControls {
    pub(super) fn add(&mut self, pinger: EndpointId, shapers: Vec<ControlledShaper>) {
        let by = pinger.0 as usize;
        if self.of.len() <= by {
            self.of.resize(by + 1, None);
        }
        self.of[by] = Some(self.all.len() as u32);
        self.all.push(shapers);
    }
}

impl Network {
    /// Runs the controllers of a pinger after the pinger was called.
    pub(super) fn control_rates(&mut self, slot: usize) {
        let Some(number) = self.rate_controls.of.get(slot).copied().flatten() else { return };
        let AnyEndpoint::Pinger(pinger) = &mut self.endpoints[slot].endpoint else { return };
        let (reads, responses) = pinger.take();
        if !reads && responses.is_empty() {
            return;
        }
        for controlled in &mut self.rate_controls.all[number as usize] {
            let index = controlled.node.0 as usize;
            let node = &mut self.nodes[index];
            let AnyElement::Shaper(shaper) = &mut node.element else { continue };
            if reads && let Some(sample) = shaper.sample(self.now, QueueId::default()) {
                controlled.achieved.read(self.now, sample.delivered_bytes);
            }
            for response in &responses {
                controlled.respond(shaper, response);
            }
            let due = shaper.due();
            if due != node.scheduled {
                node.scheduled = due;
                self.due.set(TimerOwner::Element(index), due);
            }
        }
    }
}
