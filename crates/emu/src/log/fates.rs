//! The fate of each packet: a row per packet, written when the packet is delivered or dropped.

use super::csv_rows::CsvRow;
use super::writer_thread::FileStream;
use ackclock_core::Time;
use ackclock_core::element::DropReason;
use ackclock_core::packet::Packet;
use std::collections::VecDeque;

/// The columns. `from`: the sender, 0 for the server and 1 for the client. `hop`: the hop that
/// dropped the packet. `marked`: the last hop that marked it. Hops are numbered from the server.
pub const COLUMNS: &str = "packet,flow,from,bytes,sent_ps,fate,at_ps,hop,marked";

/// A packet in flight.
#[derive(Debug, Clone, Copy)]
struct InFlightPacket {
    flow: u32,
    from: u8,
    bytes: u16,
    sent: Time,
    marked: Option<u32>,
}

/// Packets in flight by number. Numbers increase with time, so a deque from the oldest to the
/// newest packet holds them.
pub struct Fates {
    out: FileStream,
    /// Number of the first packet in `in_flight`.
    first: u64,
    in_flight: VecDeque<Option<InFlightPacket>>,
}

impl Fates {
    pub fn new(mut out: FileStream) -> Fates {
        out.bytes().extend_from_slice(COLUMNS.as_bytes());
        out.bytes().push(b'\n');
        Fates { out, first: 0, in_flight: VecDeque::new() }
    }

    /// A packet sent by an endpoint, or created by the network in the direction of that endpoint's
    /// packets.
    pub fn sent(&mut self, now: Time, packet: &Packet, from: u8) {
        self.insert(packet.id, InFlightPacket { flow: packet.flow, from, bytes: packet.len, sent: now, marked: None });
    }

    fn insert(&mut self, id: u64, entry: InFlightPacket) {
        if self.in_flight.is_empty() {
            self.first = id;
        }
        let Some(index) = id.checked_sub(self.first).map(|index| index as usize) else { return };
        if self.in_flight.len() <= index {
            self.in_flight.resize(index + 1, None);
        }
        self.in_flight[index] = Some(entry);
    }

    fn entry(&mut self, id: u64) -> Option<&mut Option<InFlightPacket>> {
        self.in_flight.get_mut(id.checked_sub(self.first)? as usize)
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
        while let Some(None) = self.in_flight.front() {
            self.in_flight.pop_front();
            self.first += 1;
        }
    }

    /// Writes a row for each packet that is still in flight.
    pub fn finish(mut self) {
        for (id, entry) in (self.first..).zip(&self.in_flight) {
            if let Some(entry) = entry {
                write(&mut self.out, id, entry, "in_flight", None, None);
            }
        }
    }
}

fn write(out: &mut FileStream, id: u64, entry: &InFlightPacket, fate: &str, at: Option<Time>, hop: Option<u32>) {
    CsvRow::new(out)
        .number(id)
        .number(entry.flow.into())
        .number(entry.from.into())
        .number(entry.bytes.into())
        .number(entry.sent.0)
        .word(fate)
        .optional(at.map(|at| at.0))
        .optional(hop.map(u64::from))
        .optional(entry.marked.map(u64::from));
}
