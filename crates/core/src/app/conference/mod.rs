//! A video conference: media over UDP in one or both directions, with transport-wide feedback, whose rate Google
//! Congestion Control sets ([`crate::gcc`]).
//!
//! The network carries numbers and sizes. What is in the packets of a direction stands in a [`MediaLog`] that its
//! two ends share; each reads an entry only when the packet with its number arrives. Even numbers are media, odd
//! ones feedback on the media of the other direction.

mod encoder;
mod receiver;
mod sender;

use crate::endpoint::{Endpoint, Outgoing};
use crate::packet::{Arena, Body, Datagram, Ecn, Kind};
use crate::score::ConferenceScore;
use crate::units::Time;
use receiver::MediaReceiver;
use sender::MediaSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The media of each sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MediaConfig {
    /// Frames a second.
    pub frame_rate: u32,
    /// Rates in bit/s, IP headers included.
    pub rates: crate::gcc::RateBounds,
}

/// IP, UDP and RTP (RFC 3550) before the payload.
pub const MEDIA_HEADERS: u16 = 20 + 8 + 12;
/// Payload of a full packet, as libwebrtc sends it.
pub const MAX_MEDIA_PAYLOAD: u16 = 1200;

/// A packet of media.
#[derive(Debug, Clone, Copy, PartialEq)]
struct MediaPacket {
    frame: u64,
    /// Place in the frame, and packets of the frame.
    index: u16,
    count: u16,
    is_key: bool,
    /// IP bytes.
    bytes: u16,
    sent: Time,
    /// Number of the cluster of probes that it belongs to.
    cluster: Option<u32>,
}

/// Feedback: what arrived of the media packets from `first` on, packets that are missed, and whether a key frame
/// is needed.
#[derive(Debug, Clone, Default)]
struct Report {
    first: u64,
    arrivals: Vec<Option<Time>>,
    sent: Time,
    missed: Vec<u64>,
    needs_key: bool,
}

/// What one direction's packets carry, by number.
#[derive(Debug, Clone, Default)]
struct MediaLog {
    packets: Vec<MediaPacket>,
    reports: Vec<Report>,
    frames: crate::score::FrameRecord,
}

/// The log of one direction, at both of its ends.
#[derive(Debug, Clone, Default)]
struct SharedLog(Arc<Mutex<MediaLog>>);

impl SharedLog {
    fn lock(&self) -> MutexGuard<'_, MediaLog> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One end of a conference.
#[derive(Debug, Clone)]
pub struct ConferenceEnd {
    sender: Option<MediaSender>,
    receiver: Option<MediaReceiver>,
}

/// Both ends of a conference from `start` to `stop`: the first always sends media, the other one if
/// `both_directions`.
pub fn conference(config: MediaConfig, both_directions: bool, start: Time, stop: Time) -> (ConferenceEnd, ConferenceEnd) {
    let [forward, backward] = [SharedLog::default(), SharedLog::default()];
    let sender = |log: &SharedLog| MediaSender::new(config, log.clone(), start, stop);
    let first =
        ConferenceEnd { sender: Some(sender(&forward)), receiver: both_directions.then(|| MediaReceiver::new(backward.clone())) };
    let second =
        ConferenceEnd { sender: both_directions.then(|| sender(&backward)), receiver: Some(MediaReceiver::new(forward)) };
    (first, second)
}

impl ConferenceEnd {
    /// The score of the media that this end receives; none if it receives none.
    pub fn score(&self, window: (Time, Time)) -> Option<ConferenceScore> {
        Some(self.receiver.as_ref()?.log().lock().frames.score(window))
    }

    /// Packets of media sent.
    pub fn sent(&self) -> u64 {
        self.sender.as_ref().map_or(0, |sender| sender.sent())
    }

    /// IP bytes and packets of media received, retransmissions included.
    pub fn received(&self) -> (u64, u64) {
        self.receiver.as_ref().map_or((0, 0), |receiver| receiver.received())
    }
}

impl Endpoint for ConferenceEnd {
    fn receive(&mut self, now: Time, body: &Body, _ecn: Ecn) {
        let Body::Datagram(datagram) = body else { return };
        let number = datagram.number / 2;
        if datagram.number.is_multiple_of(2) {
            if let Some(receiver) = &mut self.receiver {
                receiver.receive(now, number);
            }
        } else if let Some(sender) = &mut self.sender {
            sender.on_report(now, number);
        }
    }

    fn on_timer(&mut self, _now: Time) {}

    fn poll(&mut self, now: Time, arena: &mut Arena) -> Option<Outgoing> {
        let (number, len) = match self.receiver.as_mut().and_then(|receiver| receiver.poll(now)) {
            Some((report, len)) => (2 * report + 1, len),
            None => {
                let (packet, len) = self.sender.as_mut()?.poll(now)?;
                (2 * packet, len)
            }
        };
        let body = arena.insert(Body::Datagram(Datagram { number, sent: now }));
        Some(Outgoing { body, len, kind: Kind::DATA, ecn: Ecn::NotEct, no_more: self.due() > now })
    }

