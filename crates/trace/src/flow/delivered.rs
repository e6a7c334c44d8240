//! What a sender can tell from what has arrived: what left before it is late, or lost (RFC 8985, section 6.2).

use super::outstanding::{SentRange, XmitOrder};
use crate::compact::compact;

/// The last departures that are known to have arrived.
#[derive(Debug, Clone, Copy, Default)]
pub struct Delivered {
    at: i64,
    /// Of what was sent once: stacks before RACK learn of a lost retransmission only from data that was new after it.
    fresh_at: i64,
    end: u32,
    fresh_end: u32,
    /// The round trip of the latest, microseconds.
    rtt_us: u32,
}

compact!(Delivered { at, fresh_at, end, fresh_end, rtt_us });

const _: () = assert!(size_of::<Delivered>() == 32);

impl Delivered {
    pub const NOTHING: Delivered = Delivered { at: 0, fresh_at: 0, end: 0, fresh_end: 0, rtt_us: 0 };

    #[inline]
    fn latest(&self) -> XmitOrder {
        XmitOrder { at: self.at, end: self.end }
    }

    #[inline]
    fn fresh(&self) -> XmitOrder {
        XmitOrder { at: self.fresh_at, end: self.fresh_end }
    }

    /// This has been acknowledged, in whichever way, by what comes now.
    #[inline]
    pub fn add(&mut self, sent: &SentRange, now: i64) {
        let left = sent.xmit_order();
        if left.is_after(&self.latest()) {
            (self.at, self.end) = (left.at, left.end);
            self.rtt_us = u32::try_from((now - left.at) / 1000).unwrap_or(u32::MAX);
        }
        if sent.transmissions == 1 && left.is_after(&self.fresh()) {
            (self.fresh_at, self.fresh_end) = (left.at, left.end);
        }
    }

    /// Something that left later has arrived.
    pub fn overtook(&self, sent: &SentRange) -> bool {
        self.latest().is_after(&sent.xmit_order())
    }

    /// By then it was lost, as time tells: something later arrived, and whatever was only overtaken had `patience` to come too.
    fn gave_up(&self, sent: &SentRange, then: i64, patience: i64) -> bool {
        self.overtook(sent) && then - sent.last_at >= i64::from(self.rtt_us) * 1000 + patience
    }

    /// It shows to be lost by this, and did not by what was known when its sender last sent something, `then`.
    pub fn asks_for(&self, sent: &SentRange, known: &Delivered, then: i64, patience: i64) -> bool {
        let left = sent.xmit_order();
        let fresh = self.fresh().is_after(&left) && !known.fresh().is_after(&left);
        fresh || self.overtook(sent) && !known.gave_up(sent, then, patience)
    }
}
