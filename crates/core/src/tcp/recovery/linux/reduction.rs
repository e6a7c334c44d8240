//! Proportional rate reduction in the kernel's integers (`tcp_cwnd_reduction()`; RFC 9937, section
//! 6.2).

#[derive(Clone, Copy, Debug, Default)]
pub struct Reduction {
    /// RecoverFS: Linux takes cwnd.
    pub prior_cwnd: u32,
    /// prr_delivered and prr_out.
    delivered: u32,
    pub out: u32,
}

impl Reduction {
    pub fn start(&mut self, cwnd: u32) {
        *self = Reduction { prior_cwnd: cwnd, delivered: 0, out: 0 };
    }

    /// The window after `delivered` segments; None if it stays. `safe`: SafeACK.
    pub fn on_delivery(&mut self, delivered: u32, in_flight: u32, ssthresh: u32, safe: bool) -> Option<u32> {
        if delivered == 0 || self.prior_cwnd == 0 {
            return None;
        }
        self.delivered += delivered;
        let (total, out) = (i64::from(self.delivered), i64::from(self.out));
        let room = i64::from(ssthresh) - i64::from(in_flight);
        let count = if room < 0 {
            let product = u64::from(ssthresh) * u64::from(self.delivered);
            product.div_ceil(u64::from(self.prior_cwnd)) as i64 - out
        } else {
            room.min((total - out).max(i64::from(delivered)) + i64::from(safe))
        };
        // The fast retransmission itself.
        let count = count.max(i64::from(self.out == 0));
        Some((i64::from(in_flight) + count).max(0) as u32)
    }
}
