//! Delivery rate estimation (draft-cheng-iccrg-delivery-rate-estimation), for congestion controls
//! that use it.
//!
//! Each segment in flight carries a record of the delivered count when it was sent. Its ACK gives a
//! sample: the segments delivered since, over the longer of the send interval and the ACK interval.

use super::scoreboard::Index;
use crate::ring::Ring;
use crate::units::{Span, Time};

/// Section 3.2: the delivery rate over the flight of one segment. Amounts are in segments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateSample {
    /// Delivered in the interval.
    pub delivered: u64,
    pub interval: Span,
    /// Delivered when the segment was sent: a round ends when this passes the delivered count at
    /// its start.
    pub prior_delivered: u64,
    /// Delivered since the connection began.
    pub total: u64,
    /// Marked lost during the flight.
    pub lost: u64,
    /// In flight when the segment was sent, itself included.
    pub tx_in_flight: u32,
    /// The sender was application-limited when the segment was sent.
    pub app_limited: bool,
}

impl RateSample {
    /// Segments per second; None if the interval is too short (section 3.3, GenerateRateSample).
    pub fn rate(&self, min_rtt: Option<Span>) -> Option<f64> {
        let valid = self.interval > Span::ZERO && self.interval >= min_rtt.unwrap_or(Span::ZERO);
        valid.then(|| self.delivered as f64 / self.interval.as_secs())
    }
}

/// A segment marked lost, with the record of its transmission (draft-ietf-ccwg-bbr-06, section
/// 5.5.10.2).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LossSample {
    /// Index of the segment since the connection began.
    pub segment: Index,
    /// In flight when the segment was sent, itself included.
    pub tx_in_flight: u32,
    /// Marked lost since the segment was sent, itself included.
    pub lost: u64,
    /// Delivered since the connection began, when the segment was marked lost.
    pub total: u64,
    pub app_limited: bool,
}

/// Section 3.1.2: per-segment state.
#[derive(Clone, Copy, Debug, Default)]
struct TxRecord {
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    sent: Time,
    losses: u64,
    in_flight: u32,
    app_limited: bool,
}

/// Section 3.1.1: per-connection state.
#[derive(Clone, Debug, Default)]
pub struct DeliveryRateEstimator {
    /// Parallel to the scoreboard's ring.
    records: Ring<TxRecord>,
    base: Index,
    delivered: u64,
    delivered_at: Time,
    /// When the first segment of the current sample's flight was sent.
    first_sent: Time,
    /// Samples are application-limited while `delivered` is at most this.
    app_limited_until: u64,
    /// Segments counted by duplicate ACKs without SACK, which an advancing ACK must not count
    /// again.
    counted_by_dupacks: u32,
    losses: u64,
    /// Losses reported by `on_loss`.
    reported: u64,
}

/// Deliveries and losses that one ACK reports.
#[derive(Clone, Copy, Debug)]
pub struct AckDelivery {
    /// Segments acknowledged and not SACKed before, and segments newly SACKed.
    pub acked: u32,
    pub sacked: u32,
    /// A duplicate ACK without SACK information.
    pub blind_duplicate: bool,
    /// The delivered segment that was sent last.
    pub newest: Option<Index>,
    /// First segment on the scoreboard.
    pub base: Index,
    pub losses: u64,
}

/// What the congestion control gets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeliveryUpdate {
    pub segments: u32,
    pub lost: u32,
    pub rate: Option<RateSample>,
}

impl DeliveryRateEstimator {
    /// Section 3.2, SendPacket: `in_flight` counts this segment.
    #[inline]
    pub fn on_send(&mut self, now: Time, index: Index, in_flight: u32, losses: u64) {
        if in_flight <= 1 {
            self.first_sent = now;
            self.delivered_at = now;
        }
        let record = TxRecord {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            sent: now,
            losses,
            in_flight,
            app_limited: self.app_limited_until > 0,
        };
        match index.checked_sub(self.base).and_then(|i| self.records.get_mut(i as usize)) {
            Some(old) => *old = record,
            None => self.records.push_back(record),
        }
    }

    /// All segments have new indices from `base` on: each has the record of the segment with this former
    /// index.
    pub fn follow_division(&mut self, base: Index, former: &[Index]) {
        let mut records = Ring::default();
        for index in former {
            let at = index.checked_sub(self.base).and_then(|at| usize::try_from(at).ok());
            records.push_back(at.and_then(|at| self.records.get(at)).copied().unwrap_or_default());
        }
        (self.records, self.base) = (records, base);
    }

    /// The window has room and there is nothing to send (section 3.4).
    pub fn on_app_limited(&mut self, in_flight: u32) {
        self.app_limited_until = (self.delivered + u64::from(in_flight)).max(1);
    }

    #[inline]
    pub fn on_ack(&mut self, now: Time, delivery: &AckDelivery) -> DeliveryUpdate {
        let segments = self.count(delivery);
        let lost = u32::try_from(delivery.losses - self.losses).unwrap_or(u32::MAX);
        self.losses = delivery.losses;
        if segments > 0 {
            self.delivered += u64::from(segments);
            self.delivered_at = now;
        }
        let at = delivery.newest.and_then(|n| usize::try_from(n.checked_sub(self.base)?).ok());
        let record = at.and_then(|i| self.records.get(i)).copied();
        let rate = record.map(|record| self.sample(&record));
        while self.base < delivery.base {
            self.records.take_front();
            self.base += 1;
        }
        if self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        DeliveryUpdate { segments, lost, rate }
    }

