//! A copy to share: no payload and no address of the original, and an analysis that finds the same.

use ackclock_pcap::read::Capture;
use ackclock_pcap::siphash::SipKey;
use ackclock_trace::analyze::{Analysis, PacketFilter};
use ackclock_trace::report::Report;
use ackclock_trace::strip::strip;
use serde_json::Value;
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

fn report(file: &[u8]) -> Report {
    let mut capture = Capture::from_reader(Box::new(Cursor::new(file.to_vec()))).unwrap();
    let mut analysis = Analysis::new(PacketFilter::default());
    analysis.read(&mut capture, &mut (), u64::MAX).unwrap();
    capture.finish();
    Report::of(&analysis, &capture)
}

fn copy_of(file: &[u8]) -> Vec<u8> {
    let mut capture = Capture::from_reader(Box::new(Cursor::new(file.to_vec()))).unwrap();
    let mut out = Vec::new();
    strip(&mut capture, &mut out, SipKey::from_bytes([3; 16])).unwrap();
    out
}

/// The report without what a copy changes: addresses, and that packets are cut.
fn figures(file: &[u8]) -> Value {
    let mut value = serde_json::to_value(report(file)).unwrap();
    for key in ["cut_short", "truncated", "malformed", "malformed_kinds"] {
        value.as_object_mut().unwrap().remove(key);
    }
    for list in ["flows", "udp_flows"] {
        for flow in value[list].as_array_mut().unwrap() {
            let flow = flow.as_object_mut().unwrap();
            for end in ["client", "server"] {
                let port = flow[end].as_str().unwrap().rsplit(':').next().unwrap().to_owned();
                flow.insert(end.into(), port.into());
            }
        }
    }
    value
}

