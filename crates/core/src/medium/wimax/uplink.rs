//! The uplink: what stations ask for, what the base station grants, and what then rides in the grants.
//!
//! A station knows what it has sent and asked for; the base station knows what it was asked. Both views are kept apart: a packet that came
//! after the request goes into a grant only if that has room ("bundling"), or asks again.

use super::cell::{Cell, Load, Placed};
use super::contention::Backoff;
use super::downlink::LARGEST;
use super::service::Class;
use crate::element::{Cause, Out};
use crate::rng::Rng;
use std::collections::VecDeque;

/// What one station has asked for.
#[derive(Clone, Debug, Default)]
struct Ask {
    /// Requests that the base station has heard and may grant from a frame on: (frame, bytes, in place of all before).
    heard: VecDeque<(u64, u64, bool)>,
    /// What the base station still owes.
    owed: u64,
    /// Bytes of packets here that some request was for.
    covered: u64,
    backoff: Backoff,
    /// When a request in vain is given up, as a frame.
    timer: Option<u64>,
    listed: bool,
}

impl Ask {
    fn outstanding(&self) -> u64 {
        self.owed + self.heard.iter().map(|&(_, bytes, _)| bytes).sum::<u64>()
    }

    /// A request reaches the base station.
    fn request(&mut self, from: u64, bytes: u64, instead: bool) {
        if instead {
            self.heard.clear();
            self.covered = 0;
        }
        self.heard.push_back((from, bytes, instead));
        self.covered += bytes;
    }

    /// The base station comes to `frame`.
    fn hear(&mut self, frame: u64) {
        while let Some(&(_, bytes, instead)) = self.heard.front().filter(|&&(from, ..)| from <= frame) {
            self.owed = if instead { bytes } else { self.owed + bytes };
            self.heard.pop_front();
        }
    }
}

/// A station's part of the uplink in one frame.
#[derive(Clone, Copy, Debug)]
struct Grant {
    station: u32,
    /// Slots for data; the burst's preamble is not counted.
    slots: u32,
    /// It may carry a request whatever it carries.
    poll: bool,
}

pub struct Uplink {
    asks: Vec<Ask>,
    /// Stations with something to send or to be granted; the first has the first turn.
    engaged: Vec<u32>,
    grants: Vec<Grant>,
    free: u32,
    placed: Vec<Placed>,
    backoffs: Rng,
    /// Requests sent in this frame's contention: (opportunity, station).
    tries: Vec<(u32, u32)>,
}

impl Uplink {
    pub fn new(stations: u32, backoffs: Rng) -> Uplink {
        Uplink {
            asks: vec![Ask::default(); stations as usize],
            engaged: Vec::new(),
            grants: Vec::new(),
            free: 0,
            placed: Vec::new(),
            backoffs,
            tries: Vec::new(),
        }
    }

    pub fn is_idle(&self) -> bool {
        self.engaged.is_empty()
    }

    /// A packet came from this station.
    pub fn list(&mut self, station: u32) {
        if !std::mem::replace(&mut self.asks[station as usize].listed, true) {
            self.engaged.push(station);
        }
    }

    /// Grants the uplink of the frame that begins now; says how many bursts it has.
    pub fn grant(&mut self, cell: &mut Cell, out: &mut Out<'_>) -> u32 {
        self.grants.clear();
        self.free = cell.frame.up.slots();
        if !self.engaged.is_empty() {
            self.engaged.rotate_left(1);
        }
        for at in 0..self.engaged.len() {
            let station = self.engaged[at];
            cell.release_capped(Cell::up(station), cell.began, out);
            self.asks[station as usize].hear(cell.number);
        }
        self.grant_unasked(cell);
        self.grant_again(cell);
        for class in 0..Class::COUNT {
            self.share(cell, class);
        }
        self.grants.len() as u32
    }

