//! What a connection has done, counted where it happened.

use crate::statistics::Histogram;
use crate::units::{Span, Time};

/// What held the sender back (see [`SenderStats::limited`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Limit {
    #[default]
    Application,
    ReceiveWindow,
    SendBuffer,
    Cwnd,
    Recovery,
    /// The pace at which the window is spread.
    Pacing,
}

impl Limit {
    pub const ALL: [Limit; 6] =
        [Limit::Application, Limit::ReceiveWindow, Limit::SendBuffer, Limit::Cwnd, Limit::Recovery, Limit::Pacing];

    pub fn name(self) -> &'static str {
        match self {
            Limit::Application => "application",
            Limit::ReceiveWindow => "receive_window",
            Limit::SendBuffer => "send_buffer",
            Limit::Cwnd => "cwnd",
            Limit::Recovery => "recovery",
            Limit::Pacing => "pacing",
        }
    }
}

/// The sending half. Segments are those with payload (or FIN); the handshake is not counted.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct SenderStats {
    pub segments_sent: u64,
    /// Time in gaps between transmissions beyond one smoothed RTT.
    pub idle: Span,
    /// When the first segment with payload left.
    pub first_data: Option<Time>,
    /// RTT samples of segments sent once (Karn).
    pub rtt: Histogram,
    pub retransmitted_segments: u64,
    pub timeouts: u64,
    pub fast_retransmits: u64,
    /// Times the congestion control was told to cut: once per recovery or timeout episode, and once per flight with marks.
    pub window_cuts: u64,
    /// Those of them that were for marks.
    pub ecn_cuts: u64,
    /// Time under each limit, by `Limit as usize`.
    pub limited: [Span; Limit::ALL.len()],
    /// Payload acknowledged.
    pub acked_bytes: u64,
}

/// The receiving half.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct ReceiverStats {
    /// Payload that has arrived in order, once.
    pub in_order_bytes: u64,
    /// IP bytes of segments that brought something new.
    pub unique_ip_bytes: u64,
    pub acks_sent: u64,
    /// Segments that brought nothing new.
    pub duplicates: u64,
    /// Segments with payload that came marked.
    pub marked_segments: u64,
    /// When the peer's FIN had arrived in order.
    pub finished: Option<Time>,
}

/// The sender's state at an instant, for the time series. Windows in bytes of payload.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SenderSample {
    pub cwnd_bytes: f64,
    /// Infinite before the first loss where the host sets none.
    pub ssthresh_bytes: f64,
    pub srtt_ms: Option<f64>,
    pub flight_bytes: u64,
    pub delivered_bytes: u64,
    pub retransmitted_segments: u64,
}
