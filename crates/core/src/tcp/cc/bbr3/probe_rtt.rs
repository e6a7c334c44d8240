//! The minimum RTT, and ProbeRTT: the flight is halved to measure it (draft, section 5.3.4).

use super::Bbr3State;
use super::long_term::Feedback;
use super::phase::Bbr3Phase;
use super::sample::Sample;
use super::short_term::Bounds;
use crate::units::{Span, Time};

/// Minimum RTT over the filter's window and over the last probe interval, each with its time.
#[derive(Clone, Copy, Debug, Default)]
pub struct MinRtt {
    long: Option<(Span, Time)>,
    recent: Option<(Span, Time)>,
    /// The recent minimum is older than the interval.
    expired: bool,
}

impl MinRtt {
    pub fn get(&self) -> Option<Span> {
        self.long.map(|(rtt, _)| rtt)
    }
}

/// The end of ProbeRTT; None until the flight is small enough.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ending {
    at: Option<Time>,
    round_done: bool,
}

impl Bbr3State {
    /// UpdateMinRTT.
    pub(super) fn update_min_rtt(&mut self, sample: &Sample) {
        let (p, seen) = (&self.p, &mut self.min_rtt);
        let older = |entry: Option<(Span, Time)>, age: Span| entry.is_some_and(|(_, at)| sample.now > at + age);
        seen.expired = older(seen.recent, p.probe_rtt_interval);
        if let Some(rtt) = sample.rtt
            && (seen.expired || seen.recent.is_none_or(|(min, _)| rtt < min))
        {
            seen.recent = Some((rtt, sample.now));
        }
        let smaller = seen.recent.zip(seen.long).is_none_or(|(recent, long)| recent.0 < long.0);
        if smaller || older(seen.long, p.min_rtt_window) {
            seen.long = seen.recent;
        }
    }

    /// CheckProbeRTT.
    pub(super) fn check_probe_rtt(&mut self, sample: &Sample) {
        if self.phase != Bbr3Phase::ProbeRtt && self.min_rtt.expired && !self.idle_restart {
            self.save_cwnd();
            self.phase = Bbr3Phase::ProbeRtt;
            self.ending = Ending::default();
            self.long.feedback = Feedback::Stopping;
            self.max_bw.begin_round();
        }
        if self.phase == Bbr3Phase::ProbeRtt {
            self.handle_probe_rtt(sample);
        }
        if sample.delivered > 0.0 {
            self.idle_restart = false;
        }
    }

    fn handle_probe_rtt(&mut self, sample: &Sample) {
        self.app_limited_mask.extend(sample.total, sample.in_flight as u32);
        match self.ending.at {
            None if sample.in_flight <= self.probe_rtt_cwnd() => {
                self.ending = Ending { at: Some(sample.now + self.p.probe_rtt), round_done: false };
                self.max_bw.begin_round();
            }
            None => {}
            Some(_) => {
                self.ending.round_done |= self.max_bw.round_started();
                if self.ending.round_done {
                    self.check_probe_rtt_done(sample.now);
                }
            }
        }
    }

    /// CheckProbeRTTDone.
    fn check_probe_rtt_done(&mut self, now: Time) {
        if self.ending.at.is_none_or(|at| now <= at) {
            return;
        }
        if let Some((_, at)) = &mut self.min_rtt.recent {
            *at = now;
        }
        self.restore_cwnd();
        self.short.bounds = Bounds::NONE;
        if self.pipe.reached() {
            self.start_down(now);
            self.phase = Bbr3Phase::Cruise;
        } else {
            self.phase = Bbr3Phase::Startup;
        }
    }
}
