//! Why a segment was sent again, or came out of turn.

use crate::stored::{Reader, Stored, Writer, stored};

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

    /// ACKs, or the time since, asked for it in a recovery: no timer.
    pub fn is_asked_for(self) -> bool {
        matches!(self, Cause::Fast | Cause::Rack)
    }

    /// True if the sender sent it again.
    pub fn is_retransmission(self) -> bool {
        (self as u8) <= Cause::Unexplained as u8
    }
}

impl Stored for Cause {
    fn put(&self, to: &mut Writer) {
        (*self as u8).put(to);
    }

    fn take(from: &mut Reader<'_>) -> Cause {
        Cause::ALL[usize::from(u8::take(from))]
    }
}

/// A cause and how sure it is, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    pub cause: Cause,
    pub confidence: f32,
}

stored!(Verdict { cause, confidence });

impl Verdict {
    pub fn new(cause: Cause, confidence: f32) -> Verdict {
        Verdict { cause, confidence }
    }
}

/// How many of each cause, and how sure: most directions with any have one or two.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    found: Box<[Count]>,
}

stored!(Tally { found });

#[derive(Debug, Clone, Copy)]
struct Count {
    cause: Cause,
    segments: u32,
    /// The sum of what each was sure of.
    confidence: f32,
}

stored!(Count { cause, segments, confidence });

impl Tally {
    /// `segments` full ones' worth in one packet (a super-segment has several).
    pub fn add(&mut self, verdict: Verdict, segments: u32) {
        let sure = verdict.confidence * segments as f32;
        match self.found.iter_mut().find(|count| count.cause == verdict.cause) {
            Some(count) => {
                count.segments = count.segments.saturating_add(segments);
                count.confidence += sure;
            }
            None => {
                let new = Count { cause: verdict.cause, segments, confidence: sure };
                self.found = self.found.iter().copied().chain([new]).collect();
            }
        }
    }

    fn find(&self, cause: Cause) -> Option<&Count> {
        self.found.iter().find(|count| count.cause == cause)
    }

    /// They were not that.
    pub fn take(&mut self, verdict: Verdict, segments: u32) {
        if let Some(count) = self.found.iter_mut().find(|count| count.cause == verdict.cause) {
            count.segments = count.segments.saturating_sub(segments);
            count.confidence -= verdict.confidence * segments as f32;
        }
    }

    pub fn of(&self, cause: Cause) -> u32 {
        self.find(cause).map_or(0, |count| count.segments)
    }

    /// Mean confidence; none without any.
    pub fn confidence(&self, cause: Cause) -> Option<f32> {
        self.find(cause).filter(|count| count.segments > 0).map(|count| count.confidence / count.segments as f32)
    }

    /// Bytes held beside itself.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.found)
    }
}
