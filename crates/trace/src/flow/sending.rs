//! What is kept of an end that sends data. An end that only acknowledges has none of it but while its SYN or FIN is under way.

use super::clues::TsvalClock;
use super::opt_time::OptTime;
use super::outstanding::Outstanding;
use crate::compact::compact;
use crate::metrics::{AckClock, ByteTimeline, TimeAverage};

#[derive(Debug, Default)]
pub struct Sending {
    pub(super) outstanding: Outstanding,
    pub(super) stamp_clock: TsvalClock,
    pub(super) ids: Ids,
    pub amounts: Amounts,
    pub times: Times,
    pub flight: TimeAverage,
    pub(super) acks: AckClock,
    pub(super) course: Option<Box<ByteTimeline>>,
    /// Its first full segments were fewer than RFC 6928's initial window.
    pub(super) small_start: bool,
}

compact!(Sending { outstanding, stamp_clock, ids, amounts, times, flight, acks, course, small_start });

/// Packets are held at 2^32 - 1, in all counts of a flow.
#[derive(Debug, Clone, Copy, Default)]
pub struct Amounts {
    pub payload: u64,
    pub unique: u64,
    pub unique_ip_bytes: u64,
    /// With payload, in full segments' worth.
    pub segments: u32,
    pub duplicate_acks: u32,
    pub largest_segment: u32,
}

compact!(Amounts { payload, unique, unique_ip_bytes, segments, duplicate_acks, largest_segment });

/// Where the time went, nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Times {
    pub first_data: OptTime,
    pub last_data: i64,
    /// When the last new byte of data was acknowledged.
    pub last_advance: i64,
    /// Data was outstanding.
    pub busy: i64,
    /// Nothing was outstanding, and nothing held the sender: it had nothing to send.
    pub idle: i64,
    /// Nothing was outstanding, but the window had no room for a segment.
    pub closed: i64,
    /// No room for another segment in the offered window.
    pub window: i64,
    pub recovery: i64,
    /// Where the flight has settled, give or take two segments, since it last rose; outside the above.
    pub plateau: i64,
    /// Data was outstanding, but the last segment was a short one that was pushed: there was no more to send.
    pub starved: i64,
    /// The smoothed RTT a quarter above the least, outside the above: a queue stands.
    pub queued: i64,
}

compact!(Times { first_data, last_data, last_advance, busy, idle, closed, window, recovery, plateau, starved, queued });

/// A sender's packet numbers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ids {
    pub last: u16,
    pub seen: u16,
    pub up: u16,
    pub calm: u16,
    pub by_one: u16,
    /// By how much the last packet's number was above the highest before it.
    pub step: i16,
    /// Packets that the sender's numbering shows and the capture does not, less those whose data is known to be missing;
    /// and those between a timeout and its repair.
    pub unseen: i32,
    pub unseen_after_timeout: u32,
}

compact!(Ids { last, seen, up, calm, by_one, step, unseen, unseen_after_timeout });

impl Sending {
    /// Nothing in it tells of data: a SYN or a FIN came and was acknowledged.
    pub(super) fn is_blank(&self) -> bool {
        self.amounts.payload == 0 && self.amounts.duplicate_acks == 0 && self.outstanding.is_empty()
    }

    /// Bytes, those beside itself included.
    pub fn memory(&self) -> usize {
        size_of::<Sending>()
            + self.outstanding.memory()
            + self.acks.memory()
            + self.course.as_ref().map_or(0, |_| size_of::<ByteTimeline>())
    }
}
