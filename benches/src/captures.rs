//! The analyzer's speed: CPU time and memory for a large capture, which consists of interleaved
//! copies of a simulated one.

use crate::cases::Case;
use crate::usage;
use ackclock_pcap::read::Capture;
use ackclock_sim::plan::{Capture as CapturePlan, CaptureFormat, End, Loss, Plan};
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
        direction.loss = Some(Loss::Bernoulli { mean: 0.001 });
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

/// Analyzes a capture and returns the cost as JSON. CPU time is that of all threads.
pub fn read(path: &Path, workers: usize) -> Result<String, String> {
    let watch = usage::Stopwatch::start();
    let mut capture = Capture::open(path).map_err(|e| e.to_string())?;
    let mut analysis = Analysis::with_workers(PacketFilter::default(), workers);
    analysis.read_all(&mut capture, u64::MAX).map_err(|e| e.to_string())?;
    let used = watch.stop();
    let flows = analysis.flows();
    let ends = |flow: &ackclock_trace::flow::Flow| [flow.client(), flow.client().other()];
    let cost = Cost {
        packets: analysis.totals.packets,
        flows: flows.len(),
        retransmissions: flows.iter().flat_map(|f| ends(&f).map(|side| f.half(side).counts.retransmitted)).map(u64::from).sum(),
        cpu_s: used.cpu_s,
        wall_s: used.wall_s,
        packets_per_cpu_s: analysis.totals.packets as f64 / used.cpu_s,
        mb_per_s: capture.offset() as f64 / 1e6 / used.cpu_s,
        peak_rss_kb: used.peak_rss_kb,
        bytes_per_flow: analysis.memory() as f64 / flows.len().max(1) as f64,
    };
    serde_json::to_string(&cost).map_err(|e| e.to_string())
}
