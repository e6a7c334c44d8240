//! The end that answers (RFC 8762, section 4.3), stateless: it copies the sender's number.

use super::packet::{Key, StampProbe, StampReply, UNAUTHENTICATED_BYTES};
use super::time::{ErrorEstimate, ntp};
use crate::control::message::ClockState;
use crate::{Nanos, SECOND};
use std::net::IpAddr;

/// Longest packet that is answered: what follows a probe's fields is padding, and is sent back as zeros.
const MAX_BYTES: usize = 1500;

/// An answer has the length of what it answers, so nothing is amplified; and no more than so many leave in a second.
pub struct StampReflector {
    key: Key,
    max_per_second: u32,
    second: Nanos,
    answered: u32,
}

/// A probe as it came.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedProbe<'a> {
    pub packet: &'a [u8],
    pub from: IpAddr,
    pub at: Nanos,
    pub ttl: u8,
}

impl StampReflector {
    /// Without a key everybody is answered.
    pub fn new(key: Key, max_per_second: u32) -> StampReflector {
        StampReflector { key, max_per_second, second: Nanos::MIN, answered: 0 }
    }

    /// What to send back; it leaves `now`.
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

/// Not a group's address, nor nobody's.
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
    fn padding_comes_back_as_long_as_it_was_and_a_second_has_its_limit() {
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
    fn with_a_key_only_those_that_have_it_are_answered() {
        let key = Some(b"shared".to_vec());
        let mut reflector = StampReflector::new(key.clone(), 10);
        let probe = StampProbe { number: 7, timestamp: 9, error: ErrorEstimate(1) };
        assert_eq!(reflector.answer(&received(&probe.write(&key)), 0, &CLOCK).unwrap().len(), AUTHENTICATED_BYTES);
        assert!(reflector.answer(&received(&probe.write(&None)), 0, &CLOCK).is_none());
        assert!(reflector.answer(&received(&probe.write(&Some(b"another".to_vec()))), 0, &CLOCK).is_none());
    }

    proptest! {
        #[test]
        fn no_answer_is_longer_than_what_it_answers(bytes in proptest::collection::vec(any::<u8>(), 0..1600)) {
            let mut reflector = StampReflector::new(None, u32::MAX);
            let answer = reflector.answer(&received(&bytes), 0, &CLOCK);
            prop_assert!(answer.is_none_or(|a| a.len() == bytes.len()));
        }
    }
}
