//! Groups of packets that left together, and how the delay changes from one to the next
//! (draft-ietf-rmcat-gcc-02, section 5.2).

use crate::units::{Span, Time};

/// Packets that leave within this time of the first one are a group.
const BURST_TIME: Span = Span::from_ms(5);
/// A packet that arrives so soon after another, with less delay, was held up with it: the draft's
/// pre-filtering (5.1).
const MAX_BURST_GAP: Span = Span::from_ms(5);
/// libwebrtc: no burst is longer.
const MAX_BURST: Span = Span::from_ms(100);

/// The change from one group to the next, by their last packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupDelta {
    pub sent_ms: f64,
    pub arrived_ms: f64,
    /// Arrival of the later group.
    pub arrived_at: Time,
}

impl GroupDelta {
    /// d(i) = (t(i) - t(i-1)) - (T(i) - T(i-1)).
    pub fn variation_ms(&self) -> f64 {
        self.arrived_ms - self.sent_ms
    }
}

#[derive(Debug, Clone, Copy)]
struct Group {
    first_sent: Time,
    last_sent: Time,
    first_arrived: Time,
    last_arrived: Time,
}

/// The group that is not complete, and the one before it.
#[derive(Debug, Clone, Default)]
pub struct PacketGroups {
    before: Option<Group>,
    current: Option<Group>,
}

fn ms_between(from: Time, to: Time) -> f64 {
    if to >= from { (to - from).as_millis() } else { -(from - to).as_millis() }
}

impl PacketGroups {
    /// A packet. Returns the change between two groups when it begins a third one. A packet that left
    /// before the current group does not count.
    pub fn add(&mut self, sent: Time, arrived: Time) -> Option<GroupDelta> {
        let new = Group { first_sent: sent, last_sent: sent, first_arrived: arrived, last_arrived: arrived };
        let Some(group) = &mut self.current else {
            self.current = Some(new);
            return None;
        };
        if sent < group.first_sent {
            return None;
        }
        if sent - group.first_sent <= BURST_TIME || group.is_burst_with(sent, arrived) {
            group.last_sent = group.last_sent.max(sent);
            group.last_arrived = group.last_arrived.max(arrived);
            return None;
        }
        let complete = std::mem::replace(group, new);
        let before = self.before.replace(complete)?;
        Some(GroupDelta {
            sent_ms: ms_between(before.last_sent, complete.last_sent),
            arrived_ms: ms_between(before.last_arrived, complete.last_arrived),
            arrived_at: complete.last_arrived,
        })
    }
}

impl Group {
    fn is_burst_with(&self, sent: Time, arrived: Time) -> bool {
        let gap = ms_between(self.last_arrived, arrived);
        let variation = gap - ms_between(self.last_sent, sent);
        gap <= MAX_BURST_GAP.as_millis() && variation < 0.0 && ms_between(self.first_arrived, arrived) < MAX_BURST.as_millis()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deltas(packets: &[(u64, u64)]) -> Vec<(f64, f64)> {
        let mut groups = PacketGroups::default();
        let at = |ms: u64| Time::ZERO + Span::from_ms(ms);
        packets
            .iter()
            .filter_map(|&(sent, arrived)| groups.add(at(sent), at(arrived)))
            .map(|d| (d.sent_ms, d.variation_ms()))
            .collect()
    }

    #[test]
    fn delay_variation_is_that_of_the_groups_last_packets() {
        // Groups at 0 and 5, 20, 40, 60 ms; the third waits 10 ms longer.
        let found = deltas(&[(0, 50), (5, 56), (20, 71), (40, 101), (60, 121)]);
        assert_eq!(found, [(15.0, 0.0), (20.0, 10.0)]);
    }

    #[test]
    fn packets_that_were_held_up_together_are_one_group() {
        // The one of 40 ms arrives 1 ms after that of 20 ms: the channel was blocked.
        assert_eq!(deltas(&[(0, 50), (20, 101), (40, 102), (60, 122), (80, 142)]), [(40.0, 12.0), (20.0, 0.0)]);
    }

    #[test]
    fn packet_that_left_before_its_group_does_not_count() {
        assert_eq!(deltas(&[(0, 50), (20, 70), (10, 75), (40, 90), (60, 110)]), [(20.0, 0.0), (20.0, 0.0)]);
    }
}