/// Packets of a conversation with QUIC, DNS, a reset and damage beside TCP, on Ethernet.
fn mixture() -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut packets = Vec::new();
    let secret = b"GET /account?token=0123456789abcdef HTTP/1.1 ".repeat(8);
    let mut add = |from_client: bool, protocol: u8, transport: Vec<u8>| {
        let (client, server) = ([10, 1, 2, 3], [93, 184, 216, 34]);
        let (source, destination) = if from_client { (client, server) } else { (server, client) };
        let mut out = vec![2, 0xaa, 0xbb, 0xcc, 0xdd, 1, 2, 0xaa, 0xbb, 0xcc, 0xdd, 2, 8, 0, 0x45, 0];
        out.extend((20 + transport.len() as u16).to_be_bytes());
        out.extend([0, packets.len() as u8, 0x40, 0, 57, protocol, 0, 0]);
        out.extend(source.into_iter().chain(destination));
        out.extend(transport);
        packets.push(out);
    };
    let tcp = |from_client: bool, seq: u32, ack: u32, flags: u8, options: &[u8], payload: &[u8]| {
        let mut out = if from_client { vec![0xc0, 1, 1, 0xbb] } else { vec![1, 0xbb, 0xc0, 1] };
        out.extend(seq.to_be_bytes());
        out.extend(ack.to_be_bytes());
        out.extend([((20 + options.len() as u8) / 4) << 4, flags, 0x20, 0, 0, 0, 0, 0]);
        out.extend(options);
        out.extend(payload);
        out
    };
    let cookie = [2, 4, 5, 0xb4, 34, 10, b's', b'e', b'c', b'r', b'e', b't', b'!', b'!', 1, 1];
    add(true, 6, tcp(true, 99, 0, 2, &cookie, &[]));
    add(false, 6, tcp(false, 499, 100, 18, &[2, 4, 5, 0xb4], &[]));
    for i in 0..20u32 {
        add(true, 6, tcp(true, 100 + i * 360, 500, 24, &[], &secret));
        add(false, 6, tcp(false, 500, 460 + i * 360, 16, &[], &[]));
    }
    add(true, 6, tcp(true, 100, 500, 24, &[], &secret));
    add(false, 6, tcp(false, 500, 7660, 4, &[], &[]));
    let udp = |from_client: bool, port: u16, payload: &[u8]| {
        let ports = if from_client { [50_000, port] } else { [port, 50_000] };
        let mut out: Vec<u8> = ports.iter().flat_map(|port| port.to_be_bytes()).collect();
        out.extend((8 + payload.len() as u16).to_be_bytes());
        out.extend([0x12, 0x34]);
        out.extend(payload);
        out
    };
    add(true, 17, udp(true, 443, &[&[0xc0, 0, 0, 0, 1][..], &secret].concat()));
    for i in 0..40u8 {
        add(false, 17, udp(false, 443, &[&[0x40 | (i / 5 % 2) << 5][..], &secret].concat()));
    }
    add(true, 17, udp(true, 53, b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x06secret\x07example\0\0\x01\0\x01"));
    add(true, 1, [&[8, 0, 0, 0][..], &secret].concat());
    add(true, 50, secret.clone());
    (pcap(&packets), packets)
}

fn pcap(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut out = vec![0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
    for (i, bytes) in packets.iter().enumerate() {
        let fields = [1000 + i as u32 / 50, i as u32 % 50 * 20_000_000 + 7, bytes.len() as u32, bytes.len() as u32];
        out.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
        out.extend(bytes);
    }
    out
}

// finding("C42")
#[test]
fn copy_has_no_payload_and_no_address_and_the_same_figures() {
    let (file, packets) = mixture();
    let copy = copy_of(&file);
    let has = |part: &[u8]| copy.windows(part.len()).any(|bytes| bytes == part);
    for part in [&b"token"[..], b"GET", b"secre", b"example", &[10, 1, 2, 3], &[93, 184, 216, 34], &[0xaa, 0xbb, 0xcc]] {
        assert!(!has(part), "{part:?}");
    }
    assert!(copy.len() < file.len() / 2, "{} of {}", copy.len(), file.len());
    let (original, stripped) = (report(&file), report(&copy));
    assert_eq!((original.packets, original.flows.len(), original.udp.quic_flows), (packets.len() as u64, 1, 1));
    assert_eq!(figures(&file), figures(&copy));
    assert!(stripped.flows[0].client.starts_with("10.") && stripped.flows[0].client != original.flows[0].client);
    // A copy of the copy changes no figure either.
    assert_eq!(figures(&file), figures(&copy_of(&copy)));
}

/// Of IPv6 nothing says that the checksum of what was removed was wrong.
fn without_checksums(mut value: Value) -> Value {
    match &mut value {
        Value::Object(members) => {
            members.remove("bad_checksums");
            members.values_mut().for_each(|member| *member = without_checksums(member.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = without_checksums(item.take())),
        _ => {}
    }
    value
}

/// The first place in which two documents differ.
fn difference(a: &Value, b: &Value, path: &str) -> String {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            let differs = a.iter().find(|(key, value)| b[*key] != **value);
            differs.map_or_else(String::new, |(key, value)| difference(value, &b[key], &format!("{path}.{key}")))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let differs = a.iter().zip(b).enumerate().find(|(_, (a, b))| a != b);
            differs.map_or_else(String::new, |(i, (a, b))| difference(a, b, &format!("{path}[{i}]")))
        }
        _ => format!("{path}: {a} and {b}"),
    }
}

/// Files of the corpus and, where they are, public captures.
fn captures() -> Vec<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let public = std::env::var_os("ACKCLOCK_ORACLES").map(|oracles| PathBuf::from(oracles).join("captures-public"));
    let folders = [Some(corpus), public].into_iter().flatten().filter(|folder| folder.is_dir());
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "bin" || e == "gz")).collect();
    files.sort();
    files
}

// finding("C42")
#[test]
fn copies_of_unusual_and_public_captures_have_the_same_figures() {
    let mut compared = 0;
    for path in captures() {
        let file = fs::read(&path).unwrap();
        let Ok(mut capture) = Capture::from_reader(Box::new(Cursor::new(file.clone()))) else { continue };
        let mut out = Vec::new();
        strip(&mut capture, &mut out, SipKey::from_bytes([3; 16])).unwrap_or_default();
        if capture.damage().is_empty() && report(&file).malformed == 0 {
            let [original, copy] = [&file, &out].map(|file| without_checksums(figures(file)));
            assert!(original == copy, "{}: {}", path.display(), difference(&original, &copy, ""));
            compared += 1;
        }
    }
    assert!(compared > 30, "{compared} captures");
}
