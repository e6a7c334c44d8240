//! Late ACKs of single segments, and the data that waited for them: Nagle's algorithm (RFC 1122, section
//! 4.2.3.4) or a sender with one segment in flight, against the receiver's delayed ACK.

use super::opt_time::OptTime;
use super::rules::RULES;
use crate::compact::compact;

/// The ACKs of a segment that was alone in flight that came later than the path explains. Counts saturate
/// at 2^32 - 1; delays are beyond the minimum RTT, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct LateAcks {
    /// Late ACKs, whether data waited for them or not.
    pub acks: u32,
    /// Segments that left right after a late ACK: less than full ones, and full ones.
    pub small: u32,
    pub full: u32,
    /// Sum of the delays of the ACKs that data waited for, and of their squares (ms).
    pub waited: i64,
    squares: f64,
    /// Time and delay of the last late ACK, until data follows.
    last_at: OptTime,
    last_delay: i64,
}

compact!(LateAcks { acks, small, full, waited, squares, last_at, last_delay });

impl LateAcks {
    /// A late ACK, `delay` beyond the minimum RTT.
    pub fn on_late_ack(&mut self, now: i64, delay: i64) {
        self.acks = self.acks.saturating_add(1);
        self.last_at.set(now);
        self.last_delay = delay;
    }

    /// Data leaves with nothing outstanding. The other end sent data at `asked_at`: an answer waits for
    /// that, not for an ACK. `remote_rtt` lies between capture point and sender: what arrives sooner after
    /// the ACK was sent before the sender had it.
    pub fn on_data(&mut self, now: i64, asked_at: i64, remote_rtt: i64, is_full: bool) {
        let Some(at) = self.last_at.get() else { return };
        self.last_at.clear();
        let expected = remote_rtt - remote_rtt / 4..=remote_rtt + remote_rtt / 4 + RULES.max_ack_delay;
        if asked_at >= at || !expected.contains(&(now - at)) {
            return;
        }
        let count = if is_full { &mut self.full } else { &mut self.small };
        *count = count.saturating_add(1);
        self.waited = self.waited.saturating_add(self.last_delay);
        self.squares += (self.last_delay as f64 * 1e-6).powi(2);
    }

    /// Segments that waited for a late ACK.
    pub fn held(&self) -> u32 {
        self.small.saturating_add(self.full)
    }

    /// Mean and standard deviation in ms of the delays of the ACKs that data waited for; none without any.
    pub fn delay_ms(&self) -> Option<(f64, f64)> {
        let held = f64::from(self.held());
        let mean = self.waited as f64 * 1e-6 / held;
        (held > 0.0).then(|| (mean, (self.squares / held - mean * mean).max(0.0).sqrt()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn data_waited_for_an_ack_only_when_it_follows_within_the_rtt_to_the_sender_and_was_not_asked_for() {
        for (asked_at, after, is_held) in [
            (900, 11 * MS, true),
            (900, 14 * MS, false),
            (900, 7 * MS, false),
            (900, 8 * MS, true),
            (1000 * MS, 11 * MS, false),
            (1005 * MS, 11 * MS, false),
        ] {
            let mut late = LateAcks::default();
            late.on_late_ack(1000 * MS, 40 * MS);
            late.on_data(1000 * MS + after, asked_at, 10 * MS, false);
            assert_eq!((late.acks, late.small, late.full), (1, u32::from(is_held), 0));
            // The next segment waits for an ACK of its own.
            late.on_data(1000 * MS + after, asked_at, 10 * MS, false);
            assert_eq!(late.held(), u32::from(is_held));
        }
    }

    #[test]
    fn delay_has_the_mean_and_the_deviation_of_those_that_data_waited_for() {
        let mut late = LateAcks::default();
        assert_eq!(late.delay_ms(), None);
        for (at, delay) in [(0, 30 * MS), (1000 * MS, 50 * MS)] {
            late.on_late_ack(at, delay);
            late.on_data(at, -1, 0, true);
        }
        late.on_late_ack(5000 * MS, 900 * MS);
        assert_eq!((late.delay_ms(), late.full, late.waited), (Some((40.0, 10.0)), 2, 80 * MS));
    }
}
