//! A chain of half-duplex packet radios with RTS/CTS, after Metricom's Ricochet
//! (docs/models/packet-radio.md).

use super::medium::nominal_attribute;
use super::sides::FrameError;
use crate::invalid::{Invalid, Read};
use crate::keys::{Attribute, Kind};
use crate::values::{BitRate, Bytes, Count, Duration, Time, time_text};
use crate::{Keys, word_enum};
use ackclock_core::config_check::MAX_SPAN;
use ackclock_core::medium::{MediumPlan, RadioConfig, RadioMac};
use ackclock_core::units::{PS_PER_S, Rate, Span};
use serde_json::json;

word_enum! {
    /// What a frame for a busy radio does.
    pub enum Defer {
        BackOff = "back-off",
        Wait = "wait",
    }
}

word_enum! {
    /// Whose rules the radios follow.
    pub enum Mac {
        /// Section 5.1 of the paper.
        Ricochet = "ricochet",
        /// ns-2's `Mac/Multihop`.
        Ns2Multihop = "ns2-multihop",
    }
}

/// Gateway, relays with one radio each, and a radio for each client.
///
/// "Table 4" is that of Balakrishnan, Padmanabhan and Katz 1997; "script" is the MAC that its
/// authors published with ns-2, which calls the sizes of RTS and CTS arbitrary. The paper has
/// neither.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(
    kind = "packet-radio",
    plan = PacketRadio::plan_json,
    check = PacketRadio::check,
    derived = PacketRadio::derived
)]
pub struct PacketRadio {
    /// A chain of half-duplex packet radios with RTS/CTS, as Metricom's Ricochet.
    #[key(kind)]
    pub kind: Kind,
    /// Wireless hops between gateway and client.
    // Table 4: 1 to 3.
    #[key(default = 1, example = 2, unit = "hops", max = 64, beyond = "1 to 64 hops")]
    pub hops: Count,
    /// Rules of an exchange and of the back-off: by section 5.1 of the paper, or ns-2's `Mac/Multihop`
    /// of its authors (docs/models/packet-radio.md).
    // The authors' code (mac-multihop.cc): one turnaround an exchange, a back-off that doubles
    // without a cap, and a radio that is free while it sends its own frame.
    #[key(default = "ricochet")]
    pub mac: Mac,
    /// Rate of the radios.
    // Table 4.
    #[key(default = "100 kb/s")]
    pub rate: BitRate,
    /// From the end of a frame until the receiving radio releases its packet; it is idle meanwhile.
    // Table 4, fixed link latency.
    #[key(default = "10 ms")]
    pub latency: Time,
    /// Turnaround of a radio from sending to receiving.
    // Table 4, T_TR.
    #[key(default = "11.125 ms")]
    pub transmit_to_receive: Time,
    /// Turnaround of a radio from receiving to sending.
    // Table 4, T_RT.
    #[key(default = "13.25 ms")]
    pub receive_to_transmit: Time,
    /// Size of an RTS frame.
    // Script.
    #[key(default = "40 B")]
    pub rts: Bytes,
    /// Size of a CTS frame.
    // Script.
    #[key(default = "40 B")]
    pub cts: Bytes,
    /// Link header of a data frame.
    // Script.
    #[key(default = "16 B")]
    pub header: Bytes,
    /// Size of a link-layer ACK.
    // A header alone.
    #[key(default = "16 B")]
    pub link_ack: Bytes,
    /// Base of the random exponential back-off.
    // Script.
    #[key(default = "20 ms")]
    pub backoff: Duration,
    /// Maximum back-off, above twice the base. The default, with which back-offs do not grow, is a fit
    /// to the paper's figures: its authors' code doubles without a cap (`mac = "ns2-multihop"`).
    // Section 5.1 has a radio back off "for a random amount of time".
    #[key(example = "120 ms", absent = "6 times the base, or none with ns2-multihop")]
    pub backoff_cap: Option<Duration>,
    /// A frame for a busy radio backs off as if its RTS had no answer, or waits for the radio.
    // Script: back-off.
    #[key(default = "back-off")]
    pub defer: Defer,
    /// A busy radio answers an RTS with a refusal.
    // Section 5.1 allows it; the script sends nothing.
    #[key(default = false)]
    pub nack_cts: bool,
    /// Link-layer ACKs travel with the peer's next frame and take no time of their own.
    // Section 5.3.1: RTS and CTS are such frames, too.
    #[key(default = true)]
    pub piggyback: bool,
    /// Time after which a frame without a link-layer ACK is sent once more.
    // ns-2's link layer; the paper says "a timeout".
    #[key(default = "100 ms")]
    pub ack_timeout: Time,
    /// Transmissions of a frame before its packet is dropped.
    // ns-2's link layer.
    #[key(default = 8, unit = "transmissions")]
    pub tries: Count,
    /// Packets that wait at a relay in each direction; the hop's `queue` is the entry radios' own.
    // Table 4, radio queue.
    #[key(default = 10, unit = "packets", min = 0, allowed = "a whole number, 0 or more")]
    pub relay_queue: Count,
    /// Share of damaged frames: one number, or one for each direction.
    // The paper's simulations have none.
    #[key(default = FrameError::none(), example = 0.01, unit = "share")]
    pub frame_error: FrameError,
}