    /// Fixed grants and polls that are due.
    fn grant_unasked(&mut self, cell: &mut Cell) {
        for at in 0..self.engaged.len() {
            let station = self.engaged[at];
            let service = cell.terms.service(station);
            if !service.is_turn(cell.number, station) {
                continue;
            }
            let stream = Cell::up(station);
            let slot_bytes = u64::from(cell.slot_bytes_of(stream)).max(1);
            let bytes = match service.class {
                Class::Ugs => u64::from(service.bytes),
                Class::Ertps => cell.need(stream).min(u64::from(service.bytes)),
                _ => u64::from(REQUEST_BYTES),
            };
            let slots = bytes.div_ceil(slot_bytes).min(u64::from(self.free)) as u32;
            self.give(cell, station, slots, service.class > Class::Ertps);
        }
    }

    /// What stations must send again: the base station knows it, and half of it would be of no use.
    fn grant_again(&mut self, cell: &mut Cell) {
        for at in 0..self.engaged.len() {
            let station = self.engaged[at];
            let stream = Cell::up(station);
            let bytes = cell.lines[stream.index()].window.as_ref().map_or(0, |w| w.again_bytes(cell.number));
            if bytes > 0 {
                let slots = bytes.div_ceil(u64::from(cell.slot_bytes_of(stream)).max(1)).min(u64::from(self.free));
                self.give(cell, station, slots as u32, false);
            }
        }
    }

    /// What is owed to stations of one class, in equal shares.
    fn share(&mut self, cell: &mut Cell, class: usize) {
        let mut wanting: Vec<(u32, u32)> = Vec::new();
        for at in 0..self.engaged.len() {
            let station = self.engaged[at];
            if cell.terms.service(station).class.priority() != class {
                continue;
            }
            let stream = Cell::up(station);
            let slot_bytes = u64::from(cell.slot_bytes_of(stream)).max(1);
            let slots = self.asks[station as usize].owed.div_ceil(slot_bytes);
            if slots > 0 {
                let slots = u32::try_from(slots).unwrap_or(u32::MAX);
                let least = cell.terms.uplink.least_grant.div_ceil(slot_bytes as u32);
                wanting.push((station, slots.max(self.least(cell, station)).max(least)));
            }
        }
        while !wanting.is_empty() && self.free > 0 {
            let share = (self.free / wanting.len() as u32).max(1);
            let before = self.free;
            for (station, slots) in &mut wanting {
                let least = self.least(cell, *station);
                let given = self.give(cell, *station, (*slots).min(share.max(least)), false);
                *slots -= given;
            }
            wanting.retain(|&(_, slots)| slots > 0);
            if self.free == before {
                return;
            }
        }
    }

    /// Less than this a station can do nothing with.
    fn least(&mut self, cell: &mut Cell, station: u32) -> u32 {
        if self.grants.iter().any(|grant| grant.station == station) {
            return 1;
        }
        cell.terms.pdu.least().div_ceil(cell.slot_bytes_of(Cell::up(station)).max(1))
    }

    /// Adds slots to a station's burst, which at first costs its preamble as well. Says how many it got.
    fn give(&mut self, cell: &mut Cell, station: u32, slots: u32, poll: bool) -> u32 {
        let preamble = cell.terms.frame.uplink_preamble;
        let at = self.grants.iter().position(|grant| grant.station == station);
        let room = if at.is_some() { self.free } else { self.free.saturating_sub(preamble) };
        let slots = slots.min(room);
        if slots == 0 {
            return 0;
        }
        self.free -= slots;
        match at {
            Some(at) => {
                self.grants[at].slots += slots;
                self.grants[at].poll |= poll;
            }
            None => {
                self.free -= preamble;
                self.grants.push(Grant { station, slots, poll });
            }
        }
        slots
    }

    /// The uplink begins: stations contend, and fill their grants with what they have now.
    pub fn send(&mut self, cell: &mut Cell, out: &mut Out<'_>) {
        self.contend(cell, out);
        let mut first = 0;
        for at in 0..self.grants.len() {
            let grant = self.grants[at];
            first += cell.terms.frame.uplink_preamble;
            self.fill(cell, grant, (at as u32, first), out);
            first += grant.slots;
        }
        let zone = cell.frame.up;
        let in_order = zone.by_column;
        cell.arrive(&mut self.placed, in_order, |one| zone.end(one.first, one.last), out);
        self.grants.clear();
        let asks = &mut self.asks;
        self.engaged.retain(|&station| {
            let ask = &mut asks[station as usize];
            ask.listed = !cell.is_idle(Cell::up(station)) || ask.outstanding() > 0;
            if !ask.listed {
                *ask = Ask::default();
            }
            ask.listed
        });
    }

