//! What RACK knows: the latest transmissions that are known to have arrived (RFC 8985, section 6.2).

use super::super::outstanding::{SentRange, XmitOrder};
use crate::compact::compact;

#[derive(Debug, Clone, Copy, Default)]
pub struct RackState {
    at: i64,
    /// Of ranges that were sent once: stacks before RACK detect a lost retransmission only by data
    /// that was new after it.
    new_at: i64,
    end: u32,
    new_end: u32,
    /// RTT of the latest one, microseconds.
    rtt_us: u32,
}

compact!(RackState { at, new_at, end, new_end, rtt_us });

const _: () = assert!(size_of::<RackState>() == 32);

impl RackState {
    pub const NONE: RackState = RackState { at: 0, new_at: 0, end: 0, new_end: 0, rtt_us: 0 };

    #[inline]
    fn latest(&self) -> XmitOrder {
        XmitOrder { at: self.at, end: self.end }
    }

    #[inline]
    fn latest_new(&self) -> XmitOrder {
        XmitOrder { at: self.new_at, end: self.new_end }
    }

    /// The range is acknowledged or SACKed at `now`.
    #[inline]
    pub fn on_delivered(&mut self, range: &SentRange, now: i64) {
        let order = range.xmit_order();
        if order.is_after(&self.latest()) {
            (self.at, self.end) = (order.at, order.end);
            self.rtt_us = u32::try_from((now - order.at) / 1000).unwrap_or(u32::MAX);
        }
        if range.transmissions == 1 && order.is_after(&self.latest_new()) {
            (self.new_at, self.new_end) = (order.at, order.end);
        }
    }

    /// Something that was sent after the range has arrived.
    pub fn sent_before(&self, range: &SentRange) -> bool {
        self.latest().is_after(&range.xmit_order())
    }

    /// New data that was sent after the range has arrived: stacks before RACK detect no loss by
    /// retransmissions.
    pub fn sent_before_new(&self, range: &SentRange) -> bool {
        self.latest_new().is_after(&range.xmit_order())
    }

    /// At time `at` the range was lost: something sent later has arrived, and a reordered packet had
    /// `reordering_window` to arrive as well (RFC 8985, section 6.2, step 5).
    fn is_lost(&self, range: &SentRange, at: i64, reordering_window: i64) -> bool {
        self.sent_before(range) && at - range.last_at >= i64::from(self.rtt_us) * 1000 + reordering_window
    }

    /// The range is detected as lost by this state, and was not by `earlier`, the state when the
    /// sender last sent, at `sent_at`.
    pub fn newly_marks_lost(&self, range: &SentRange, earlier: &RackState, sent_at: i64, reordering_window: i64) -> bool {
        let order = range.xmit_order();
        let by_new_data = self.latest_new().is_after(&order) && !earlier.latest_new().is_after(&order);
        by_new_data || self.sent_before(range) && !earlier.is_lost(range, sent_at, reordering_window)
    }
}