    fn due(&self) -> Time {
        let sender = self.sender.as_ref().map_or(Time::NEVER, MediaSender::due);
        let receiver = self.receiver.as_ref().map_or(Time::NEVER, MediaReceiver::due);
        sender.min(receiver)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcc::RateBounds;
    use crate::units::Span;

    const CONFIG: MediaConfig = MediaConfig { frame_rate: 25, rates: RateBounds { min: 50e3, start: 500e3, max: 500e3 } };

    /// A forward direction with 20 ms in each direction for some seconds, in which media packets of these numbers are lost.
    fn run(seconds: u64, is_lost: impl Fn(u64) -> bool) -> (ConferenceEnd, ConferenceEnd) {
        run_over(20, seconds, is_lost)
    }

    /// The same with this delay in each direction.
    fn run_over(delay_ms: u64, seconds: u64, is_lost: impl Fn(u64) -> bool) -> (ConferenceEnd, ConferenceEnd) {
        let stop = Time::ZERO + Span::from_secs(seconds);
        let (mut first, mut second) = conference(CONFIG, false, Time::ZERO, Time::NEVER);
        let mut arena = Arena::default();
        let mut flying: Vec<(Time, bool, Datagram)> = Vec::new();
        let mut now = Time::ZERO;
        while now < stop {
            for is_first in [true, false] {
                let end = if is_first { &mut first } else { &mut second };
                while let Some(outgoing) = end.poll(now, &mut arena) {
                    let Body::Datagram(datagram) = *arena.get(outgoing.body) else { panic!("a datagram") };
                    if datagram.number % 2 == 1 || !is_lost(datagram.number / 2) {
                        flying.push((now + Span::from_ms(delay_ms), !is_first, datagram));
                    }
                }
            }
            let next = flying.iter().map(|(at, ..)| *at).chain([first.due(), second.due()]).min().unwrap();
            now = next.max(now + Span::from_us(1));
            flying.retain(|(at, to_first, datagram)| {
                if *at <= now {
                    let end = if *to_first { &mut first } else { &mut second };
                    end.receive(now, &Body::Datagram(*datagram), Ecn::NotEct);
                }
                *at > now
            });
        }
        (first, second)
    }

    fn window(seconds: u64) -> (Time, Time) {
        (Time::ZERO + Span::from_secs(2), Time::ZERO + Span::from_secs(seconds))
    }

    #[test]
    fn frames_have_the_rate_and_the_delay_of_the_path() {
        let (first, second) = run(10, |_| false);
        let score = second.score(window(10)).unwrap();
        assert!((score.bitrate_bps.unwrap() / 500e3 - 1.0).abs() < 0.03, "{score:?}");
        // 20 ms of the path; a frame of 2500 B is paced at 2.5 times its rate.
        assert!((20.0..45.0).contains(&score.delay_p95_ms.unwrap()), "{score:?}");
        assert_eq!((score.freezes, score.late_share, first.score(window(10))), (0, Some(0.0), None));
    }

    #[test]
    fn lost_packet_is_retransmitted_and_holds_its_frame_for_a_round_trip() {
        let (_, second) = run(10, |number| number == 500);
        let score = second.score(window(10)).unwrap();
        assert_eq!((score.freezes, score.late_share), (0, Some(0.0)));
        let alone = run(10, |_| false).1;
        let received = |end: &ConferenceEnd| end.received().1;
        assert!(received(&second).abs_diff(received(&alone)) <= 1, "one is lost and one is retransmitted");
    }

    #[test]
    fn missed_packet_is_retransmitted_once_in_a_round_trip() {
        let received = |is_lost: &dyn Fn(u64) -> bool| run_over(300, 10, is_lost).1.received().1;
        let [one, alone] = [received(&|number| number == 400), received(&|_| false)];
        assert!(one.abs_diff(alone) <= 1, "asked for each 100 ms, six times in an RTT: {one} packets, {alone} without loss");
    }

    #[test]
    fn outage_freezes_the_picture_until_its_packets_are_retransmitted() {
        // No packet arrives for 0.8 s.
        let (_, second) = run(10, |number| (300..360).contains(&number));
        let score = second.score(window(10)).unwrap();
        assert!(score.freezes >= 1 && (0.5..3.0).contains(&score.freeze_s), "{score:?}");
        let after = second.score((Time::ZERO + Span::from_secs(8), Time::ZERO + Span::from_secs(10))).unwrap();
        assert_eq!(after.freezes, 0, "{after:?}");
    }
}