    /// Fills one station's burst; `place` is its number and its first slot.
    fn fill(&mut self, cell: &mut Cell, grant: Grant, place: (u32, u32), out: &mut Out<'_>) {
        let stream = Cell::up(grant.station);
        let now = cell.began + cell.frame.uplink;
        let slot_bytes = cell.slot_bytes_of(stream).max(1);
        let terms = cell.terms.uplink;
        let pdu = cell.terms.pdu;
        let class = cell.terms.service(grant.station).class;
        let number = cell.number;
        let in_order = cell.frame.up.by_column;
        let most = (cell.frame.up.slots() - cell.terms.frame.uplink_preamble) * slot_bytes;
        let ask = &mut self.asks[grant.station as usize];
        ask.timer = None;
        ask.backoff.succeed();
        let mut room = grant.slots * slot_bytes;
        let (burst, begin) = place;
        let mut note = |from: u32, to: u32, load: Load| {
            let slot = |byte: u32| begin + byte / slot_bytes;
            // Along a row pieces would overtake one another: there the burst is taken as a whole.
            let whole = (begin, begin + grant.slots - 1);
            let (first, last) = if in_order { (slot(from), slot(to.max(1) - 1)) } else { whole };
            self.placed.push(Placed { burst, first, last, stream, load });
        };
        let all = room;
        let Cell { lines, streams, .. } = cell;
        let (line, buffer) = (&mut lines[stream.index()], streams.of(stream));
        if let Some(window) = &mut line.window {
            while let Some((unit, bytes)) = window.again(number, room, most) {
                note(all - room, all - room + bytes, Load::Unit(unit));
                room -= bytes;
            }
        }
        ask.owed = ask.owed.saturating_sub(u64::from(room));
        // Room for a request that rides on the data, unless all that is here rides itself.
        let rides = terms.piggyback && class.piggybacks();
        let reserve = if rides && line.cutter.need(buffer, &pdu) > u64::from(room) { PIGGYBACK_BYTES.min(room) } else { 0 };
        room -= reserve;
        loop {
            let may = terms.bundling || class < Class::Rtps || ask.covered > 0;
            let admits = line.window.as_ref().is_none_or(|window| window.admits(LARGEST));
            if !may || !admits || line.cutter.is_empty(buffer) {
                break;
            }
            let Some(piece) = line.cutter.next(now, room, &pdu, buffer, out) else { break };
            let from = all - reserve - room;
            room -= piece.bytes;
            ask.covered = ask.covered.saturating_sub(u64::from(piece.bytes));
            let load = match &mut line.window {
                None => piece.done.map(Load::Packet),
                Some(window) => window.add(piece.bytes, piece.done).map(Load::Unit),
            };
            if let Some(load) = load {
                note(from, from + piece.bytes, load);
            }
            if piece.done.is_none() {
                break;
            }
        }
        if let Some(unit) = line.window.as_mut().and_then(|window| window.end_of_frame()) {
            note(0, all - room, Load::Unit(unit));
        }
        let left = line.cutter.need(buffer, &pdu);
        let missing = left.saturating_sub(ask.outstanding());
        if missing > 0 && (rides || grant.poll) {
            ask.request(number + terms.grant_frames, missing + u64::from(PIGGYBACK_BYTES), false);
            buffer.count_control(u64::from(grant.poll));
        }
        cell.count_use(stream, grant.slots, cell.frame.up.slots());
    }

    /// The contention region of this frame.
    fn contend(&mut self, cell: &mut Cell, out: &mut Out<'_>) {
        let terms = cell.terms.uplink;
        let opportunities = cell.terms.frame.region.opportunities;
        self.tries.clear();
        for at in 0..self.engaged.len() {
            let station = self.engaged[at];
            let served = self.grants.iter().any(|grant| grant.station == station);
            if opportunities == 0 || served || !cell.terms.service(station).class.contends() {
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

/// A bandwidth request is a header by itself; riding on data it is a subheader.
const REQUEST_BYTES: u32 = 6;
const PIGGYBACK_BYTES: u32 = 2;
