//! Statistics of an end that sends data.

use super::classify::SendLimit;
use super::late_acks::LateAcks;
use super::opt_time::OptTime;
use super::rules::RULES;
use crate::compact::compact;
use crate::metrics::{AckClock, ByteTimeline, Plateau, TimeAverage};

#[derive(Debug, Default)]
pub struct SendStats {
    bytes: ByteCounts,
    times: LimitTimes,
    flight: TimeAverage,
    ack_clock: AckClock,
    timeline: Option<Box<ByteTimeline>>,
    /// None before the first pause.
    think: Option<Box<ThinkTimes>>,
    /// None before the first late ACK.
    late_acks: Option<Box<LateAcks>>,
}

compact!(SendStats { bytes, times, flight, ack_clock, timeline, think, late_acks });

/// Pauses of this end's application between the other end's data and its own, beyond the RTT.
/// Times in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThinkTimes {
    pub count: u32,
    pub total: i64,
    pub longest: i64,
    /// Time at which the longest one ended.
    pub longest_at: i64,
}

compact!(ThinkTimes { count, total, longest, longest_at });

/// Counts of segments saturate at 2^32 - 1.
#[derive(Debug, Clone, Copy, Default)]
pub struct ByteCounts {
    /// Payload, retransmissions included.
    pub payload: u64,
    /// Payload without retransmissions, and the IP bytes of its packets.
    pub unique: u64,
    pub unique_ip_bytes: u64,
    /// Full segments with payload.
    pub segments: u32,
    pub duplicate_acks: u32,
    pub largest_segment: u32,
    /// Packets of full segments with PSH: a program's write ended there, or had to wait for room in the send buffer.
    pub pushed: u32,
    /// Full segments outstanding when the first data was acknowledged; zero if not known.
    initial_window: u8,
}

compact!(ByteCounts { payload, unique, unique_ip_bytes, segments, duplicate_acks, largest_segment, pushed, initial_window });

/// Times by what limited the sender, nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct LimitTimes {
    pub first_data: OptTime,
    pub last_data: i64,
    /// Of the last advancing ACK.
    pub last_advance: i64,
    /// Data was outstanding.
    pub busy: i64,
    /// Nothing was outstanding: the sender had nothing to send, or the window was zero.
    pub idle: i64,
    pub zero_window: i64,
    /// Parts of `busy`: the advertised window was full; recovery; the last segment was not full.
    pub window: i64,
    pub recovery: i64,
    pub app_limited: i64,
    /// The rest of `busy`, overlapping: the bytes in flight were constant within two segments since they
    /// last rose; SRTT showed a standing queue with more than a segment in flight.
    pub flight_plateau: i64,
    pub standing_queue: i64,
    /// Since the bytes in flight last rose, above two segments more than ever; and how often they have come back there
    /// without a pause of the application.
    pub since_risen: i64,
    pub peaks: u32,
    is_below_peak: bool,
}

compact!(LimitTimes {
    first_data,
    last_data,
    last_advance,
    busy,
    idle,
    zero_window,
    window,
    recovery,
    app_limited,
    flight_plateau,
    standing_queue,
    since_risen,
    peaks,
    is_below_peak
});

impl SendStats {
    pub fn bytes(&self) -> &ByteCounts {
        &self.bytes
    }

    pub fn times(&self) -> &LimitTimes {
        &self.times
    }

    /// Bytes in flight.
    pub fn flight(&self) -> &TimeAverage {
        &self.flight
    }

    pub fn ack_clock(&self) -> Option<&AckClock> {
        Some(&self.ack_clock).filter(|acks| acks.has_acks())
    }

    /// New payload over time; none for short flows.
    pub fn byte_timeline(&self) -> Option<&ByteTimeline> {
        self.timeline.as_deref()
    }

    #[inline]
    pub fn has_data(&self) -> bool {
        self.times.first_data.is_some()
    }

    pub fn think(&self) -> ThinkTimes {
        self.think.as_deref().copied().unwrap_or_default()
    }

    pub fn late_acks(&self) -> LateAcks {
        self.late_acks.as_deref().copied().unwrap_or_default()
    }

    /// Late ACKs, if there was any.
    #[inline]
    pub(super) fn late_acks_mut(&mut self) -> Option<&mut LateAcks> {
        self.late_acks.as_deref_mut()
    }

    /// The ACK of a segment that was alone in flight came `delay` later than the path explains.
    #[cold]
    pub(super) fn on_late_ack(&mut self, now: i64, delay: i64) {
        self.late_acks.get_or_insert_default().on_late_ack(now, delay);
    }

    /// The application thought for `span` nanoseconds until now.
    pub(super) fn on_think(&mut self, now: i64, span: i64) {
        let think = self.think.get_or_insert_default();
        think.count = think.count.saturating_add(1);
        think.total = think.total.saturating_add(span);
        if span > think.longest {
            (think.longest, think.longest_at) = (span, now);
        }
    }

    /// Its first full segments were fewer than RFC 6928's initial window.
    pub fn has_small_initial_window(&self) -> bool {
        (RULES.small_initial_window.0..=RULES.small_initial_window.1).contains(&self.bytes.initial_window)
    }

