//! Undo of a spurious reduction: by D-SACKs of all retransmissions, or by the echo of a timestamp
//! from before the first (`tcp_may_undo()`, `tcp_packet_delayed()`; RFC 3522, RFC 3708).

use super::machine::Settings;
use crate::tcp::recovery::LinuxAck;
use crate::tcp::timestamps::timestamp;
use crate::units::Time;

#[derive(Clone, Copy, Debug, Default)]
pub struct UndoState {
    /// snd.una at the reduction; None once it is undone, or if there was none.
    pub marker: Option<u64>,
    /// Retransmissions that no D-SACK has reported; None before the first.
    pub retransmissions: Option<u32>,
    /// Timestamp of the first retransmission.
    pub retransmission_time: Option<u32>,
    /// ssthresh before the reduction; None: an undo does not change the window.
    pub prior_ssthresh: Option<f64>,
}

impl UndoState {
    /// `tcp_init_undo()`.
    pub fn begin(&mut self, una: u64, retrans_out: u32) {
        self.marker = Some(una);
        self.retransmissions = (retrans_out > 0).then_some(retrans_out);
    }

    pub fn on_retransmission(&mut self, now: Time) {
        self.retransmissions = Some(self.retransmissions.unwrap_or(0) + 1);
        self.retransmission_time.get_or_insert(timestamp(now));
    }

    /// `tcp_packet_delayed()`: the ACK echoes a timestamp from before the first retransmission, or,
    /// with SACK, nothing was retransmitted.
    pub fn packet_delayed(&self, ack: &LinuxAck, settings: &Settings) -> bool {
        settings.undo_by_echo && self.retransmission_time.map_or(settings.sack, |time| ack.echoes_before(time))
    }

    pub fn may_undo(&self, ack: &LinuxAck, settings: &Settings) -> bool {
        let by_dsack = settings.undo_by_dsack && self.retransmissions == Some(0);
        self.marker.is_some() && (by_dsack || self.packet_delayed(ack, settings))
    }
}
