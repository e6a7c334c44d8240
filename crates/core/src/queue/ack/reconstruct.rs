//! ACK reconstruction (`asymmetry`, future work; RFC 3449, section 5.3.1): regenerates filtered
//! ACKs after the slow link, evenly spaced, to restore the sender's ACK clock.
//!
//! An ACK that acknowledges n times `every` bytes more than the previous one is preceded by n - 1
//! new ACKs. All n are spread over the time between the arrivals of the two, so the last is delayed
//! by up to that time. Later packets of the connection stay in order behind them.

use crate::element::{Element, Output, Port};
use crate::packet::{Flags, Packet};
use crate::units::{Span, Time};
use crate::view::{Connection, TcpEdit, TcpView, after};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AckReconstructorConfig {
    /// Bytes to acknowledge per ACK.
    pub every: u32,
    /// Maximum delay of a packet.
    #[serde(rename = "within_ps")]
    pub within: Span,
}

/// Maximum number of ACKs made from one; a larger advance is not the result of filtering.
const MAX_ACKS: u32 = 256;
/// Number of connections in the table at which idle ones are removed.
const CONNECTIONS: usize = 4096;

#[derive(Clone, Copy)]
struct ConnectionState {
    at: Time,
    /// Number and window of the last pure ACK; `None` before the first.
    ack: Option<(u32, u32)>,
    /// Departure time of the connection's last packet.
    leaves: Time,
}

pub struct AckReconstructor {
    config: AckReconstructorConfig,
    connections: BTreeMap<Connection, ConnectionState>,
    /// By departure time, then in order of insertion.
    scheduled: BTreeMap<(Time, u64), Packet>,
    order: u64,
}

impl AckReconstructor {
    pub fn new(config: AckReconstructorConfig) -> AckReconstructor {
        AckReconstructor { config, connections: BTreeMap::new(), scheduled: BTreeMap::new(), order: 0 }
    }

    fn schedule(&mut self, leaves: Time, packet: Packet) {
        self.order += 1;
        self.scheduled.insert((leaves, self.order), packet);
    }

    /// Number of ACKs to send for this one, itself included: n = ceil(bytes / every) // RFC 3449,
    /// section 5.3.1
    fn acks(&self, view: &TcpView, last: &ConnectionState) -> u32 {
        let Some((ack, window)) = last.ack.filter(|_| view.is_pure_ack()) else { return 1 };
        // Only ACKs that advance without SACK, window update or option are split: those must not be
        // repeated or delayed.
        if !after(view.ack, ack) || window != view.window || !view.sack.is_empty() || view.other_options {
            return 1;
        }
        let acks = view.ack.wrapping_sub(ack).div_ceil(self.config.every.max(1));
        if acks > MAX_ACKS { 1 } else { acks }
    }

    fn expire_idle(&mut self, now: Time) {
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
        let state = self.connections.get(&view.connection).copied().filter(|_| !view.flags.has(Flags::SYN));
        let last = state.unwrap_or(ConnectionState { at: now, ack: None, leaves: now });
        let acks = self.acks(&view, &last);
        let span = Span((now - last.at).0.min(self.config.within.0));
        let (first, latest) = (now.max(last.leaves), now + self.config.within);
        let mut leaves = first;
        for index in 0..acks {
            leaves = (first + Span(span.0 / u64::from(acks) * u64::from(index))).min(latest).max(last.leaves);
            if index + 1 < acks {
                let behind = self.config.every.wrapping_mul(acks - 1 - index);
                // Counted back from the last ACK, so the first one covers the remainder.
                let ack = Some(view.ack.wrapping_sub(behind));
                let created = out.create(&packet, &TcpEdit { ack, ..TcpEdit::NOTHING });
                self.schedule(leaves, created);
            }
        }
        self.schedule(leaves, packet);
        let ack = if view.is_pure_ack() { Some((view.ack, view.window)) } else { last.ack };
        self.connections.insert(view.connection, ConnectionState { at: now, ack, leaves });
        self.expire_idle(now);
        self.wake(now, out);
    }

    fn wake(&mut self, now: Time, out: &mut Output<'_>) {
        while let Some(first) = self.scheduled.first_entry().filter(|first| first.key().0 <= now) {
            out.forward(Port(0), first.remove());
        }
    }

    fn due(&self) -> Time {
        self.scheduled.first_key_value().map_or(Time::NEVER, |(&(leaves, _), _)| leaves)
    }

    fn occupancy(&self) -> u64 {
        self.scheduled.len() as u64
    }
}
