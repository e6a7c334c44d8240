//! Where a sender paces what it sends ([`crate::tcp::pacer`]): whether it must wait, at what rate, and when the next may go.

use super::Sender;
use crate::app::Socket;
use crate::tcp::cc::{CongestionControl, Phase};
use crate::tcp::pacer;
use crate::tcp::recovery::Recovery;
use crate::units::Time;

impl Sender {
    /// The pace says not yet, though the window has room and there is something to send.
    #[inline(never)]
    pub(super) fn is_pacing_limited(&self, now: Time, socket: &Socket) -> bool {
        self.tso_burst == 0
            && self.pacer.is_some_and(|p| now < p.next())
            && (self.scoreboard.unsent_losses() || self.new_piece(socket, self.recovery.in_flight(&self.scoreboard)).is_ok())
    }

    /// The pace of what is paced, and what it would be of what is not, in segments a second; None before the first round trip.
    pub(super) fn rate(&self) -> Option<f64> {
        self.cc.pacing_rate().or_else(|| {
            let srtt = self.rtt.srtt()?;
            if self.pacer.is_some_and(|p| p.bursts()) {
                return Some(self.window() / srtt.as_secs());
            }
            Some(pacer::window_rate(self.cc.cwnd(), srtt, self.cc.phase() == Phase::SlowStart))
        })
    }

    /// A segment has left: when the next may.
    #[inline(never)]
    pub(super) fn pace(&mut self, now: Time) {
        let rate = self.rate();
        if let (Some(pacer), Some(rate)) = (&mut self.pacer, rate) {
            pacer.on_send(now, rate);
            self.tso_burst = match self.config.tso {
                Some(tso) if self.tso_burst == 0 => tso.chunk(rate, self.segment) - 1,
                _ => self.tso_burst.saturating_sub(1),
            };
        }
    }
}
