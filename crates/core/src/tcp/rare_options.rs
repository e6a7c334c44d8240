//! Options and fields that few connections use: ECN, and those of variable ACK rates.

use super::endpoint::TcpEndpoint;
use super::timestamps::{TimestampEcho, timestamp};
use crate::packet::{Ecn, RareOption, Segment};
use crate::units::Time;

impl TcpEndpoint {
    /// The handshake is complete: the negotiated options are fixed.
    pub(super) fn on_negotiated(&mut self) {
        self.bare_len = self.config.header + if self.timestamps { self.config.timestamp_bytes } else { 0 };
        self.has_rare_options = self.ecn.on() || self.receiver.adapts_acks();
    }

    /// Reads them before the halves process the segment.
    #[inline(never)]
    pub(super) fn read_rare_options(&mut self, now: Time, segment: &Segment, ecn: Ecn, echo: TimestampEcho) {
        if self.ecn.on() {
            self.on_ecn_codepoint(segment, ecn);
        }
        if self.receiver.adapts_acks() {
            self.receiver.adapt_acks(segment, timestamp(now), echo.rtt());
        }
    }

    /// Writes them after the halves have written the segment.
    #[inline(never)]
    pub(super) fn write_rare_options(&mut self, segment: &mut Segment) {
        segment.dupacks_seen = self.receiver.marks_duplicates();
        self.write_send_room(segment);
        if self.ecn.on() {
            self.write_ecn(segment);
        }
    }

    /// Data reports how much may follow it, for ACK congestion control.
    fn write_send_room(&self, segment: &mut Segment) {
        let Some(control) = self.config.ack_control.filter(|_| segment.payload > 0) else { return };
        segment.rare_option = RareOption::SendRoom(self.sender.room_left(&self.socket));
        segment.len = segment.len.saturating_add(control.option_bytes);
    }
}
