//! The states of the state machine and their gains (draft, section 5.6.1).

use super::config::Bbr3Config;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bbr3Phase {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl Bbr3Phase {
    /// IsInAProbeBWState.
    pub fn probes_bandwidth(self) -> bool {
        matches!(self, Bbr3Phase::Down | Bbr3Phase::Cruise | Bbr3Phase::Refill | Bbr3Phase::Up)
    }

    /// IsProbingBW: losses belong to a probe and do not set the short-term bounds.
    pub fn accelerates(self) -> bool {
        matches!(self, Bbr3Phase::Startup | Bbr3Phase::Refill | Bbr3Phase::Up)
    }

    pub fn pacing_gain(self, p: &Bbr3Config) -> f64 {
        match self {
            Bbr3Phase::Startup => p.startup_pacing,
            Bbr3Phase::Drain => p.drain_pacing,
            Bbr3Phase::Down => p.down_pacing,
            Bbr3Phase::Up => p.up_pacing,
            Bbr3Phase::Cruise | Bbr3Phase::Refill | Bbr3Phase::ProbeRtt => 1.0,
        }
    }

    pub fn cwnd_gain(self, p: &Bbr3Config) -> f64 {
        match self {
            Bbr3Phase::Up => p.up_cwnd_gain,
            Bbr3Phase::ProbeRtt => p.probe_rtt_cwnd_gain,
            _ => p.cwnd_gain,
        }
    }
}
