//! Flows: TCP connections, rebuilt from captured segments, and the classification of what is not
//! simply new.
//!
//! Modules import each other in one direction (tests/suite/flow_imports.rs): reset, handshake,
//! direction, sent_data, data_sender, loss_history, ledger, sender_model, context; then clues,
//! outstanding, classify and statistics; then rules, seq and opt_time.

mod advertised_window;
pub mod classify;
mod clues;
mod context;
mod data_sender;
mod direction;
mod end_clues;
mod events;
mod handshake;
mod late_acks;
mod ledger;
mod loss_history;
mod mss;
mod opt_time;
mod outstanding;
mod received_acks;
mod reset;
pub mod rules;
mod segment_counts;
mod send_stats;
mod sender_model;
mod sent_data;
mod seq;
mod silent_peer;
mod syn_offer;

pub use crate::decode::{Key, Side};
pub use advertised_window::{AdvertisedWindow, ZeroWindowTimes};
pub use classify::{Classification, KindRule, ResetKind, SegmentKind};
pub use clues::{RttClues, VantagePoint};
pub use direction::FlowDirection;
pub use events::{AckEvent, DataEvent, PacketEvent};
pub use handshake::Handshake;
pub use late_acks::LateAcks;
pub use ledger::{KindCounts, Ledger, ProbeTimes, RareCounts, Revision};
pub use opt_time::OptTime;
pub use reset::Reset;
pub use segment_counts::SegmentCounts;
pub use send_stats::{ByteCounts, LimitTimes, SendStats, ThinkTimes};
pub use silent_peer::{Unanswered, UnansweredKind};
pub use syn_offer::SynOffer;

use crate::compact::{Compact, Reader, Writer};
use crate::decode::{BoxedKey, EndpointAddress, Flags, Segment};
use rules::RULES;
pub(crate) use seq::seq_diff;

/// One connection.
#[derive(Debug)]
pub struct Flow {
    key: BoxedKey,
    client: Side,
    handshake: Handshake,
    first_at: i64,
    last_at: i64,
    /// The first one.
    reset: Option<Box<Reset>>,
    directions: [FlowDirection; 2],
}

/// A flow's time stops after this, four and a half years: only a damaged clock gets there, and spans can
/// be multiplied.
const MAX_DURATION: i64 = 1 << 57;
/// Payload of a direction in bytes from which its congestion control is looked for.
pub(crate) const LARGE_PAYLOAD: u64 = 1_000_000;
/// Ports below this are well known.
const WELL_KNOWN: u16 = 1024;

impl Flow {
    pub fn new(key: Key, from: Side, at: i64, first: &Segment<'_>) -> Flow {
        let is_syn = first.flags.has(Flags::SYN);
        let is_service = |side: Side| key.endpoint(side).port < WELL_KNOWN;
        let client = match (is_syn, first.flags.has(Flags::ACK)) {
            (true, false) => from,
            (true, true) => from.other(),
            _ if is_service(from) && !is_service(from.other()) => from.other(),
            _ => from,
        };
        let key = BoxedKey::of(key);
        Flow {
            key,
            client,
            handshake: Handshake::default(),
            first_at: at,
            last_at: at,
            reset: None,
            directions: Default::default(),
        }
    }

    #[inline(always)]
    pub fn has_key(&self, key: &Key) -> bool {
        self.key.is(key)
    }

    pub fn client(&self) -> Side {
        self.client
    }

    pub fn endpoint(&self, side: Side) -> EndpointAddress {
        self.key.key().endpoint(side)
    }

    /// Client and server.
    pub fn ends(&self) -> [EndpointAddress; 2] {
        [self.client, self.client.other()].map(|side| self.endpoint(side))
    }

    /// Neither direction keeps a timeline of its bytes or has [`LARGE_PAYLOAD`]: nothing about its rate is examined.
    pub(crate) fn is_small(&self) -> bool {
        let is_small = |direction: &FlowDirection| {
            direction.stats().is_none_or(|stats| stats.byte_timeline().is_none()) && direction.payload() < LARGE_PAYLOAD
        };
        self.directions.iter().all(is_small)
    }

    /// Time of the first packet, Unix time in nanoseconds.
    #[inline]
    pub fn first_at(&self) -> i64 {
        self.first_at
    }

    #[inline]
    pub fn last_at(&self) -> i64 {
        self.last_at
    }

    pub fn handshake(&self) -> &Handshake {
        &self.handshake
    }

    /// The first reset; none if the connection was not reset.
    pub fn reset(&self) -> Option<&Reset> {
        self.reset.as_deref()
    }

