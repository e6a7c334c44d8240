//! Counters of a connection's halves.

use super::limiting_window::LimitingWindow;
use crate::statistics::Histogram;
use crate::units::{Span, Time};

/// What limits the sender (see [`SenderStats::limited`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum SendLimit {
    #[default]
    Application,
    ReceiveWindow,
    SendBuffer,
    Cwnd,
    Recovery,
    /// The pacing rate.
    Pacing,
}

impl SendLimit {
    pub const ALL: [SendLimit; 6] = [
        SendLimit::Application,
        SendLimit::ReceiveWindow,
        SendLimit::SendBuffer,
        SendLimit::Cwnd,
        SendLimit::Recovery,
        SendLimit::Pacing,
    ];

    pub fn name(self) -> &'static str {
        match self {
            SendLimit::Application => "application",
            SendLimit::ReceiveWindow => "receive_window",
            SendLimit::SendBuffer => "send_buffer",
            SendLimit::Cwnd => "cwnd",
            SendLimit::Recovery => "recovery",
            SendLimit::Pacing => "pacing",
        }
    }
}

/// Counters of the sending half. Segments are those with payload or FIN; the handshake is not
/// counted.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct SenderStats {
    pub segments_sent: u64,
    /// Sum of the gaps between transmissions, less one SRTT each.
    pub idle: Span,
    /// When the first segment with payload was sent.
    pub first_data: Option<Time>,
    /// RTT samples of segments sent once (Karn).
    pub rtt: Histogram,
    pub retransmitted_segments: u64,
    pub timeouts: u64,
    pub fast_retransmits: u64,
    /// Window reductions: one per recovery, RTO episode, and flight with marks.
    pub window_cuts: u64,
    /// Window reductions for marks.
    pub ecn_cuts: u64,
    /// Time under each limit, by `SendLimit as usize`.
    pub limited: [Span; SendLimit::ALL.len()],
    /// The receive window over its part of that time.
    pub limiting_window: LimitingWindow,
    /// Payload bytes acknowledged.
    pub acked_bytes: u64,
}

/// Counters of the receiving half.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct ReceiverStats {
    /// Payload bytes received in order, each once.
    pub in_order_bytes: u64,
    /// IP bytes of segments with new data.
    pub unique_ip_bytes: u64,
    pub acks_sent: u64,
    /// Segments without new data.
    pub duplicates: u64,
    /// Data segments marked CE.
    pub marked_segments: u64,
    /// When the peer's FIN was received in order.
    pub finished: Option<Time>,
}

/// The sender's state at an instant, for the time series. Windows are in bytes of payload.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SenderSample {
    pub cwnd_bytes: f64,
    /// Infinite before the first loss if the host sets no initial value.
    pub ssthresh_bytes: f64,
    pub srtt_ms: Option<f64>,
    pub flight_bytes: u64,
    pub delivered_bytes: u64,
    pub retransmitted_segments: u64,
}
