//! A game: the client sends its player's input at a constant interval, and the server answers each
//! packet.

use super::UdpSource;
use crate::endpoint::{Endpoint, Outgoing};
use crate::packet::{Arena, Body, Ecn};
use crate::score::{GameScore, RoundTrips};
use crate::units::{Span, Time};
use std::collections::VecDeque;

/// The client of a game. Its server is a [`super::ProbeReflector`].
#[derive(Clone, Debug)]
pub struct GameClient {
    source: UdpSource,
    trips: RoundTrips,
    /// The minimum RTT of answers that no longer count.
    earlier_min: Option<Span>,
    /// Number and send time of the packets without an answer, in order.
    unanswered: VecDeque<(u64, Time)>,
}

impl GameClient {
    /// `source` has no pauses. An answer is late after `deadline`.
    pub fn new(source: UdpSource, deadline: Span) -> GameClient {
        GameClient { source, trips: RoundTrips::new(deadline), earlier_min: None, unanswered: VecDeque::new() }
    }

    /// Packets that the client has sent.
    pub fn sent(&self) -> u64 {
        self.source.sent()
    }

    /// Answers that have arrived, each once.
    pub fn answered(&self) -> u64 {
        self.trips.answered()
    }

    /// The round trips that count.
    pub fn trips(&self) -> &RoundTrips {
        &self.trips
    }

    /// The minimum RTT of all answers, those before the score restarted, too.
    pub fn min_rtt(&self) -> Option<Span> {
        [self.earlier_min, self.trips.rtt().min()].into_iter().flatten().min()
    }

    /// Restarts the score: only packets sent from now on count.
    pub fn restart_meters(&mut self) {
        self.earlier_min = self.min_rtt();
        self.trips = RoundTrips::new(self.trips.deadline());
        self.unanswered.clear();
    }

    /// The score of the packets so far. One sent a moment ago may still be answered in time, and does
    /// not count.
    pub fn score(&self, now: Time) -> GameScore {
        let overdue = self.unanswered.iter().filter(|(_, sent)| *sent + self.trips.patience() <= now);
        self.trips.score(overdue.count() as u64)
    }
}

impl Endpoint for GameClient {
    fn receive(&mut self, now: Time, body: &Body, _ecn: Ecn) {
        if let Body::Datagram(answer) = body
            && let Ok(place) = self.unanswered.binary_search_by_key(&answer.number, |(number, _)| *number)
        {
            self.unanswered.remove(place);
            self.trips.add(now - answer.sent);
        }
    }

    fn on_timer(&mut self, _now: Time) {}

    fn poll(&mut self, now: Time, arena: &mut Arena) -> Option<Outgoing> {
        let number = self.source.sent();
        let outgoing = self.source.poll(now, arena)?;
        self.unanswered.push_back((number, now));
        Some(outgoing)
    }

    fn due(&self) -> Time {
        self.source.due()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Datagram;

    #[test]
    fn packet_without_an_answer_counts_once_its_time_is_over() {
        let (start, gap) = (Time::ZERO, Span::from_ms(30));
        let mut client = GameClient::new(UdpSource::every(gap, 100, start, Time::NEVER), Span::from_ms(100));
        let mut arena = Arena::default();
        for number in 0..4 {
            assert!(client.poll(start + Span::from_ms(30 * number), &mut arena).is_some());
        }
        let answer = Body::Datagram(Datagram { number: 0, sent: start });
        client.receive(start + Span::from_ms(40), &answer, Ecn::NotEct);
        client.receive(start + Span::from_ms(41), &answer, Ecn::NotEct);
        let late = |ms: u64| client.score(start + Span::from_ms(ms)).late_share;
        assert_eq!([late(100), late(130), late(500)], [Some(0.0), Some(0.5), Some(0.75)], "a duplicate counts once");
    }
}
