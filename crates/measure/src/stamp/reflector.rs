//! Stateless reflector (RFC 8762, section 4.3): the reply has the sender's sequence number.

use super::packet::{StampKey, StampProbe, StampReply, UNAUTHENTICATED_BYTES};
use super::time::{ErrorEstimate, ntp};
use crate::control::message::ClockState;
use crate::{Nanos, SECOND};
use std::net::IpAddr;

/// Maximum length of a probe. Bytes after the fields are padding; the reply pads with zeros.
const MAX_BYTES: usize = 1500;

/// Replies have the length of their probes, so the reflector does not amplify, and are limited in
/// number per second.
pub struct StampReflector {
    key: StampKey,
    max_per_second: u32,
    second: Nanos,
    answered: u32,
}

/// A received probe.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedProbe<'a> {
    pub packet: &'a [u8],
    pub from: IpAddr,
    pub at: Nanos,
    pub ttl: u8,
}

impl StampReflector {
    /// Without a key, unauthenticated probes are answered.
    pub fn new(key: StampKey, max_per_second: u32) -> StampReflector {
        StampReflector { key, max_per_second, second: Nanos::MIN, answered: 0 }
    }

    /// The reply to a probe; `now` is its sending time.
    pub fn answer(&mut self, received: &ReceivedProbe<'_>, now: Nanos, clock: &ClockState) -> Option<Vec<u8>> {
        if received.packet.len() > MAX_BYTES || received.packet.len() < UNAUTHENTICATED_BYTES || !is_single(received.from) {
            return None;
        }
        if now.saturating_sub(self.second) >= SECOND {
            (self.second, self.answered) = (now, 0);
        }
        if self.answered >= self.max_per_second {
            return None;
        }
        let probe = StampProbe::read(received.packet, &self.key)?;
        self.answered += 1;
        let error = ErrorEstimate::of(clock.synchronised, clock.max_error_ns);
        let reflection =
            StampReply { number: probe.number, sent: ntp(now), error, received: ntp(received.at), probe, ttl: received.ttl };
        let mut out = reflection.write(&self.key);
        out.resize(received.packet.len(), 0);
        Some(out)
    }
}

/// A unicast address.
fn is_single(from: IpAddr) -> bool {
    let broadcast = matches!(from, IpAddr::V4(v4) if v4.is_broadcast());
    !from.is_multicast() && !from.is_unspecified() && !broadcast
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stamp::packet::AUTHENTICATED_BYTES;
    use proptest::prelude::*;

    const CLOCK: ClockState = ClockState { synchronised: false, pps: false, max_error_ns: 1000 };

    fn received(packet: &[u8]) -> ReceivedProbe<'_> {
        ReceivedProbe { packet, from: "192.0.2.1".parse().unwrap(), at: 5, ttl: 64 }
    }

    #[test]
    fn reply_has_the_probes_length_and_the_rate_limit_holds_when_probes_are_padded() {
        let mut reflector = StampReflector::new(None, 3);
        let mut probe = StampProbe { number: 7, timestamp: 9, error: ErrorEstimate(1) }.write(&None);
        probe.resize(900, 0xff);
        let answers: Vec<usize> =
            (0..5).filter_map(|_| reflector.answer(&received(&probe), SECOND, &CLOCK)).map(|a| a.len()).collect();
        assert_eq!(answers, [900; 3]);
        assert!(reflector.answer(&received(&probe), 2 * SECOND, &CLOCK).is_some());
        let group = ReceivedProbe { from: "224.0.0.1".parse().unwrap(), ..received(&probe) };
        assert!(reflector.answer(&group, 2 * SECOND, &CLOCK).is_none());
    }

    #[test]
    fn probe_is_answered_only_when_its_key_is_the_reflectors() {
        let key = Some(b"shared".to_vec());
        let mut reflector = StampReflector::new(key.clone(), 10);
        let probe = StampProbe { number: 7, timestamp: 9, error: ErrorEstimate(1) };
        assert_eq!(reflector.answer(&received(&probe.write(&key)), 0, &CLOCK).unwrap().len(), AUTHENTICATED_BYTES);
        assert!(reflector.answer(&received(&probe.write(&None)), 0, &CLOCK).is_none());
        assert!(reflector.answer(&received(&probe.write(&Some(b"another".to_vec()))), 0, &CLOCK).is_none());
    }

    proptest! {
        #[test]
        fn reply_has_the_probes_length_when_any_bytes_arrive(bytes in proptest::collection::vec(any::<u8>(), 0..1600)) {
            let mut reflector = StampReflector::new(None, u32::MAX);
            let answer = reflector.answer(&received(&bytes), 0, &CLOCK);
            prop_assert!(answer.is_none_or(|a| a.len() == bytes.len()));
        }
    }
}
