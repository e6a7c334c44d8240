//! Changes to a packet's body. A body that several packets carry is copied first, so that a change reaches one packet only.

use super::raw::{self, Header};
use crate::packet::{Arena, Body, BodyId, Ecn, SackBlocks, Segment, Timestamps};

/// What to set; what is `None` stays. Real bytes are rewritten with their checksums (RFC 1624). No packet grows or shrinks: an option
/// that is not there is not put in, one with less to say is filled up with no-operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpEdit {
    pub ack: Option<u32>,
    /// The field as carried, see [`super::TcpView::window`].
    pub window: Option<u32>,
    /// As many blocks as there were, at most.
    pub sack: Option<SackBlocks>,
    pub timestamps: Option<Timestamps>,
    /// Sets the mark of `asymmetry` (its section on sender adaptation): enough duplicates of this ACK have been left out to call for a fast
    /// retransmit.
    pub dupacks_seen: bool,
    /// The two ECN bits of the IP header, of any packet.
    pub ecn: Option<Ecn>,
}

/// The paper leaves the bit open; this is a reserved one of the TCP header that no standard uses (RFC 9293, section 3.1).
pub const DUPACKS_SEEN: u8 = 2;

impl TcpEdit {
    pub const NOTHING: TcpEdit =
        TcpEdit { ack: None, window: None, sack: None, timestamps: None, dupacks_seen: false, ecn: None };

    pub const fn ecn(ecn: Ecn) -> TcpEdit {
        TcpEdit { ecn: Some(ecn), ..TcpEdit::NOTHING }
    }

    fn apply(&self, body: &mut Body) {
        match body {
            Body::Segment(segment) => self.apply_to_segment(segment),
            Body::Raw(bytes) => {
                if let Some(ecn) = self.ecn {
                    set_ecn(bytes, ecn);
                }
                self.apply_to_bytes(bytes);
            }
            // All that a datagram says stands in its packet's header.
            Body::Datagram(_) => {}
        }
    }

    fn apply_to_segment(&self, segment: &mut Segment) {
        if let Some(ack) = self.ack {
            segment.ack = crate::packet::unwrap_seq(ack, segment.ack);
        }
        segment.window = self.window.unwrap_or(segment.window);
        if let Some(sack) = self.sack {
            segment.sack = first_blocks(&sack, segment.sack.len());
        }
        if segment.timestamps.is_some() {
            segment.timestamps = self.timestamps.or(segment.timestamps);
        }
        segment.dupacks_seen |= self.dupacks_seen;
        segment.ecn = self.ecn.unwrap_or(segment.ecn);
    }

    fn apply_to_bytes(&self, bytes: &mut [u8]) {
        let Some((_, header)) = raw::locate(bytes) else { return };
        let (mut sack_at, mut stamps_at) = (None, None);
        let _ = raw::options(bytes, &header, |at, kind, value| match (kind, value.len()) {
            (raw::SACK, 8 | 16 | 24 | 32) => sack_at = Some((at, value.len() / 8)),
            (raw::TIMESTAMPS, 8) => stamps_at = Some(at),
            _ => {}
        });
        let mut pen = Pen { bytes, header };
        if let Some(ack) = self.ack {
            pen.write(pen.header.start + 8, &ack.to_be_bytes());
        }
        if let Some(window) = self.window {
            pen.write(pen.header.start + 14, &(window.min(0xFFFF) as u16).to_be_bytes());
        }
        if let (Some(sack), Some((at, room))) = (&self.sack, sack_at) {
            pen.write_sack(at, room, sack);
        }
        if let (Some(stamps), Some(at)) = (self.timestamps, stamps_at) {
            pen.write(at + 2, &stamps.value.to_be_bytes());
            pen.write(at + 6, &stamps.echo.to_be_bytes());
        }
        if self.dupacks_seen {
            let at = pen.header.start + 12;
            pen.write(at, &[pen.bytes[at] | DUPACKS_SEEN]);
        }
    }
}

fn first_blocks(sack: &SackBlocks, most: usize) -> SackBlocks {
    let mut kept = SackBlocks::default();
    sack.raw().iter().take(most).for_each(|&(start, end)| kept.push(u64::from(start), u64::from(end)));
    kept
}

/// Writes into a TCP header and keeps its checksum right.
struct Pen<'a> {
    bytes: &'a mut [u8],
    header: Header,
}

impl Pen<'_> {
    fn write(&mut self, at: usize, value: &[u8]) {
        for (at, &byte) in (at..).zip(value) {
            // The checksum's words are counted from the TCP header's start.
            let word = at - (at - self.header.start) % 2;
            let old = raw::be16(self.bytes, word).unwrap_or(0);
            self.bytes[at] = byte;
            let new = raw::be16(self.bytes, word).unwrap_or(0);
            let sum_at = self.header.start + 16;
            let sum = raw::be16(self.bytes, sum_at).unwrap_or(0);
            self.bytes[sum_at..sum_at + 2].copy_from_slice(&checksum_after(sum, old, new).to_be_bytes());
        }
    }

    fn write_sack(&mut self, at: usize, room: usize, sack: &SackBlocks) {
        const NO_OPERATION: u8 = 1;
        let blocks = &sack.raw()[..sack.len().min(room)];
        let mut option = Vec::with_capacity(2 + 8 * room);
        if !blocks.is_empty() {
            option.extend([raw::SACK, (2 + 8 * blocks.len()) as u8]);
            blocks.iter().for_each(|(start, end)| option.extend([start.to_be_bytes(), end.to_be_bytes()].as_flattened()));
        }
        option.resize(2 + 8 * room, NO_OPERATION);
        self.write(at, &option);
    }
}

/// Sets the ECN bits: of the type of service in IPv4 (RFC 3168, section 5), of the traffic class in IPv6.
fn set_ecn(bytes: &mut [u8], ecn: Ecn) {
    match bytes.first().map(|b| b >> 4) {
        Some(4) if bytes.len() >= 20 => {
            let old = u16::from_be_bytes([bytes[0], bytes[1]]);
            bytes[1] = bytes[1] & !3 | ecn as u8;
            let sum = u16::from_be_bytes([bytes[10], bytes[11]]);
            let sum = checksum_after(sum, old, u16::from_be_bytes([bytes[0], bytes[1]]));
            bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        Some(6) if bytes.len() >= 40 => bytes[1] = bytes[1] & 0xCF | (ecn as u8) << 4,
        _ => {}
    }
}

/// The checksum after one of the words it covers has changed: HC' = ~(~HC + ~m + m') // RFC 1624 (Eq. 3)
fn checksum_after(sum: u16, old: u16, new: u16) -> u16 {
    let mut total = u32::from(!sum) + u32::from(!old) + u32::from(new);
    while total > 0xFFFF {
        total = (total & 0xFFFF) + (total >> 16);
    }
    !(total as u16)
}

impl Arena {
    /// Changes the body that one packet carries, and says where it lies now.
    pub fn edit(&mut self, id: BodyId, edit: &TcpEdit) -> BodyId {
        let id = self.own(id);
        edit.apply(self.get_mut(id));
        id
    }
}
