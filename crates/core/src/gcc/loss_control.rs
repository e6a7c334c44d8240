//! The loss-based rate (draft-ietf-rmcat-gcc-02, section 6).

use crate::units::{Span, Time};

/// Below this share of losses the rate grows, above the other one it falls.
const FEW: f64 = 0.02;
const MANY: f64 = 0.1;
const INCREASE: f64 = 1.05;
/// The draft's controller runs with each receiver report; RTCP sends about one a second.
const INTERVAL: Span = Span::from_secs(1);

#[derive(Debug, Clone)]
pub struct LossControl {
    rate: f64,
    max: f64,
    since: Option<Time>,
    packets: u64,
    lost: u64,
}

impl LossControl {
    /// Begins at `max_bps`, where it does not limit.
    pub fn new(max_bps: f64) -> LossControl {
        LossControl { rate: max_bps, max: max_bps, since: None, packets: 0, lost: 0 }
    }

    /// Feedback on so many packets, some of them lost, while the media have the rate `current_bps`, from which a
    /// decrease begins. Returns the rate in bit/s.
    pub fn update(&mut self, now: Time, packets: u64, lost: u64, current_bps: f64) -> f64 {
        self.packets += packets;
        self.lost += lost;
        if now - *self.since.get_or_insert(now) < INTERVAL || self.packets == 0 {
            return self.rate;
        }
        let share = self.lost as f64 / self.packets as f64;
        (self.since, self.packets, self.lost) = (Some(now), 0, 0);
        if share > MANY {
            self.rate = self.rate.min(current_bps) * (1.0 - 0.5 * share);
        } else if share < FEW {
            self.rate = (self.rate * INCREASE).min(self.max);
        }
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(rates: &[(u64, u64)]) -> f64 {
        let mut control = LossControl::new(4e6);
        control.update(Time::ZERO, 0, 0, 1e6);
        let mut rate = 0.0;
        for (second, &(packets, lost)) in (1..).zip(rates) {
            rate = control.update(Time::ZERO + Span::from_secs(second), packets, lost, 1e6);
        }
        rate
    }

    #[test]
    fn loss_above_a_tenth_lowers_the_rate_in_use_by_half_of_its_share() {
        assert_eq!(after(&[(100, 20)]), 0.9e6);
        assert_eq!(after(&[(100, 10)]), 4e6, "a tenth is not above it");
    }

    #[test]
    fn loss_below_2_percent_raises_the_rate_by_5_percent_and_between_it_stays() {
        assert_eq!(after(&[(100, 20), (100, 1)]), 0.9e6 * 1.05);
        assert_eq!(after(&[(100, 20), (100, 2)]), 0.9e6);
    }

    #[test]
    fn losses_count_over_a_second() {
        let mut control = LossControl::new(4e6);
        let update = |control: &mut LossControl, ms, lost| control.update(Time::ZERO + Span::from_ms(ms), 10, lost, 1e6);
        assert_eq!([update(&mut control, 0, 0), update(&mut control, 500, 5)], [4e6, 4e6]);
        assert!((update(&mut control, 1000, 0) - 1e6 * (1.0 - 0.5 / 6.0)).abs() < 1e-6);
    }
}
