//! Requests and grants of NIST's 802.16 module for ns-2, by its source.
//!
//! A back-off is not confined to the slots of the contention region: a station counts its
//! opportunities down in real time from the region's start until the next burst of the map begins,
//! or to the end of the uplink if no station has a grant, and goes on in the next frame. A station
//! requests whatever its grant of the same frame leaves, and the base station serves whole demands,
//! one station after the other.

use super::super::cell::Cell;
use super::super::config::{NIST_MAX_BURSTS, RequestRule};
use super::{REQUEST_BYTES, UplinkGrant, UplinkScheduler};
use crate::element::{DropReason, Output};
use crate::rng::Rng;
use crate::units::{Span, Time};

/// Physical slots of one opportunity, the unit of a back-off.
const OPPORTUNITY_SLOTS: u64 = 72;

/// A request: the bytes of the whole queue, and its packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Request {
    bytes: u64,
    packets: u64,
}

/// A station's part in contention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contention {
    state: State,
    request: Request,
    /// Requests without a grant so far.
    failed: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    None,
    /// The request is sent after this time of open contention.
    Counting(Span),
    /// The request was sent, and fails at this time (T16).
    Sent(Time),
}

impl Contention {
    /// A grant carried data.
    fn cancel(&mut self) {
        *self = Contention::default();
    }

    /// Draws one of 2^w + 1 opportunities.
    fn start(&mut self, (first, last): (u32, u32), opportunity: Span, rng: &mut Rng) {
        let drawn = (1u64 << (first + self.failed).min(last).min(32)) + 1;
        self.state = State::Counting(Span(opportunity.0 * (rng.uniform() * drawn as f64) as u64));
    }
}

/// The part of a frame in which requests are counted down.
struct OpenContention {
    opens: Time,
    lasts: Span,
    opportunity: Span,
    /// Air time of a request.
    request: Span,
}

impl UplinkScheduler {
    /// Grants demands in the order of the list until the uplink is full.
    pub(super) fn grant_by_nist(&mut self, cell: &mut Cell) {
        for at in 0..self.active.len() {
            let station = self.active[at];
            let demand = self.requests[station as usize].demand;
            // A symbol of gap follows each burst but the last.
            let room = self.free.saturating_sub(u32::from(!self.grants.is_empty()));
            if room == 0 || self.grants.len() == NIST_MAX_BURSTS {
                break;
            }
            if demand == 0 || !cell.queues.is_served(station) {
                continue;
            }
            let wanted = demand.div_ceil(u64::from(cell.slot_bytes_of(Cell::up(station))).max(1));
            let slots = wanted.min(u64::from(room)) as u32;
            self.free = room - slots;
            self.grants.push(UplinkGrant { station, slots, poll: false });
        }
    }

    /// The stations fill their bursts. Returns the bytes that each station's carries.
    fn fill_by_nist(&mut self, cell: &mut Cell, out: &mut Output<'_>) -> Vec<(u32, u32)> {
        let (mut first, mut sent) = (0, Vec::with_capacity(self.grants.len()));
        for at in 0..self.grants.len() {
            let grant = self.grants[at];
            let carried = self.fill_new(cell, grant, (at as u32, first), out);
            first += grant.slots + 1;
            let requests = &mut self.requests[grant.station as usize];
            if carried > 0 {
                requests.nist.cancel();
                sent.push((grant.station, carried));
            } else {
                // What was requested twice of a packet sent in part is not granted for ever.
                requests.demand = 0;
            }
        }
        sent
    }

