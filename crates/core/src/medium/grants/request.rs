//! How stations say what they have: at an opportunity of their own, or at one that is anybody's.

use super::asker::{opportunities, scheduled_at};
use super::{Contention, Grants, How};
use crate::element::Out;
use crate::medium::{Direction, Stream};
use crate::units::Time;

impl Grants {
    pub(super) fn slot_start(&self, slot: u64) -> Time {
        self.up.intervals.start(slot / opportunities(self.asking.how).max(1))
    }

    /// Bytes of a station's that no request has spoken of, with the header of the grant that they would come in: without it the last few
    /// bytes of a backlog would trickle, a grant each.
    pub(super) fn unasked(&mut self, station: u32) -> u64 {
        let backlog = self.up.backlog(station, &self.streams);
        match backlog.saturating_sub(self.askers[station as usize].asked()) {
            0 => 0,
            bytes => bytes + self.up.least() - 1,
        }
    }

    /// A station that has something new and nothing else to say so with looks for an opportunity, in interval `open` at the earliest.
    pub(super) fn begin_to_ask(&mut self, station: u32, now: Time, open: u64) {
        let asker = &self.askers[station as usize];
        if !asker.must_ask(&self.asking) || self.unasked(station) == 0 {
            return;
        }
        let asker = &mut self.askers[station as usize];
        match self.asking.how {
            How::Contention(terms) => asker.contend(open * u64::from(terms.opportunities), &terms, &mut self.draws),
            How::Scheduled { period, first_grant } => {
                let at = scheduled_at(now, period, self.offsets[station as usize]);
                asker.ask(at, u64::from(first_grant), &self.asking);
                self.streams.of(Stream::new(station, Direction::Up)).count_control(1);
            }
        }
    }

    /// The opportunities of interval `number`: a request alone in one is heard, two are lost.
    pub(super) fn contend(&mut self, number: u64, now: Time, out: &mut Out<'_>) {
        let How::Contention(terms) = self.asking.how else { return };
        let per_interval = u64::from(terms.opportunities);
        let mut requests = Vec::new();
        for station in 0..self.streams.stations() {
            if self.askers[station as usize].retries(now) {
                self.begin_to_ask(station, now, number);
            }
            if let Some(slot) = self.askers[station as usize].opportunity((number + 1) * per_interval) {
                if self.unasked(station) == 0 {
                    self.askers[station as usize].give_up();
                } else {
                    requests.push((slot, station));
                }
            }
        }
        requests.sort_unstable();
        for group in requests.chunk_by(|a, b| a.0 == b.0) {
            for &(_, station) in group {
                self.request(station, group.len() == 1, &terms, now, out);
            }
        }
    }

    pub(super) fn request(&mut self, station: u32, heard: bool, terms: &Contention, now: Time, out: &mut Out<'_>) {
        self.streams.of(Stream::new(station, Direction::Up)).count_control(1);
        let bytes = self.unasked(station);
        let asker = &mut self.askers[station as usize];
        if heard {
            asker.ask(now, bytes, &self.asking);
        } else if asker.collide(now + self.asking.grant_delay, terms) {
            self.up.give_up(station, now, &mut self.streams, out);
        }
    }
}
