//! F-RTO (RFC 5682): after an RTO only the first segment is retransmitted, then new data is sent.
//! If the ACKs advance over data that was not retransmitted, the originals were delayed and the RTO
//! was spurious. Two forms: by ACK numbers alone (section 2.1), and with SACK (section 3.1).

use super::undo::UndoVerdict;
use crate::packet::Segment;
use crate::tcp::config::FrtoKind;
use crate::tcp::recovery::AckInfo;

/// Step 2 (b): segments of new data sent instead of retransmissions.
const NEW_SEGMENTS: u64 = 2;
/// Step 3 (a): the window after a genuine RTO, in segments.
const GENUINE_WINDOW: f64 = 3.0;

#[derive(Clone, Copy, Debug)]
pub struct Frto {
    kind: FrtoKind,
    state: FrtoState,
}

/// `recover`: snd.nxt at the RTO. `from`: where the new data of step 2 begins.
#[derive(Clone, Copy, Debug, PartialEq)]
enum FrtoState {
    Off,
    /// Step 2: waits for the ACK of the retransmission.
    First {
        recover: u64,
        retransmitted_to: u64,
    },
    /// Step 3: waits for the second ACK.
    Second {
        recover: u64,
        from: u64,
    },
}

/// What may be sent while F-RTO is undecided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrtoStep {
    /// Retransmissions, as the recovery orders them.
    Recover,
    /// New data, no retransmission.
    New,
    /// Nothing before the second ACK.
    Wait,
}

impl Frto {
    pub fn new(kind: FrtoKind) -> Frto {
        Frto { kind, state: FrtoState::Off }
    }

    pub fn stop(&mut self) {
        self.state = FrtoState::Off;
    }

    /// SACK was not negotiated.
    pub fn do_without_sack(&mut self) {
        if self.kind == FrtoKind::Sack {
            self.kind = FrtoKind::Basic;
        }
    }

    /// Step 1, at an RTO. `ambiguous`: data in flight has been retransmitted before, so an ACK may
    /// be that of either copy. A second RTO in a row (`first` is false) keeps `recover` (section
    /// 3.2).
    pub fn on_rto(&mut self, ambiguous: bool, first: bool, (recover, retransmitted_to): (u64, u64)) {
        self.state = match self.state {
            FrtoState::First { recover, .. } if !first => FrtoState::First { recover, retransmitted_to },
            _ if first && !ambiguous && self.kind != FrtoKind::Off => FrtoState::First { recover, retransmitted_to },
            _ => FrtoState::Off,
        };
    }

    /// Steps 2 and 3. `next`: snd.nxt.
    pub fn on_ack(&mut self, segment: &Segment, ack: &AckInfo, next: u64) -> UndoVerdict {
        let sack = self.kind == FrtoKind::Sack;
        match self.state {
            FrtoState::Off => UndoVerdict::Open,
            FrtoState::First { recover, retransmitted_to } => {
                if ack.advanced && segment.ack >= retransmitted_to && segment.ack < recover {
                    self.state = FrtoState::Second { recover, from: next };
                } else if ack.advanced || (ack.duplicate && !sack) {
                    self.state = FrtoState::Off;
                }
                UndoVerdict::Open
            }
            FrtoState::Second { recover, .. } => {
                let beyond = segment.ack > recover || segment.sack.near(segment.ack).any(|(_, end)| end > recover);
                let verdict = match (ack.advanced || (sack && ack.sacked > 0), sack && beyond) {
                    (_, true) => UndoVerdict::Genuine(GENUINE_WINDOW),
                    (true, false) => UndoVerdict::Spurious,
                    (false, false) if ack.duplicate => UndoVerdict::Genuine(GENUINE_WINDOW),
                    (false, false) => return UndoVerdict::Open,
                };
                self.state = FrtoState::Off;
                verdict
            }
        }
    }

    /// Step 2 (b): what may be sent before the second ACK. With no new data to send F-RTO ends and
    /// the recovery goes on.
    pub fn next_step(&mut self, next: u64, segment: u64, has_new_data: impl FnOnce() -> bool) -> FrtoStep {
        let FrtoState::Second { from, .. } = self.state else { return FrtoStep::Recover };
        if next >= from + NEW_SEGMENTS * segment {
            return FrtoStep::Wait;
        }
        if has_new_data() {
            return FrtoStep::New;
        }
        if next > from {
            return FrtoStep::Wait;
        }
        self.stop();
        FrtoStep::Recover
    }
}
