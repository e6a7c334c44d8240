//! One direction of a flow: what one end sent, and what came back for it.

use super::sent::Outstanding;
use super::seq::ahead;
use super::stamp_clock::StampClock;
use super::trouble::Trouble;
use crate::cause::Tally;
use crate::metrics::{AckClock, Course, Level, Rtt};

/// Counters and clocks of the data that one end sends.
#[derive(Debug, Default)]
pub struct Half {
    pub(super) started: bool,
    /// An ACK for this direction has been seen.
    pub(super) heard: bool,
    /// One beyond the highest number seen.
    pub(super) next: u32,
    /// The lowest number not acknowledged.
    pub(super) una: u32,
    pub(super) sacked: u32,
    pub(super) duplicates: u32,
    /// The window that the other end offers, in bytes; and the shift for what it says next.
    pub(super) window: u32,
    pub(super) window_shift: u8,
    pub(super) last_id: u16,
    pub(super) outstanding: Outstanding,
    pub(super) clock: i64,
    pub(super) last_sent_at: i64,
    pub(super) last_heard_at: i64,
    pub(super) last_news_at: i64,
    pub(super) watched: Option<(u32, i64)>,
    pub(super) stamp_clock: StampClock,
    pub(super) mss: u32,
    pub(super) ids_up: u32,
    pub(super) ids_seen: u32,
    pub(super) ids_calm: u32,
    pub(super) ids_by_one: u32,
    /// Packets that the sender's numbering shows and the capture does not, less those whose data is known to be missing;
    /// and those between a timeout and its repair.
    pub(super) unseen: i32,
    pub(super) unseen_after_timeout: u32,
    /// The smoothed RTT is above the least by so much that a queue stands.
    pub(super) queue_stands: bool,
    /// The last new segment was not full, and was pushed.
    pub(super) emptied: bool,
    /// Of the first packet with data.
    pub data_ttl: u8,
    pub counts: Counts,
    pub times: Times,
    pub flight: Level,
    pub rtt: Rtt,
    /// By the time stamps' echo, retransmissions included.
    pub stamp_rtt: Rtt,
    pub offered: Offered,
    pub choices: Choices,
    pub(super) acks: Option<Box<AckClock>>,
    pub(super) course: Option<Box<Course>>,
    pub(super) trouble: Option<Box<Trouble>>,
}

/// Packets and bytes of one direction.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    pub packets: u64,
    pub ip_bytes: u64,
    /// With payload, in full segments' worth.
    pub segments: u64,
    pub payload: u64,
    pub unique: u64,
    pub unique_ip_bytes: u64,
    pub retransmitted: u64,
    pub retransmitted_bytes: u64,
    pub pure_acks: u64,
    pub duplicate_acks: u64,
    pub syns: u32,
    pub fins: u32,
    pub resets: u32,
    pub pushes: u64,
    /// IP packets marked congestion experienced, ECE echoes and CWR of this end.
    pub marks: u64,
    pub echoes: u64,
    pub reductions: u64,
    pub bad_checksums: u64,
    pub zero_windows: u32,
    pub largest_segment: u32,
}

/// Where the time went, nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Times {
    pub first_data: Option<i64>,
    pub last_data: i64,
    /// When the last new byte of data was acknowledged.
    pub last_news: i64,
    /// Data was outstanding.
    pub busy: i64,
    /// Nothing was outstanding, between the first data and the last.
    pub idle: i64,
    /// No room for another segment in the offered window.
    pub window: i64,
    pub recovery: i64,
    /// At the highest flight so far, give or take two segments, outside the above.
    pub plateau: i64,
    /// Data was outstanding, but the last segment was a short one that was pushed: there was no more to send.
    pub starved: i64,
    /// The smoothed RTT a quarter above the least, outside the above: a queue stands.
    pub queued: i64,
}

/// The window that this direction's receiver offers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offered {
    pub min: u32,
    pub max: u32,
    pub sum: f64,
    pub count: u64,
}

impl Offered {
    #[inline]
    pub(super) fn add(&mut self, window: u32) {
        self.min = if self.count == 0 { window } else { self.min.min(window) };
        self.max = self.max.max(window);
        self.sum += f64::from(window);
        self.count += 1;
    }
}