    /// It began with the initial window of RFC 6928 or a larger one.
    pub fn has_large_initial_window(&self) -> bool {
        self.bytes.initial_window >= RULES.large_initial_window
    }

    /// Nothing shows data: only a SYN or FIN was sent and acknowledged.
    #[inline]
    pub(super) fn is_blank(&self) -> bool {
        self.bytes.payload == 0 && self.bytes.duplicate_acks == 0
    }

    /// A packet with payload, worth `segments` full segments.
    #[inline]
    pub(super) fn on_payload(&mut self, payload: u32, segments: u32) {
        let bytes = &mut self.bytes;
        bytes.segments = bytes.segments.saturating_add(segments);
        bytes.payload += u64::from(payload);
        let each = if segments == 1 { payload } else { payload.div_ceil(segments) };
        bytes.largest_segment = bytes.largest_segment.max(each);
    }

    /// The time of a packet with payload. Returns true for the first one.
    #[inline]
    pub(super) fn on_data_at(&mut self, now: i64) -> bool {
        self.times.last_data = now;
        let is_first = !self.times.first_data.is_some();
        if is_first {
            self.times.first_data.set(now);
        }
        is_first
    }

    /// New payload, in a packet of this many IP bytes.
    #[inline]
    pub(super) fn on_new_payload(&mut self, payload: u32, ip_len: u32) {
        self.bytes.unique += u64::from(payload);
        self.bytes.unique_ip_bytes += u64::from(ip_len);
    }

    /// A packet of full segments with PSH.
    #[inline]
    pub(super) fn on_pushed(&mut self) {
        self.bytes.pushed = self.bytes.pushed.saturating_add(1);
    }

    #[inline]
    pub(super) fn on_timeline(&mut self, now: i64, payload: u32) {
        self.timeline.get_or_insert_with(|| Box::new(ByteTimeline::new(now))).add(now, payload);
    }

    #[inline]
    pub(super) fn on_flight(&mut self, in_flight: u32) {
        self.flight.update_max(in_flight);
    }

    pub(super) fn on_duplicate_ack(&mut self) {
        self.bytes.duplicate_acks = self.bytes.duplicate_acks.saturating_add(1);
    }

    /// A packet without payload of the other end.
    #[inline]
    pub(super) fn on_pure_ack(&mut self, now: i64) {
        if self.bytes.payload > 0 {
            self.ack_clock.on_ack(now);
        }
    }

    /// An ACK acknowledges `acked` bytes, the last of which were sent at `sent_at`, `gap` after the
    /// previous advancing ACK. `outstanding` bytes were outstanding before it.
    #[inline]
    pub(super) fn on_data_acked(&mut self, acked: u32, sent_at: i64, gap: i64, outstanding: u32, is_app_limited: bool) {
        if self.bytes.payload == 0 {
            return;
        }
        let full = self.bytes.largest_segment.max(1);
        // Nothing was acknowledged before: the initial window.
        if self.bytes.unique == u64::from(outstanding) && !is_app_limited {
            self.bytes.initial_window = outstanding.div_ceil(full).min(u8::MAX.into()) as u8;
        }
        let segments = if acked <= full { 1 } else { acked.div_ceil(full) };
        self.ack_clock.on_advance(segments, sent_at, gap);
    }

    #[inline]
    pub(super) fn on_advance_at(&mut self, now: i64) {
        self.times.last_advance = now;
    }

    /// `span` nanoseconds have passed with `in_flight` bytes in flight.
    #[inline]
    pub(super) fn on_span(&mut self, span: i64, limit: SendLimit, in_flight: u32, standing_queue: bool) {
        let times = &mut self.times;
        match limit {
            SendLimit::ZeroWindow => return times.zero_window += span,
            SendLimit::Idle => {
                // What fills the window after a pause is the application's.
                times.is_below_peak = false;
                return times.idle += span;
            }
            _ => {}
        }
        times.busy += span;
        self.flight.add(in_flight, span);
        match limit {
            SendLimit::Recovery => times.recovery += span,
            SendLimit::Window => times.window += span,
            SendLimit::Application => {
                times.is_below_peak = false;
                times.app_limited += span;
            }
            _ => {
                // A segment alone waits behind nothing of its own.
                if standing_queue && in_flight > self.bytes.largest_segment {
                    times.standing_queue += span;
                }
                match self.flight.plateau(in_flight, self.bytes.largest_segment.saturating_mul(2)) {
                    Plateau::Risen => (times.flight_plateau, times.since_risen, times.peaks) = (0, 0, 0),
                    Plateau::On => {
                        times.flight_plateau += span;
                        times.since_risen += span;
                        times.peaks += u32::from(std::mem::take(&mut times.is_below_peak));
                    }
                    Plateau::Below => {
                        times.since_risen += span;
                        times.is_below_peak = true;
                    }
                }
            }
        }
    }

    /// Heap memory in bytes.
    pub fn memory(&self) -> usize {
        let timeline = self.timeline.as_ref().map_or(0, |_| size_of::<ByteTimeline>());
        let think = self.think.as_ref().map_or(0, |_| size_of::<ThinkTimes>());
        let late_acks = self.late_acks.as_ref().map_or(0, |_| size_of::<LateAcks>());
        self.ack_clock.memory() + timeline + think + late_acks
    }
}
