//! A segment that the endpoint must send.

use super::machine::{Machine, Sent};
use super::{Due, Stop, show};
use crate::script::{AccEcnFields, PacketOption, TcpPacket};
use ackclock_core::packet::Flags;
use ackclock_core::units::{Span, Time};

/// Waits for the endpoint's next segment and compares it with the script's. A script shows the
/// super-segments of a host with TSO, so segments in sequence of one instant are joined up to the
/// length that the script expects.
pub fn expect(machine: &mut Machine, packet: &TcpPacket, due: Due) -> Result<(), Stop> {
    let tolerance = machine.tolerance();
    let latest = if due.to == Time::NEVER { Time::NEVER } else { due.to + tolerance };
    if !machine.run_until_sent(latest)? {
        let next = machine.due();
        if latest != Time::NEVER {
            machine.run_to(latest)?;
        }
        let got = if next == Time::NEVER {
            "nothing: the endpoint has nothing to send and no timer".to_owned()
        } else {
            format!("nothing until {:.6} s; the next timer expires at {:.6} s", latest.as_secs(), next.as_secs())
        };
        return Err(Stop::differs(show::packet(packet), got));
    }
    let Some(sent) = joined(machine, packet.payload) else { return Err(Stop::unsupported("no segment")) };
    let mut differs = differences(machine, packet, &sent);
    if !machine.ignored().time {
        differs.extend(time_difference(&sent, due, tolerance));
    }
    if differs.is_empty() {
        return Ok(());
    }
    let got = format!("{} at {:.6} s", show::segment(&sent, machine.own_scale()), sent.at.as_secs());
    Err(Stop::Fails { expected: format!("{} at {}", show::packet(packet), times(due)), got, differs })
}

fn times(due: Due) -> String {
    match due.to {
        Time::NEVER => "any time".to_owned(),
        to if to == due.from => format!("{:.6} s", to.as_secs()),
        to => format!("{:.6} to {:.6} s", due.from.as_secs(), to.as_secs()),
    }
}

/// The next segment, joined with those that continue it at the same instant, up to `payload` bytes.
fn joined(machine: &mut Machine, payload: u32) -> Option<Sent> {
    let mut sent = machine.take_sent()?;
    while sent.segment.payload > 0 && sent.segment.payload < payload && !sent.segment.flags.has(Flags::FIN) {
        let continues = machine.next_sent().is_some_and(|next| {
            next.at == sent.at
                && next.segment.seq == sent.segment.seq + u64::from(sent.segment.payload)
                && sent.segment.payload + next.segment.payload <= payload
                && next.segment.ack == sent.segment.ack
        });
        if !continues {
            break;
        }
        let next = machine.take_sent()?;
        sent.segment.payload += next.segment.payload;
        sent.segment.flags = next.segment.flags;
    }
    Some(sent)
}

fn time_difference(sent: &Sent, due: Due, tolerance: Span) -> Option<String> {
    let late = due.to != Time::NEVER && sent.at > due.to + tolerance;
    let early = sent.at + tolerance < due.from;
    (late || early).then(|| format!("time: expected {}, got {:.6} s", times(due), sent.at.as_secs()))
}

fn differences(machine: &mut Machine, packet: &TcpPacket, sent: &Sent) -> Vec<String> {
    let segment = &sent.segment;
    let ignored = machine.ignored();
    let psh = |flags: Flags| if ignored.psh { flags.with(Flags::PSH) } else { flags };
    let mut all = Vec::new();
    let mut compare = |what: &str, expected: String, got: String| {
        if expected != got {
            all.push(format!("{what}: expected {expected}, got {got}"));
        }
    };
    if let Some(ecn) = packet.ecn {
        compare("ECN", show::ecn(ecn).to_owned(), show::ecn(sent.ecn).to_owned());
    }
    compare("flags", show::flags(psh(packet.flags)), show::flags(psh(segment.flags)));
    compare("sequence number", packet.seq.to_string(), segment.seq.to_string());
    compare("payload", packet.payload.to_string(), segment.payload.to_string());
    if let Some(ack) = packet.ack {
        compare("ack", ack.to_string(), segment.ack.to_string());
    }
    if let Some(window) = packet.window.filter(|_| !ignored.window) {
        compare("window", window.to_string(), machine.window_field(segment).to_string());
    }
    if let Some(expected) = &packet.options {
        all.extend(option_differences(machine, expected, sent));
    }
    all
}

/// The place of a kind of option in a comparison.
fn kind(option: &PacketOption) -> u8 {
    match option {
        PacketOption::Mss(_) => 0,
        PacketOption::WindowScale(_) => 1,
        PacketOption::SackPermitted => 2,
        PacketOption::Sack(..) => 3,
        PacketOption::Timestamps { .. } => 4,
        PacketOption::AccEcn(_) => 5,
    }
}

/// Compares options by kind; their order and padding are the stack's own affair.
fn option_differences(machine: &mut Machine, expected: &[PacketOption], sent: &Sent) -> Vec<String> {
    let got = show::sent_options(sent);
    let mut all = Vec::new();
    for option in expected {
        match got.iter().find(|other| kind(other) == kind(option)) {
            None => all.push(format!("option: expected {}, got none", show::option(option))),
            Some(other) if !same_option(machine, option, other) => {
                all.push(format!("option: expected {}, got {}", show::option(option), show::option(other)));
            }
            Some(_) => {}
        }
    }
    let extra = got.iter().filter(|option| expected.iter().all(|other| kind(other) != kind(option)));
    all.extend(extra.map(|option| format!("option: expected none, got {}", show::option(option))));
    all
}

fn same_option(machine: &mut Machine, expected: &PacketOption, got: &PacketOption) -> bool {
    match (expected, got) {
        (PacketOption::Timestamps { value, echo }, PacketOption::Timestamps { value: own, echo: echoed }) => {
            // Values that count have an origin that differs, and may differ by the tolerance of
            // times. Others only name what the peer echoes.
            let ticks = machine.tolerance().as_millis() as u32 + 1;
            let counted = machine.map_timestamp(*own, *value);
            let near = counted.is_none_or(|counted| (counted.wrapping_sub(*value) as i32).unsigned_abs() <= ticks);
            near && echo == echoed
        }
        (PacketOption::AccEcn(expected), PacketOption::AccEcn(got)) => same_counters(*expected, *got),
        _ => expected == got,
    }
}

/// The option may leave out counters.
fn same_counters(expected: AccEcnFields, got: AccEcnFields) -> bool {
    let pairs = [(expected.ect0, got.ect0), (expected.ce, got.ce), (expected.ect1, got.ect1)];
    pairs.iter().all(|(expected, got)| expected.is_none() || expected == got)
}
