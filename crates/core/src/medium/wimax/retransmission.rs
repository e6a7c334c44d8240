//! What repairs a unit that the air broke, and how its receiver keeps the order: the part that ARQ and HARQ have in common.
//!
//! A unit is sent, arrives or is broken, and is sent again until it arrives or its attempts are used up. The receiver hands packets on in
//! the order in which they were first sent, so one broken unit holds back all that came after it.

use super::arq::ArqConfig;
use super::harq::HarqConfig;
use crate::packet::Packet;
use crate::ring::Ring;
use crate::rng::Rng;
use std::collections::VecDeque;

/// What a connection does about broken units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RetransmissionMode {
    /// Nothing: what a broken burst carried is lost.
    None,
    /// A unit is a packet, of which broken blocks are sent again.
    Arq(ArqConfig),
    /// A unit is all that a station gets in one frame, sent again as it was and combined.
    Harq(HarqConfig),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum UnitState {
    /// Being filled or on the air.
    #[default]
    InFlight,
    Arrived,
    /// To be sent again, in this frame or later.
    Retransmit {
        from: u64,
    },
    Lost,
}

#[derive(Clone, Copy, Debug, Default)]
struct Unit {
    state: UnitState,
    /// Packets whose last piece it carries.
    packets: u32,
    /// What it takes on the air when sent again.
    bytes: u32,
    /// ARQ blocks of this attempt: those still to be sent, those on the air, and those that broke.
    blocks: Blocks,
    attempts: u32,
    /// The packet that its last piece belongs to goes on in the next unit.
    continues: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Blocks {
    to_send: u32,
    in_flight: u32,
    errored: u32,
}

/// What one connection has sent and its receiver has not handed on.
#[derive(Clone, Debug)]
pub struct RetransmissionWindow {
    repair: RetransmissionMode,
    units: VecDeque<Unit>,
    /// The number of the first of them.
    first: u64,
    packets: Ring<Packet>,
    /// The first packet of the next unit has lost its beginning.
    head_lost: bool,
    /// Units to be sent again.
    errored: u32,
    open: bool,
}

/// What becomes of a packet that the receiver no longer waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    Whole(Packet),
    Lost(Packet),
}

impl RetransmissionWindow {
    pub fn new(repair: RetransmissionMode) -> RetransmissionWindow {
        RetransmissionWindow {
            repair,
            units: VecDeque::new(),
            first: 0,
            packets: Ring::new(),
            head_lost: false,
            errored: 0,
            open: false,
        }
    }

    /// Everything is forgotten: says what nobody waits for any more.
    pub fn reset(&mut self) -> Ring<Packet> {
        std::mem::replace(self, RetransmissionWindow::new(self.repair)).packets
    }

    pub fn occupancy(&self) -> u64 {
        self.packets.len() as u64
    }
    /// Nothing on the air and nothing to send again.
    pub fn is_idle(&self) -> bool {
        self.units.is_empty()
    }

    /// Whether a further packet of `len` bytes may be sent: an ARQ window is not to be overrun.
    pub fn admits(&self, len: u16) -> bool {
        let RetransmissionMode::Arq(arq) = self.repair else { return true };
        let out: u32 = self.units.iter().map(|unit| arq.blocks(unit.bytes)).sum();
        self.open || self.units.is_empty() || out + arq.blocks(u32::from(len)) <= arq.window
    }

    /// A piece is sent. Says the unit's number when it is full.
    pub fn add(&mut self, bytes: u32, done: Option<Packet>) -> Option<u64> {
        if !self.open {
            self.open = true;
            self.units.push_back(Unit::default());
        }
        let unit = self.units.back_mut()?;
        unit.bytes += bytes;
        unit.continues = done.is_none();
        if let Some(packet) = done {
            unit.packets += 1;
            self.packets.push_back(packet);
            if matches!(self.repair, RetransmissionMode::Arq(_)) {
                return self.close();
            }
        }
        None
    }

    /// The frame ends: says the number of the burst that it ends with it, if any. A packet under ARQ goes on in the next.
    pub fn end_of_frame(&mut self) -> Option<u64> {
        if matches!(self.repair, RetransmissionMode::Arq(_)) { None } else { self.close() }
    }

