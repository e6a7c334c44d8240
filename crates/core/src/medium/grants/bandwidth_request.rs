//! Transmission of bandwidth requests: at a dedicated opportunity, or in contention.

use super::request_state::{opportunities, scheduled_at};
use super::{ContentionConfig, Grants, RequestMethod};
use crate::element::Output;
use crate::medium::{Direction, Stream};
use crate::units::Time;

impl Grants {
    pub(super) fn slot_start(&self, slot: u64) -> Time {
        self.up.intervals.start(slot / opportunities(self.config.request).max(1))
    }

    /// Bytes of a station's backlog that no request covers, plus the header of their grant. Without
    /// the header the last bytes of a backlog would need a grant each.
    pub(super) fn unrequested(&mut self, station: u32) -> u64 {
        let backlog = self.up.backlog(station, &self.queues);
        match backlog.saturating_sub(self.requests[station as usize].outstanding()) {
            0 => 0,
            bytes => bytes + self.up.min_grant() - 1,
        }
    }

    /// Requests bandwidth for new backlog that no other transmission can announce, in interval
    /// `open` at the earliest.
    pub(super) fn start_request(&mut self, station: u32, now: Time, open: u64) {
        let request_state = &self.requests[station as usize];
        if !request_state.needs_request(&self.config) || self.unrequested(station) == 0 {
            return;
        }
        let request_state = &mut self.requests[station as usize];
        match self.config.request {
            RequestMethod::Contention(config) => {
                request_state.start_contention(open * u64::from(config.opportunities), &config, &mut self.draws)
            }
            RequestMethod::Scheduled { period, first_grant } => {
                let at = scheduled_at(now, period, self.offsets[station as usize]);
                request_state.request(at, u64::from(first_grant), &self.config);
                self.queues.of(Stream::new(station, Direction::Up)).count_control(1);
            }
        }
    }

    /// Contention in interval `number`: a single request in an opportunity succeeds, several
    /// collide.
    pub(super) fn run_contention(&mut self, number: u64, now: Time, out: &mut Output<'_>) {
        let RequestMethod::Contention(config) = self.config.request else { return };
        let per_interval = u64::from(config.opportunities);
        let mut requests = Vec::new();
        for station in 0..self.queues.stations() {
            if self.requests[station as usize].retry_due(now) {
                self.start_request(station, now, number);
            }
            if let Some(slot) = self.requests[station as usize].opportunity((number + 1) * per_interval) {
                if self.unrequested(station) == 0 {
                    self.requests[station as usize].cancel();
                } else {
                    requests.push((slot, station));
                }
            }
        }
        requests.sort_unstable();
        for group in requests.chunk_by(|a, b| a.0 == b.0) {
            for &(_, station) in group {
                self.send_request(station, group.len() == 1, &config, now, out);
            }
        }
    }

    pub(super) fn send_request(
        &mut self,
        station: u32,
        success: bool,
        config: &ContentionConfig,
        now: Time,
        out: &mut Output<'_>,
    ) {
        self.queues.of(Stream::new(station, Direction::Up)).count_control(1);
        let bytes = self.unrequested(station);
        let request_state = &mut self.requests[station as usize];
        if success {
            request_state.request(now, bytes, &self.config);
        } else if request_state.collide(now + self.config.grant_delay, config) {
            self.up.drop_head(station, now, &mut self.queues, out);
        }
    }
}
