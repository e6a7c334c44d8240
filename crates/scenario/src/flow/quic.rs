//! What a QUIC host sets: `[flow.quic]`; the file of the stack has the defaults.

use crate::invalid::{Invalid, Read};
use crate::keys::{Bounds, KeyValue};
use crate::sources::sources;
use crate::values::{Bytes, Count, Duration};
use crate::{Keys, word_enum};
use ackclock_core::app::UDP_HEADER;
use serde_json::{Value as Json, json};

word_enum! {
    /// What carries a flow's data.
    pub enum Transport {
        Tcp = "tcp",
        /// The stack noq 1.4.
        Quic = "quic",
    }
}

word_enum! {
    /// The stacks that are built in.
    pub enum StackName {
        Noq = "noq-1.4",
    }
}

word_enum! {
    /// How a connection begins.
    pub enum Handshake {
        OneRtt = "1-rtt",
        ZeroRtt = "0-rtt",
    }
}

word_enum! {
    /// Whose congestion control it is.
    pub enum Control {
        /// The flow's `variant`.
        Variant = "variant",
        Cubic = "noq-cubic",
        NewReno = "noq-newreno",
        Bbr3 = "noq-bbr3",
    }
}

/// QUIC of the flow's hosts.
#[derive(Clone, Debug, Default, PartialEq, Keys)]
#[keys(absent = "the host's", merge, check = Quic::check)]
pub struct Quic {
    /// The stack and its version, which has the default of every key below.
    #[key(example = "noq-1.4", absent = "noq-1.4")]
    pub host: Option<StackName>,
    /// Congestion control: the flow's `variant`, or one of the stack's own.
    #[key(example = "noq-bbr3")]
    pub control: Option<Control>,
    /// Packets that the receiver may leave without an ACK, as the sender asks (draft-ietf-quic-ack-frequency-11).
    #[key(example = 9, unit = "packets", absent = "not asked: an ACK for every second packet")]
    pub ack_frequency: Option<Count>,
    /// Longest delay of an ACK that the sender asks for; needs `ack_frequency`.
    #[key(example = "50 ms", absent = "25 ms, the receiver's")]
    pub max_ack_delay: Option<Duration>,
    /// The first congestion window (RFC 9002, section 7.2).
    #[key(example = "38 kB", absent = "10 packets of 1,200 B")]
    pub initial_window: Option<Bytes>,
    /// Packets by which a later one overtakes one that is lost (RFC 9002, section 6.1.1).
    #[key(example = 10, unit = "packets")]
    pub packet_threshold: Option<Count>,
    /// The sender searches for the path's MTU, from 1,228 B up to 1,500 B (RFC 8899).
    #[key(example = false)]
    pub mtu_discovery: Option<bool>,
    /// What the receiver lets the sender have under way.
    #[key(example = "2 MB")]
    pub receive_window: Option<Bytes>,
    /// Datagrams that leave at once when the pacer allows one, as with segmentation offload: 1 to 16.
    #[key(example = 10, unit = "packets")]
    pub send_burst: Option<Count>,
    /// `0-rtt`: the client knows the server from before, and its data goes with the first packets.
    #[key(example = "0-rtt")]
    pub handshake: Option<Handshake>,
    /// Certificates and the rest of the server's handshake. What is above three times the client's first datagram
    /// waits for its answer (RFC 9000, section 8.1).
    #[key(example = "4 kB")]
    pub certificate: Option<Bytes>,
    /// Streams over which the data is divided.
    #[key(example = 4, unit = "streams")]
    pub streams: Option<Count>,
    /// The spin bit (RFC 9000, section 17.4); one connection in eight has it off anyway.
    #[key(example = false)]
    pub spin: Option<bool>,
}

/// The file of a QUIC stack: the default of every key of [flow.quic].
#[derive(Clone, Debug, PartialEq, Keys)]
pub struct StackFile {
    /// What it is, in a few words.
    pub title: String,
    /// Where its values come from.
    pub source: String,
    /// Its keys.
    pub quic: Quic,
}

const MAX_BURST: u32 = 16;
const MAX_STREAMS: u32 = 100;
const MAX_CERTIFICATE: u64 = 60_000;

