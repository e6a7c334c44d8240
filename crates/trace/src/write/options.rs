//! TCP options as Linux lays them out, so that readers see what they are used to.

use ackclock_core::Segment;
use ackclock_core::packet::{RareOption, SynOptions, Timestamps};

const NOP: u8 = 1;
/// A header has 60 bytes at most, 20 of them fixed (RFC 9293, section 3.1).
const ROOM: usize = 40;

/// Options of one segment, padded to whole words.
pub struct Options {
    bytes: [u8; ROOM],
    len: usize,
}

impl Options {
    /// `sequence_shift` turns SACK edges into the sequence numbers on the wire.
    pub fn of(segment: &Segment, sequence_shift: u32) -> Options {
        let mut options = Options { bytes: [0; ROOM], len: 0 };
        match (segment.syn, segment.timestamps) {
            (Some(syn), stamps) => options.put_syn(syn, stamps),
            (None, Some(stamps)) => {
                options.put(&[NOP, NOP]);
                options.put_timestamps(stamps);
            }
            (None, None) => {}
        }
        options.put_sack(segment, sequence_shift);
        options.put_rare_option(segment.rare_option);
        options
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn put(&mut self, bytes: &[u8]) {
        let end = (self.len + bytes.len()).min(ROOM);
        self.bytes[self.len..end].copy_from_slice(&bytes[..end - self.len]);
        self.len = end;
    }

    /// MSS (RFC 9293), SACK permitted (RFC 2018), timestamps and window scale (RFC 7323).
    fn put_syn(&mut self, syn: SynOptions, stamps: Option<Timestamps>) {
        let [high, low] = syn.mss.to_be_bytes();
        self.put(&[2, 4, high, low]);
        if syn.sack_permitted || stamps.is_some() {
            self.put(if syn.sack_permitted { &[4, 2] } else { &[NOP, NOP] });
            match stamps {
                Some(stamps) => self.put_timestamps(stamps),
                None => self.put(&[NOP, NOP]),
            }
        }
        if let Some(scale) = syn.window_scale {
            self.put(&[NOP, 3, 3, scale]);
        }
    }

    fn put_timestamps(&mut self, stamps: Timestamps) {
        self.put(&[8, 10]);
        self.put(&stamps.value.to_be_bytes());
        self.put(&stamps.echo.to_be_bytes());
    }

    /// AccECN's order 0 (RFC 9768, section 3.2.3), and what a sender may send, as an experiment of nobody's (RFC 6994).
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

    fn put_sack(&mut self, segment: &Segment, shift: u32) {
        let fitting = segment.sack.len().min((ROOM - self.len).saturating_sub(4) / 8);
        if fitting == 0 {
            return;
        }
        self.put(&[NOP, NOP, 5, 2 + 8 * fitting as u8]);
        for &(start, end) in &segment.sack.raw()[..fitting] {
            self.put(&start.wrapping_add(shift).to_be_bytes());
            self.put(&end.wrapping_add(shift).to_be_bytes());
        }
    }
}
