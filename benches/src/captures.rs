//! The analyzer's speed: CPU time and memory for a large capture, which consists of interleaved
//! copies of a simulated one.

use crate::cases::Case;
use crate::usage;
use ackclock_core::impairment::LossConfig;
use ackclock_pcap::read::Capture;
use ackclock_sim::plan::{Capture as CapturePlan, CaptureFormat, End, Plan};
use ackclock_trace::analyze::{Analysis, PacketFilter};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Flows simulated, each captured at its server; the rest are copies.
const FLOWS: u32 = 8;
const SECONDS: f64 = 20.0;
/// Time between the starts of copies, so that their packets interleave as those of real flows do.
const STAGGER_NS: i64 = 1_370_000;
/// Offsets of the IPv4 addresses in an Ethernet frame.
const SOURCE_IP: usize = 26;
const DESTINATION_IP: usize = 30;

struct Packet {
    at: i64,
    original_len: u32,
    bytes: Vec<u8>,
}

/// Writes about `packets` packets to `path`, at most `max_per_flow` of each flow.
pub fn write(path: &Path, packets: u64, max_per_flow: usize) -> Result<String, String> {
    let mut base = simulated(path)?;
    base.iter_mut().for_each(|flow| flow.truncate(max_per_flow));
    let each: u64 = base.iter().map(|flow| flow.len() as u64).sum();
    let copies = packets.div_ceil(each.max(1)).max(1);
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path).map_err(|e| e.to_string())?);
    merge(&base, copies, &mut out).and_then(|()| out.flush()).map_err(|e| e.to_string())?;
    Ok(format!("{{\"packets\":{},\"flows\":{}}}", each * copies, u64::from(FLOWS) * copies))
}

/// The packets of each flow at its server.
fn simulated(beside: &Path) -> Result<Vec<Vec<Packet>>, String> {
    let mut case = Case::from_name("flows-10").ok_or("no such case")?;
    case.seconds = SECONDS;
    let mut plan = case.plan();
    plan.flows.truncate(FLOWS as usize);
    for direction in plan.hops.iter_mut().filter_map(|hop| hop.down.as_mut()).skip(1).take(1) {
        direction.loss = Some(LossConfig::Bernoulli { mean: 0.001 });
    }
    let file = |number: usize| beside.with_extension(format!("flow{number}"));
    plan.captures = (0..plan.flows.len()).map(|i| capture_at_server(&plan, i, file(i))).collect();
    ackclock_sim::run(&plan).map_err(|e| e.to_string())?;
    (0..plan.flows.len()).map(|i| load(&file(i))).collect()
}

fn capture_at_server(plan: &Plan, number: usize, path: PathBuf) -> CapturePlan {
    CapturePlan {
        flow: plan.flows[number].name.clone(),
        end: End::Server,
        after: 0,
        path,
        format: CaptureFormat::Pcap,
        offloads: None,
        truth: None,
    }
}

fn load(path: &Path) -> Result<Vec<Packet>, String> {
    let mut capture = Capture::open(path).map_err(|e| e.to_string())?;
    let mut all = Vec::new();
    while let Some(r) = capture.packet().map_err(|e| e.to_string())? {
        all.push(Packet { at: r.at, original_len: r.original_len, bytes: r.bytes.to_vec() });
    }
    std::fs::remove_file(path).map_err(|e| e.to_string())?;
    Ok(all)
}

/// Writes all copies of all flows in the order of time. The clients of each copy have addresses of
/// their own.
fn merge(base: &[Vec<Packet>], copies: u64, out: &mut impl Write) -> io::Result<()> {
    out.write_all(&HEADER)?;
    let shift = |copy: u64| copy as i64 * STAGGER_NS;
    let mut next = BinaryHeap::new();
    for copy in 0..copies {
        for (flow, packets) in base.iter().enumerate().filter(|(_, packets)| !packets.is_empty()) {
            next.push(Reverse((packets[0].at + shift(copy), copy, flow, 0usize)));
        }
    }
    while let Some(Reverse((at, copy, flow, i))) = next.pop() {
        let packet = &base[flow][i];
        let mut bytes = packet.bytes.clone();
        let client = if bytes[SOURCE_IP] == 10 { SOURCE_IP } else { DESTINATION_IP };
        // Checksums are not updated: wrong ones are counted at the same cost.
        bytes[client + 1..client + 3].copy_from_slice(&(copy as u16).to_be_bytes());
        let (seconds, rest) = ((at / 1_000_000_000) as u32, (at % 1_000_000_000) as u32);
        for field in [seconds, rest, bytes.len() as u32, packet.original_len] {
            out.write_all(&field.to_le_bytes())?;
        }
        out.write_all(&bytes)?;
        if let Some(after) = base[flow].get(i + 1) {
            next.push(Reverse((after.at + shift(copy), copy, flow, i + 1)));
        }
    }
    Ok(())
}

