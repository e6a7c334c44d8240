//! Undo of a spurious window reduction. Detection: D-SACKs for all retransmissions (RFC 2883,
//! section 5; RFC 3708), a timestamp echo of the original (Eifel detection, RFC 3522), or F-RTO
//! (`frto.rs`). Response: RFC 4015, the state before the reduction is restored.

use super::frto::Frto;
use crate::packet::Segment;
use crate::tcp::cc::AnyCc;
use crate::tcp::config::{FrtoKind, TcpConfig};
use crate::tcp::recovery::{AckInfo, Outstanding};
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

    /// Saves the congestion control before a reduction. Retransmissions still in flight count: their
    /// ACKs do not show that this reduction was spurious (Linux, `tcp_init_undo()`,
    /// `tcp_retrans_stamp_cleanup()`).
    pub fn save(&mut self, cc: &AnyCc, outstanding: Outstanding, timeout: bool) {
        let Outstanding { una, next, retrans_out } = outstanding;
        let first_retransmitted = self.saved.first_retransmitted.filter(|_| retrans_out > 0);
        let before = Some(cc.clone());
        self.saved =
            SavedCut { before, from: una, to: next, timeout, first_retransmitted, outstanding: retrans_out, eifel_done: false };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::cc::slow_start::{ClassicSlowStart, SlowStart};
    use crate::tcp::cc::{CongestionWindow, Variant};

    /// One reduction at once after another: the first's retransmission leaves at 100 ms, the
    /// second's at 150, and the ACK of the first at 160 ms has an echo of 60 ms.
    #[test]
    fn retransmission_in_flight_does_not_undo_the_next_reduction() {
        let window = CongestionWindow { cwnd: 10.0, ssthresh: 10.0 };
        let cc = Variant::from_name("reno").expect("a variant").build(window, SlowStart::Classic(ClassicSlowStart));
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        for (retrans_out, verdict) in [(1, UndoVerdict::Open), (0, UndoVerdict::Spurious)] {
            let mut undo = Undo::new(&TcpConfig { eifel: true, ..TcpConfig::default() }).expect("Eifel is on");
            undo.save(&cc, Outstanding { una: 0, next: 20_000, retrans_out: 0 }, false);
            undo.on_retransmission(at(100));
            undo.save(&cc, Outstanding { una: 10_000, next: 30_000, retrans_out }, false);
            undo.on_retransmission(at(150));
            let ack = AckInfo { advanced: true, echo: Some(Span::from_ms(60)), ..AckInfo::default() };
            assert_eq!(undo.on_ack(at(160), &Segment::default(), &ack, (11_000, 30_000)), verdict, "{retrans_out} in flight");
        }
    }

    #[test]
    fn dsacks_must_report_retransmissions_in_flight_at_the_reduction_too() {
        let mut saved = SavedCut { from: 0, to: 9000, outstanding: 2, ..SavedCut::default() };
        assert!(!saved.all_duplicates(Some((1000, 2000))));
        assert!(saved.all_duplicates(Some((2000, 3000))));
    }
}