    /// The uplink starts: stations fill their grants, count down and request for what is left; then
    /// the requests arrive, and the data of the frame.
    pub(super) fn contend_by_nist(&mut self, cell: &mut Cell, out: &mut Output<'_>) {
        let data = self.fill_by_nist(cell, out);
        let open = self.open_contention(cell);
        let mut sent: Vec<(Span, u32)> = Vec::new();
        for at in 0..self.active.len() {
            let station = self.active[at];
            if let Some(after) = self.count_down(cell, station, &open, out) {
                sent.push((after, station));
            }
        }
        sent.sort_unstable();
        let is_near = |a: Span, b: Span| b - a < open.request;
        for (at, &(after, station)) in sent.iter().enumerate() {
            cell.queues.of(Cell::up(station)).count_control(1);
            let collides = at.checked_sub(1).is_some_and(|before| is_near(sent[before].0, after))
                || sent.get(at + 1).is_some_and(|&(next, _)| is_near(after, next));
            if collides {
                continue;
            }
            let requests = &mut self.requests[station as usize];
            let bytes = requests.nist.request.bytes;
            if cell.config.uplink.rule == RequestRule::NistReleased {
                requests.demand = bytes;
            } else {
                requests.request(cell.number + 1, bytes, true);
            }
        }
        for (station, bytes) in data {
            let requests = &mut self.requests[station as usize];
            requests.demand = requests.demand.saturating_sub(u64::from(bytes));
        }
    }

    fn open_contention(&self, cell: &Cell) -> OpenContention {
        let (frame, channel, up) = (&cell.config.frame, cell.config.frame.channel, cell.frame.up);
        let before = frame.region.columns_before_requests(channel);
        let opens = cell.began + cell.frame.uplink + Span(up.column.0 * u64::from(before));
        let data = if self.grants.is_empty() { u64::from(up.columns) } else { 0 };
        let closes = cell.began + up.start + Span(up.column.0 * data);
        let slot_bytes = cell.slot_bytes.iter().copied().max().unwrap_or(1).max(1);
        OpenContention {
            opens,
            lasts: closes - opens,
            opportunity: channel.physical_slots(OPPORTUNITY_SLOTS),
            request: Span(up.column.0 * u64::from(REQUEST_BYTES) / u64::from(slot_bytes)),
        }
    }

    /// Counts one station down; returns the time in open contention at which it requests, if it
    /// does.
    fn count_down(&mut self, cell: &mut Cell, station: u32, open: &OpenContention, out: &mut Output<'_>) -> Option<Span> {
        let stream = Cell::up(station);
        if cell.config.frame.region.opportunities == 0 || !cell.queues.is_served(station) {
            return None;
        }
        let backoff = cell.config.uplink.backoff;
        if matches!(self.requests[station as usize].nist.state, State::Sent(until) if until <= open.opens) {
            self.fail(cell, station, out);
        }
        // A request is for whole packets, one sent in part included.
        let backlog = cell.packet_backlog(stream);
        let nist = &mut self.requests[station as usize].nist;
        if nist.state == State::None && backlog > 0 {
            if nist.failed == 0 {
                nist.request = Request { bytes: backlog, packets: cell.packets(stream) };
            }
            nist.start((backoff.start, backoff.end), open.opportunity, &mut self.backoffs);
        }
        let State::Counting(left) = nist.state else { return None };
        if left >= open.lasts {
            nist.state = State::Counting(left - open.lasts);
            return None;
        }
        let patience = Span(cell.frame.length.0 * cell.config.uplink.request_timeout);
        nist.state = State::Sent(open.opens + left + patience);
        Some(left)
    }

    /// A request failed: it is sent once more, or all packets that it covered are dropped.
    fn fail(&mut self, cell: &mut Cell, station: u32, out: &mut Output<'_>) {
        let stream = Cell::up(station);
        let nist = &mut self.requests[station as usize].nist;
        nist.state = State::None;
        nist.failed += 1;
        if nist.failed < cell.config.uplink.backoff.tries {
            return;
        }
        let Request { packets, .. } = nist.request;
        nist.cancel();
        let Cell { tx, queues, .. } = cell;
        let (tx, queue) = (&mut tx[stream.index()], queues.of(stream));
        for _ in 0..packets {
            let Some(packet) = tx.fragmenter.take_head(cell.began, queue, out) else { return };
            queue.drop(packet, DropReason::Retries, out);
        }
    }
}
