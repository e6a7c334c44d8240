//! The tail loss probe (RFC 8985, section 7): one at a time, from when it is due until an ACK says
//! whether it has repaired a loss (`tcp_send_loss_probe()`, `tcp_process_tlp_ack()`).

use crate::tcp::recovery::LinuxAck;

#[derive(Clone, Copy, Debug, Default)]
pub struct LossProbe {
    /// The probe has retransmitted, or sent new data, up to here (`tlp_high_seq`).
    end: Option<u64>,
    retransmitted: bool,
    /// A probe is due and may exceed cwnd up to this window; 0 if none is.
    window: f64,
}

impl LossProbe {
    pub fn is_due(&self) -> bool {
        self.window > 0.0
    }

    /// A probe has been sent, and no ACK has said yet what became of it.
    pub fn is_outstanding(&self) -> bool {
        self.end.is_some()
    }

    /// The probe that is outstanding is a retransmission.
    pub fn has_retransmitted(&self) -> bool {
        self.is_outstanding() && self.retransmitted
    }

    pub fn ends_at(&self, end: u64) -> bool {
        self.end == Some(end)
    }

    /// The timer of the probe has expired: one segment more than is in flight may be sent.
    pub fn become_due(&mut self, in_flight: u32) {
        (self.retransmitted, self.window) = (false, f64::from(in_flight + 1));
    }

    /// What the sender may have in flight.
    pub fn window(&self, cwnd: f64) -> f64 {
        cwnd.max(self.window)
    }

    /// A segment has been sent, snd.nxt is `next`. Returns whether it was the probe.
    pub fn on_sent(&mut self, next: u64, retransmission: bool) -> bool {
        if !self.is_due() {
            return false;
        }
        *self = LossProbe { end: Some(next), retransmitted: retransmission, window: 0.0 };
        true
    }

    /// What was sent is acknowledged, or its RTO has expired: a probe that is due is not sent.
    pub fn cancel(&mut self) {
        self.window = 0.0;
    }

    /// A reduction or an RTO takes the place of what the probe would show.
    pub fn forget(&mut self) {
        self.end = None;
    }

    /// RFC 8985, section 7.4.2. Returns whether the probe has repaired a loss, which is congestion.
    pub fn on_ack(&mut self, una: u64, ack: &LinuxAck, sacked: bool) -> bool {
        let Some(end) = self.end.filter(|&end| una >= end) else { return false };
        let arrived_twice = !self.retransmitted || ack.dsack_of_probe;
        let repaired = !arrived_twice && una > end;
        if arrived_twice || repaired || !(ack.advanced || ack.not_duplicate || sacked) {
            self.forget();
        }
        repaired
    }
}
