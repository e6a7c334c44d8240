//! Taking back a cut that was made for nothing: D-SACK for all retransmissions (RFC 2883, section 5; RFC 3708), a timestamp that says
//! the original had arrived (Eifel detection, RFC 3522), or F-RTO (`frto.rs`). The answer is RFC 4015's: everything as it was.

use super::Sender;
use super::ack::dsack_block;
use super::frto::{Frto, FrtoVerdict};
use crate::packet::Segment;
use crate::tcp::cc::{AnyCc, CongestionControl};
use crate::tcp::config::{FrtoKind, TcpConfig};
use crate::tcp::recovery::{AckInfo, Recovery};
use crate::tcp::timestamps::timestamp;
use crate::units::{Span, Time};

/// What the last cut may be taken back to, and what may show that it was for nothing.
#[derive(Clone, Debug)]
pub struct Undo {
    by_dsack: bool,
    by_echo: bool,
    pub(super) frto: Frto,
    cut: SavedCut,
}

#[derive(Clone, Debug, Default)]
struct SavedCut {
    before: Option<AnyCc>,
    /// What had not been acknowledged, and what had been sent, at the cut.
    from: u64,
    to: u64,
    timeout: bool,
    /// When the first retransmission went out.
    first_resent: Option<Time>,
    /// Retransmissions that no D-SACK has reported.
    outstanding: u32,
    /// The first ACK after the retransmission decides by timestamp, and no other.
    answered: bool,
}

impl Undo {
    /// None where the host never takes anything back.
    pub fn new(config: &TcpConfig) -> Option<Box<Undo>> {
        let wanted = config.undo || config.eifel || config.frto != FrtoKind::Off;
        wanted.then(|| {
            Box::new(Undo {
                by_dsack: config.undo,
                by_echo: config.eifel,
                frto: Frto::new(config.frto),
                cut: SavedCut::default(),
            })
        })
    }

    pub fn save(&mut self, cc: &AnyCc, (from, to): (u64, u64), timeout: bool) {
        self.cut = SavedCut { before: Some(cc.clone()), from, to, timeout, ..SavedCut::default() };
    }

    /// The window has been cut for a reason that stands.
    pub fn discard(&mut self) {
        self.cut.before = None;
    }

    pub fn on_resend(&mut self, now: Time) {
        self.cut.first_resent.get_or_insert(now);
        self.cut.outstanding += 1;
    }
}

impl SavedCut {
    /// RFC 2883: everything that was sent again has arrived twice.
    fn all_twice(&mut self, block: Option<(u64, u64)>) -> bool {
        let Some((start, end)) = block.filter(|b| b.0 >= self.from && b.1 <= self.to) else { return false };
        if start < end && self.outstanding > 0 {
            self.outstanding -= 1;
            return self.outstanding == 0;
        }
        false
    }

    /// RFC 3522, section 3.2, steps 4 and 5: the first ACK that moves echoes something older than the retransmission.
    fn echoes_original(&mut self, now: Time, ack: &AckInfo) -> bool {
        let Some(resent) = self.first_resent.filter(|_| ack.advanced && !self.answered) else { return false };
        self.answered = true;
        let since = Span::from_ms(u64::from(timestamp(now).wrapping_sub(timestamp(resent))).max(1));
        ack.echo.is_some_and(|echo| echo > since)
    }
}

impl Sender {
    /// If this ACK shows that the last cut was for nothing, everything is as it was before it.
    pub(super) fn check_undo(&mut self, now: Time, segment: &Segment, info: &AckInfo) {
        let (una, next) = (self.una, self.next);
        let Some(undo) = self.undo.as_deref_mut().filter(|u| u.cut.before.is_some()) else { return };
        let verdict = undo.frto.on_ack(segment, info, next);
        let spurious = verdict == FrtoVerdict::Spurious
            || (undo.by_echo && undo.cut.echoes_original(now, info))
            || (undo.by_dsack && undo.cut.all_twice(dsack_block(segment)));
        if spurious && let Some(before) = undo.cut.before.take() {
            let timeout = undo.cut.timeout;
            undo.frto.stop();
            if !self.cc.undo() {
                self.cc = before;
            }
            let (recovery, mut ctx) = self.recovery_context(now);
            recovery.abandon(&mut ctx);
            if timeout {
                self.scoreboard.forgive_losses();
                self.rto_recovery_point = 0;
                self.rtt.forget_backoff();
            }
        } else if una > undo.cut.to {
            // A D-SACK takes a round trip more than the end of the recovery; by now it would have come.
            undo.cut.before = None;
        } else if let FrtoVerdict::Genuine(window) = verdict {
            self.cc.on_recovered(now, window);
        }
    }
}
