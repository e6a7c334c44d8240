//! The packets that open a connection, and what they negotiate.

use super::direction::FlowDirection;
use super::opt_time::OptTime;
use crate::compact::compact;
use crate::decode::Segment;

/// Times of the handshake.
#[derive(Debug, Clone, Copy, Default)]
pub struct Handshake {
    syn_at: OptTime,
    syn_ack_at: OptTime,
    established_at: OptTime,
}

compact!(Handshake { syn_at, syn_ack_at, established_at });

impl Handshake {
    pub(super) fn on_syn(&mut self, now: i64, has_ack: bool) {
        if has_ack {
            self.syn_ack_at.set_once(now);
        } else {
            self.syn_at.set_once(now);
        }
    }

    #[inline]
    pub(super) fn on_ack(&mut self, now: i64, from_client: bool, is_syn: bool) {
        if !self.established_at.is_some() && self.syn_ack_at.is_some() && from_client && !is_syn {
            self.established_at.set(now);
        }
    }

    pub fn syn_at(&self) -> Option<i64> {
        self.syn_at.get()
    }

    pub fn syn_ack_at(&self) -> Option<i64> {
        self.syn_ack_at.get()
    }

    /// Of the client's first ACK after the SYN-ACK.
    pub fn established_at(&self) -> Option<i64> {
        self.established_at.get()
    }
}

/// Maximum shift (RFC 7323, section 2.3).
const MAX_SHIFT: u8 = 14;

/// A SYN of `own`: window scales count once both ends have offered one (RFC 7323, section 2.2), and the
/// lower MSS counts for both.
pub(super) fn negotiate(own: &mut FlowDirection, peer: &mut FlowDirection, s: &Segment<'_>) {
    let syn = s.options.syn();
    let scale = syn.window_scale.map(|shift| shift.min(MAX_SHIFT));
    if let (Some(scale), Some(offered)) = (scale, peer.syn().window_scale) {
        peer.set_window_shift(scale);
        own.set_window_shift(offered.min(MAX_SHIFT));
    }
    if let Some(mss) = syn.mss {
        own.limit_mss(mss);
        peer.limit_mss(mss);
    }
}
