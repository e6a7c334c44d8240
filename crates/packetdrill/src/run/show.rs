//! Packets and states as text, in packetdrill's notation.

use super::machine::Sent;
use crate::script::{PacketOption, TcpPacket};
use ackclock_core::packet::{Ecn, Flags, RareOption};
use ackclock_core::tcp::TcpInfo;
use std::fmt::Write;

const LETTERS: [(Flags, char); 8] = [
    (Flags::SYN, 'S'),
    (Flags::FIN, 'F'),
    (Flags::RST, 'R'),
    (Flags::ECE, 'E'),
    (Flags::AE, 'A'),
    (Flags::CWR, 'W'),
    (Flags::PSH, 'P'),
    (Flags::ACK, '.'),
];

pub fn flags(flags: Flags) -> String {
    let text: String = LETTERS.iter().filter(|(flag, _)| flags.has(*flag)).map(|&(_, letter)| letter).collect();
    if text.is_empty() { "-".to_owned() } else { text }
}

pub fn ecn(ecn: Ecn) -> &'static str {
    match ecn {
        Ecn::NotEct => "noecn",
        Ecn::Ect0 => "ect0",
        Ecn::Ect1 => "ect1",
        Ecn::Ce => "ce",
    }
}

pub fn option(option: &PacketOption) -> String {
    match option {
        PacketOption::Mss(mss) => format!("mss {mss}"),
        PacketOption::WindowScale(shift) => format!("wscale {shift}"),
        PacketOption::SackPermitted => "sackOK".to_owned(),
        PacketOption::Sack(count, blocks) => {
            let shown: Vec<_> = blocks.iter().take((*count).into()).map(|(from, to)| format!("{from}:{to}")).collect();
            format!("sack {}", shown.join(" "))
        }
        PacketOption::Timestamps { value, echo } => format!("TS val {value} ecr {echo}"),
        PacketOption::AccEcn(fields) => {
            let counters = [("e0b", fields.ect0), ("ceb", fields.ce), ("e1b", fields.ect1)];
            let shown: Vec<_> =
                counters.iter().filter_map(|(name, count)| count.map(|count| format!("{name} {count}"))).collect();
            format!("ECN {}", shown.join(" "))
        }
    }
}

fn body(seq: u64, payload: u32, ack: Option<u64>, window: Option<u32>) -> String {
    let mut text = format!("{seq}:{}({payload})", seq + u64::from(payload));
    if let Some(ack) = ack {
        let _ = write!(text, " ack {ack}");
    }
    if let Some(window) = window {
        let _ = write!(text, " win {window}");
    }
    text
}

/// A packet of the script.
pub fn packet(packet: &TcpPacket) -> String {
    let codepoint = packet.ecn.map_or(String::new(), |codepoint| format!("[{}] ", ecn(codepoint)));
    let options = match &packet.options {
        None => " <...>".to_owned(),
        Some(options) if options.is_empty() => String::new(),
        Some(options) => format!(" <{}>", options.iter().map(option).collect::<Vec<_>>().join(",")),
    };
    let body = body(packet.seq, packet.payload, packet.ack, packet.window.map(u32::from));
    format!("{codepoint}{} {body}{options}", flags(packet.flags))
}

/// The options of a segment that the endpoint sent.
pub fn sent_options(sent: &Sent) -> Vec<PacketOption> {
    let segment = &sent.segment;
    let mut options = Vec::new();
    if let Some(syn) = segment.syn {
        options.push(PacketOption::Mss(syn.mss));
        options.extend(syn.sack_permitted.then_some(PacketOption::SackPermitted));
    }
    options.extend(segment.timestamps.map(|t| PacketOption::Timestamps { value: t.value, echo: t.echo }));
    options.extend(segment.syn.and_then(|syn| syn.window_scale).map(PacketOption::WindowScale));
    if let RareOption::AccEcn(counters) = segment.rare_option {
        let count = |counter: ackclock_core::packet::U24| {
            let [a, b, c] = counter.bytes();
            Some(u32::from_be_bytes([0, a, b, c]))
        };
        let fields =
            crate::script::AccEcnFields { ect0: count(counters.ect0), ce: count(counters.ce), ect1: count(counters.ect1) };
        options.push(PacketOption::AccEcn(fields));
    }
    if !segment.sack.is_empty() {
        let mut blocks = [(0, 0); 4];
        for (block, &edges) in blocks.iter_mut().zip(segment.sack.raw()) {
            *block = edges;
        }
        options.push(PacketOption::Sack(segment.sack.len() as u8, blocks));
    }
    options
}

/// A segment that the endpoint sent. `scale`: shift of its windows.
pub fn segment(sent: &Sent, scale: u8) -> String {
    let segment = &sent.segment;
    let window = if segment.flags.has(Flags::SYN) { segment.window } else { segment.window >> scale };
    let codepoint = if sent.ecn == Ecn::NotEct { String::new() } else { format!("[{}] ", ecn(sent.ecn)) };
    let ack = segment.flags.has(Flags::ACK).then_some(segment.ack);
    let options = sent_options(sent);
    let options = if options.is_empty() {
        String::new()
    } else {
        format!(" <{}>", options.iter().map(option).collect::<Vec<_>>().join(","))
    };
    format!("{codepoint}{} {}{options}", flags(segment.flags), body(segment.seq, segment.payload, ack, Some(window)))
}

/// The sender's state in one line.
pub fn state(info: &TcpInfo) -> String {
    let ssthresh = if info.snd_ssthresh == u32::MAX { "infinite".to_owned() } else { info.snd_ssthresh.to_string() };
    let rtt = info.rtt.map_or("none".to_owned(), |rtt| format!("{:.3} ms", rtt.as_millis()));
    format!(
        "ca_state {}, snd_cwnd {}, snd_ssthresh {ssthresh}, unacked {}, sacked {}, lost {}, retrans {}, rtt {rtt}, rto {:.0} ms",
        info.ca_state.name(),
        info.snd_cwnd,
        info.unacked,
        info.sacked,
        info.lost,
        info.retrans,
        info.rto.as_millis(),
    )
}
