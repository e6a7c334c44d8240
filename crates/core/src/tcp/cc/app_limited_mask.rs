//! DeliveryRateEstimator while the sender held itself back on purpose, which say nothing of what the path could carry.

/// Linux and draft-ietf-ccwg-bbr-06, section 5.3.4.3, mark the connection as limited by the application while they probe for the round
/// trip. A congestion control cannot mark; it tells by a sample's `prior_delivered` whether its segment left in the lull.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AppLimitedMask {
    from: u64,
    /// The last amount delivered at which a segment of the lull may have left.
    to: Option<u64>,
}

impl AppLimitedMask {
    /// The lull goes on: `total` has arrived and `in_flight` is on its way.
    pub fn extend(&mut self, total: u64, in_flight: u32) {
        if self.to.is_none_or(|to| total > to) {
            self.from = total;
        }
        self.to = Some(total + u64::from(in_flight));
    }

    /// Whether a segment that left when so much had arrived left in it.
    pub fn covers(&self, prior_delivered: u64) -> bool {
        self.to.is_some_and(|to| (self.from..=to).contains(&prior_delivered))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_covers_what_leaves_until_what_was_in_flight_has_arrived() {
        let mut app_limited_mask = AppLimitedMask::default();
        assert!(!app_limited_mask.covers(0));
        app_limited_mask.extend(100, 4);
        app_limited_mask.extend(102, 4);
        let covered: Vec<u64> = (95..115).filter(|&n| app_limited_mask.covers(n)).collect();
        assert_eq!(covered, (100..=106).collect::<Vec<u64>>());
        app_limited_mask.extend(500, 10);
        assert!(!app_limited_mask.covers(103) && app_limited_mask.covers(505));
    }
}
