//! Why a segment was sent again, or came out of turn.

mod receiver;
mod repeat;

pub use receiver::{Filler, filled};
pub use repeat::{COMMON_RTO_MIN, Repeat, why};

/// What a segment was that is not simply new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Cause {
    /// By duplicate ACKs or SACK, in a recovery (RFC 5681, 6675).
    Fast,
    /// As above, of what had been sent again before, or with too few duplicates: only time-based detection finds it (RFC 8985).
    Rack,
    /// The last segment, sent again before the timeout to draw an ACK (RFC 8985, section 7).
    TailProbe,
    /// The retransmission timer expired (RFC 6298).
    Timeout,
    /// After a timeout, up to where the sender had been (RFC 5681, section 3.1).
    GoBackN,
    /// SYN, or SYN with ACK, again.
    Handshake,
    /// A segment repeated without any of the signs above.
    Unexplained,
    /// Sent before what it came after.
    Reordered,
    /// One packet, twice on the wire.
    NetworkDuplicate,
    /// Into a closed window, to hear whether it has opened (RFC 9293, section 3.8.6.1).
    WindowProbe,
    /// Old or no data from an idle sender (RFC 9293, section 3.8.4).
    KeepAlive,
}

impl Cause {
    pub const ALL: [Cause; 11] = [
        Cause::Fast,
        Cause::Rack,
        Cause::TailProbe,
        Cause::Timeout,
        Cause::GoBackN,
        Cause::Handshake,
        Cause::Unexplained,
        Cause::Reordered,
        Cause::NetworkDuplicate,
        Cause::WindowProbe,
        Cause::KeepAlive,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Cause::Fast => "fast",
            Cause::Rack => "rack",
            Cause::TailProbe => "tail_probe",
            Cause::Timeout => "timeout",
            Cause::GoBackN => "go_back_n",
            Cause::Handshake => "handshake",
            Cause::Unexplained => "unexplained",
            Cause::Reordered => "reordered",
            Cause::NetworkDuplicate => "network_duplicate",
            Cause::WindowProbe => "zero_window_probe",
            Cause::KeepAlive => "keep_alive",
        }
    }

    /// True if the sender sent it again.
    pub fn is_retransmission(self) -> bool {
        (self as u8) <= Cause::Unexplained as u8
    }
}

/// A cause and how sure it is, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    pub cause: Cause,
    pub confidence: f32,
}

impl Verdict {
    pub fn new(cause: Cause, confidence: f32) -> Verdict {
        Verdict { cause, confidence }
    }
}

/// How many of each cause, and how sure.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    counts: [u32; Cause::ALL.len()],
    confidence: [f32; Cause::ALL.len()],
}

impl Tally {
    /// `segments` full ones' worth in one packet (a super-segment has several).
    pub fn add(&mut self, verdict: Verdict, segments: u32) {
        let at = verdict.cause as usize;
        self.counts[at] = self.counts[at].saturating_add(segments);
        self.confidence[at] += verdict.confidence * segments as f32;
    }

    pub fn of(&self, cause: Cause) -> u32 {
        self.counts[cause as usize]
    }

    /// Mean confidence; none without any.
    pub fn confidence(&self, cause: Cause) -> Option<f32> {
        let n = self.counts[cause as usize];
        (n > 0).then(|| self.confidence[cause as usize] / n as f32)
    }
}
