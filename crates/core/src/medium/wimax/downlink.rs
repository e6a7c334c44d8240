//! Downlink scheduler: by QoS class, and round robin with one packet per station within a class.
//!
//! In OFDM all stations with the same MCS share a burst; in OFDMA each station has its own. Each
//! burst costs a map element and a gap. A packet that does not fit into the rest of the frame is
//! fragmented, and its station is first in the next frame. NIST's module has a burst for each station
//! and sends its whole queue, in the order of a rotating list.

use super::cell::{Cell, Payload, ScheduledPiece};
use super::config::NIST_MAX_BURSTS;
use super::phy::Technique;
use super::qos_class::QosClass;
use crate::element::Output;
use crate::medium::Direction;
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub struct DownlinkScheduler {
    /// Stations with backlog, by class, in round-robin order.
    round_robin: [VecDeque<u32>; QosClass::COUNT],
    /// By station: true if it is in `round_robin`.
    listed: Vec<bool>,
    /// Stations with units in flight or to retransmit.
    retransmitting: Vec<u32>,
    /// Stations with packets delayed by a rate limit.
    rate_limited: Vec<u32>,
    bursts: Vec<DownlinkBurst>,
    scheduled: Vec<ScheduledPiece>,
    free: u32,
    grants: u32,
}

/// Data at one MCS (OFDM) or to one station (OFDMA) in this frame.
#[derive(Clone, Copy, Debug)]
struct DownlinkBurst {
    key: u32,
    slot_bytes: u32,
    slots: u32,
    /// Bytes left in the last slot.
    room: u32,
    /// Its first slot, set once all bursts are known.
    start: u32,
}

impl DownlinkScheduler {
    pub fn new(stations: u32) -> DownlinkScheduler {
        DownlinkScheduler { listed: vec![false; stations as usize], ..DownlinkScheduler::default() }
    }

    pub fn is_idle(&self) -> bool {
        self.round_robin.iter().all(VecDeque::is_empty) && self.retransmitting.is_empty() && self.rate_limited.is_empty()
    }

    /// A packet arrived for this station.
    pub fn activate(&mut self, cell: &mut Cell, station: u32) {
        let stream = Cell::down(station);
        let tx = &cell.tx[stream.index()];
        if tx.rate_limiters.iter().any(|limiter| limiter.occupancy() > 0) && !self.rate_limited.contains(&station) {
            self.rate_limited.push(station);
        }
        let waits = !tx.fragmenter.is_empty(cell.queues.of(stream));
        if waits && !std::mem::replace(&mut self.listed[station as usize], true) {
            self.round_robin[cell.service_flow(station).class.priority()].push_back(station);
        }
    }

    /// Fills the frame that starts now. `grants` is the number of uplink grants.
    pub fn schedule(&mut self, cell: &mut Cell, grants: u32, out: &mut Output<'_>) {
        self.bursts.clear();
        self.grants = grants;
        self.free = 0;
        self.release_rate_limited(cell, out);
        if cell.config.uplink.rule.is_nist() {
            self.round_robin.iter_mut().filter(|class| !class.is_empty()).for_each(|class| class.rotate_left(1));
        }
        self.send_retransmissions(cell);
        self.send_new(cell, out);
        self.close_units(cell);
        self.account(cell);
        self.lay_out(cell, out);
        let queues = |station: &u32| Cell::down(*station).index();
        self.retransmitting.retain(|s| cell.tx[queues(s)].window.as_ref().is_some_and(|w| !w.is_idle()));
    }

    fn release_rate_limited(&mut self, cell: &mut Cell, out: &mut Output<'_>) {
        for station in std::mem::take(&mut self.rate_limited) {
            cell.release_rate_limited(Cell::down(station), cell.began, out);
            self.activate(cell, station);
        }
    }

