//! One direction of a flow: what one end sent, and what came back for it.

use super::opt_time::OptTime;
use super::sending::Sending;
use super::seq::seq_diff;
use super::trouble::Trouble;
use crate::compact::compact;
use crate::flow::classify::{KindCounts, SegmentKind};
use crate::metrics::{AckClock, ByteTimeline, Plateau, RttSampleSet};

/// Counters and clocks of what one end sends.
#[derive(Debug, Default)]
pub struct Half {
    /// One beyond the highest number seen.
    pub(super) next: u32,
    /// The lowest number not acknowledged.
    pub(super) una: u32,
    pub(super) sacked: u32,
    pub(super) duplicates: u32,
    /// The window that the other end offers, in bytes.
    pub(super) window: u32,
    /// The last time stamp value sent that waits for its echo, and since when.
    pub(super) watched: u32,
    pub(super) watched_at: OptTime,
    pub(super) last_sent_at: i64,
    pub(super) last_heard_at: i64,
    pub(super) last_news_at: i64,
    pub counts: Counts,
    pub rtt: RttSampleSet,
    /// By the time stamps' echo, retransmissions included.
    pub timestamp_rtt: RttSampleSet,
    pub offered: Offered,
    pub choices: Choices,
    pub(super) mss: u16,
    /// The shift for what the other end says next of its window.
    pub(super) window_shift: u8,
    /// Of the first packet with data.
    pub data_ttl: u8,
    pub(super) started: bool,
    /// An ACK for this direction has been seen.
    pub(super) heard: bool,
    /// The smoothed RTT is above the least by so much that a queue stands.
    pub(super) queue_stands: bool,
    /// The last new segment was not full, and was pushed.
    pub(super) emptied: bool,
    pub(super) sending: Option<Box<Sending>>,
    pub(super) trouble: Option<Box<Trouble>>,
}

compact!(Half {
    next,
    una,
    sacked,
    duplicates,
    window,
    watched,
    watched_at,
    last_sent_at,
    last_heard_at,
    last_news_at,
    counts,
    rtt,
    timestamp_rtt,
    offered,
    choices,
    mss,
    window_shift,
    data_ttl,
    started,
    heard,
    queue_stands,
    emptied,
    sending,
    trouble
});

/// Packets and bytes of one direction.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    pub ip_bytes: u64,
    pub packets: u32,
    pub pure_acks: u32,
    pub retransmitted: u32,
    pub resets: u32,
    /// IP packets marked congestion experienced, ECE echoes and CWR of this end.
    pub marks: u32,
    pub echoes: u32,
    pub reductions: u32,
    pub bad_checksums: u32,
    pub zero_windows: u32,
    pub fins: u8,
}

compact!(Counts {
    ip_bytes,
    packets,
    pure_acks,
    retransmitted,
    resets,
    marks,
    echoes,
    reductions,
    bad_checksums,
    zero_windows,
    fins
});

/// The window that this direction's receiver offers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offered {
    pub sum: u64,
    pub min: u32,
    pub max: u32,
    pub count: u32,
}

compact!(Offered { sum, min, max, count });

impl Offered {
    #[inline]
    pub(super) fn add(&mut self, window: u32) {
        self.min = if self.count == 0 { window } else { self.min.min(window) };
        self.max = self.max.max(window);
        self.sum += u64::from(window);
        self.count = self.count.saturating_add(1);
    }
}

/// What this end's SYN offered.
#[derive(Debug, Clone, Copy, Default)]
pub struct Choices {
    pub seen: bool,
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack: bool,
    pub timestamps: bool,
    pub ecn: bool,
    pub ttl: u8,
}

compact!(Choices { seen, mss, window_scale, sack, timestamps, ecn, ttl });

impl Choices {
    /// This end offered selective acknowledgement, or nobody saw whether it did.
    pub(super) fn allow_sack(&self) -> bool {
        !self.seen || self.sack
    }
}

/// Before a closed window nothing is outstanding, whether there is data waiting or not. A sender that has some asks after a retransmission timeout
/// (RFC 9293, section 3.8.6.1), at first never longer than the initial one of old hosts (RFC 1122): silence beyond that without a question
/// says that it had none.
const LONGEST_FIRST_PROBE: i64 = 3_000_000_000;
/// A quarter above the least RTT: a queue, not noise.
const STANDING_QUEUE: (i64, i64) = (5, 4);

