//! What rides in a station's burst: what has to be sent again, new packets, and a request for what is left.

use super::super::cell::{Cell, Load, Placed};
use super::super::downlink::LARGEST;
use super::super::service::Class;
use super::{Grant, PIGGYBACK_BYTES, Uplink};
use crate::element::Out;
use crate::medium::Stream;

/// A burst being filled.
struct Burst {
    stream: Stream,
    number: u32,
    /// Its slots, the first and the last.
    slots: (u32, u32),
    slot_bytes: u32,
    /// Pieces follow one another slot by slot; along a row they would overtake one another, and the burst is taken as a whole.
    in_order: bool,
    /// Bytes that it has, those used, and those kept for a request.
    bytes: u32,
    used: u32,
    reserve: u32,
}

impl Burst {
    fn room(&self) -> u32 {
        self.bytes - self.used - self.reserve
    }

    /// Bytes from `from` up to what is used now arrive together.
    fn place(&self, from: u32, load: Load) -> Placed {
        let slot = |byte: u32| self.slots.0 + byte / self.slot_bytes;
        let (first, last) = if self.in_order { (slot(from), slot(self.used.max(1) - 1)) } else { self.slots };
        Placed { burst: self.number, first, last, stream: self.stream, load }
    }
}

impl Uplink {
    /// Fills one station's burst; `place` is its number and its first slot.
    pub(super) fn fill(&mut self, cell: &mut Cell, grant: Grant, place: (u32, u32), out: &mut Out<'_>) {
        let stream = Cell::up(grant.station);
        let slot_bytes = cell.slot_bytes_of(stream).max(1);
        let mut burst = Burst {
            stream,
            number: place.0,
            slots: (place.1, place.1 + grant.slots - 1),
            slot_bytes,
            in_order: cell.frame.up.by_column,
            bytes: grant.slots * slot_bytes,
            used: 0,
            reserve: 0,
        };
        let ask = &mut self.asks[grant.station as usize];
        ask.timer = None;
        ask.backoff.succeed();
        self.send_again(cell, &mut burst);
        let ask = &mut self.asks[grant.station as usize];
        ask.owed = ask.owed.saturating_sub(u64::from(burst.room()));
        // Room for a request that rides on the data, unless all that is here rides itself.
        let rides = cell.terms.uplink.piggyback && cell.service(grant.station).class.piggybacks();
        if rides && cell.need(stream) > u64::from(burst.room()) {
            burst.reserve = PIGGYBACK_BYTES.min(burst.room());
        }
        self.send_new(cell, &mut burst, out);
        // The request is the last of it.
        burst.used += std::mem::take(&mut burst.reserve);
        if let Some(unit) = cell.lines[stream.index()].window.as_mut().and_then(|window| window.end_of_frame()) {
            self.placed.push(burst.place(0, Load::Unit(unit)));
        }
        self.ask_for_more(cell, grant, rides);
        cell.count_use(stream, grant.slots, cell.frame.up.slots());
    }

    fn send_again(&mut self, cell: &mut Cell, burst: &mut Burst) {
        let most = (cell.frame.up.slots() - cell.terms.frame.uplink_preamble) * burst.slot_bytes;
        let Some(window) = &mut cell.lines[burst.stream.index()].window else { return };
        while let Some((unit, bytes)) = window.again(cell.number, burst.room(), most) {
            let from = burst.used;
            burst.used += bytes;
            self.placed.push(burst.place(from, Load::Unit(unit)));
        }
    }

    fn send_new(&mut self, cell: &mut Cell, burst: &mut Burst, out: &mut Out<'_>) {
        let (now, pdu) = (cell.began + cell.frame.uplink, cell.terms.pdu);
        let station = burst.stream.station;
        // Without bundling only what some request was for may go, but in grants that nobody asks for.
        let free = cell.terms.uplink.bundling || cell.service(station).class < Class::Rtps;
        let Cell { lines, streams, .. } = cell;
        let (line, buffer) = (&mut lines[burst.stream.index()], streams.of(burst.stream));
        let ask = &mut self.asks[station as usize];
        while free || ask.covered > 0 {
            let admits = line.window.as_ref().is_none_or(|window| window.admits(LARGEST));
            if !admits || line.cutter.is_empty(buffer) {
                return;
            }
            let Some(piece) = line.cutter.next(now, burst.room(), &pdu, buffer, out) else { return };
            let from = burst.used;
            burst.used += piece.bytes;
            ask.covered = ask.covered.saturating_sub(u64::from(piece.bytes));
            let load = match &mut line.window {
                None => piece.done.map(Load::Packet),
                Some(window) => window.add(piece.bytes, piece.done).map(Load::Unit),
            };
            self.placed.extend(load.map(|load| burst.place(from, load)));
            if piece.done.is_none() {
                return;
            }
        }
    }

    /// What no request has spoken of rides on the data as one, or is the answer to a poll.
    fn ask_for_more(&mut self, cell: &mut Cell, grant: Grant, rides: bool) {
        let stream = Cell::up(grant.station);
        let ask = &mut self.asks[grant.station as usize];
        let missing = cell.need(stream).saturating_sub(ask.outstanding());
        if missing > 0 && (rides || grant.poll) {
            ask.request(cell.number + cell.terms.uplink.grant_frames, missing + u64::from(PIGGYBACK_BYTES), false);
            cell.streams.of(stream).count_control(u64::from(grant.poll));
        }
    }
}