    /// A segment was marked lost. Called in the order of marking, before the retransmission.
    pub fn on_loss(&mut self, segment: Index) -> Option<LossSample> {
        self.reported += 1;
        let record = self.records.get(usize::try_from(segment.checked_sub(self.base)?).ok()?)?;
        Some(LossSample {
            segment,
            tx_in_flight: record.in_flight,
            lost: self.reported.saturating_sub(record.losses),
            total: self.delivered,
            app_limited: record.app_limited,
        })
    }

    /// Segments that this ACK is the first to report.
    fn count(&mut self, delivery: &AckDelivery) -> u32 {
        if delivery.blind_duplicate {
            self.counted_by_dupacks += 1;
            return 1;
        }
        if delivery.acked == 0 {
            return delivery.sacked;
        }
        // At least one segment is new: the one that advanced the ACK number.
        let counted = self.counted_by_dupacks.min(delivery.acked - 1);
        self.counted_by_dupacks -= counted;
        delivery.acked - counted + delivery.sacked
    }

    /// Section 3.3, UpdateRateSample and GenerateRateSample.
    fn sample(&mut self, record: &TxRecord) -> RateSample {
        self.first_sent = record.sent;
        let (sending, acking) = (record.sent - record.first_sent, self.delivered_at - record.delivered_at);
        RateSample {
            delivered: self.delivered - record.delivered,
            interval: sending.max(acking),
            prior_delivered: record.delivered,
            total: self.delivered,
            lost: self.losses - record.losses,
            tx_in_flight: record.in_flight,
            app_limited: record.app_limited,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_ms(n)
    }

    fn acked(n: u32, base: Index) -> AckDelivery {
        AckDelivery { acked: n, sacked: 0, blind_duplicate: false, newest: base.checked_sub(1), base, losses: 0 }
    }

    #[test]
    fn rate_sample_counts_deliveries_since_the_segment_was_sent() {
        let mut d = DeliveryRateEstimator::default();
        for i in 0..10 {
            d.on_send(ms(0), i, i as u32 + 1, 0);
        }
        for i in 1..=10 {
            let got = d.on_ack(ms(100 + i), &acked(1, i));
            assert_eq!((got.segments, got.rate.map(|r| (r.delivered, r.interval))), (1, Some((i, Span::from_ms(100 + i)))));
            d.on_send(ms(100 + i), 9 + i, 10, 0);
        }
        // The eleventh was sent with one delivered; ten more have been since in 100 ms, but sending
        // took 101 ms.
        let got = d.on_ack(ms(201), &acked(1, 11)).rate;
        assert_eq!(got.map(|r| (r.delivered, r.interval)), Some((10, Span::from_ms(101))));
        let rate = got.and_then(|r| r.rate(Some(Span::from_ms(101))));
        assert!(rate.is_some_and(|r| (r - 10.0 / 0.101).abs() < 1e-9), "{rate:?}");
        assert_eq!(got.and_then(|r| r.rate(Some(Span::from_ms(102)))), None, "shorter than a round trip");
    }

    #[test]
    fn rate_is_limited_by_the_send_rate_under_ack_compression() {
        let mut d = DeliveryRateEstimator::default();
        for i in 0..20 {
            d.on_send(ms(10 * i), i, i as u32 + 1, 0);
        }
        d.on_ack(ms(200), &acked(1, 1));
        let last = d.on_ack(ms(200), &acked(19, 20)).rate;
        let rate = last.and_then(|r| r.rate(None));
        assert!(rate.is_some_and(|r| r <= 106.0), "{rate:?}: twenty sent in 190 ms");
    }

    #[test]
    fn duplicate_acks_without_sack_count_one_segment_each_once() {
        let mut d = DeliveryRateEstimator::default();
        for i in 0..5 {
            d.on_send(ms(0), i, i as u32 + 1, 0);
        }
        let duplicate = AckDelivery { acked: 0, sacked: 0, blind_duplicate: true, newest: None, base: 0, losses: 0 };
        let counted: Vec<u32> = (0..4).map(|_| d.on_ack(ms(100), &duplicate).segments).collect();
        assert_eq!(counted, [1; 4]);
        assert_eq!(d.on_ack(ms(200), &acked(5, 5)).segments, 1);
    }

    #[test]
    fn what_leaves_after_the_application_paused_is_marked_until_it_has_arrived() {
        let mut d = DeliveryRateEstimator::default();
        d.on_send(ms(0), 0, 1, 0);
        d.on_app_limited(1);
        d.on_send(ms(50), 1, 2, 0);
        assert_eq!(d.on_ack(ms(100), &acked(1, 1)).rate.map(|r| r.app_limited), Some(false));
        assert_eq!(d.on_ack(ms(150), &acked(1, 2)).rate.map(|r| r.app_limited), Some(true));
        d.on_send(ms(150), 2, 1, 0);
        assert_eq!(d.on_ack(ms(250), &acked(1, 3)).rate.map(|r| r.app_limited), Some(false));
    }
}
