//! Edits of packet bodies. A shared body is copied first, so that an edit changes one packet only.

use super::raw::{self, Header};
use crate::packet::{Arena, Body, BodyId, Ecn, SackBlocks, Segment, Timestamps};

/// Fields to set; `None` leaves a field unchanged. Real packets are rewritten with their checksums
/// (RFC 1624). The length never changes: options are not inserted, and shorter options are padded
/// with no-operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpEdit {
    pub ack: Option<u32>,
    /// The field as carried, see [`super::TcpView::window`].
    pub window: Option<u32>,
    /// At most as many blocks as before.
    pub sack: Option<SackBlocks>,
    pub timestamps: Option<Timestamps>,
    /// Sets the mark of `asymmetry` (section on sender adaptation): at least dupthresh duplicates
    /// of this ACK have been removed.
    pub dupacks_seen: bool,
    /// Maximum of the MSS option, of SYNs with the option.
    pub mss: Option<u16>,
    /// The ECN field of the IP header, of any packet.
    pub ecn: Option<Ecn>,
}

/// The paper leaves the bit open. This is a reserved bit of the TCP header that no standard uses
/// (RFC 9293, section 3.1).
pub const DUPACKS_SEEN: u8 = 2;

impl TcpEdit {
    pub const NOTHING: TcpEdit =
        TcpEdit { ack: None, window: None, sack: None, timestamps: None, dupacks_seen: false, mss: None, ecn: None };

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
            // They have no editable fields.
            Body::Datagram(_) | Body::Udp(_) | Body::TooBig(_) | Body::Fragment(_) | Body::Encapsulated(_) => {}
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
        if let (Some(mss), Some(syn)) = (self.mss, &mut segment.syn) {
            syn.mss = syn.mss.min(mss);
        }
        segment.ecn = self.ecn.unwrap_or(segment.ecn);
    }

    fn apply_to_bytes(&self, bytes: &mut [u8]) {
        let Some((_, header)) = raw::locate(bytes) else { return };
        let (mut sack_at, mut timestamps_at, mut mss_at) = (None, None, None);
        let _ = raw::options(bytes, &header, |at, kind, value| match (kind, value.len()) {
            (raw::SACK, 8 | 16 | 24 | 32) => sack_at = Some((at, value.len() / 8)),
            (raw::TIMESTAMPS, 8) => timestamps_at = Some(at),
            (raw::MSS, 2) => mss_at = Some((at, u16::from_be_bytes([value[0], value[1]]))),
            _ => {}
        });
        let mut writer = HeaderWriter { bytes, header };
        if let Some(ack) = self.ack {
            writer.write(writer.header.start + 8, &ack.to_be_bytes());
        }
        if let Some(window) = self.window {
            writer.write(writer.header.start + 14, &(window.min(0xFFFF) as u16).to_be_bytes());
        }
        if let (Some(sack), Some((at, room))) = (&self.sack, sack_at) {
            writer.write_sack(at, room, sack);
        }
        if let (Some(timestamps), Some(at)) = (self.timestamps, timestamps_at) {
            writer.write(at + 2, &timestamps.value.to_be_bytes());
            writer.write(at + 6, &timestamps.echo.to_be_bytes());
        }
        if let (Some(mss), Some((at, _))) = (self.mss, mss_at.filter(|&(_, offered)| self.mss.is_some_and(|mss| mss < offered))) {
            writer.write(at + 2, &mss.to_be_bytes());
        }
        if self.dupacks_seen {
            let at = writer.header.start + 12;
            writer.write(at, &[writer.bytes[at] | DUPACKS_SEEN]);
        }
    }
}

fn first_blocks(sack: &SackBlocks, max: usize) -> SackBlocks {
    let mut kept = SackBlocks::default();
    sack.raw().iter().take(max).for_each(|&(start, end)| kept.push(u64::from(start), u64::from(end)));
    kept
}

/// Writes into a TCP header and updates its checksum.
struct HeaderWriter<'a> {
    bytes: &'a mut [u8],
    header: Header,
}

impl HeaderWriter<'_> {
    fn write(&mut self, at: usize, value: &[u8]) {
        for (at, &byte) in (at..).zip(value) {
            // Checksum words are aligned to the start of the TCP header.
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

/// Sets the ECN field: in IPv4's type of service (RFC 3168, section 5), in IPv6's traffic class.
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

/// The checksum after a change of one word: HC' = ~(~HC + ~m + m') // RFC 1624 (Eq. 3)
fn checksum_after(sum: u16, old: u16, new: u16) -> u16 {
    let mut total = u32::from(!sum) + u32::from(!old) + u32::from(new);
    while total > 0xFFFF {
        total = (total & 0xFFFF) + (total >> 16);
    }
    !(total as u16)
}

impl Arena {
    /// Edits the body of one packet and returns its index.
    pub fn edit(&mut self, id: BodyId, edit: &TcpEdit) -> BodyId {
        let id = self.make_unique(id);
        edit.apply(self.get_mut(id));
        id
    }
}
