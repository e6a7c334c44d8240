//! What all packets of one end show, with or without data.

use super::clues::RttClues;
use super::mss::Mss;
use super::segment_counts::SegmentCounts;
use super::syn_offer::SynOffer;
use crate::compact::compact;
use crate::decode::{Flags, Segment};

#[derive(Debug, Default)]
pub struct EndClues {
    counts: SegmentCounts,
    rtt: RttClues,
    syn: SynOffer,
    mss: Mss,
}

compact!(EndClues { counts, rtt, syn, mss });

impl EndClues {
    /// A packet of this end.
    #[inline]
    pub fn on_packet(&mut self, now: i64, s: &Segment<'_>) {
        self.counts.on_packet(s);
        if let Some(timestamps) = s.options.timestamps {
            self.rtt.on_tsval(timestamps.value, now);
        }
        if s.flags.has(Flags::RST) {
            return;
        }
        if s.flags.has(Flags::SYN) {
            self.on_syn(s);
        } else if s.seq_len() == 0 && s.flags.has(Flags::ACK) {
            self.counts.on_pure_ack();
        }
    }

    #[cold]
    #[inline(never)]
    fn on_syn(&mut self, s: &Segment<'_>) {
        let copies = self.syn.copies.saturating_add(1);
        self.syn = SynOffer { copies, ..SynOffer::of(s) };
    }

    /// A packet of the other end with the ACK flag.
    #[inline]
    pub fn on_ack(&mut self, now: i64, s: &Segment<'_>) {
        if let Some(timestamps) = s.options.timestamps {
            self.rtt.on_tsecr(timestamps.echo, now);
        }
    }

    #[inline]
    pub fn counts(&self) -> &SegmentCounts {
        &self.counts
    }

    /// RTTs between capture point and the other end.
    #[inline]
    pub fn rtt(&self) -> &RttClues {
        &self.rtt
    }

    #[inline]
    pub fn rtt_mut(&mut self) -> &mut RttClues {
        &mut self.rtt
    }

    pub fn syn(&self) -> &SynOffer {
        &self.syn
    }

    #[inline]
    pub fn mss(&self) -> Mss {
        self.mss
    }

    pub fn limit_mss(&mut self, bytes: u16) {
        self.mss.limit(bytes);
    }

    /// Heap memory in bytes.
    pub fn memory(&self) -> usize {
        self.rtt.memory()
    }
}
