//! Proportional rate reduction in the kernel's integers (`tcp_cwnd_reduction()`; RFC 9937, section
//! 6.2).

#[derive(Clone, Copy, Debug, Default)]
pub struct Reduction {
    /// RecoverFS: Linux takes cwnd.
    pub prior_cwnd: u32,
    /// The window to which it leads, in segments: what the congestion control's `ssthresh()` returns in
    /// the kernel. A control whose window stays below the path's BDP (Westwood, BIAD) has a higher
    /// ssthresh.
    target: f64,
    /// prr_delivered and prr_out.
    delivered: u32,
    pub out: u32,
}

impl Reduction {
    /// `cwnd` and `target`: the window before and after.
    pub fn start(&mut self, cwnd: u32, target: f64) {
        *self = Reduction { prior_cwnd: cwnd, target, delivered: 0, out: 0 };
    }

    /// The window to which it leads, with the congestion control's present `ssthresh`.
    pub fn target(&self, ssthresh: f64) -> f64 {
        ssthresh.min(self.target)
    }

    /// The window after `delivered` segments; None if it stays. `target`: in whole segments. `safe`:
    /// SafeACK.
    pub fn on_delivery(&mut self, delivered: u32, in_flight: u32, target: u32, safe: bool) -> Option<u32> {
        if delivered == 0 || self.prior_cwnd == 0 {
            return None;
        }
        self.delivered += delivered;
        let (total, out) = (i64::from(self.delivered), i64::from(self.out));
        let room = i64::from(target) - i64::from(in_flight);
        let count = if room < 0 {
            let product = u64::from(target) * u64::from(self.delivered);
            product.div_ceil(u64::from(self.prior_cwnd)) as i64 - out
        } else {
            room.min((total - out).max(i64::from(delivered)) + i64::from(safe))
        };
        // The fast retransmission itself.
        let count = count.max(i64::from(self.out == 0));
        Some((i64::from(in_flight) + count).max(0) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9937, section 6.2: SafeACK releases one segment more than was delivered, up to ssthresh.
    #[test]
    fn window_has_room_for_one_more_segment_when_the_ack_is_safe() {
        let window = |in_flight, safe| {
            let mut reduction = Reduction { prior_cwnd: 20, target: 10.0, delivered: 5, out: 5 };
            reduction.on_delivery(1, in_flight, 10, safe)
        };
        assert_eq!((window(4, false), window(4, true)), (Some(5), Some(6)));
        assert_eq!((window(9, false), window(9, true)), (Some(10), Some(10)));
        // Above the target nothing is released: 6 * 10/20 segments earned, and 5 sent.
        assert_eq!((window(12, false), window(12, true)), (Some(12), Some(12)));
    }
}