/// Writes `syns` SYNs to `path`, each from another address and port, at 1 million a second.
pub fn write_flood(path: &Path, syns: u32) -> Result<String, String> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path).map_err(|e| e.to_string())?);
    flood(syns, &mut out).and_then(|()| out.flush()).map_err(|e| e.to_string())?;
    Ok(format!("{{\"packets\":{syns},\"flows\":{syns}}}"))
}

fn flood(syns: u32, out: &mut impl Write) -> io::Result<()> {
    out.write_all(&HEADER)?;
    let mut bytes = [0; 54];
    bytes[12..14].copy_from_slice(&[8, 0]);
    bytes[14..24].copy_from_slice(&[0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6]);
    bytes[30..38].copy_from_slice(&[192, 0, 2, 1, 0x80, 0, 0, 80]);
    bytes[46..50].copy_from_slice(&[0x50, 2, 0xff, 0xff]);
    for syn in 0..syns {
        bytes[26..30].copy_from_slice(&syn.wrapping_mul(0x9e37_79b1).to_be_bytes());
        bytes[38..42].copy_from_slice(&syn.wrapping_mul(0x85eb_ca6b).to_be_bytes());
        for field in [syn / 1_000_000, syn % 1_000_000 * 1000, bytes.len() as u32, bytes.len() as u32] {
            out.write_all(&field.to_le_bytes())?;
        }
        out.write_all(&bytes)?;
    }
    Ok(())
}

/// How the connections of a generated capture end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mix {
    /// Requests and responses of 12 packets. Of 100 connections two are refused, two unanswered, two
    /// reset by the client, and one has a segment that a timeout retransmits.
    Short,
    /// One host tries the ports of another: all are refused but one in 500, which answers and is
    /// reset.
    Scan,
}

const SYN: u8 = 2;
const FIN_ACK: u8 = 0x11;
const RST: u8 = 4;
const RST_ACK: u8 = 0x14;
const SYN_ACK: u8 = 0x12;
const ACK: u8 = 0x10;
const PSH_ACK: u8 = 0x18;
const SEGMENT: u32 = 1448;
/// Time between the starts of generated connections.
const START_GAP_NS: i64 = 1_000_000;
const MS: i64 = 1_000_000;

/// One packet of a generated connection, relative to the connection's first.
struct Sent {
    after: i64,
    from_client: bool,
    flags: u8,
    seq: u32,
    ack: u32,
    payload: u32,
}

impl Mix {
    /// The packets of connection `number`, as captured at the client with an RTT of 20 ms.
    fn packets(self, number: u32) -> Vec<Sent> {
        let sent = |after: i64, from_client: bool, flags: u8, seq: u32, ack: u32, payload: u32| Sent {
            after: after * MS,
            from_client,
            flags,
            seq,
            ack,
            payload,
        };
        let opened = || vec![sent(0, true, SYN, 0, 0, 0), sent(20, false, SYN_ACK, 0, 1, 0), sent(20, true, ACK, 1, 1, 0)];
        let refused = || vec![sent(0, true, SYN, 0, 0, 0), sent(20, false, RST_ACK, 0, 1, 0)];
        if self == Mix::Scan {
            let mut packets = if number % 500 == 499 { opened() } else { refused() };
            if packets.len() == 3 {
                packets[2].flags = RST;
            }
            return packets;
        }
        match number % 100 {
            7 | 57 => return refused(),
            13 | 63 => return [0, 1000, 3000].map(|after| sent(after, true, SYN, 0, 0, 0)).into(),
            _ => {}
        }
        let mut packets = opened();
        packets.push(sent(21, true, PSH_ACK, 1, 1, 300));
        packets.push(sent(41, false, ACK, 1, 301, 0));
        let lost = number % 100 == 33;
        packets.extend((0..3).filter(|i| !(lost && *i == 2)).map(|i| sent(45, false, ACK, 1 + i * SEGMENT, 301, SEGMENT)));
        let end = 1 + 3 * SEGMENT;
        if lost {
            packets.push(sent(45, true, ACK, 301, 1 + 2 * SEGMENT, 0));
            packets.push(sent(300, false, PSH_ACK, 1 + 2 * SEGMENT, 301, SEGMENT));
        }
        let at = if lost { 300 } else { 45 };
        packets.push(sent(at, true, ACK, 301, end, 0));
        if matches!(number % 100, 21 | 71) {
            packets.push(sent(at + 5, true, RST_ACK, 301, end, 0));
        } else {
            packets.push(sent(at + 5, true, FIN_ACK, 301, end, 0));
            packets.push(sent(at + 25, false, FIN_ACK, end, 302, 0));
            packets.push(sent(at + 25, true, ACK, 302, end + 1, 0));
        }
        packets
    }

    /// Addresses and ports of connection `number`: client, server.
    fn ends(self, number: u32) -> [([u8; 4], u16); 2] {
        match self {
            Mix::Short => {
                let client = [10, 1, (number / 200 % 4) as u8, (number % 200) as u8 + 1];
                [
                    (client, 1024 + (number / 800 % 60_000) as u16),
                    ([192, 0, 2, (number % 97) as u8 + 1], [443, 80, 22][(number % 3) as usize]),
                ]
            }
            Mix::Scan => [([10, 1, 0, 1], 40_000 + (number / 65_000) as u16), ([192, 0, 2, 1], (number % 65_000) as u16 + 1)],
        }
    }
}

