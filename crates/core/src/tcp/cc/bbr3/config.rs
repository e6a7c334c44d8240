//! The constants of draft-ietf-ccwg-bbr-06, section 2.

use crate::units::Span;

/// The draft's names where it has them. Windows are in segments, gains without unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bbr3Config {
    /// StartupPacingGain, 4*ln 2: the minimum gain that doubles the rate per round (section 2.5).
    pub startup_pacing: f64,
    /// DrainPacingGain (section 2.5).
    pub drain_pacing: f64,
    /// Pacing gains of ProbeBW_DOWN and ProbeBW_UP (section 5.6.1); CRUISE and REFILL have 1.
    pub down_pacing: f64,
    pub up_pacing: f64,
    /// DefaultCwndGain, ProbeBW_UP's, and ProbeRTTCwndGain (sections 2.6, 5.3.3.5 and 2.16.2).
    pub cwnd_gain: f64,
    pub up_cwnd_gain: f64,
    pub probe_rtt_cwnd_gain: f64,
    /// PacingMarginPercent, as a share (section 2.5).
    pub margin: f64,
    /// The pipe is full when the rate has grown by less than this factor in `full_rounds` rounds
    /// (section 5.3.1.2).
    pub full_growth: f64,
    pub full_rounds: u32,
    /// LossThresh: maximum loss rate per round while probing (section 2.8).
    pub loss_threshold: f64,
    /// BBRStartupFullLossCnt: this many gaps in a round end Startup (section 5.3.1.3).
    pub startup_gaps: u32,
    /// Beta: minimum share that a round with loss leaves (section 2.8).
    pub beta: f64,
    /// Headroom: share of the long-term bound left to other flows (section 2.8).
    pub headroom: f64,
    /// MinPipeCwnd (section 2.8).
    pub min_cwnd: f64,
    /// Maximum length of Drain, in rounds (section 5.3.2).
    pub drain_rounds: u64,
    /// MinRTTFilterLen, ProbeRTTInterval and ProbeRTTDuration (section 2.16).
    pub min_rtt_window: Span,
    pub probe_rtt_interval: Span,
    pub probe_rtt: Span,
    /// The wait between bandwidth probes is from the first to the sum of both (section 5.3.3.8).
    pub probe_wait: Span,
    pub probe_wait_spread: Span,
    /// Maximum of that wait in rounds (the same section).
    pub reno_rounds: f64,
}

impl Bbr3Config {
    pub const DRAFT: Bbr3Config = Bbr3Config {
        startup_pacing: 2.77,
        drain_pacing: 0.5,
        down_pacing: 0.9,
        up_pacing: 1.25,
        cwnd_gain: 2.0,
        up_cwnd_gain: 2.25,
        probe_rtt_cwnd_gain: 0.5,
        margin: 0.01,
        full_growth: 1.25,
        full_rounds: 3,
        loss_threshold: 0.02,
        startup_gaps: 6,
        beta: 0.7,
        headroom: 0.15,
        min_cwnd: 4.0,
        drain_rounds: 3,
        min_rtt_window: Span::from_secs(10),
        probe_rtt_interval: Span::from_secs(5),
        probe_rtt: Span::from_ms(200),
        probe_wait: Span::from_secs(2),
        probe_wait_spread: Span::from_secs(1),
        reno_rounds: 63.0,
    };
}
