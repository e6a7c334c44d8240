//! Retransmission window: the common part of ARQ and HARQ, with in-order delivery.
//!
//! A unit is sent and either arrives or fails; a failed unit is retransmitted until it arrives or
//! its attempts are exhausted. The receiver delivers packets in the order of their first
//! transmission, so a failed unit delays all later ones.

use super::arq::ArqConfig;
use super::harq::HarqConfig;
use crate::packet::Packet;
use crate::ring::Ring;
use crate::rng::Rng;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Retransmission mode of a connection, with the keys of a plan (docs/inside/plan.md).
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum RetransmissionMode {
    /// No retransmission: the data of a failed burst is lost. A plan has null.
    #[default]
    #[serde(skip)]
    None,
    /// A unit is a packet; its failed blocks are retransmitted.
    Arq(ArqConfig),
    /// A unit is a station's data of one frame, retransmitted unchanged and combined.
    Harq(HarqConfig),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum UnitState {
    /// Being filled or in flight.
    #[default]
    InFlight,
    Arrived,
    /// To be retransmitted in frame `from` or later.
    Retransmit {
        from: u64,
    },
    Lost,
}

#[derive(Clone, Copy, Debug, Default)]
struct Unit {
    state: UnitState,
    /// Number of packets that end in it.
    packets: u32,
    /// Size of its retransmission.
    bytes: u32,
    /// ARQ blocks of this attempt: to be sent, in flight, and failed.
    blocks: Blocks,
    attempts: u32,
    /// Its last packet continues in the next unit.
    continues: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Blocks {
    to_send: u32,
    in_flight: u32,
    errored: u32,
}

/// Units of one connection that are not yet delivered.
#[derive(Clone, Debug)]
pub struct RetransmissionWindow {
    repair: RetransmissionMode,
    units: VecDeque<Unit>,
    /// Number of the first unit.
    first: u64,
    packets: Ring<Packet>,
    /// The start of the next unit's first packet is lost.
    head_lost: bool,
    /// Number of units to be retransmitted.
    errored: u32,
    open: bool,
}

/// Outcome of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    Complete(Packet),
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

    /// Resets the window and returns the undelivered packets.
    pub fn reset(&mut self) -> Ring<Packet> {
        std::mem::replace(self, RetransmissionWindow::new(self.repair)).packets
    }

    pub fn occupancy(&self) -> u64 {
        self.packets.len() as u64
    }
    /// Nothing in flight and nothing to retransmit.
    pub fn is_idle(&self) -> bool {
        self.units.is_empty()
    }

    /// True if another packet of `len` bytes fits into the ARQ window.
    pub fn admits(&self, len: u16) -> bool {
        let RetransmissionMode::Arq(arq) = self.repair else { return true };
        let out: u32 = self.units.iter().map(|unit| arq.blocks(unit.bytes)).sum();
        self.open || self.units.is_empty() || out + arq.blocks(u32::from(len)) <= arq.window
    }

    /// Adds a sent piece. Returns the unit's number once the unit is full.
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

    /// The frame ends. Returns the number of the unit that ends with it, if any; under ARQ a packet
    /// continues in the next frame.
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

    /// Bytes to be retransmitted in `frame`.
    pub fn retransmit_bytes(&self, frame: u64) -> u64 {
        if self.errored == 0 {
            return 0;
        }
        self.units.iter().filter(|unit| unit.is_due(frame)).map(|unit| u64::from(unit.bytes)).sum()
    }

    /// Retransmits the first failed unit, or as many of its blocks as fit into `room`; returns its
    /// number and size. A burst that no longer fits into an empty frame, because the MCS has
    /// changed, takes the whole frame: `max_bytes`.
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

    /// A unit sent in `frame` reaches the receiver; a burst or block fails with probability `p`.
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

    /// The next packet to deliver or drop, in order.
    pub fn release(&mut self) -> Option<Released> {
        loop {
            let unit = self.units.front_mut()?;
            let arrived = match unit.state {
                UnitState::Arrived => true,
                UnitState::Lost => false,
                _ => return None,
            };
            if unit.packets > 0 {
                unit.packets -= 1;
                let head_arrived = !std::mem::take(&mut self.head_lost);
                let packet = self.packets.pop_front()?;
                return Some(if arrived && head_arrived { Released::Complete(packet) } else { Released::Lost(packet) });
            }
            // A packet may span several units, and is lost if any of them is lost.
            self.head_lost = unit.continues && (self.head_lost || !arrived);
            self.units.pop_front();
            self.first += 1;
        }
    }
}

impl Unit {
    /// Ends an attempt; `of` is the number of attempts and the frames to the next one.
    fn attempt_result(&mut self, arrived: bool, frame: u64, of: (u32, u64)) -> UnitState {
        self.attempts += 1;
        match arrived {
            true => UnitState::Arrived,
            false if self.attempts >= of.0 => UnitState::Lost,
            false => UnitState::Retransmit { from: frame + of.1 },
        }
    }

    fn is_due(&self, frame: u64) -> bool {
        matches!(self.state, UnitState::Retransmit { from } if from <= frame)
    }
}