    fn close(&mut self) -> Option<u64> {
        if !std::mem::take(&mut self.open) {
            return None;
        }
        let unit = self.units.back_mut()?;
        if let RetransmissionMode::Arq(arq) = self.repair {
            unit.blocks.in_flight = arq.blocks(unit.bytes);
        }
        Some(self.first + self.units.len() as u64 - 1)
    }

    /// Bytes to be sent again in `frame`.
    pub fn retransmit_bytes(&self, frame: u64) -> u64 {
        if self.errored == 0 {
            return 0;
        }
        self.units.iter().filter(|unit| unit.is_due(frame)).map(|unit| u64::from(unit.bytes)).sum()
    }

    /// Sends the first broken unit again, or as many of its blocks as `room` takes: its number and what it takes. A burst that even an
    /// empty frame cannot take any more, as the modulation has changed, takes all of it: `max_bytes`.
    pub fn retransmit(&mut self, frame: u64, room: u32, max_bytes: u32) -> Option<(u64, u32)> {
        if self.errored == 0 {
            return None;
        }
        let at = self.units.iter().position(|unit| unit.is_due(frame))?;
        let unit = self.units.get_mut(at)?;
        let bytes = match self.repair {
            RetransmissionMode::Arq(arq) => {
                let blocks = unit.blocks.to_send.min(room / arq.block.max(1));
                unit.blocks.to_send -= blocks;
                unit.blocks.in_flight = blocks;
                blocks * arq.block
            }
            _ => unit.bytes.min(max_bytes),
        };
        if bytes == 0 || bytes > room {
            return None;
        }
        unit.state = UnitState::InFlight;
        self.errored -= 1;
        Some((self.first + at as u64, bytes))
    }

    /// A unit that was sent in `frame` reaches the receiver; a burst or a block breaks with probability `p`.
    pub fn on_received(&mut self, number: u64, frame: u64, p: f64, rng: &mut Rng) {
        let Some(unit) = number.checked_sub(self.first).and_then(|at| self.units.get_mut(at as usize)) else { return };
        unit.state = match self.repair {
            RetransmissionMode::None => unit.attempt_result(!rng.chance(p), frame, (1, 0)),
            RetransmissionMode::Harq(harq) => unit.attempt_result(!rng.chance(p), frame, (harq.attempts, harq.feedback)),
            RetransmissionMode::Arq(arq) => {
                let blocks = &mut unit.blocks;
                blocks.errored += (0..std::mem::take(&mut blocks.in_flight)).filter(|_| rng.chance(p)).count() as u32;
                if blocks.to_send > 0 {
                    UnitState::Retransmit { from: frame + 1 }
                } else {
                    blocks.to_send = std::mem::take(&mut blocks.errored);
                    let left = blocks.to_send;
                    unit.bytes = left * arq.block;
                    unit.attempt_result(left == 0, frame, (arq.attempts, arq.timer))
                }
            }
        };
        self.errored += u32::from(matches!(unit.state, UnitState::Retransmit { .. }));
    }

    /// The next packet that the receiver hands on or gives up, in order.
    pub fn release(&mut self) -> Option<Released> {
        loop {
            let unit = self.units.front_mut()?;
            let whole = match unit.state {
                UnitState::Arrived => true,
                UnitState::Lost => false,
                _ => return None,
            };
            if unit.packets > 0 {
                unit.packets -= 1;
                let begun = !std::mem::take(&mut self.head_lost);
                let packet = self.packets.pop_front()?;
                return Some(if whole && begun { Released::Whole(packet) } else { Released::Lost(packet) });
            }
            // A packet may go on through several units; once one is lost it stays lost.
            self.head_lost = unit.continues && (self.head_lost || !whole);
            self.units.pop_front();
            self.first += 1;
        }
    }
}

impl Unit {
    /// An attempt is over: `of` are all attempts, and the frames to the next.
    fn attempt_result(&mut self, whole: bool, frame: u64, of: (u32, u64)) -> UnitState {
        self.attempts += 1;
        match whole {
            true => UnitState::Arrived,
            false if self.attempts >= of.0 => UnitState::Lost,
            false => UnitState::Retransmit { from: frame + of.1 },
        }
    }

    fn is_due(&self, frame: u64) -> bool {
        matches!(self.state, UnitState::Retransmit { from } if from <= frame)
    }
}
