//! The sender's state in the terms of Linux's `struct tcp_info` (include/uapi/linux/tcp.h), for
//! scripts and reports.

use super::TcpEndpoint;
use super::cc::CongestionControl;
use super::ecn::EcnCounts;
use super::linux_rules::LinuxRule;
use super::recovery::Recovery;
use super::sender::Sender;
use crate::units::Span;

/// State of the congestion control machinery (`enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum CaState {
    /// No sign of loss.
    Open = 0,
    /// SACKed segments or duplicate ACKs, no loss decided.
    Disorder = 1,
    /// The window falls after a mark.
    Cwr = 2,
    /// Fast recovery.
    Recovery = 3,
    /// After an RTO, until what was sent before it is acknowledged.
    Loss = 4,
}

impl CaState {
    pub const ALL: [CaState; 5] = [CaState::Open, CaState::Disorder, CaState::Cwr, CaState::Recovery, CaState::Loss];

    /// The kernel's name without `TCP_CA_`.
    pub fn name(self) -> &'static str {
        match self {
            CaState::Open => "Open",
            CaState::Disorder => "Disorder",
            CaState::Cwr => "CWR",
            CaState::Recovery => "Recovery",
            CaState::Loss => "Loss",
        }
    }
}

/// Fields of `struct tcp_info` that the engine has. Windows and counts are in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpInfo {
    pub ca_state: CaState,
    pub snd_cwnd: u32,
    /// `u32::MAX` before the first reduction.
    pub snd_ssthresh: u32,
    pub snd_mss: u32,
    /// Sent and not acknowledged, SACKed and lost ones included.
    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    /// RTOs since the last ACK of new data.
    pub retransmits: u32,
    /// The largest reordering seen, at least dupthresh, in segments.
    pub reordering: u32,
    pub probes: u32,
    /// Doublings of the RTO.
    pub backoff: u32,
    pub total_retrans: u64,
    /// Segments delivered, SACKed ones included.
    pub delivered: u64,
    pub rtt: Option<Span>,
    pub rttvar: Span,
    pub min_rtt: Option<Span>,
    pub rto: Span,
    pub sack: bool,
    pub timestamps: bool,
    pub window_scaling: bool,
    pub ecn: bool,
    /// AccECN's counters of what was received here, and of what the peer reports.
    pub ecn_received: EcnCounts,
    pub ecn_delivered: EcnCounts,
}

/// A window in whole segments, as the kernel counts.
fn segments(window: f64) -> u32 {
    if window.is_finite() { window.clamp(0.0, f64::from(u32::MAX)) as u32 } else { u32::MAX }
}

impl Sender {
    pub(super) fn ca_state(&self) -> CaState {
        if let Some(linux) = self.recovery.linux() {
            return linux.ca_state();
        }
        if self.una < self.rto_recovery_point {
            CaState::Loss
        } else if self.recovery.active() {
            CaState::Recovery
        } else if self.is_reducing_for_mark() {
            CaState::Cwr
        } else if self.scoreboard.sacked_out() > 0 {
            CaState::Disorder
        } else {
            CaState::Open
        }
    }
}

impl TcpEndpoint {
    /// Linux counts retransmissions of SYN and SYN-ACK, too.
    fn syn_retransmissions(&self) -> u64 {
        let counts = self.config.linux_rules.has(LinuxRule::OneLostSyn);
        u64::from(self.handshake.tries.saturating_sub(1)) * u64::from(counts)
    }

    /// The sender's state now.
    pub fn tcp_info(&self) -> TcpInfo {
        let sender = &self.sender;
        let scoreboard = &sender.scoreboard;
        let (ecn_received, ecn_delivered) = self.ecn_counts();
        TcpInfo {
            ca_state: sender.ca_state(),
            snd_cwnd: segments(sender.reported_window()),
            snd_ssthresh: segments(sender.cc.ssthresh()),
            snd_mss: sender.segment,
            unacked: scoreboard.len(),
            sacked: scoreboard.sacked_out() + sender.recovery.linux().map_or(0, |linux| linux.reno_sacked()),
            lost: scoreboard.lost_out(),
            retrans: scoreboard.retrans_out(),
            retransmits: sender.timeouts_in_a_row,
            reordering: self.config.dupack_threshold.max(sender.recovery.reordering().unwrap_or(0)),
            probes: sender.probes,
            backoff: sender.rtt.backoff().max(sender.probe_backoff),
            total_retrans: sender.stats.retransmitted_segments + self.syn_retransmissions(),
            delivered: scoreboard.first_index() + u64::from(scoreboard.sacked_out()),
            rtt: sender.rtt.srtt(),
            rttvar: sender.rtt.rttvar(),
            min_rtt: sender.rtt.min(),
            rto: sender.rtt.rto(),
            sack: self.sack,
            timestamps: self.timestamps,
            window_scaling: self.scaling,
            ecn: self.ecn.on(),
            ecn_received,
            ecn_delivered,
        }
    }
}