/// Packet size of the nominal rate, in bytes.
const PACKET: f64 = 1000.0;
const MAX_FRAME_PART: u64 = 65_535;

impl PacketRadio {
    fn check(&self) -> Read<()> {
        for (key, size) in [("rts", self.rts), ("cts", self.cts), ("header", self.header), ("link_ack", self.link_ack)] {
            if size.0 > MAX_FRAME_PART {
                return Err(Invalid::new(format!("{} B", size.0), format!("at most {MAX_FRAME_PART} B")).at(key));
            }
        }
        if self.mac == Mac::Ns2Multihop && !self.has_rules_of_multihop() {
            let found = "ns2-multihop with frame_error, nack_cts, piggyback = false or defer = \"wait\"";
            return Err(
                Invalid::new(found.to_owned(), "mac = \"ricochet\" with these; ns-2's Mac/Multihop has none of them").at("mac")
            );
        }
        match self.backoff_cap {
            Some(cap) if cap.0.0 <= 2 * self.backoff.0.0 + 1 => {
                Err(Invalid::new(time_text(cap.0), "a back-off cap above twice the base").at("backoff_cap"))
            }
            _ => Ok(()),
        }
    }

    fn has_rules_of_multihop(&self) -> bool {
        self.defer == Defer::BackOff && self.piggyback && !self.nack_cts && self.frame_error.shares() == [0.0; 2]
    }

    fn plan_json(&self) -> serde_json::Value {
        json!(MediumPlan::PacketRadio(Box::new(RadioConfig {
            hops: self.hops.0,
            mac: match self.mac {
                Mac::Ricochet => RadioMac::Ricochet,
                Mac::Ns2Multihop => RadioMac::Ns2Multihop,
            },
            rate: Rate::from_bps(self.rate.0),
            latency: self.latency.0,
            to_receive: self.transmit_to_receive.0,
            to_send: self.receive_to_transmit.0,
            rts_bytes: self.rts.to_u32(),
            cts_bytes: self.cts.to_u32(),
            header_bytes: self.header.to_u32(),
            ack_bytes: self.link_ack.to_u32(),
            backoff_base: self.backoff.0,
            backoff_cap: self.backoff_cap(),
            defer_by_backoff: self.defer == Defer::BackOff,
            nack_cts: self.nack_cts,
            piggyback: self.piggyback,
            ack_timeout: self.ack_timeout.0,
            tries: self.tries.0,
            relay_queue: self.relay_queue.0.into(),
            frame_error: self.frame_error.shares(),
        })))
    }

    /// The maximum wait. `Mac/Multihop` has none: the longest time that a file can have stands for it.
    fn backoff_cap(&self) -> Span {
        match (self.backoff_cap, self.mac) {
            (Some(cap), _) => cap.0,
            (None, Mac::Ricochet) => Span(6 * self.backoff.0.0),
            (None, Mac::Ns2Multihop) => MAX_SPAN,
        }
    }

    /// Rate of datagrams of `size` bytes over one hop in one direction, in bits per second. Each
    /// takes RTS, CTS, its frame and the turnarounds between them, one with `Mac/Multihop`; without
    /// piggybacking also a link ACK and two turnarounds (docs/models/packet-radio.md).
    fn datagram_bps(&self, size: f64) -> f64 {
        let (to_send, to_receive) = (self.receive_to_transmit.0.0, self.transmit_to_receive.0.0);
        let turnaround = to_send.max(to_receive);
        let turnarounds = match (self.mac, self.piggyback) {
            (Mac::Ns2Multihop, _) => turnaround,
            (Mac::Ricochet, true) => 2 * turnaround,
            (Mac::Ricochet, false) => to_send + 3 * turnaround,
        };
        let link_ack = if self.piggyback { 0 } else { self.link_ack.0 };
        let sent = (self.rts.0 + self.cts.0 + self.header.0 + link_ack) as f64 + size;
        size * 8.0 * PS_PER_S as f64 / (turnarounds as f64 + sent * 8.0 * PS_PER_S as f64 / self.rate.0 as f64)
    }

    pub(super) fn nominal_bps(&self) -> [u64; 2] {
        [(self.datagram_bps(PACKET).round_ties_even() as u64).max(1); 2]
    }

    fn derived(&self, name: &str) -> Option<Attribute> {
        nominal_attribute(name, || self.nominal_bps())
    }
}
