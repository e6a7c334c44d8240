//! The state machine's states and what each sets (draft, section 5.6.1).

use super::parameters::Bbr3Parameters;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl Phase {
    /// IsInAProbeBWState.
    pub fn probes_bandwidth(self) -> bool {
        matches!(self, Phase::Down | Phase::Cruise | Phase::Refill | Phase::Up)
    }

    /// IsProbingBW: it accelerates, so losses are an answer to a question and do not bound the short term.
    pub fn accelerates(self) -> bool {
        matches!(self, Phase::Startup | Phase::Refill | Phase::Up)
    }

    pub fn pacing_gain(self, p: &Bbr3Parameters) -> f64 {
        match self {
            Phase::Startup => p.startup_pacing,
            Phase::Drain => p.drain_pacing,
            Phase::Down => p.down_pacing,
            Phase::Up => p.up_pacing,
            Phase::Cruise | Phase::Refill | Phase::ProbeRtt => 1.0,
        }
    }

    pub fn cwnd_gain(self, p: &Bbr3Parameters) -> f64 {
        match self {
            Phase::Up => p.up_cwnd_gain,
            Phase::ProbeRtt => p.probe_rtt_cwnd_gain,
            _ => p.cwnd_gain,
        }
    }
}