impl Quic {
    fn check(&self) -> Read<()> {
        let refused = |key: &'static str, value: crate::value::Value, allowed: &str| Err(Invalid::value(&value, allowed).at(key));
        match self {
            Quic { send_burst: Some(burst), .. } if burst.0 > MAX_BURST => {
                refused("send_burst", burst.write(None), "1 to 16 packets")
            }
            Quic { streams: Some(streams), .. } if streams.0 > MAX_STREAMS => {
                refused("streams", streams.write(None), "1 to 100 streams")
            }
            Quic { certificate: Some(certificate), .. } if certificate.0 > MAX_CERTIFICATE => {
                refused("certificate", certificate.write(None), "at most 60 kB")
            }
            Quic { max_ack_delay: Some(delay), ack_frequency: None, .. } => {
                refused("max_ack_delay", delay.write(None), "ack_frequency with it: the sender asks for both at once")
            }
            _ => Ok(()),
        }
    }

    /// The keys of a flow with those of their stack's file.
    pub fn resolved(of_flow: Option<&Quic>) -> Read<Quic> {
        let explicit = of_flow.cloned().unwrap_or_default();
        let name = match explicit.host.unwrap_or(StackName::Noq) {
            StackName::Noq => "noq-1.4",
        };
        let in_file = |invalid: Invalid| invalid.at(name);
        let file = StackFile::read(&sources().host(name)?, &Bounds::NONE).map_err(in_file)?;
        Ok(explicit.over(&file.quic))
    }

    /// As a plan has it.
    pub fn plan_json(&self) -> Json {
        let full = u64::from(FULL_PACKET - UDP_HEADER);
        let count = |count: Option<Count>, otherwise: u32| count.map_or(otherwise, |count| count.0);
        let bytes = |bytes: Option<Bytes>| bytes.map(|bytes| bytes.0);
        json!({
            "control": match self.control {
                None | Some(Control::Variant) => "variant",
                Some(Control::Cubic) => "cubic",
                Some(Control::NewReno) => "new-reno",
                Some(Control::Bbr3) => "bbr3",
            },
            "ack_frequency": self.ack_frequency.map(|count| count.0),
            "max_ack_delay_ps": self.max_ack_delay.map(|delay| delay.0.0),
            "initial_window": bytes(self.initial_window),
            "packet_threshold": count(self.packet_threshold, 3),
            "mtu_discovery": self.mtu_discovery.unwrap_or(true).then_some(full),
            "receive_window": bytes(self.receive_window).unwrap_or(DEFAULT_WINDOW),
            "send_burst": count(self.send_burst, 1),
            "zero_rtt": self.handshake == Some(Handshake::ZeroRtt),
            "certificate": bytes(self.certificate).unwrap_or(0),
            "streams": count(self.streams, 1),
            "spin": self.spin.unwrap_or(true),
        })
    }
}

/// Of a file without one.
const DEFAULT_WINDOW: u64 = 12_500_000;
/// IP bytes of a full packet of Ethernet.
const FULL_PACKET: u16 = 1500;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;
    use crate::value::Value;

    #[test]
    fn key_of_a_flow_stands_before_that_of_its_stack() {
        let own = Quic::read(&table!("ack_frequency" => 9, "streams" => 2), &Bounds::NONE).expect("keys");
        let plan = Quic::resolved(Some(&own)).expect("a file").plan_json();
        assert_eq!(
            (plan["ack_frequency"].as_u64(), plan["streams"].as_u64(), plan["send_burst"].as_u64()),
            (Some(9), Some(2), Some(4))
        );
        assert_eq!(Quic::resolved(None).expect("a file").plan_json()["ack_frequency"], Json::Null);
    }

    #[test]
    fn values_beyond_the_stack_are_refused() {
        let refused =
            |key: &'static str, value: Value| Quic::read(&Value::table([(key, value)]), &Bounds::NONE).expect_err(key).allowed;
        assert_eq!(refused("send_burst", 17.into()), "1 to 16 packets");
        assert_eq!(refused("streams", 101.into()), "1 to 100 streams");
        assert_eq!(refused("certificate", "61 kB".into()), "at most 60 kB");
        assert!(refused("max_ack_delay", "50 ms".into()).starts_with("ack_frequency with it"));
        assert!(refused("host", "quiche".into()).contains("noq-1.4"));
    }
}
