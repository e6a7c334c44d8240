//! F-RTO (RFC 5682): after a timeout only the first segment is sent again, then new data. If the ACKs go on through what was not sent
//! again, the originals had been on their way and the timeout was a delay. In two forms: by ACK numbers alone (section 2.1), and with
//! what SACK tells besides (section 3.1).

use super::Sender;
use crate::app::Socket;
use crate::packet::Segment;
use crate::tcp::config::FrtoKind;
use crate::tcp::recovery::{AckInfo, Recovery};

/// Step 2 (b): new segments that go out instead of retransmissions.
const NEW_SEGMENTS: u64 = 2;
/// Step 3 (a): the window once the timeout is known to be genuine, in segments.
const GENUINE_WINDOW: f64 = 3.0;

#[derive(Clone, Copy, Debug)]
pub struct Frto {
    kind: FrtoKind,
    state: FrtoState,
}

/// `recover`: first byte that had not been sent at the timeout. `from`: where the new data of step 2 begins.
#[derive(Clone, Copy, Debug, PartialEq)]
enum FrtoState {
    Off,
    /// Step 2: the ACK of the retransmission is awaited.
    First {
        recover: u64,
        resent_to: u64,
    },
    /// Step 3: the ACK after it is awaited.
    Second {
        recover: u64,
        from: u64,
    },
}

/// What an ACK has shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FrtoVerdict {
    Open,
    Spurious,
    /// The window is to be so many segments.
    Genuine(f64),
}

/// What may be sent while the question is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrtoStep {
    /// What the recovery says.
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

    /// The peer does no SACK: what SACK would tell is not told.
    pub fn do_without_sack(&mut self) {
        if self.kind == FrtoKind::Sack {
            self.kind = FrtoKind::Basic;
        }
    }

    /// Step 1. `underway`: what is in flight has been sent again before, so an ACK could be that of either copy; a segment that times
    /// out twice in a row goes on where it was (section 3.2).
    fn start(&mut self, underway: bool, first: bool, (recover, resent_to): (u64, u64)) {
        self.state = match self.state {
            FrtoState::First { recover, .. } if !first => FrtoState::First { recover, resent_to },
            _ if first && !underway && self.kind != FrtoKind::Off => FrtoState::First { recover, resent_to },
            _ => FrtoState::Off,
        };
    }

    /// Steps 2 and 3. `next`: first byte never sent.
    pub fn on_ack(&mut self, segment: &Segment, ack: &AckInfo, next: u64) -> FrtoVerdict {
        let sack = self.kind == FrtoKind::Sack;
        match self.state {
            FrtoState::Off => FrtoVerdict::Open,
            FrtoState::First { recover, resent_to } => {
                if ack.advanced && segment.ack >= resent_to && segment.ack < recover {
                    self.state = FrtoState::Second { recover, from: next };
                } else if ack.advanced || (ack.duplicate && !sack) {
                    self.state = FrtoState::Off;
                }
                FrtoVerdict::Open
            }
            FrtoState::Second { recover, .. } => {
                let beyond = segment.ack > recover || segment.sack.near(segment.ack).any(|(_, end)| end > recover);
                let verdict = match (ack.advanced || (sack && ack.sacked > 0), sack && beyond) {
                    (_, true) => FrtoVerdict::Genuine(GENUINE_WINDOW),
                    (true, false) => FrtoVerdict::Spurious,
                    (false, false) if ack.duplicate => FrtoVerdict::Genuine(GENUINE_WINDOW),
                    (false, false) => return FrtoVerdict::Open,
                };
                self.state = FrtoState::Off;
                verdict
            }
        }
    }
}

impl Sender {
    /// Step 1: the timer has gone off; nothing has been marked or sent yet.
    pub(super) fn start_frto(&mut self) {
        let first = self.timeouts_in_a_row == 0;
        let underway = self.recovery.active() || self.una < self.rto_recovery_point || self.scoreboard.lost_out() > 0;
        let resent_to = self.una + self.scoreboard.get(self.scoreboard.first_index()).map_or(0, |s| u64::from(s.len));
        if let Some(undo) = &mut self.undo {
            undo.frto.start(underway, first, (self.next, resent_to));
        }
    }

    /// Step 2 (b): what may go out while the second ACK is awaited. Without anything new to send the repair goes on as ever.
    #[inline(never)]
    pub(super) fn frto_step(&mut self, socket: &Socket) -> FrtoStep {
        let Some(FrtoState::Second { from, .. }) = self.undo.as_deref().map(|u| u.frto.state) else { return FrtoStep::Recover };
        if self.next >= from + NEW_SEGMENTS * u64::from(self.segment) {
            return FrtoStep::Wait;
        }
        if self.new_piece(socket, self.recovery.in_flight(&self.scoreboard)).is_ok() {
            return FrtoStep::New;
        }
        if self.next > from {
            return FrtoStep::Wait;
        }
        if let Some(undo) = &mut self.undo {
            undo.frto.stop();
        }
        FrtoStep::Recover
    }
}
