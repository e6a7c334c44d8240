//! ACK reconstruction (`asymmetry`, future work; RFC 3449, section 5.3.1): behind the slow link the ACKs that it swallowed are put in again,
//! evenly spaced, so that the sender's clock ticks as if they had come.
//!
//! Where an ACK acknowledges n times `every` bytes more than the one before it, n - 1 ACKs go ahead of it. All n are spread over the time that the link
//! took between the two, so the last leaves up to that much later. What follows in the same connection waits its turn.

use crate::element::{Element, Output, Port};
use crate::packet::{Flags, Packet};
use crate::units::{Span, Time};
use crate::view::{Connection, TcpEdit, TcpView, after};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
pub struct AckReconstructorConfig {
    /// Bytes that one ACK is to acknowledge.
    pub every: u32,
    /// The longest that any packet is held back.
    pub within: Span,
}

/// Most ACKs made from one: a jump beyond that is no filtered train of ACKs.
const MOST: u32 = 256;
/// Connections that are remembered before idle ones are forgotten.
const CONNECTIONS: usize = 4096;

#[derive(Clone, Copy)]
struct LastAck {
    at: Time,
    /// None before the first pure ACK.
    ack: Option<(u32, u32)>,
    /// When the last packet of the connection left or will leave.
    leaves: Time,
}

pub struct AckReconstructor {
    config: AckReconstructorConfig,
    connections: BTreeMap<Connection, LastAck>,
    /// By when they leave, and then as they came.
    held: BTreeMap<(Time, u64), Packet>,
    order: u64,
}

impl AckReconstructor {
    pub fn new(config: AckReconstructorConfig) -> AckReconstructor {
        AckReconstructor { config, connections: BTreeMap::new(), held: BTreeMap::new(), order: 0 }
    }

    fn hold(&mut self, leaves: Time, packet: Packet) {
        self.order += 1;
        self.held.insert((leaves, self.order), packet);
    }

    /// How many ACKs, with the one that came, this one is to be: n = ceil(bytes / every) // RFC 3449, section 5.3.1
    fn pieces(&self, view: &TcpView, last: &LastAck) -> u32 {
        let Some((ack, window)) = last.ack.filter(|_| view.is_pure_ack()) else { return 1 };
        // Only plain progress is cut up: blocks, windows and options are told once, and when they come.
        if !after(view.ack, ack) || window != view.window || !view.sack.is_empty() || view.other_options {
            return 1;
        }
        let pieces = view.ack.wrapping_sub(ack).div_ceil(self.config.every.max(1));
        if pieces > MOST { 1 } else { pieces }
    }

    fn forget_idle(&mut self, now: Time) {
        if self.connections.len() > CONNECTIONS {
            let within = self.config.within;
            self.connections.retain(|_, last| last.leaves + within >= now);
        }
    }
}

impl Element for AckReconstructor {
    fn push(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Output<'_>) {
        self.wake(now, out);
        let Some(view) = out.arena.tcp(&packet) else { return out.forward(Port(0), packet) };
        let known = self.connections.get(&view.connection).copied().filter(|_| !view.flags.has(Flags::SYN));
        let last = known.unwrap_or(LastAck { at: now, ack: None, leaves: now });
        let pieces = self.pieces(&view, &last);
        let span = Span((now - last.at).0.min(self.config.within.0));
        let (first, latest) = (now.max(last.leaves), now + self.config.within);
        let mut leaves = first;
        for piece in 0..pieces {
            leaves = (first + Span(span.0 / u64::from(pieces) * u64::from(piece))).min(latest).max(last.leaves);
            if piece + 1 < pieces {
                let left = self.config.every.wrapping_mul(pieces - 1 - piece);
                // Counted from the last: the odd rest is the first one's.
                let ack = Some(view.ack.wrapping_sub(left));
                let made = out.create(&packet, &TcpEdit { ack, ..TcpEdit::NOTHING });
                self.hold(leaves, made);
            }
        }
        self.hold(leaves, packet);
        let ack = if view.is_pure_ack() { Some((view.ack, view.window)) } else { last.ack };
        self.connections.insert(view.connection, LastAck { at: now, ack, leaves });
        self.forget_idle(now);
        self.wake(now, out);
    }

    fn wake(&mut self, now: Time, out: &mut Output<'_>) {
        while let Some(first) = self.held.first_entry().filter(|first| first.key().0 <= now) {
            out.forward(Port(0), first.remove());
        }
    }

    fn due(&self) -> Time {
        self.held.first_key_value().map_or(Time::NEVER, |(&(leaves, _), _)| leaves)
    }

    fn occupancy(&self) -> u64 {
        self.held.len() as u64
    }
}