    /// What this end sent, and the ACKs for it.
    pub fn direction(&self, side: Side) -> &FlowDirection {
        &self.directions[side as usize]
    }

    /// The next packet. Its time may be before the last one's: clocks step.
    #[inline(always)]
    pub fn on_packet(&mut self, at: i64, from: Side, s: &Segment<'_>) -> PacketEvent {
        let mut now = at.max(self.last_at);
        // No time is before the first: the difference is exact without a sign.
        if now.wrapping_sub(self.first_at) as u64 > MAX_DURATION as u64 {
            now = self.first_at + MAX_DURATION;
        }
        let span = now - self.last_at;
        self.last_at = now;
        if span > 0 {
            self.directions.iter_mut().for_each(|direction| direction.on_span(span));
        }
        let [low, high] = &mut self.directions;
        let (own, peer) = if from == Side::Low { (low, high) } else { (high, low) };
        if s.flags.has(Flags::SYN) {
            self.handshake.on_syn(now, s.flags.has(Flags::ACK));
            handshake::negotiate(own, peer, s);
        }
        if let Some(reset) = self.reset.as_deref_mut() {
            reset.on_packet_after(now, from, s);
        } else if s.flags.has(Flags::RST) {
            let reset = Reset::of(now, from, from == self.client, s, &self.handshake, [own, peer]);
            self.reset = Some(Box::new(reset));
        }
        let ack = s.flags.has(Flags::ACK).then(|| {
            self.handshake.on_ack(now, from == self.client, s.flags.has(Flags::SYN));
            peer.on_ack(now, s)
        });
        if ack.is_some_and(|ack| ack.is_duplicate) {
            peer.on_dupack_in_transit(now, s, own);
        }
        let (data, revisions) = own.on_data(now, s, peer);
        PacketEvent { from, data, ack, revisions }
    }

    /// True if this SYN opens a new connection with the same addresses and ports.
    pub fn is_reused_by(&self, from: Side, s: &Segment<'_>) -> bool {
        if !s.flags.has(Flags::SYN) || s.flags.has(Flags::ACK) {
            return false;
        }
        let own = &self.directions[from as usize];
        let (space, has_syn, has_data) = (own.space(), own.syn().is_captured, own.payload() > 0);
        if !space.is_known() {
            return false;
        }
        let is_repeated = has_syn && !has_data && seq_diff(s.seq, space.una()).unsigned_abs() <= 1;
        let is_closed = self.reset.is_some() || self.directions.iter().all(|d| d.counts().fins > 0);
        // A SYN within the window of a live connection is old, or an attack, and changes nothing.
        let is_far = seq_diff(space.nxt(), s.seq).unsigned_abs() > RULES.max_old_syn;
        !is_repeated && (is_closed || is_far || has_syn && has_data)
    }

    /// The compact encoding.
    pub(crate) fn freeze(&self, writer: &mut Writer) -> Box<[u8]> {
        let Flow { key, client, handshake, first_at, last_at, reset, directions } = self;
        (*client, self.is_small()).encode(writer);
        (*first_at, *last_at).encode(writer);
        handshake.encode(writer);
        reset.encode(writer);
        directions.encode(writer);
        let (head, n) = key.key().encode();
        writer.finish(&head[..n])
    }

    pub(crate) fn thaw(bytes: &[u8]) -> Box<Flow> {
        let (key, rest) = Key::decode(bytes);
        let key = BoxedKey::of(key);
        let from = &mut Reader::new(rest);
        let (client, _): (Side, bool) = Compact::decode(from);
        let (first_at, last_at) = Compact::decode(from);
        let handshake = Compact::decode(from);
        let (reset, directions) = (Compact::decode(from), Compact::decode(from));
        Box::new(Flow { key, client, handshake, first_at, last_at, reset, directions })
    }

    /// [`Flow::ends`] by the compact encoding alone.
    pub(crate) fn ends_of_frozen(bytes: &[u8]) -> [EndpointAddress; 2] {
        let (key, rest) = Key::decode(bytes);
        let client = Side::decode(&mut Reader::new(rest));
        [client, client.other()].map(|side| key.endpoint(side))
    }

    /// [`Flow::is_small`] by the compact encoding alone.
    pub(crate) fn is_small_when_frozen(bytes: &[u8]) -> bool {
        let (_, rest) = Key::decode(bytes);
        <(Side, bool)>::decode(&mut Reader::new(rest)).1
    }

    /// Memory in bytes, heap included.
    pub fn memory(&self) -> usize {
        let reset = self.reset.as_ref().map_or(0, |_| size_of::<Reset>());
        size_of::<Flow>() + self.key.memory() + reset + self.directions.iter().map(FlowDirection::memory).sum::<usize>()
    }
}
