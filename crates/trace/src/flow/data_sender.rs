//! What is kept of an end that sends data. An end that only acknowledges has it only until its SYN or
//! FIN is acknowledged.

use super::clues::{InitialFlight, IpIdTracker, RttClues, TsvalClock};
use super::context::{PacketContext, SenderClues};
use super::loss_history::LossHistory;
use super::mss::MIN_MSS;
use super::outstanding::{CaptureGap, Outstanding, SackMark, SendSpace, SentRange};
use super::send_stats::SendStats;
use super::seq::{seq_diff, seq_lt, seq_min};
use crate::compact::compact;
use crate::decode::{Flags, Segment};

#[derive(Debug, Default)]
pub struct DataSender {
    pub(super) outstanding: Outstanding,
    pub(super) tsval_clock: TsvalClock,
    pub(super) ip_id: IpIdTracker,
    initial_flight: InitialFlight,
    pub(super) stats: SendStats,
    /// The last new segment was not full, and was pushed.
    pub(super) is_app_limited: bool,
    /// Payload of the last packet with new data, bytes.
    pub(super) last_payload: u32,
    /// Of the first data packet.
    pub(super) data_ttl: u8,
}

compact!(DataSender { outstanding, tsval_clock, ip_id, initial_flight, stats, is_app_limited, last_payload, data_ttl });

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<DataSender>() <= 448);

/// The highest range that an ACK acknowledges.
#[derive(Debug, Clone, Copy)]
pub struct AckedRange {
    pub range: SentRange,
    /// The ACK gives an RTT sample: it ends with the range, which was sent once (Karn), was not SACKed
    /// and did not wait for a retransmission below it, captured before or not.
    pub gives_sample: bool,
}

impl DataSender {
    /// Removes what `ack` acknowledges.
    #[inline]
    pub fn on_acked(
        &mut self,
        now: i64,
        ack: u32,
        space: &mut SendSpace,
        mut loss: Option<&mut LossHistory>,
        rtt: &RttClues,
    ) -> Option<AckedRange> {
        let mut repaired_at = i64::MIN;
        let mut highest = None;
        // Only of a range with several copies is it asked which one can have arrived.
        let min_rtt = |range: &SentRange| if range.transmissions > 1 { rtt.min_feedback().unwrap_or(0) } else { 0 };
        loop {
            let part = if loss.is_some() { self.outstanding.part_below(ack) } else { None };
            let Some(range) = self.outstanding.pop_acked(ack) else {
                if let Some((loss, part)) = loss.zip(part) {
                    loss.on_range_acked(&part, now, min_rtt(&part));
                }
                break;
            };
            repaired_at = repaired_at.max(range.last_at);
            if let Some(loss) = loss.as_deref_mut() {
                loss.on_range_acked(&range, now, min_rtt(&range));
            }
            if range.sacked.is_sacked() {
                space.on_sacked_range_acked(range.len);
            }
            highest = Some(range);
        }
        let range = highest?;
        let gives_sample = range.end() == ack && range.is_plain() && repaired_at <= range.first_at;
        Some(AckedRange { range, gives_sample })
    }

    /// A packet with payload, worth `segments` full segments, before it is placed; SND.UNA and SND.NXT if the SYN was captured.
    #[inline]
    pub fn on_payload(&mut self, s: &Segment<'_>, segments: u32, space: Option<(u32, u32)>) {
        self.stats.on_payload(s.payload, segments);
        if let Some(space) = space.filter(|_| !self.initial_flight.is_over()) {
            self.initial_flight.on_packet(s, space, self.stats.bytes().largest_segment, self.is_app_limited);
        }
    }

    /// The segment is the first copy of this part of a gap.
    pub fn fill_gap(&mut self, ctx: &PacketContext<'_>, gap: &CaptureGap) {
        let (start, end) = gap.overlap(ctx.start(), ctx.end());
        let filled = seq_diff(start, end).max(0) as u32;
        self.outstanding.insert(sent_range(ctx.now, ctx.segment, start, filled));
        self.stats.on_new_payload(filled.min(ctx.segment.payload), ctx.segment.ip_len);
    }

