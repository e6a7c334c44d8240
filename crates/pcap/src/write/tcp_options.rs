//! TCP options of a simulated segment, in the order and with the padding that Linux uses.

use ackclock_core::Segment;
use ackclock_core::packet::{RareOption, SynOptions, Timestamps};

const NOP: u8 = 1;
/// A TCP header has at most 60 bytes, 20 of them fixed (RFC 9293, section 3.1).
const MAX_LEN: usize = 40;

/// The options of one segment, padded to 32-bit words.
pub struct TcpOptions {
    bytes: [u8; MAX_LEN],
    len: usize,
}

impl TcpOptions {
    /// `peer_isn` is added to the SACK edges, which are relative to the initial sequence number.
    pub fn of(segment: &Segment, peer_isn: u32) -> TcpOptions {
        let mut options = TcpOptions { bytes: [0; MAX_LEN], len: 0 };
        match (segment.syn, segment.timestamps) {
            (Some(syn), timestamps) => options.put_syn(syn, timestamps),
            (None, Some(timestamps)) => {
                options.put(&[NOP, NOP]);
                options.put_timestamps(timestamps);
            }
            (None, None) => {}
        }
        options.put_sack(segment, peer_isn);
        options.put_rare_option(segment.rare_option);
        options
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn put(&mut self, bytes: &[u8]) {
        let end = (self.len + bytes.len()).min(MAX_LEN);
        self.bytes[self.len..end].copy_from_slice(&bytes[..end - self.len]);
        self.len = end;
    }

    /// MSS (RFC 9293), SACK permitted (RFC 2018), timestamps and window scale (RFC 7323).
    fn put_syn(&mut self, syn: SynOptions, timestamps: Option<Timestamps>) {
        let [high, low] = syn.mss.to_be_bytes();
        self.put(&[2, 4, high, low]);
        if syn.sack_permitted || timestamps.is_some() {
            self.put(if syn.sack_permitted { &[4, 2] } else { &[NOP, NOP] });
            match timestamps {
                Some(timestamps) => self.put_timestamps(timestamps),
                None => self.put(&[NOP, NOP]),
            }
        }
        if let Some(scale) = syn.window_scale {
            self.put(&[NOP, 3, 3, scale]);
        }
    }

    fn put_timestamps(&mut self, timestamps: Timestamps) {
        self.put(&[8, 10]);
        self.put(&timestamps.value.to_be_bytes());
        self.put(&timestamps.echo.to_be_bytes());
    }

    /// AccECN order 0 (RFC 9768, section 3.2.3), or the send window in an experimental option with
    /// an unassigned identifier (RFC 6994).
    fn put_rare_option(&mut self, rare_option: RareOption) {
        match rare_option {
            RareOption::None => {}
            RareOption::AccEcn(counts) => {
                self.put(&[NOP, 172, 11]);
                for field in [counts.ect0, counts.ce, counts.ect1] {
                    self.put(&field.bytes());
                }
            }
            RareOption::SendRoom(room) => {
                self.put(&[253, 8, 0xAC, 0xCC]);
                self.put(&room.window.to_be_bytes());
                self.put(&room.left.to_be_bytes());
            }
        }
    }

    fn put_sack(&mut self, segment: &Segment, peer_isn: u32) {
        let blocks = segment.sack.len().min((MAX_LEN - self.len).saturating_sub(4) / 8);
        if blocks == 0 {
            return;
        }
        self.put(&[NOP, NOP, 5, 2 + 8 * blocks as u8]);
        for &(start, end) in &segment.sack.raw()[..blocks] {
            self.put(&start.wrapping_add(peer_isn).to_be_bytes());
            self.put(&end.wrapping_add(peer_isn).to_be_bytes());
        }
    }
}
