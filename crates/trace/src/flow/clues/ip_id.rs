//! IP identifications as a counter of the sender's packets: gaps in it are packets that were not
//! captured.

use super::super::rules::RULES;
use crate::compact::compact;

#[derive(Debug, Clone, Copy, Default)]
pub struct IpIdTracker {
    highest: u16,
    seen: u16,
    /// Packets whose identification was 1 to 64 above the highest.
    increasing: u16,
    /// Packets outside recoveries, and those whose identification was one above the highest, or above
    /// as many as a gap in the sequence space has segments.
    idle: u16,
    by_one: u16,
    /// The last packet was outside a recovery and skipped identifications.
    skips_idle: bool,
    /// Pure ACKs that may be among the missing packets; saturates.
    missing_acks: u8,
    /// The last packet acknowledges data that no packet before it did.
    acks: bool,
    /// The identifications missing before the last packet may be this connection's.
    fits: bool,
    /// The last identification minus the highest before it.
    step: i16,
    /// Packets that the counter shows and the capture does not, less those whose data is known to be
    /// missing; and those sent in an RTO recovery.
    missing: i32,
    missing_after_rto: u16,
    /// Those directly before the last packet, of a sender without a reason to retransmit, that no gap
    /// in the sequence space explains.
    unneeded: u16,
}

compact!(IpIdTracker {
    highest,
    seen,
    increasing,
    idle,
    by_one,
    skips_idle,
    missing_acks,
    acks,
    fits,
    step,
    missing,
    missing_after_rto,
    unneeded
});

/// Increments that count as increasing: hosts with other connections skip numbers.
const MAX_INCREMENT: u16 = 64;
/// Counts are halved at this number.
const MAX_SEEN: u16 = 1 << 15;
/// Maximum number of packets that one gap can show.
const MAX_MISSING: i16 = 1 << 10;

/// A packet for the tracker.
#[derive(Debug, Clone, Copy)]
pub struct NumberedPacket {
    pub id: u16,
    /// Identifications that it takes: the number of segments of a TSO segment.
    pub ids: u16,
    pub has_payload: bool,
    /// It acknowledges data that no captured packet did: one that is missing may have been its pure ACK
    /// (RFC 9293, section 3.8.6.3).
    pub acks: bool,
    /// Nothing is missing and no recovery is under way.
    pub is_idle: bool,
    /// Bytes that the receive window allows between this packet and the one before, and the sender's full
    /// segment: with more identifications missing, the host sent other packets.
    pub window: u32,
    pub full_segment: u32,
    /// An RTO recovery is under way.
    pub in_rto_recovery: bool,
}

impl IpIdTracker {
    #[inline]
    pub fn on_packet(&mut self, p: NumberedPacket) {
        let step = p.id.wrapping_sub(self.highest);
        if step == 1 && self.seen > 0 {
            self.on_next(p);
        } else {
            self.on_other(p, step);
        }
        if self.seen >= MAX_SEEN {
            (self.seen, self.increasing) = (self.seen / 2, self.increasing / 2);
            (self.idle, self.by_one) = (self.idle / 2, self.by_one / 2);
        }
    }

    /// The identification is one above the highest.
    #[inline]
    fn on_next(&mut self, p: NumberedPacket) {
        (self.step, self.seen, self.increasing) = (1, self.seen + 1, self.increasing + 1);
        self.idle += u16::from(p.is_idle);
        self.by_one += u16::from(p.is_idle);
        (self.skips_idle, self.acks, self.unneeded) = (false, p.acks, 0);
        self.highest = p.id.wrapping_add(p.ids - 1);
    }

    /// The first identification, or one that is `step` above the highest.
    #[inline(never)]
    fn on_other(&mut self, p: NumberedPacket, step: u16) {
        self.step = if self.seen > 0 { step as i16 } else { 1 };
        self.seen += 1;
        self.increasing += u16::from((1..=MAX_INCREMENT).contains(&step));
        if p.is_idle {
            self.idle += 1;
            self.by_one += u16::from(step == 1);
        }
        self.skips_idle = p.is_idle && step > 1;
        (self.acks, self.unneeded) = (p.acks, 0);
        self.fits = u32::from(step.wrapping_sub(1)) <= p.window.div_ceil(p.full_segment.max(1));
        if self.seen == 1 || (1..=RULES.max_ip_id_step).contains(&step) {
            if self.seen > 1 && step > 1 && self.fits {
                let between = u32::from(step - 1);
                self.missing += between as i32;
                self.unneeded = if p.is_idle { between as u16 } else { 0 };
                self.missing_acks = self.missing_acks.saturating_add(u8::from(p.acks));
                if p.in_rto_recovery {
                    self.missing_after_rto = self.missing_after_rto.saturating_add(between as u16);
                }
            }
            self.highest = p.id.wrapping_add(p.ids - 1);
        } else if step.wrapping_neg() > RULES.max_ip_id_step {
            self.highest = p.id.wrapping_add(p.ids - 1);
        } else if !p.has_payload {
            // A reordered ACK is no longer missing. Data is settled by its gap.
            self.missing -= 1;
            self.limit_acks();
        }
    }

    /// The last identification is a few above the highest before it.
    pub fn steps_on(&self) -> bool {
        self.seen > 1 && (1..=MAX_INCREMENT as i16).contains(&self.step)
    }

    /// The last packet's identification minus the highest before it.
    #[inline]
    pub fn step(&self) -> i16 {
        self.step
    }

    /// Packets with data that were sent directly before the last one and not captured.
    pub fn missing_data_before_last(&self) -> u32 {
        self.missing_before_last().saturating_sub(self.acks.into())
    }