    /// The last copy of the lowest range that the segment repeats, from `start` on.
    pub fn previous_copy(&mut self, ctx: &PacketContext<'_>, start: u32) -> Option<SentRange> {
        let end = seq_min(ctx.end(), ctx.nxt);
        self.outstanding.first_above(start).filter(|range| seq_lt(range.start, end)).copied()
    }

    /// The segment repeats what was captured from `start` on.
    pub fn retransmit(&mut self, ctx: &PacketContext<'_>, start: u32) {
        let end = seq_min(ctx.end(), ctx.nxt);
        let ip_id = ctx.segment.ip_id.unwrap_or(0);
        self.outstanding.retransmit(start, end, ctx.now, ctx.tsval().unwrap_or(0), ip_id);
    }

    /// Gaps in the IP identifications are missing data packets.
    pub fn ip_ids_count_data(&self, pure_acks: u32) -> bool {
        self.ip_id.counts_data_packets(pure_acks, self.stats.bytes().segments)
    }

    /// What the sender's packets show of it, with `free` bytes of the advertised window unused.
    pub fn clues(&self, pure_acks: u32, free: u32) -> SenderClues {
        let full_segment = self.stats.bytes().largest_segment;
        SenderClues {
            ip_id: self.ip_id,
            ip_id_counts_data: self.ip_ids_count_data(pure_acks),
            tsval_clock: self.tsval_clock,
            full_segment,
            can_send_more: !self.is_app_limited && free > full_segment.saturating_mul(2),
            small_initial_window: self.stats.has_small_initial_window(),
            small_initial_flight: self.initial_flight.is_small(),
            large_initial_window: self.stats.has_large_initial_window(),
        }
    }

    /// A packet with data, SYN or FIN was processed.
    #[inline]
    pub fn on_sent(&mut self, now: i64, s: &Segment<'_>, in_flight: u32) {
        if s.payload > 0 && self.stats.on_data_at(now) {
            self.data_ttl = s.ttl;
        }
        self.stats.on_flight(in_flight);
    }

    /// New payload, in a packet of which `ip_len` bytes count as new.
    #[inline]
    pub fn on_new_payload(&mut self, now: i64, s: &Segment<'_>, ip_len: u32, keeps_timeline: bool) {
        self.stats.on_new_payload(s.payload, ip_len);
        if keeps_timeline {
            self.stats.on_timeline(now, s.payload);
        }
        let full = self.stats.bytes().largest_segment;
        let is_pushed = s.flags.has(Flags::PSH) && full > 0;
        // What divides into segments as long as those of the packet before, which were full, is full: the path's MTU
        // may have become smaller.
        self.is_app_limited = is_pushed
            && !s.payload.is_multiple_of(full)
            && (self.is_app_limited || common_divisor(s.payload, self.last_payload) < MIN_MSS);
        if s.payload > 0 {
            self.last_payload = s.payload;
        }
        if is_pushed && !self.is_app_limited {
            self.stats.on_pushed();
        }
    }

    /// Appends `len` bytes of a segment from `start` on.
    #[inline]
    pub fn push(&mut self, now: i64, s: &Segment<'_>, start: u32, len: u32, max_ranges: usize) {
        self.outstanding.push(sent_range(now, s, start, len), max_ranges);
    }

    /// Nothing is outstanding, and nothing shows data.
    #[inline]
    pub fn is_blank(&self) -> bool {
        self.outstanding.is_empty() && self.stats.is_blank()
    }

    /// Memory in bytes, heap included.
    pub fn memory(&self) -> usize {
        size_of::<DataSender>() + self.outstanding.memory() + self.stats.memory()
    }
}

#[cold]
fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[inline]
fn sent_range(now: i64, s: &Segment<'_>, start: u32, len: u32) -> SentRange {
    SentRange {
        start,
        len,
        first_at: now,
        last_at: now,
        tsval: s.options.timestamps.map_or(0, |timestamps| timestamps.value),
        ip_id: s.ip_id.unwrap_or(0),
        transmissions: 1,
        sacked: SackMark::No,
    }
}
