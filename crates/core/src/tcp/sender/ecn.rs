//! What the sending half does about marks: which of its packets may be marked, and how it answers an echo.

use super::Sender;
use crate::packet::{Ecn, Flags, Segment};
use crate::tcp::cc::{Congestion, CongestionControl, EcnTerms, MarkUse, Signal};
use crate::tcp::ecn::{EcnMode, EcnPackets, Heard, Marks};
use crate::tcp::recovery::{AckFacts, Cwr, Recovery};
use crate::tcp::scoreboard::Acked;
use crate::units::Time;

/// Kept where the two ends have agreed on ECN.
#[derive(Clone, Debug)]
pub struct SenderEcn {
    heard: Heard,
    /// The peer echoes until it hears that the window has been cut.
    latched: bool,
    capable: Ecn,
    packets: EcnPackets,
    /// The next new data says that the window has been cut.
    cwr_owed: bool,
    /// First byte that had not been sent when the window was last cut, for whatever reason.
    cut_to: u64,
    repairing: bool,
    episode: Option<Cwr>,
}

impl Sender {
    /// The handshake has settled it.
    pub fn agree_ecn(&mut self, agreed: EcnMode) {
        let accurate = agreed == EcnMode::Accurate;
        let beta = self.config.ecn_beta;
        self.cc.agree(&EcnTerms { echoed: agreed != EcnMode::Off, accurate, beta });
        self.ecn = (agreed != EcnMode::Off).then(|| {
            let capable = if matches!(self.cc.marks(), MarkUse::Scalable { .. }) { Ecn::Ect1 } else { Ecn::Ect0 };
            Box::new(SenderEcn {
                heard: Heard::new(agreed),
                latched: !accurate,
                capable,
                packets: self.config.ecn_packets,
                cwr_owed: false,
                cut_to: 0,
                repairing: false,
                episode: None,
            })
        });
    }

    /// Its congestion control counts marks, so the peer is to say of each segment whether it came marked.
    pub fn counts_marks(&self) -> bool {
        self.cc.marks() != MarkUse::Cut
    }

    /// RFC 3168, sections 6.1.2, 6.1.4 and 6.1.5: new data is ECN-capable, and the first after a cut says so.
    pub fn stamp_ecn(&mut self, segment: &mut Segment) {
        let Some(ecn) = &mut self.ecn else { return };
        let new = segment.payload > 0 && !segment.retransmission;
        let controlled = segment.payload == 0 && self.config.ack_control.is_some();
        if new || controlled || ecn.packets == EcnPackets::All {
            segment.ecn = ecn.capable;
        }
        if new && std::mem::take(&mut ecn.cwr_owed) {
            segment.flags = segment.flags.with(Flags::CWR);
        }
    }

    /// What an ACK says of marks; a congestion control that counts them is told.
    #[inline(never)]
    pub(super) fn hear_marks(&mut self, now: Time, segment: &Segment, acked: &Acked, facts: &AckFacts) -> Marks {
        let delivered = facts.delivered();
        let Some(ecn) = &mut self.ecn else { return Marks::default() };
        let marks = ecn.heard.hear(segment, delivered, self.segment);
        if self.cc.marks() != MarkUse::Cut {
            let mut ack = self.reading(now, acked);
            (ack.delivered, ack.marked) = (delivered, marks.segments);
            ack.recovering = self.recovery.active() || self.una <= self.timed_out_to;
            self.cc.on_marks(&ack);
        }
        marks
    }

    /// RFC 3168, section 6.1.2: a mark cuts the window as a loss would, but once for all marks and losses of a flight. Says whether the
    /// window may grow on this ACK.
    #[inline(never)]
    pub(super) fn answer_marks(&mut self, now: Time, marks: Marks, facts: &AckFacts, grow: bool) -> bool {
        let Some(mut ecn) = self.ecn.take() else { return grow };
        let repairing = self.recovery.active() || self.una <= self.timed_out_to;
        if repairing {
            // A cut for a loss is said, too.
            if !ecn.repairing {
                (ecn.cut_to, ecn.cwr_owed) = (self.next, ecn.latched);
            }
            ecn.episode = None;
        } else {
            self.go_on(now, &mut ecn, facts);
            if marks.seen && ecn.episode.is_none() && self.una > ecn.cut_to {
                self.cut_for_mark(now, &mut ecn, facts);
            }
        }
        ecn.repairing = repairing;
        let grow = grow && (ecn.episode.is_none() || matches!(self.cc.marks(), MarkUse::Scalable { .. }));
        self.ecn = Some(ecn);
        grow
    }

    /// The episode takes an ACK in, or is over.
    fn go_on(&mut self, now: Time, ecn: &mut SenderEcn, facts: &AckFacts) {
        let Some(mut episode) = ecn.episode.take() else { return };
        let (_, mut repair) = self.split(now);
        if episode.over(repair.una, now) {
            episode.leave(&mut repair);
        } else {
            episode.on_ack(facts, &repair);
            ecn.episode = Some(episode);
        }
    }

    fn cut_for_mark(&mut self, now: Time, ecn: &mut SenderEcn, facts: &AckFacts) {
        let before = self.cc.cwnd();
        // What was in flight as the ACK came.
        let flight = f64::from(self.board.len() + facts.acked).min(libm::floor(before));
        self.stats.window_cuts += 1;
        self.stats.ecn_cuts += 1;
        if let Some(undo) = &mut self.undo {
            undo.forget();
        }
        match &mut self.piped {
            None => self.cc.on_congestion(&Congestion { now, signal: Signal::Ecn, flight }),
            Some(piped) => {
                piped.cut(now, &mut self.cc, (Signal::Ecn, flight), 0);
                // Nothing was lost that could be taken off as well.
                piped.start_anew();
            }
        }
        (ecn.cut_to, ecn.cwr_owed) = (self.next, ecn.latched);
        let (recovery, repair) = self.split(now);
        ecn.episode = Some(Cwr::begin(recovery, before, facts, &repair));
    }

    /// The window has been cut for a mark in this flight, and losses in it do not cut it again; but a share of marks says little of a
    /// loss (RFC 8257, section 3.4).
    pub(super) fn cut_by_mark(&self) -> bool {
        self.ecn.as_ref().is_some_and(|ecn| ecn.episode.is_some()) && self.cc.marks() == MarkUse::Cut
    }

    /// The retransmission timer has gone off.
    pub(super) fn forget_marks(&mut self) {
        if let Some(ecn) = &mut self.ecn {
            ecn.episode = None;
        }
    }

    /// The window in force while nothing is repaired.
    pub(super) fn marked_window(&self) -> Option<f64> {
        let episode = self.ecn.as_ref()?.episode.as_ref()?;
        (!self.recovery.active()).then(|| episode.window(&self.cc))
    }
}
