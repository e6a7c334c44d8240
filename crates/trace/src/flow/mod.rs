//! Flows: two directions between two ends, rebuilt from the segments that passed the capture.

mod ack;
mod afar;
mod again;
mod asked;
mod booked;
pub mod classify;
mod clues;
mod data;
mod delivered;
mod doubt;
mod episode;
mod half;
mod ids;
mod judged;
mod opt_time;
mod outpaced;
mod outstanding;

mod resumed;
mod sending;

mod seq;
mod silenced;
mod situation;

mod told;
mod trouble;
mod view;

pub use crate::decode::{Key, Side};
pub use ack::Heard;
pub use data::Data;
pub use half::{Choices, Counts, Half, Offered};
pub use opt_time::OptTime;
pub use outpaced::Amended;
pub use sending::{Amounts, Sending, Times};

pub use trouble::{Oddities, Spurious, Trouble};

use crate::compact::{Compact, Reader, Writer, compact};
use crate::decode::{BoxedKey, EndpointAddress, Flags, Segment};
use seq::seq_diff;

/// One connection.
#[derive(Debug)]
pub struct Flow {
    key: BoxedKey,
    client: Side,
    pub(crate) handshake: Handshake,
    pub first_at: i64,
    pub last_at: i64,
    halves: [Half; 2],
}

/// The three packets that open a connection, and how it ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct Handshake {
    pub syn_at: OptTime,
    pub answer_at: OptTime,
    pub done_at: OptTime,
    pub(crate) reset: bool,
}

compact!(Handshake { syn_at, answer_at, done_at, reset });

/// What one packet was to its flow.
#[derive(Debug, Clone, Copy)]
pub struct Passed {
    pub from: Side,
    pub data: Data,
    /// What it said about the other end's data, if it had an ACK.
    pub ack: Option<Heard>,
    /// It shows what earlier packets of this end were that had been taken for something else.
    pub amends: Option<Amended>,
}

/// A flow's time stands still after this, four and a half years: only a damaged clock gets there, and spans stay safe to multiply.
const LONGEST: i64 = 1 << 57;
/// The well-known ports' end.
const WELL_KNOWN: u16 = 1024;

impl Flow {
    pub fn new(key: Key, from: Side, at: i64, first: &Segment<'_>) -> Flow {
        let syn = first.flags.has(Flags::SYN);
        let to_service = key.endpoint(from).port >= WELL_KNOWN && key.endpoint(from.other()).port < WELL_KNOWN;
        let from_service = key.endpoint(from).port < WELL_KNOWN && key.endpoint(from.other()).port >= WELL_KNOWN;
        let client = match (syn, first.flags.has(Flags::ACK)) {
            (true, false) => from,
            (true, true) => from.other(),
            _ if from_service && !to_service => from.other(),
            _ => from,
        };
        let key = BoxedKey::of(key);
        Flow { key, client, handshake: Handshake::default(), first_at: at, last_at: at, halves: Default::default() }
    }

    #[inline(always)]
    pub fn has_key(&self, key: &Key) -> bool {
        self.key.is(key)
    }

    pub fn client(&self) -> Side {
        self.client
    }

    pub fn end(&self, side: Side) -> EndpointAddress {
        self.key.key().endpoint(side)
    }

    /// What this end sent.
    pub fn half(&self, side: Side) -> &Half {
        &self.halves[side as usize]
    }

    /// The next packet, whose time may lie before the last one's: clocks step.
    #[inline(always)]
    pub fn pass(&mut self, at: i64, from: Side, s: &Segment<'_>) -> Passed {
        let now = at.max(self.last_at).min(self.first_at.saturating_add(LONGEST));
        let span = now - self.last_at;
        self.last_at = now;
        if span > 0 {
            self.halves.iter_mut().for_each(|half| half.spend(span));
        }
        if s.flags.has(Flags::SYN) {
            self.opening(now, from, s);
        }
        self.handshake.reset |= s.flags.has(Flags::RST);
        let heard = if s.flags.has(Flags::ACK) {
            if !self.handshake.done_at.is_some() {
                self.opened(now, from, s);
            }
            Some(self.halves[from.other() as usize].heard(now, s))
        } else {
            None
        };
        let [low, high] = &mut self.halves;
        let (half, other) = if from == Side::Low { (low, high) } else { (high, low) };
        if heard.is_some_and(|heard| heard.duplicate) {
            other.overhears(now, s, half);
        }
        let data = half.sent(now, s, other);
        let amends =
            half.trouble.as_deref_mut().and_then(|t| t.episode.as_deref_mut()).and_then(|episode| episode.amended.take());
        Passed { from, data, ack: heard, amends }
    }