/// A window is full when less than this part of it is free beside a segment: senders wait for room for several (silly window avoidance, RFC 9293,
/// section 3.8.6.2.1; segments joined for the card).
const NEARLY: u32 = 8;

impl Half {
    /// Bytes sent and neither acknowledged nor selectively acknowledged.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        (seq_diff(self.una, self.next).max(0) as u32).saturating_sub(self.sacked)
    }

    /// The window that the other end offered last, bytes.
    pub fn offered_window(&self) -> u32 {
        self.window
    }

    /// Time has passed: puts it on the account of what held the sender.
    #[inline]
    pub(super) fn spend(&mut self, span: i64) {
        let flight = self.in_flight();
        let Some(sending) = self.sending.as_deref_mut().filter(|s| s.times.first_data.is_some()) else { return };
        let times = &mut sending.times;
        let full = sending.amounts.largest_segment;
        if self.una == self.next {
            let waits = self.heard
                && self.window < full
                && (span <= LONGEST_FIRST_PROBE
                    || self.trouble.as_ref().is_some_and(|t| t.tally.count(SegmentKind::WindowProbe) > 0));
            *(if waits { &mut times.closed } else { &mut times.idle }) += span;
            return;
        }
        times.busy += span;
        sending.flight.add(flight, span);
        if self.trouble.as_ref().is_some_and(|t| t.repairing(self.una)) {
            times.recovery += span;
        } else if self.heard && seq_diff(self.una, self.next).max(0) as u32 + full + self.window / NEARLY > self.window {
            times.window += span;
        } else if self.emptied {
            times.starved += span;
        } else {
            if self.queue_stands {
                times.queued += span;
            }
            match sending.flight.plateau(flight, full.saturating_mul(2)) {
                Plateau::Risen => times.plateau = 0,
                Plateau::On => times.plateau += span,
                Plateau::Below => {}
            }
        }
    }

    /// A round-trip sample.
    #[inline]
    pub(super) fn sampled(&mut self, sample: i64) {
        self.rtt.add(sample);
        self.queue_stands = self.rtt.is_srtt_above_min(STANDING_QUEUE);
    }

    /// Full segments in one packet of this much payload: more than one where the host or the card joins them (TSO, GRO). The
    /// agreed size includes options (RFC 6691), but some stacks let them ride for nothing.
    #[inline]
    pub(super) fn segments_in(&self, payload: u32, header_len: u8) -> u32 {
        let mss = u32::from(self.mss);
        if payload <= mss || mss == 0 {
            return 1;
        }
        payload.div_ceil(mss.saturating_sub(u32::from(header_len) - 20).max(1))
    }

    /// Data that this end has sent, bytes.
    #[inline]
    pub(super) fn payload(&self) -> u64 {
        self.sending.as_ref().map_or(0, |s| s.amounts.payload)
    }

    #[inline]
    pub(super) fn largest_segment(&self) -> u32 {
        self.sending.as_ref().map_or(0, |s| s.amounts.largest_segment)
    }

    #[inline]
    pub(super) fn sending_mut(&mut self) -> &mut Sending {
        self.sending.get_or_insert_default()
    }

    /// None where this end only acknowledged.
    pub fn sending(&self) -> Option<&Sending> {
        self.sending.as_deref()
    }

    pub fn ack_clock(&self) -> Option<&AckClock> {
        self.sending.as_ref().map(|s| &s.acks).filter(|acks| acks.has_acks())
    }

    /// New payload over time; none for short flows.
    pub fn byte_timeline(&self) -> Option<&ByteTimeline> {
        self.sending.as_ref()?.course.as_deref()
    }

    pub fn tally(&self) -> KindCounts {
        self.trouble.as_ref().map(|t| t.tally.clone()).unwrap_or_default()
    }

    pub fn trouble(&self) -> Option<&Trouble> {
        self.trouble.as_deref()
    }

    pub(super) fn trouble_mut(&mut self) -> &mut Trouble {
        self.trouble.get_or_insert_default()
    }

    /// Bytes held beside the flow itself.
    pub fn memory(&self) -> usize {
        self.rtt.memory()
            + self.timestamp_rtt.memory()
            + self.sending.as_ref().map_or(0, |s| s.memory())
            + self.trouble.as_ref().map_or(0, |t| t.memory())
    }
}
