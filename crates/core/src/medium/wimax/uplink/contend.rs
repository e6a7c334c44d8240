//! The contention region: who asks at which opportunity, and who is heard.

use super::super::cell::Cell;
use super::Uplink;
use crate::element::{Cause, Out};

impl Uplink {
    /// The contention region of this frame.
    pub(super) fn contend(&mut self, cell: &mut Cell, out: &mut Out<'_>) {
        let terms = cell.terms.uplink;
        let opportunities = cell.terms.frame.region.opportunities;
        self.tries.clear();
        for at in 0..self.engaged.len() {
            let station = self.engaged[at];
            let served = self.grants.iter().any(|grant| grant.station == station);
            if opportunities == 0 || served || !cell.streams.is_here(station) || !cell.service(station).class.contends() {
                continue;
            }
            let stream = Cell::up(station);
            let ask = &mut self.asks[station as usize];
            if ask.timer.is_some_and(|timer| timer <= cell.number) {
                ask.timer = None;
                if !ask.backoff.fail(&terms.backoff) {
                    let Cell { lines, streams, .. } = cell;
                    let (line, buffer) = (&mut lines[stream.index()], streams.of(stream));
                    if let Some(packet) = line.cutter.give_up(cell.began, buffer, out) {
                        buffer.drop(packet, Cause::Retries, out);
                    }
                }
                if cell.need(stream) > 0 {
                    ask.backoff.start(&terms.backoff, &mut self.backoffs);
                }
            }
            if ask.timer.is_none() && !ask.backoff.is_on() && ask.outstanding() == 0 && cell.need(stream) > 0 {
                ask.backoff.start(&terms.backoff, &mut self.backoffs);
            }
            if let Some(opportunity) = ask.backoff.pass(opportunities) {
                self.tries.push((opportunity, station));
            }
        }
        self.tries.sort_unstable();
        for at in 0..self.tries.len() {
            let (opportunity, station) = self.tries[at];
            let ask = &mut self.asks[station as usize];
            ask.timer = Some(cell.number + terms.patience);
            cell.streams.of(Cell::up(station)).count_control(1);
            let same = |other: usize| self.tries.get(other).is_some_and(|&(o, _)| o == opportunity);
            let collides = same(at + 1) || at.checked_sub(1).is_some_and(same);
            let need = cell.need(Cell::up(station));
            if !collides && need > 0 {
                self.asks[station as usize].request(cell.number + terms.grant_frames, need, true);
            }
        }
    }
}