    /// Both ends agreed to selective acknowledgement, or nobody saw whether they did.
    pub fn sack(&self) -> bool {
        self.halves.iter().all(|h| h.choices.allow_sack())
    }

    fn opening(&mut self, now: i64, from: Side, s: &Segment<'_>) {
        if s.flags.has(Flags::ACK) {
            self.handshake.answer_at.set_once(now);
        } else {
            self.handshake.syn_at.set_once(now);
        }
        let syn = s.options.syn();
        let scale = syn.window_scale.map(|shift| shift.min(14));
        // A scale counts once both have offered one (RFC 7323, section 2.2); the answer completes it.
        let offered = &self.halves[from.other() as usize].choices;
        let both = scale.is_some() && offered.window_scale.is_some();
        if both {
            let theirs = offered.window_scale.unwrap_or(0).min(14);
            self.halves[from.other() as usize].window_shift = scale.unwrap_or(0);
            self.halves[from as usize].window_shift = theirs;
        }
        if let Some(mss) = syn.mss {
            for half in &mut self.halves {
                half.mss = if half.mss == 0 { mss } else { half.mss.min(mss) };
            }
        }
    }

    fn opened(&mut self, now: i64, from: Side, s: &Segment<'_>) {
        if self.handshake.answer_at.is_some() && from == self.client && !s.flags.has(Flags::SYN) {
            self.handshake.done_at.set(now);
        }
    }

    /// True if this SYN cannot belong here: the four numbers are used again.
    pub fn is_over_for(&self, from: Side, s: &Segment<'_>) -> bool {
        if !s.flags.has(Flags::SYN) || s.flags.has(Flags::ACK) {
            return false;
        }
        let half = &self.halves[from as usize];
        if !half.started {
            return false;
        }
        let repeated = half.choices.seen && seq_diff(s.seq, half.una).unsigned_abs() <= 1 && half.payload() == 0;
        let closed = self.handshake.reset || self.halves.iter().all(|h| h.counts.fins > 0);
        // An initial number within the window of a live connection is an old SYN, or an attack; it changes nothing.
        let far = seq_diff(half.next, s.seq).unsigned_abs() > 1 << 20;
        !repeated && (closed || far || half.choices.seen && half.payload() > 0)
    }

    /// All of it in as few bytes as it takes.
    pub(crate) fn freeze(&self, writer: &mut Writer) -> Box<[u8]> {
        let Flow { key, client, handshake, first_at, last_at, halves } = self;
        (*client, *first_at).encode(writer);
        last_at.encode(writer);
        handshake.encode(writer);
        halves.encode(writer);
        let (head, n) = key.key().encode();
        writer.finish(&head[..n])
    }

    /// What was put by.
    pub(crate) fn thaw(bytes: &[u8]) -> Box<Flow> {
        let (key, rest) = Key::decode(bytes);
        let key = BoxedKey::of(key);
        let from = &mut Reader::new(rest);
        let (client, first_at) = Compact::decode(from);
        let (last_at, handshake, halves) = (Compact::decode(from), Compact::decode(from), Compact::decode(from));
        Box::new(Flow { key, client, handshake, first_at, last_at, halves })
    }

    /// Memory of this flow in bytes, everything included.
    pub fn memory(&self) -> usize {
        size_of::<Flow>() + self.key.memory() + self.halves.iter().map(Half::memory).sum::<usize>()
    }
}