    fn send_retransmissions(&mut self, cell: &mut Cell) {
        for at in 0..self.retransmitting.len() {
            let station = self.retransmitting[at];
            let stream = Cell::down(station);
            if cell.tx[stream.index()].window.as_ref().is_none_or(|w| w.retransmit_bytes(cell.number) == 0) {
                continue;
            }
            let Some(burst) = self.burst_for(cell, station) else { return };
            let empty = self.bursts.len() == 1 && self.bursts[burst].slots == 0;
            loop {
                let (room, number) = (self.room(burst), cell.number);
                let max_bytes = if empty { room } else { u32::MAX };
                let window = cell.tx[stream.index()].window.as_mut();
                let Some((unit, bytes)) = window.and_then(|w| w.retransmit(number, room, max_bytes)) else { break };
                self.allocate(cell, burst, bytes, station, FirstTransmission(false));
                self.schedule_piece(burst, bytes, station, Payload::Unit(unit));
            }
        }
    }

    fn send_new(&mut self, cell: &mut Cell, out: &mut Output<'_>) {
        for class in 0..QosClass::COUNT {
            let mut stalled = Vec::new();
            let mut full = false;
            while let Some(station) = self.round_robin[class].pop_front() {
                match self.serve(cell, station, out) {
                    ServeResult::More if cell.config.uplink.rule.is_nist() => self.round_robin[class].push_front(station),
                    ServeResult::More => self.round_robin[class].push_back(station),
                    ServeResult::Empty => self.listed[station as usize] = false,
                    ServeResult::Stalled => stalled.push(station),
                    ServeResult::Full => {
                        self.round_robin[class].push_front(station);
                        full = true;
                        break;
                    }
                }
            }
            stalled.into_iter().rev().for_each(|station| self.round_robin[class].push_front(station));
            if full {
                return;
            }
        }
    }

    /// Serves a station once: one packet, or the part of it that fits.
    fn serve(&mut self, cell: &mut Cell, station: u32, out: &mut Output<'_>) -> ServeResult {
        let stream = Cell::down(station);
        let full = cell.tx[stream.index()].window.as_ref().is_some_and(|w| !w.admits(ASSUMED_PACKET_BYTES));
        if full || !cell.queues.is_served(station) {
            return ServeResult::Stalled;
        }
        let Some(burst) = self.burst_for(cell, station) else { return ServeResult::Full };
        let room = self.room(burst);
        let (now, pdu) = (cell.began, cell.config.pdu);
        let Cell { tx, queues, .. } = cell;
        let (tx, queue) = (&mut tx[stream.index()], queues.of(stream));
        let Some(piece) = tx.fragmenter.next(now, room, &pdu, queue, out) else {
            // A queue may drop all packets instead of returning one.
            return if tx.fragmenter.is_empty(queue) { ServeResult::Empty } else { ServeResult::Full };
        };
        let more = !tx.fragmenter.is_empty(queue);
        let unit = match &mut tx.window {
            None => piece.completes.map(Payload::Packet),
            Some(window) => {
                if !self.retransmitting.contains(&station) {
                    self.retransmitting.push(station);
                }
                window.add(piece.bytes, piece.completes).map(Payload::Unit)
            }
        };
        self.allocate(cell, burst, piece.bytes, station, FirstTransmission(true));
        if let Some(payload) = unit {
            self.schedule_piece(burst, piece.bytes, station, payload);
        }
        match piece.completes {
            None => ServeResult::Full,
            Some(_) if more => ServeResult::More,
            Some(_) => ServeResult::Empty,
        }
    }

    /// The burst for this station's packets, opened if necessary; `None` if the frame is full.
    fn burst_for(&mut self, cell: &mut Cell, station: u32) -> Option<usize> {
        let slot_bytes = cell.slot_bytes_of(Cell::down(station));
        let nist = cell.config.uplink.rule.is_nist();
        let key = match cell.config.frame.channel.technique {
            Technique::Ofdm if !nist => slot_bytes,
            Technique::Ofdm => station,
            Technique::Ofdma { .. } => station,
        };
        if let Some(at) = self.bursts.iter().position(|burst| burst.key == key) {
            return Some(at);
        }
        if nist && self.bursts.len() == NIST_MAX_BURSTS {
            return None;
        }
        let used: u32 = self.bursts.iter().map(|burst| burst.slots).sum();
        let overhead = cell.config.frame.overhead(&cell.frame, self.bursts.len() as u32 + 1, self.grants);
        let free = cell.frame.down.slots().saturating_sub(overhead + used);
        if free == 0 {
            return None;
        }
        self.free = free;
        self.bursts.push(DownlinkBurst { key, slot_bytes, slots: 0, room: 0, start: 0 });
        Some(self.bursts.len() - 1)
    }

