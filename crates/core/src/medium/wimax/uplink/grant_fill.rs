//! Content of a station's burst: retransmissions, new packets, and a request for the remaining
//! backlog.

use super::super::cell::{Cell, Payload, ScheduledPiece};
use super::super::downlink::ASSUMED_PACKET_BYTES;
use super::super::qos_class::QosClass;
use super::{PIGGYBACK_BYTES, UplinkGrant, UplinkScheduler};
use crate::element::Output;
use crate::medium::{Direction, Stream};

/// A burst being filled.
struct UplinkBurst {
    stream: Stream,
    number: u32,
    /// Its first and last slot.
    slots: (u32, u32),
    slot_bytes: u32,
    /// Pieces arrive slot by slot. Along a row they would be reordered, so the burst arrives as a
    /// whole.
    in_order: bool,
    /// Size in bytes; `used` is filled, and `reserve` is kept for a request.
    bytes: u32,
    used: u32,
    reserve: u32,
    /// It may carry packets that no request covers.
    takes_unrequested: bool,
}

impl UplinkBurst {
    /// An empty burst for a grant; `place` is its number and its first slot.
    fn new(cell: &mut Cell, grant: UplinkGrant, place: (u32, u32)) -> UplinkBurst {
        let stream = Cell::up(grant.station);
        let slot_bytes = cell.slot_bytes_of(stream).max(1);
        let uplink = cell.config.uplink;
        UplinkBurst {
            stream,
            number: place.0,
            slots: (place.1, place.1 + grant.slots - 1),
            slot_bytes,
            in_order: cell.frame.up.by_column,
            bytes: grant.slots * slot_bytes,
            used: 0,
            reserve: 0,
            // Without bundling only requested bytes may be sent, except in unsolicited grants.
            takes_unrequested: uplink.bundling
                || uplink.rule.is_nist()
                || cell.service_flow(grant.station).class < QosClass::Rtps,
        }
    }

    fn room(&self) -> u32 {
        self.bytes - self.used - self.reserve
    }

    /// The bytes from `from` to `used` arrive together.
    fn place(&self, from: u32, payload: Payload) -> ScheduledPiece {
        let slot = |byte: u32| self.slots.0 + byte / self.slot_bytes;
        let (first, last) = if self.in_order { (slot(from), slot(self.used.max(1) - 1)) } else { self.slots };
        ScheduledPiece { burst: self.number, first, last, stream: self.stream, payload }
    }
}

impl UplinkScheduler {
    /// Fills one station's burst; `place` is its number and its first slot.
    pub(super) fn fill(&mut self, cell: &mut Cell, grant: UplinkGrant, place: (u32, u32), out: &mut Output<'_>) {
        let mut burst = UplinkBurst::new(cell, grant, place);
        let UplinkBurst { stream, slot_bytes, .. } = burst;
        let requests = &mut self.requests[grant.station as usize];
        requests.timer = None;
        requests.backoff.reset();
        self.send_retransmissions(cell, &mut burst);
        let retransmitted = burst.used;
        let requests = &mut self.requests[grant.station as usize];
        requests.demand = requests.demand.saturating_sub(u64::from(burst.room()));
        // Reserves room for a piggybacked request, unless the whole backlog fits.
        let rides = cell.config.uplink.piggyback && cell.service_flow(grant.station).class.piggybacks();
        if rides && cell.backlog(stream) > u64::from(burst.room()) {
            burst.reserve = PIGGYBACK_BYTES.min(burst.room());
        }
        self.send_new(cell, &mut burst, out);
        cell.add_sending(Direction::Up, (burst.used - retransmitted).div_ceil(slot_bytes));
        // The request is the last part of the burst.
        burst.used += std::mem::take(&mut burst.reserve);
        self.close_unit(cell, &burst);
        self.request_more(cell, grant, rides);
        cell.add_busy_slots(stream, grant.slots, cell.frame.up.slots());
    }

    /// Fills one station's burst, without requests and retransmissions. Returns
    /// the bytes that it carries.
    pub(super) fn fill_new(&mut self, cell: &mut Cell, grant: UplinkGrant, place: (u32, u32), out: &mut Output<'_>) -> u32 {
        let mut burst = UplinkBurst::new(cell, grant, place);
        self.send_new(cell, &mut burst, out);
        self.close_unit(cell, &burst);
        cell.add_sending(Direction::Up, burst.used.div_ceil(burst.slot_bytes));
        cell.add_busy_slots(burst.stream, grant.slots, cell.frame.up.slots());
        burst.used
    }

    /// Under HARQ a station's data of one frame is one unit.
    fn close_unit(&mut self, cell: &mut Cell, burst: &UplinkBurst) {
        if let Some(unit) = cell.tx[burst.stream.index()].window.as_mut().and_then(|window| window.end_of_frame()) {
            self.scheduled.push(burst.place(0, Payload::Unit(unit)));
        }
    }

    fn send_retransmissions(&mut self, cell: &mut Cell, burst: &mut UplinkBurst) {
        let max_bytes = (cell.frame.up.slots() - cell.config.frame.uplink_preamble) * burst.slot_bytes;
        let Some(window) = &mut cell.tx[burst.stream.index()].window else { return };
        while let Some((unit, bytes)) = window.retransmit(cell.number, burst.room(), max_bytes) {
            let from = burst.used;
            burst.used += bytes;
            self.scheduled.push(burst.place(from, Payload::Unit(unit)));
        }
    }

    fn send_new(&mut self, cell: &mut Cell, burst: &mut UplinkBurst, out: &mut Output<'_>) {
        let (now, pdu) = (cell.began + cell.frame.uplink, cell.config.pdu);
        let station = burst.stream.station;
        let Cell { tx, queues, .. } = cell;
        let (tx, queue) = (&mut tx[burst.stream.index()], queues.of(burst.stream));
        let requests = &mut self.requests[station as usize];
        while burst.takes_unrequested || requests.requested > 0 {
            let admits = tx.window.as_ref().is_none_or(|window| window.admits(ASSUMED_PACKET_BYTES));
            if !admits || tx.fragmenter.is_empty(queue) {
                return;
            }
            let Some(piece) = tx.fragmenter.next(now, burst.room(), &pdu, queue, out) else { return };
            let from = burst.used;
            burst.used += piece.bytes;
            requests.requested = requests.requested.saturating_sub(u64::from(piece.bytes));
            let payload = match &mut tx.window {
                None => piece.completes.map(Payload::Packet),
                Some(window) => window.add(piece.bytes, piece.completes).map(Payload::Unit),
            };
            self.scheduled.extend(payload.map(|payload| burst.place(from, payload)));
            if piece.completes.is_none() {
                return;
            }
        }
    }

    /// Requests the backlog that no request covers, piggybacked on data or in response to a poll.
    fn request_more(&mut self, cell: &mut Cell, grant: UplinkGrant, rides: bool) {
        let stream = Cell::up(grant.station);
        let requests = &mut self.requests[grant.station as usize];
        let missing = cell.backlog(stream).saturating_sub(requests.outstanding());
        if missing > 0 && (rides || grant.poll) {
            requests.request(cell.number + cell.config.uplink.grant_frames, missing + u64::from(PIGGYBACK_BYTES), false);
            cell.queues.of(stream).count_control(u64::from(grant.poll));
        }
    }
}
