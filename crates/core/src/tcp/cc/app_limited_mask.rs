//! Marks delivery rate samples as application-limited while the sender limits itself on purpose.

/// Linux and draft-ietf-ccwg-bbr-06, section 5.3.4.3, mark the connection as application-limited in
/// ProbeRTT. Here the mask tests a sample's `prior_delivered`, as a congestion control cannot mark
/// the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AppLimitedMask {
    from: u64,
    /// The last delivered count at which a masked segment may have been sent.
    to: Option<u64>,
}

impl AppLimitedMask {
    /// Extends the mask to segments sent now: `total` delivered and `in_flight` in flight.
    pub fn extend(&mut self, total: u64, in_flight: u32) {
        if self.to.is_none_or(|to| total > to) {
            self.from = total;
        }
        self.to = Some(total + u64::from(in_flight));
    }

    /// Whether a segment sent at this delivered count is masked.
    pub fn covers(&self, prior_delivered: u64) -> bool {
        self.to.is_some_and(|to| (self.from..=to).contains(&prior_delivered))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mask_covers_segments_sent_until_the_flight_is_delivered() {
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