    fn room(&self, burst: usize) -> u32 {
        let burst = &self.bursts[burst];
        burst.room + self.free * burst.slot_bytes
    }

    fn allocate(&mut self, cell: &mut Cell, burst: usize, bytes: u32, station: u32, first: FirstTransmission) {
        let burst = &mut self.bursts[burst];
        let slots = bytes.saturating_sub(burst.room).div_ceil(burst.slot_bytes.max(1));
        burst.room = burst.room + slots * burst.slot_bytes - bytes;
        burst.slots += slots;
        self.free -= slots;
        if slots > 0 {
            let frame_slots = cell.frame.down.slots() - cell.frame.header;
            cell.add_busy_slots(Cell::down(station), slots, frame_slots);
            if first.0 {
                cell.add_sending(Direction::Down, slots);
            }
        }
    }

    /// Counts the part of the frame without free slots: all of it if packets remain.
    fn account(&self, cell: &mut Cell) {
        let available = self.free + self.bursts.iter().map(|burst| burst.slots).sum::<u32>();
        let remain = self.round_robin.iter().any(|class| !class.is_empty()) || !self.rate_limited.is_empty();
        let used = if remain { 1.0 } else { f64::from(available - self.free) / f64::from(available.max(1)) };
        cell.add_full(Direction::Down, used);
    }

    /// Schedules a piece that ends in the burst's last slot.
    fn schedule_piece(&mut self, burst: usize, bytes: u32, station: u32, payload: Payload) {
        let DownlinkBurst { slots, slot_bytes, .. } = self.bursts[burst];
        let last = slots.saturating_sub(1);
        let first = last.saturating_sub(bytes / slot_bytes.max(1));
        self.scheduled.push(ScheduledPiece { burst: burst as u32, first, last, stream: Cell::down(station), payload });
    }

    /// Under HARQ a station's data of one frame is one unit.
    fn close_units(&mut self, cell: &mut Cell) {
        for at in 0..self.retransmitting.len() {
            let station = self.retransmitting[at];
            let window = cell.tx[Cell::down(station).index()].window.as_mut();
            let Some(unit) = window.and_then(|w| w.end_of_frame()) else { continue };
            if let Some(burst) = self.burst_for(cell, station) {
                self.schedule_piece(burst, 0, station, Payload::Unit(unit));
            }
        }
    }

    /// Places the bursts one after another, which sets the arrival time of each piece.
    fn lay_out(&mut self, cell: &mut Cell, out: &mut Output<'_>) {
        let gap = cell.config.frame.burst_gap;
        let count = self.bursts.len() as u32;
        let mut at = cell.config.frame.overhead(&cell.frame, count, self.grants) - gap * count;
        for burst in &mut self.bursts {
            burst.start = at + gap;
            at = burst.start + burst.slots;
        }
        let (bursts, zone) = (&self.bursts, cell.frame.down);
        let when = |piece: &ScheduledPiece| {
            let start = bursts[piece.burst as usize].start;
            zone.end(start + piece.first, start + piece.last)
        };
        cell.deliver(&mut self.scheduled, bursts.len() == 1, when, out);
    }
}

/// Assumed packet size when an ARQ window is checked for room before the packet is dequeued.
pub const ASSUMED_PACKET_BYTES: u16 = 1500;

/// Slots carry data for the first time.
#[derive(Clone, Copy)]
struct FirstTransmission(bool);

/// Result of serving a station.
enum ServeResult {
    More,
    Empty,
    /// Its ARQ window is full, or it is between two cells.
    Stalled,
    /// The frame is full.
    Full,
}