    fn missing_before_last(&self) -> u32 {
        if self.fits { u32::from(self.step.clamp(1, MAX_MISSING) as u16 - 1) } else { 0 }
    }

    /// The sender increments identifications packet by packet.
    pub fn is_monotonic(&self) -> bool {
        let (part, whole) = RULES.monotonic_share;
        self.seen >= RULES.min_ip_ids && i64::from(self.increasing) * whole >= i64::from(self.seen) * part
    }

    /// The counter counts this connection's packets only.
    #[inline]
    pub fn is_per_connection(&self) -> bool {
        let (part, whole) = RULES.per_connection_share;
        self.idle >= RULES.min_idle_ip_ids && i64::from(self.by_one) * whole >= i64::from(self.idle) * part
    }

    /// The counter skips identifications outside of recoveries so often that other connections take them.
    pub fn skips_for_others(&self) -> bool {
        let (part, whole) = RULES.shared_counter_share;
        self.idle >= RULES.min_idle_ip_ids && i64::from(self.by_one) * whole < i64::from(self.idle) * part
    }

    /// Gaps in the counter are missing data: it counts this connection's packets, of which hardly any
    /// are pure ACKs.
    pub fn counts_data_packets(&self, pure_acks: u32, data_segments: u32) -> bool {
        let (part, whole) = RULES.max_ack_share;
        self.is_per_connection() && u64::from(pure_acks) * whole as u64 <= u64::from(data_segments) * part as u64
    }

    #[inline]
    pub fn has_missing(&self) -> bool {
        self.missing > i32::from(self.missing_acks)
    }

    /// A gap in the sequence space explains this number of missing packets.
    pub fn on_gap(&mut self, segments: u32) {
        if std::mem::take(&mut self.skips_idle) && segments > 0 && segments == self.missing_before_last() {
            self.by_one += 1;
        }
        self.missing = self.missing.saturating_sub(segments.min(1 << 20) as i32);
        self.unneeded = self.unneeded.saturating_sub(segments.min(u32::from(u16::MAX)) as u16);
        self.limit_acks();
    }

    /// Nothing was lost before the last packet, so that the sender retransmitted nothing: what is missing
    /// before it are packets of other connections.
    pub fn drop_unneeded(&mut self) {
        self.missing -= i32::from(std::mem::take(&mut self.unneeded));
        self.limit_acks();
    }

    /// A retransmission shows that the first copies of this number of segments are among the missing.
    pub fn on_explained(&mut self, segments: u32) {
        self.missing -= (segments as i32).min(self.missing.max(0));
        self.limit_acks();
    }

    fn limit_acks(&mut self) {
        self.missing_acks = self.missing_acks.min(self.missing.clamp(0, i32::from(u8::MAX)) as u8);
    }

    /// New data passes, without a gap before it: if a later packet overtook it, it is no longer missing.
    pub fn on_late(&mut self, segments: u32) {
        if self.step < 0 {
            self.on_explained(segments);
        }
    }

    /// The missing packets that carried data, and those of them that were sent in an RTO recovery; counts
    /// them no more.
    pub fn take_missing(&mut self) -> (u32, u32) {
        let lost = (self.missing - i32::from(self.missing_acks)).max(0) as u32;
        let after_rto = lost.min(self.missing_after_rto.into());
        (self.missing, self.missing_after_rto, self.missing_acks) = (0, 0, 0);
        (lost, after_rto)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(id: u16) -> NumberedPacket {
        NumberedPacket {
            id,
            ids: 1,
            has_payload: true,
            acks: false,
            is_idle: true,
            window: 10_000_000,
            full_segment: 1000,
            in_rto_recovery: false,
        }
    }

    #[test]
    fn counter_is_monotonic_from_the_eighth_packet_on() {
        let mut tracker = IpIdTracker::default();
        for id in 1..=8 {
            assert!(!tracker.is_monotonic());
            tracker.on_packet(packet(id));
        }
        assert!(tracker.is_monotonic());
    }

    #[test]
    fn counter_is_of_the_connection_from_the_sixteenth_packet_on() {
        let mut tracker = IpIdTracker::default();
        for id in 1..=16 {
            assert!(!tracker.is_per_connection() && !tracker.counts_data_packets(0, 10));
            tracker.on_packet(packet(id));
        }
        assert!(tracker.is_per_connection());
        // Of ten packets with data hardly more than one is a pure ACK.
        assert!(tracker.counts_data_packets(1, 10) && !tracker.counts_data_packets(1, 9));
    }

    /// Packets of which the first `by_one` increase the counter by one, and the others by `step`.
    fn counted(by_one: u16, all: u16, step: u16) -> IpIdTracker {
        let mut tracker = IpIdTracker::default();
        for number in 1..=all {
            tracker.on_packet(packet(number.min(by_one) + step * number.saturating_sub(by_one)));
        }
        tracker
    }

    #[test]
    fn counter_is_recognized_by_the_share_of_its_small_steps() {
        assert!(counted(8, 10, 65).is_monotonic() && !counted(7, 10, 65).is_monotonic());
        assert!(counted(18, 20, 2).is_per_connection() && !counted(17, 20, 2).is_per_connection());
        assert!(!counted(16, 20, 2).skips_for_others() && counted(15, 20, 2).skips_for_others());
    }

    #[test]
    fn packets_are_missing_when_the_counter_steps_on_by_2048_at_most() {
        let missing = |step: u16| {
            let mut tracker = IpIdTracker::default();
            tracker.on_packet(packet(1));
            tracker.on_packet(packet(1 + step));
            tracker.missing
        };
        assert_eq!([1, 2, 2048, 2049].map(missing), [0, 1, 2047, 0]);
    }
}