/// Writes `flows` connections to `path`, a thousand a second, in the order of time.
pub fn write_connections(path: &Path, flows: u32, mix: Mix) -> Result<String, String> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path).map_err(|e| e.to_string())?);
    let packets = connections(flows, mix, &mut out).and_then(|n| out.flush().map(|()| n)).map_err(|e| e.to_string())?;
    Ok(format!("{{\"packets\":{packets},\"flows\":{flows}}}"))
}

fn connections(flows: u32, mix: Mix, out: &mut impl Write) -> io::Result<u64> {
    out.write_all(&HEADER)?;
    let (mut pending, mut written) = (BinaryHeap::new(), 0u64);
    for number in 0..=flows {
        let now = i64::from(number) * START_GAP_NS;
        // After the last connection everything is due.
        let due = if number == flows { i64::MAX } else { now };
        while pending.peek().is_some_and(|Reverse((at, ..)): &Reverse<(i64, u64, Vec<u8>)>| *at <= due) {
            let Some(Reverse((at, _, bytes))) = pending.pop() else { break };
            let original_len = u32::from(u16::from_be_bytes([bytes[16], bytes[17]])) + 14;
            for field in [(at / 1_000_000_000) as u32, (at % 1_000_000_000) as u32, bytes.len() as u32, original_len] {
                out.write_all(&field.to_le_bytes())?;
            }
            out.write_all(&bytes)?;
            written += 1;
        }
        if number < flows {
            for (i, packet) in mix.packets(number).iter().enumerate() {
                // Unique and increasing: packets of one time stay in order.
                pending.push(Reverse((
                    now + packet.after,
                    u64::from(number) * 64 + i as u64,
                    frame(mix.ends(number), number, packet),
                )));
            }
        }
    }
    Ok(written)
}

/// An Ethernet frame without the payload's bytes and without checksums.
fn frame([client, server]: [([u8; 4], u16); 2], number: u32, packet: &Sent) -> Vec<u8> {
    let (from, to) = if packet.from_client { (client, server) } else { (server, client) };
    let mut bytes = vec![0; 54];
    bytes[12..14].copy_from_slice(&[8, 0]);
    bytes[14..24].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6]);
    bytes[16..18].copy_from_slice(&((40 + packet.payload) as u16).to_be_bytes());
    bytes[26..30].copy_from_slice(&from.0);
    bytes[30..34].copy_from_slice(&to.0);
    bytes[34..36].copy_from_slice(&from.1.to_be_bytes());
    bytes[36..38].copy_from_slice(&to.1.to_be_bytes());
    let initial = |from_client: bool| number.wrapping_mul(if from_client { 0x9e37_79b1 } else { 0x85eb_ca6b });
    let seq = initial(packet.from_client).wrapping_add(packet.seq);
    let ack = initial(!packet.from_client).wrapping_add(packet.ack);
    bytes[38..42].copy_from_slice(&seq.to_be_bytes());
    bytes[42..46].copy_from_slice(&(if packet.flags & ACK == 0 { 0 } else { ack }).to_be_bytes());
    bytes[46..50].copy_from_slice(&[0x50, packet.flags, 0xff, 0xff]);
    bytes
}

/// pcap file header: nanoseconds, snap length 128, Ethernet.
const HEADER: [u8; 24] = [0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 1, 0, 0, 0];

#[derive(Serialize)]
struct Cost {
    packets: u64,
    flows: usize,
    retransmissions: u64,
    cpu_s: f64,
    wall_s: f64,
    packets_per_cpu_s: f64,
    mb_per_s: f64,
    peak_rss_kb: u64,
    bytes_per_flow: f64,
}

/// Analyzes a capture and returns the cost as JSON.
pub fn read(path: &Path) -> Result<String, String> {
    let watch = usage::Stopwatch::start();
    let mut capture = Capture::open(path).map_err(|e| e.to_string())?;
    let mut analysis = Analysis::new(PacketFilter::default());
    analysis.read(&mut capture, &mut (), u64::MAX).map_err(|e| e.to_string())?;
    let used = watch.stop();
    let flows = analysis.flows();
    let ends = |flow: &ackclock_trace::flow::Flow| [flow.client(), flow.client().other()];
    let cost = Cost {
        packets: analysis.totals.packets,
        flows: flows.len(),
        retransmissions: flows.iter().flat_map(|f| ends(&f).map(|side| f.direction(side).retransmitted())).map(u64::from).sum(),
        cpu_s: used.cpu_s,
        wall_s: used.wall_s,
        packets_per_cpu_s: analysis.totals.packets as f64 / used.cpu_s,
        mb_per_s: capture.offset() as f64 / 1e6 / used.cpu_s,
        peak_rss_kb: used.peak_rss_kb,
        bytes_per_flow: analysis.memory() as f64 / flows.len().max(1) as f64,
    };
    serde_json::to_string(&cost).map_err(|e| e.to_string())
}
