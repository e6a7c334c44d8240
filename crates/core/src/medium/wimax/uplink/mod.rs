//! The uplink: requests of the stations, grants of the base station, and the use of the grants.
//!
//! Station and base station have separate views: a packet that arrives after the request uses its
//! grant only if there is room ("bundling"), or needs another request.

mod bandwidth_request;
mod contention;
mod grant_fill;
mod nist;

use super::cell::{Cell, ScheduledPiece};
use super::qos_class::QosClass;
use crate::element::Output;
use crate::medium::Direction;
use crate::rng::Rng;
use bandwidth_request::BandwidthRequests;

/// A station's grant in one frame.
#[derive(Clone, Copy, Debug)]
struct UplinkGrant {
    station: u32,
    /// Data slots, without the burst's preamble.
    slots: u32,
    /// Polled: a request may be sent even without data.
    poll: bool,
}

pub struct UplinkScheduler {
    requests: Vec<BandwidthRequests>,
    /// Stations with backlog or demand; the first is served first.
    active: Vec<u32>,
    grants: Vec<UplinkGrant>,
    free: u32,
    scheduled: Vec<ScheduledPiece>,
    backoffs: Rng,
    /// Requests sent in this frame's contention: (opportunity, station).
    attempts: Vec<(u32, u32)>,
}

impl UplinkScheduler {
    pub fn new(stations: u32, backoffs: Rng) -> UplinkScheduler {
        UplinkScheduler {
            requests: vec![BandwidthRequests::default(); stations as usize],
            active: Vec::new(),
            grants: Vec::new(),
            free: 0,
            scheduled: Vec::new(),
            backoffs,
            attempts: Vec::new(),
        }
    }

    pub fn is_idle(&self) -> bool {
        self.active.is_empty()
    }

    /// A station leaves: its requests and grants are discarded.
    pub fn reset_station(&mut self, station: u32) {
        let requests = &mut self.requests[station as usize];
        *requests = BandwidthRequests { listed: requests.listed, ..BandwidthRequests::default() };
        self.grants.retain(|grant| grant.station != station);
    }

    /// A packet arrived at this station.
    pub fn activate(&mut self, station: u32) {
        if !std::mem::replace(&mut self.requests[station as usize].listed, true) {
            self.active.push(station);
        }
    }

    /// Grants the uplink of the frame that starts now. Returns the number of bursts.
    pub fn grant(&mut self, cell: &mut Cell, out: &mut Output<'_>) -> u32 {
        self.grants.clear();
        self.free = cell.frame.up.slots();
        if !self.active.is_empty() {
            self.active.rotate_left(1);
        }
        for at in 0..self.active.len() {
            let station = self.active[at];
            cell.release_rate_limited(Cell::up(station), cell.began, out);
            self.requests[station as usize].receive(cell.number);
        }
        if cell.config.uplink.rule.is_nist() {
            self.grant_by_nist(cell);
            self.account(cell);
            return self.grants.len() as u32;
        }
        self.grant_unsolicited(cell);
        self.grant_retransmissions(cell);
        for class in 0..QosClass::COUNT {
            self.share(cell, class);
        }
        self.account(cell);
        self.grants.len() as u32
    }

    /// Counts the part of the frame without free slots: all of it if a station's demand exceeds its
    /// grant, or a rate limit holds its packets.
    fn account(&self, cell: &mut Cell) {
        let slots = cell.frame.up.slots();
        let granted = |station: u32| self.grants.iter().find(|grant| grant.station == station).map_or(0, |grant| grant.slots);
        let unmet = self.active.iter().any(|&station| {
            let bytes = u64::from(granted(station)) * u64::from(cell.slot_bytes_of(Cell::up(station)));
            let tx = &cell.tx[Cell::up(station).index()];
            self.requests[station as usize].demand > bytes || tx.rate_limiters.iter().any(|limiter| limiter.occupancy() > 0)
        });
        let used = if unmet { 1.0 } else { f64::from(slots - self.free) / f64::from(slots.max(1)) };
        cell.add_full(Direction::Up, used);
    }

