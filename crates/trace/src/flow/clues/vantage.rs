//! Vantage point: position of the capture on the path. Both decisions about it stand here: that of
//! the report for a whole flow ([`VantagePoint`]), and that of the classification for one sender,
//! packet by packet ([`Vantage`]).
//!
//! They share [`is_near`] and differ where samples are few. The classification must decide with the
//! first packet, so that it takes an RTT of up to `max_host_rtt` for a host's response time, and the
//! sender for near if only the receiver's RTT is known and long. The report calls the ends of a path
//! shorter than `max_local_rtt` indistinguishable, and waits for samples otherwise.

use super::super::rules::RULES;
use super::RttClues;
use ackclock_contract::Document;
use serde::Serialize;

/// The capture point as seen from one sender's data.
#[derive(Debug, Clone, Copy, Default)]
pub struct Vantage {
    /// Minimum RTT between capture point and receiver, nanoseconds; zero without samples.
    receiver_rtt: i64,
    remote_rtt: Option<i64>,
    remote_srtt: Option<i64>,
    is_at_sender: bool,
}

impl Vantage {
    /// From the RTTs of the sender's data and of the other direction's.
    pub fn of(data: &RttClues, reverse: &RttClues) -> Vantage {
        let remote_rtt = reverse.min_of_all().or(reverse.syn_rtt());
        let receiver_rtt = data.min().unwrap_or(0);
        let is_at_sender = match remote_rtt {
            Some(remote) => remote <= RULES.max_host_rtt.min(receiver_rtt / 2) || is_near(remote, receiver_rtt),
            None => receiver_rtt > RULES.max_host_rtt,
        };
        let remote_srtt = reverse.from_timestamps().smoothed().map(|(srtt, _)| srtt);
        Vantage { receiver_rtt, remote_rtt, remote_srtt, is_at_sender }
    }

    pub fn is_at_sender(&self) -> bool {
        self.is_at_sender
    }

    /// Minimum RTT between capture point and sender.
    pub fn remote_rtt(&self) -> Option<i64> {
        self.remote_rtt
    }

    /// SRTT between capture point and sender by timestamps, with present queues.
    pub fn remote_srtt(&self) -> Option<i64> {
        self.remote_srtt
    }

    /// The longer of `remote_rtt` and `remote_srtt`; zero without samples.
    pub fn max_remote_rtt(&self) -> i64 {
        self.remote_srtt.into_iter().chain(self.remote_rtt).max().unwrap_or(0)
    }

    /// Minimum time from a data packet at the capture point to the next one that its ACK triggers.
    pub fn min_feedback_loop(&self) -> i64 {
        self.receiver_rtt + if self.is_at_sender { 0 } else { self.remote_rtt.unwrap_or(0) }
    }
}

/// Position of the capture for the report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Document)]
#[serde(rename_all = "snake_case")]
pub enum VantagePoint {
    Client,
    Server,
    Middle,
    #[default]
    Unknown,
}

impl VantagePoint {
    /// From the minimum RTTs between capture point and both ends.
    pub fn of(to_client: Option<i64>, to_server: Option<i64>) -> VantagePoint {
        match (to_client, to_server) {
            (Some(c), Some(s)) if c + s <= RULES.max_local_rtt => VantagePoint::Unknown,
            (Some(c), Some(s)) if is_near(c, s) => VantagePoint::Client,
            (Some(c), Some(s)) if is_near(s, c) => VantagePoint::Server,
            (Some(_), Some(_)) => VantagePoint::Middle,
            // Samples to one end only: an RTT within a host's response time.
            (Some(c), None) if c <= RULES.max_local_rtt => VantagePoint::Client,
            (None, Some(s)) if s <= RULES.max_local_rtt => VantagePoint::Server,
            _ => VantagePoint::Unknown,
        }
    }
}

/// True if the capture is near the end to which its RTT is `near`; the RTT to the other end is `far`.
fn is_near(near: i64, far: i64) -> bool {
    let (part, whole) = RULES.near_share;
    near.saturating_mul(whole) <= near.saturating_add(far).saturating_mul(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clues(rtt: i64) -> RttClues {
        let mut clues = RttClues::default();
        clues.on_sample(rtt);
        clues
    }

    #[test]
    fn vantage_is_at_the_sender_when_its_rtt_is_a_hosts_response_time() {
        let vantage = |receiver, remote| Vantage::of(&clues(receiver), &clues(remote));
        assert!(vantage(40_000_000, 1_900_000).is_at_sender());
        assert!(!vantage(10_000_000, 2_100_000).is_at_sender());
        assert!(vantage(90_000_000, 9_000_000).is_at_sender());
        assert_eq!(vantage(10_000_000, 5_000_000).min_feedback_loop(), 15_000_000);
        assert!(Vantage::of(&clues(2_100_000), &RttClues::default()).is_at_sender());
    }

    #[test]
    fn vantage_point_is_unknown_when_the_whole_path_is_local() {
        assert_eq!(VantagePoint::of(Some(10_000), Some(290_000)), VantagePoint::Unknown);
        assert_eq!(VantagePoint::of(Some(10_000), Some(290_001)), VantagePoint::Client);
        assert_eq!(VantagePoint::of(Some(9_000_000), Some(1_000_000)), VantagePoint::Server);
        assert_eq!(VantagePoint::of(Some(9_000_000), Some(1_100_000)), VantagePoint::Middle);
        assert_eq!(VantagePoint::of(None, Some(300_000)), VantagePoint::Server);
        assert_eq!(VantagePoint::of(None, Some(300_001)), VantagePoint::Unknown);
    }
}
