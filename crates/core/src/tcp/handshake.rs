//! The three-way handshake (RFC 9293, section 3.5) and the options that it negotiates.

use super::endpoint::TcpEndpoint;
use super::linux_rules::LinuxRule;
use super::sender::STREAM_START;
use super::timestamps::timestamp;
use crate::packet::{Ecn, Flags, RetransmitReason, Segment, SynOptions, Timestamps};
use crate::units::Time;

/// The connection's state. Closing needs no states: each half knows whether its FIN is
/// acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TcpState {
    /// A client before its start.
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
    /// Reset by either end.
    Reset,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct HandshakeState {
    /// Time of the next SYN or SYN-ACK.
    pub(super) at: Time,
    pub(super) first_sent: Option<Time>,
    pub(super) tries: u32,
    /// The SYN-ACK waits for the other side of a proxy.
    pub(super) waits: bool,
    /// Both ends have sent a SYN (RFC 9293, section 3.5, figure 7).
    pub(super) simultaneous: bool,
}

/// Doublings of the SYN timer.
const MAX_SYN_BACKOFF: u32 = 6;

impl TcpEndpoint {
    pub(super) fn on_syn(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        let answer = segment.flags.has(Flags::ACK);
        match (self.state, answer) {
            (TcpState::SynSent, true) if segment.ack == STREAM_START => {
                self.negotiate(now, segment);
                self.on_ecn_syn_ack(segment, ecn);
                self.establish(now);
                self.receiver.ack_at_once();
            }
            (TcpState::Listen, false) => {
                self.negotiate(now, segment);
                self.on_ecn_syn(segment, ecn);
                self.state = TcpState::SynReceived;
                self.handshake.at = self.syn_ack_at(now);
            }
            // Simultaneous open (RFC 9293, section 3.5): the SYNs have crossed.
            (TcpState::SynSent, false) => {
                self.negotiate(now, segment);
                self.on_ecn_syn(segment, ecn);
                self.state = TcpState::SynReceived;
                self.handshake = HandshakeState { at: now, first_sent: None, tries: 0, simultaneous: true, ..self.handshake };
            }
            (TcpState::SynReceived, true) if self.handshake.simultaneous && segment.ack == STREAM_START => {
                self.ts_recent = segment.timestamps.map_or(self.ts_recent, |option| option.value);
                self.establish(now);
                self.receiver.on_second_syn();
            }
            // The SYN-ACK was lost: retransmit it.
            (TcpState::SynReceived, false) => {
                self.on_ecn_repeated_syn(segment, ecn);
                self.ts_recent = segment.timestamps.map_or(self.ts_recent, |option| option.value);
                self.handshake.at = self.syn_ack_at(now);
            }
            // The last ACK was lost, or a SYN was delayed (RFC 9293, section 3.10.7.4): answer with
            // an ACK.
            (TcpState::Established, _) => {
                if answer {
                    self.on_ecn_repeated_syn_ack(ecn);
                }
                self.receiver.ack_at_once();
            }
            _ => {}
        }
    }

    /// The MSS option, within what the path is known to carry (`ipv4_default_advmss()`).
    fn own_mss(&self, now: Time) -> u32 {
        let own = self.config.own_mss();
        let timestamp_len = if self.config.timestamps { self.config.timestamp_bytes } else { 0 };
        self.sender.cached_segment(now).map_or(own, |payload| own.min(payload + timestamp_len))
    }

    fn syn_ack_at(&self, now: Time) -> Time {
        if self.handshake.waits { Time::NEVER } else { now }
    }

    /// Enables the options that both ends offer.
    fn negotiate(&mut self, now: Time, syn: &Segment) {
        let peer = syn.syn.unwrap_or(SynOptions { mss: 536, window_scale: None, sack_permitted: false });
        self.sack = self.config.sack && peer.sack_permitted;
        self.timestamps = self.config.timestamps && syn.timestamps.is_some();
        if let Some(option) = syn.timestamps {
            self.ts_recent = option.value;
        }
        if let (Some(own), Some(_)) = (self.config.window_scale(), peer.window_scale) {
            self.scaling = true;
            self.receiver.scale_windows(own);
        }
        if !self.sack {
            self.sender.do_without_sack();
            self.receiver.do_without_sack();
        }
        // A full segment has the room of the options that are not negotiated (RFC 6691).
        let timestamp_len = if self.timestamps { self.config.timestamp_bytes } else { 0 };
        let mss = self.own_mss(now).min(u32::from(peer.mss));
        self.sender.on_peer_syn(mss.saturating_sub(timestamp_len).max(1), u64::from(syn.window));
    }

    pub(super) fn establish(&mut self, now: Time) {
        self.state = TcpState::Established;
        self.on_negotiated();
        self.receiver.establish(now, self.bare_len - self.config.header);
        let rtt = self.handshake.first_sent.filter(|_| self.handshake.tries <= 1).map(|sent| now - sent);
        self.handshake.at = Time::NEVER;
        if self.receiver.adapts_acks() {
            self.receiver.adapt_acks(&Segment::default(), timestamp(now), rtt);
        }
        // Linux forgives one lost SYN, as its timeout is short (`tcp_init_transfer()`).
        let forgiven = 1 + u32::from(self.config.linux_rules.has(LinuxRule::OneLostSyn));
        self.sender.establish(now, rtt, self.handshake.tries > 1, self.handshake.tries > forgiven);
        self.socket.established = true;
        self.run_app(now);
    }

    pub(super) fn syn(&mut self, now: Time) -> Segment {
        self.handshake.first_sent.get_or_insert(now);
        // Linux since 6.5 repeats the SYN at equal intervals before it doubles them.
        let linear = if self.state == TcpState::SynReceived { 0 } else { self.config.syn_linear_timeouts };
        let doublings = self.handshake.tries.saturating_sub(linear).min(MAX_SYN_BACKOFF);
        let backoff = self.config.rto_initial.saturating_mul(1 << doublings);
        self.handshake.tries += 1;
        self.handshake.at = now + backoff.min(self.config.rto_max);
        if self.state == TcpState::Closed {
            self.state = TcpState::SynSent;
        }
        let answering = self.state == TcpState::SynReceived;
        if answering {
            self.last_ack_sent = STREAM_START;
        }
        // A SYN-ACK accepts offered options and offers no others (RFC 2018, section 2; RFC 7323,
        // sections 2.2 and 3.2).
        let answers = answering && !self.handshake.simultaneous;
        let timestamps = if answers { self.timestamps } else { self.config.timestamps };
        let option = self.syn_option(answering);
        let option_bytes = if timestamps && answering { self.config.timestamp_bytes } else { 0 };
        self.receiver.on_syn_options(option_bytes);
        let len = self.config.header + self.config.syn_option_bytes + u32::from(option.wire_bytes());
        Segment {
            ack: u64::from(answering),
            flags: self.syn_flags(answering),
            ecn: self.syn_codepoint(answering),
            window: self.receiver.first_window(),
            timestamps: timestamps.then(|| Timestamps { value: timestamp(now), echo: self.ts_recent }),
            len: u16::try_from(len).unwrap_or(u16::MAX),
            rare_option: option,
            syn: Some(SynOptions {
                mss: u16::try_from(self.own_mss(now)).unwrap_or(u16::MAX),
                window_scale: self.config.window_scale().filter(|_| !answers || self.scaling),
                sack_permitted: if answers { self.sack } else { self.config.sack },
            }),
            retransmission: self.handshake.tries > 1,
            reason: if self.handshake.tries > 1 { RetransmitReason::Handshake } else { RetransmitReason::No },
            ..Segment::default()
        }
    }
}