    /// Unsolicited grants and polls that are due.
    fn grant_unsolicited(&mut self, cell: &mut Cell) {
        for at in 0..self.active.len() {
            let station = self.active[at];
            let service = cell.service_flow(station);
            if !service.is_due(cell.number, station) || !cell.queues.is_served(station) {
                continue;
            }
            let stream = Cell::up(station);
            let slot_bytes = u64::from(cell.slot_bytes_of(stream)).max(1);
            let bytes = match service.class {
                QosClass::Ugs => u64::from(service.bytes),
                QosClass::Ertps => cell.backlog(stream).min(u64::from(service.bytes)),
                _ => u64::from(REQUEST_BYTES),
            };
            let slots = bytes.div_ceil(slot_bytes).min(u64::from(self.free)) as u32;
            self.add_slots(cell, station, slots, service.class > QosClass::Ertps);
        }
    }

    /// Grants for retransmissions: the base station knows them, and a part of a unit is useless.
    fn grant_retransmissions(&mut self, cell: &mut Cell) {
        for at in 0..self.active.len() {
            let station = self.active[at];
            let stream = Cell::up(station);
            let bytes = cell.tx[stream.index()].window.as_ref().map_or(0, |w| w.retransmit_bytes(cell.number));
            if bytes > 0 {
                let slots = bytes.div_ceil(u64::from(cell.slot_bytes_of(stream)).max(1)).min(u64::from(self.free));
                self.add_slots(cell, station, slots as u32, false);
            }
        }
    }

    /// Divides the free slots equally among the stations of one class with demand.
    fn share(&mut self, cell: &mut Cell, class: usize) {
        let mut demands: Vec<(u32, u32)> = Vec::new();
        for at in 0..self.active.len() {
            let station = self.active[at];
            if cell.service_flow(station).class.priority() != class {
                continue;
            }
            let stream = Cell::up(station);
            let slot_bytes = u64::from(cell.slot_bytes_of(stream)).max(1);
            let slots = self.requests[station as usize].demand.div_ceil(slot_bytes);
            if slots > 0 {
                let slots = u32::try_from(slots).unwrap_or(u32::MAX);
                let min_slots = cell.config.uplink.min_grant.div_ceil(slot_bytes as u32);
                demands.push((station, slots.max(self.min_slots(cell, station)).max(min_slots)));
            }
        }
        while !demands.is_empty() && self.free > 0 {
            let share = (self.free / demands.len() as u32).max(1);
            let before = self.free;
            for (station, slots) in &mut demands {
                let min_slots = self.min_slots(cell, *station);
                let given = self.add_slots(cell, *station, (*slots).min(share.max(min_slots)), false);
                *slots -= given;
            }
            demands.retain(|&(_, slots)| slots > 0);
            if self.free == before {
                return;
            }
        }
    }

    /// Minimum useful number of slots.
    fn min_slots(&mut self, cell: &mut Cell, station: u32) -> u32 {
        if self.grants.iter().any(|grant| grant.station == station) {
            return 1;
        }
        cell.config.pdu.min_bytes().div_ceil(cell.slot_bytes_of(Cell::up(station)).max(1))
    }

    /// Adds slots to a station's burst; a new burst also costs its preamble. Returns the number of
    /// slots added.
    fn add_slots(&mut self, cell: &mut Cell, station: u32, slots: u32, poll: bool) -> u32 {
        let preamble = cell.config.frame.uplink_preamble;
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
                self.grants.push(UplinkGrant { station, slots, poll });
            }
        }
        slots
    }

    fn fill_grants(&mut self, cell: &mut Cell, out: &mut Output<'_>) {
        let mut first = 0;
        for at in 0..self.grants.len() {
            let grant = self.grants[at];
            first += cell.config.frame.uplink_preamble;
            self.fill(cell, grant, (at as u32, first), out);
            first += grant.slots;
        }
    }

    /// The uplink starts: stations contend and fill their grants with their current backlog.
    pub fn send(&mut self, cell: &mut Cell, out: &mut Output<'_>) {
        if cell.config.uplink.rule.is_nist() {
            self.contend_by_nist(cell, out);
        } else {
            self.run_contention(cell, out);
            self.fill_grants(cell, out);
        }
        let zone = cell.frame.up;
        let in_order = zone.by_column;
        cell.deliver(&mut self.scheduled, in_order, |piece| zone.end(piece.first, piece.last), out);
        self.grants.clear();
        let requests = &mut self.requests;
        self.active.retain(|&station| {
            let requests = &mut requests[station as usize];
            requests.listed = !cell.is_idle(Cell::up(station)) || requests.outstanding() > 0;
            if !requests.listed {
                *requests = BandwidthRequests::default();
            }
            requests.listed
        });
    }
}

/// A bandwidth request is a header; piggybacked it is a subheader.
const REQUEST_BYTES: u32 = 6;
const PIGGYBACK_BYTES: u32 = 2;