/// What this end's SYN offered.
#[derive(Debug, Clone, Copy, Default)]
pub struct Choices {
    pub seen: bool,
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack: bool,
    pub stamps: bool,
    pub ecn: bool,
    pub ttl: u8,
}

impl Choices {
    /// This end offered selective acknowledgement, or nobody saw whether it did.
    pub(super) fn allow_sack(&self) -> bool {
        !self.seen || self.sack
    }
}

/// A quarter above the least RTT: a queue, not noise.
const STANDING_QUEUE: (i64, i64) = (5, 4);

impl Half {
    /// Bytes sent and neither acknowledged nor selectively acknowledged.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        (ahead(self.una, self.next).max(0) as u32).saturating_sub(self.sacked)
    }

    /// The window that the other end offered last, bytes.
    pub fn offered_window(&self) -> u32 {
        self.window
    }

    /// Time has passed: puts it on the account of what held the sender.
    #[inline]
    pub(super) fn advance_clock(&mut self, now: i64) {
        let span = now - self.clock;
        self.clock = self.clock.max(now);
        if span <= 0 || self.times.first_data.is_none() {
            return;
        }
        let flight = self.in_flight();
        if self.una == self.next {
            self.times.idle += span;
            return;
        }
        self.times.busy += span;
        self.flight.held(u64::from(flight), span);
        if self.trouble.as_ref().is_some_and(|t| t.repairing(self.una)) {
            self.times.recovery += span;
        } else if ahead(self.una, self.next).max(0) as u32 + self.counts.largest_segment > self.window && self.heard {
            self.times.window += span;
        } else if self.emptied {
            self.times.starved += span;
        } else {
            if self.queue_stands {
                self.times.queued += span;
            }
            if u64::from(flight) + 2 * u64::from(self.counts.largest_segment) >= self.flight.max() {
                self.times.plateau += span;
            }
        }
    }

    /// A round-trip sample.
    #[inline]
    pub(super) fn sampled(&mut self, sample: i64) {
        self.rtt.add(sample);
        let standing = self.rtt.min().zip(self.rtt.smoothed());
        self.queue_stands = standing.is_some_and(|(least, (now, _))| now * STANDING_QUEUE.1 > least * STANDING_QUEUE.0);
    }

    /// Full segments in one packet of this much payload: more than one where the host or the card joins them (TSO, GRO). The
    /// agreed size includes options (RFC 6691), but some stacks let them ride for nothing.
    #[inline]
    pub(super) fn segments_in(&self, payload: u32, header_len: u8) -> u32 {
        if payload <= self.mss || self.mss == 0 {
            return 1;
        }
        payload.div_ceil(self.mss.saturating_sub(u32::from(header_len) - 20).max(1))
    }

    /// This connection's packets have a numbering of their own, without gaps while nothing is lost. A host that numbers all its packets
    /// in one sequence has gaps whenever it talks to somebody else.
    #[inline]
    pub(super) fn numbers_alone(&self) -> bool {
        self.ids_calm >= 64 && u64::from(self.ids_by_one) * 10 >= u64::from(self.ids_calm) * 9
    }

    /// This sender numbers its packets upwards.
    pub(super) fn counts_ids(&self) -> bool {
        self.ids_seen >= 8 && u64::from(self.ids_up) * 10 >= u64::from(self.ids_seen) * 8
    }

    pub fn ack_clock(&self) -> Option<&AckClock> {
        self.acks.as_deref()
    }

    /// New payload over time; none for short flows.
    pub fn course(&self) -> Option<&Course> {
        self.course.as_deref()
    }

    pub fn tally(&self) -> Tally {
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
        self.outstanding.memory()
            + self.rtt.memory()
            + self.stamp_rtt.memory()
            + self.acks.as_ref().map_or(0, |_| size_of::<AckClock>())
            + self.course.as_ref().map_or(0, |_| size_of::<Course>())
            + self.trouble.as_ref().map_or(0, |t| t.memory())
    }
}
