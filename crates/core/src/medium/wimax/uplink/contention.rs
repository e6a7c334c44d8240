//! Contention: which stations request at which opportunity, and which requests are received.

use super::super::cell::Cell;
use super::UplinkScheduler;
use crate::element::{DropReason, Output};

impl UplinkScheduler {
    /// Executes the contention region of this frame.
    pub(super) fn run_contention(&mut self, cell: &mut Cell, out: &mut Output<'_>) {
        let config = cell.config.uplink;
        let opportunities = cell.config.frame.region.opportunities;
        self.attempts.clear();
        for at in 0..self.active.len() {
            let station = self.active[at];
            let served = self.grants.iter().any(|grant| grant.station == station);
            if opportunities == 0 || served || !cell.queues.is_served(station) || !cell.service_flow(station).class.contends() {
                continue;
            }
            let stream = Cell::up(station);
            let requests = &mut self.requests[station as usize];
            if requests.timer.is_some_and(|timer| timer <= cell.number) {
                requests.timer = None;
                if !requests.backoff.on_timeout(&config.backoff) {
                    let Cell { tx, queues, .. } = cell;
                    let (tx, queue) = (&mut tx[stream.index()], queues.of(stream));
                    if let Some(packet) = tx.fragmenter.take_head(cell.began, queue, out) {
                        queue.drop(packet, DropReason::Retries, out);
                    }
                }
                if cell.backlog(stream) > 0 {
                    requests.backoff.start(&config.backoff, &mut self.backoffs);
                }
            }
            if requests.timer.is_none()
                && !requests.backoff.is_active()
                && requests.outstanding() == 0
                && cell.backlog(stream) > 0
            {
                requests.backoff.start(&config.backoff, &mut self.backoffs);
            }
            if let Some(opportunity) = requests.backoff.next_frame(opportunities) {
                self.attempts.push((opportunity, station));
            }
        }
        self.attempts.sort_unstable();
        for at in 0..self.attempts.len() {
            let (opportunity, station) = self.attempts[at];
            let requests = &mut self.requests[station as usize];
            requests.timer = Some(cell.number + config.request_timeout);
            cell.queues.of(Cell::up(station)).count_control(1);
            let same = |other: usize| self.attempts.get(other).is_some_and(|&(o, _)| o == opportunity);
            let collides = same(at + 1) || at.checked_sub(1).is_some_and(same);
            let need = cell.backlog(Cell::up(station));
            if !collides && need > 0 {
                self.requests[station as usize].request(cell.number + config.grant_frames, need, true);
            }
        }
    }
}
