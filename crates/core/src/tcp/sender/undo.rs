//! Undo of a spurious window reduction. Detection: D-SACKs for all retransmissions (RFC 2883,
//! section 5; RFC 3708), a timestamp echo of the original (Eifel detection, RFC 3522), or F-RTO
//! (`frto.rs`). Response: RFC 4015, the state before the reduction is restored.

use super::frto::Frto;
use crate::packet::Segment;
use crate::tcp::cc::AnyCc;
use crate::tcp::config::{FrtoKind, TcpConfig};
use crate::tcp::recovery::AckInfo;
use crate::tcp::timestamps::timestamp;
use crate::units::{Span, Time};

/// The saved state and the detectors that the host uses.
#[derive(Clone, Debug)]
pub struct Undo {
    by_dsack: bool,
    by_echo: bool,
    pub frto: Frto,
    saved: SavedCut,
}

#[derive(Clone, Debug, Default)]
struct SavedCut {
    /// The congestion control before the reduction.
    before: Option<AnyCc>,
    /// snd.una and snd.nxt at the reduction.
    from: u64,
    to: u64,
    timeout: bool,
    /// When the first retransmission was sent.
    first_retransmitted: Option<Time>,
    /// Retransmissions that no D-SACK has reported.
    outstanding: u32,
    /// Eifel detection has seen the first ACK after the retransmission and looks at no other.
    eifel_done: bool,
}

/// What an ACK shows about the last reduction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UndoVerdict {
    Open,
    Spurious,
    /// The RTO was genuine: cwnd becomes this many segments.
    Genuine(f64),
}

impl Undo {
    /// None where the host undoes nothing.
    pub fn new(config: &TcpConfig) -> Option<Box<Undo>> {
        let enabled = config.undo || config.eifel || config.frto != FrtoKind::Off;
        enabled.then(|| {
            Box::new(Undo {
                by_dsack: config.undo,
                by_echo: config.eifel,
                frto: Frto::new(config.frto),
                saved: SavedCut::default(),
            })
        })
    }

    /// A congestion control is saved; without one no ACK changes anything here.
    #[inline]
    pub fn has_saved(&self) -> bool {
        self.saved.before.is_some()
    }

    /// Saves the congestion control before a reduction. `(from, to)`: snd.una and snd.nxt.
    pub fn save(&mut self, cc: &AnyCc, (from, to): (u64, u64), timeout: bool) {
        self.saved = SavedCut { before: Some(cc.clone()), from, to, timeout, ..SavedCut::default() };
    }

    /// A reduction that stands replaces the saved one.
    pub fn discard(&mut self) {
        self.saved.before = None;
    }

    pub fn on_retransmission(&mut self, now: Time) {
        self.saved.first_retransmitted.get_or_insert(now);
        self.saved.outstanding += 1;
    }

    pub fn on_ack(&mut self, now: Time, segment: &Segment, info: &AckInfo, (una, next): (u64, u64)) -> UndoVerdict {
        if self.saved.before.is_none() {
            return UndoVerdict::Open;
        }
        let verdict = self.frto.on_ack(segment, info, next);
        let spurious = verdict == UndoVerdict::Spurious
            || (self.by_echo && self.saved.echoes_original(now, info))
            || (self.by_dsack && self.saved.all_duplicates(dsack_block(segment)));
        if spurious {
            return UndoVerdict::Spurious;
        }
        if una > self.saved.to {
            // A D-SACK arrives at most one RTT after the end of the recovery.
            self.discard();
            return UndoVerdict::Open;
        }
        verdict
    }

    /// Hands over the saved congestion control, and whether an RTO had caused the reduction.
    pub fn take_saved(&mut self) -> Option<(AnyCc, bool)> {
        self.frto.stop();
        Some((self.saved.before.take()?, self.saved.timeout))
    }
}

impl SavedCut {
    /// RFC 2883: D-SACKs have reported every retransmission as a duplicate.
    fn all_duplicates(&mut self, block: Option<(u64, u64)>) -> bool {
        let Some((start, end)) = block.filter(|b| b.0 >= self.from && b.1 <= self.to) else { return false };
        if start < end && self.outstanding > 0 {
            self.outstanding -= 1;
            return self.outstanding == 0;
        }
        false
    }

    /// RFC 3522, section 3.2, steps 4 and 5: the first ACK that advances echoes a timestamp older
    /// than the retransmission.
    fn echoes_original(&mut self, now: Time, ack: &AckInfo) -> bool {
        let Some(retransmitted) = self.first_retransmitted.filter(|_| ack.advanced && !self.eifel_done) else { return false };
        self.eifel_done = true;
        let since = Span::from_ms(u64::from(timestamp(now).wrapping_sub(timestamp(retransmitted))).max(1));
        ack.echo.is_some_and(|echo| echo > since)
    }
}

/// RFC 2883, section 4: the first block is a D-SACK if it lies below the ACK number or inside the
/// second block.
pub fn dsack_block(segment: &Segment) -> Option<(u64, u64)> {
    let mut blocks = segment.sack.near(segment.ack);
    let first = blocks.next().filter(|b| b.0 < b.1)?;
    let inside = first.1 <= segment.ack || blocks.next().is_some_and(|second| second.0 <= first.0 && first.1 <= second.1);
    inside.then_some(first)
}
