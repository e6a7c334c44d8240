//! What became of every packet: a row for each, written when it is known.

use super::background::Stream;
use super::rows::Row;
use ackclock_core::Time;
use ackclock_core::element::DropReason;
use ackclock_core::packet::Packet;
use std::collections::VecDeque;

/// The columns. `from` is the end that sent it: 0 the server, 1 the client. `hop` is where it was dropped, `marked` where it was told of
/// congestion; both are the hop's place in the link, server first.
pub const COLUMNS: &str = "packet,flow,from,bytes,sent_ps,fate,at_ps,hop,marked";

/// A packet on its way.
#[derive(Debug, Clone, Copy)]
struct Entry {
    flow: u32,
    from: u8,
    bytes: u16,
    sent: Time,
    marked: Option<u32>,
}

/// Packets on their way by number. Numbers are given in order, so a ring of those between the oldest and the newest holds them.
pub struct Fates {
    out: Stream,
    first: u64,
    travelling: VecDeque<Option<Entry>>,
}

impl Fates {
    pub fn new(mut out: Stream) -> Fates {
        out.bytes().extend_from_slice(COLUMNS.as_bytes());
        out.bytes().push(b'\n');
        Fates { out, first: 0, travelling: VecDeque::new() }
    }

    /// An end sent it, or the network made it itself, going the way that end sends.
    pub fn sent(&mut self, now: Time, packet: &Packet, from: u8) {
        self.enter(packet.id, Entry { flow: packet.flow, from, bytes: packet.len, sent: now, marked: None });
    }

    fn enter(&mut self, id: u64, entry: Entry) {
        if self.travelling.is_empty() {
            self.first = id;
        }
        let Some(place) = id.checked_sub(self.first).map(|place| place as usize) else { return };
        if self.travelling.len() <= place {
            self.travelling.resize(place + 1, None);
        }
        self.travelling[place] = Some(entry);
    }

    fn entry(&mut self, id: u64) -> Option<&mut Option<Entry>> {
        self.travelling.get_mut(id.checked_sub(self.first)? as usize)
    }

    pub fn marked(&mut self, packet: &Packet, hop: u32) {
        if let Some(Some(entry)) = self.entry(packet.id) {
            entry.marked = Some(hop);
        }
    }

    pub fn delivered(&mut self, now: Time, packet: &Packet) {
        self.end(packet, now, "delivered", None);
    }

    pub fn dropped(&mut self, now: Time, packet: &Packet, cause: DropReason, hop: u32) {
        self.end(packet, now, cause.name(), Some(hop));
    }

    fn end(&mut self, packet: &Packet, now: Time, fate: &str, hop: Option<u32>) {
        let Some(entry) = self.entry(packet.id).and_then(Option::take) else { return };
        write(&mut self.out, packet.id, &entry, fate, Some(now), hop);
        while let Some(None) = self.travelling.front() {
            self.travelling.pop_front();
            self.first += 1;
        }
    }

    /// What is still on its way is said to be.
    pub fn finish(mut self) {
        for (id, entry) in (self.first..).zip(&self.travelling) {
            if let Some(entry) = entry {
                write(&mut self.out, id, entry, "in_flight", None, None);
            }
        }
    }
}

fn write(out: &mut Stream, id: u64, entry: &Entry, fate: &str, at: Option<Time>, hop: Option<u32>) {
    Row::new(out)
        .number(id)
        .number(entry.flow.into())
        .number(entry.from.into())
        .number(entry.bytes.into())
        .number(entry.sent.0)
        .word(fate)
        .maybe(at.map(|at| at.0))
        .maybe(hop.map(u64::from))
        .maybe(entry.marked.map(u64::from));
}
