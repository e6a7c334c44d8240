//! One conversation in several capture formats: compressed, with a short snapshot length, with the
//! clocks of several interfaces, with wrapping sequence numbers, without handshake, of one
//! direction only.

use crate::packet_builder::{Tcp, erf, pcap, read, snoop};
use ackclock_pcap::read::Capture;
use ackclock_trace::flow::Side;
use std::io::{Cursor, Write};

/// From the server, or to it.
fn packet(from_server: bool, seq: u32, ack: u32, payload: usize, options: &[u8]) -> Vec<u8> {
    Tcp { from_server, seq, ack, window: 0xffff, options, payload, ..Tcp::default() }.datagram()
}

/// Forty segments of 1000 bytes from `first` on, each acknowledged 10 ms later; an unknown option
/// precedes the timestamps.
fn conversation(first: u32, both: bool) -> Vec<(u64, Vec<u8>)> {
    let mut all = Vec::new();
    for i in 0..40u32 {
        let options = |value: u32, echo: u32| {
            let mut o = vec![253, 4, 9, 9, 1, 1, 8, 10];
            o.extend(value.to_be_bytes());
            o.extend(echo.to_be_bytes());
            o
        };
        let (seq, at) = (first.wrapping_add(i * 1000), u64::from(i) * 20_000_000);
        all.push((at, packet(true, seq, 7, 1000, &options(i + 1, i))));
        if both {
            all.push((at + 10_000_000, packet(false, 7, seq.wrapping_add(1000), 0, &options(i + 1, i + 1))));
        }
    }
    all
}

/// Two interfaces: the first counts milliseconds from 1000 s on, the second units of 2^-20 s from
/// 1970 on.
fn pcapng(packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut block = |kind: u32, body: &[u8]| {
        let len = 12 + body.len().next_multiple_of(4);
        out.extend(kind.to_le_bytes());
        out.extend((len as u32).to_le_bytes());
        out.extend(body);
        out.resize(out.len().next_multiple_of(4), 0);
        out.extend((len as u32).to_le_bytes());
    };
    block(0x0a0d_0d0a, &[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
    let mut first = vec![101, 0, 0, 0, 0, 0, 4, 0, 9, 0, 1, 0, 3, 0, 0, 0, 14, 0, 8, 0];
    first.extend(1000u64.to_le_bytes());
    first.extend([0; 4]);
    block(1, &first);
    block(1, &[101, 0, 0, 0, 0, 0, 4, 0, 9, 0, 1, 0, 0x80 | 20, 0, 0, 0, 0, 0, 0, 0]);
    for (i, (at, bytes)) in packets.iter().enumerate() {
        let second = i % 4 == 3;
        let timestamp =
            if second { ((u128::from(*at) + 1_000_000_000_000) << 20).div_ceil(1_000_000_000) as u64 } else { at / 1_000_000 };
        let fields = [u32::from(second), (timestamp >> 32) as u32, timestamp as u32, bytes.len() as u32, bytes.len() as u32];
        let mut body: Vec<u8> = fields.iter().flat_map(|f| f.to_le_bytes()).collect();
        body.extend(bytes);
        block(6, &body);
    }
    out
}

/// Unique payload, retransmissions, minimum and maximum RTT in microseconds, first time in seconds,
/// truncated packets.
type Figures = (u64, u32, Option<[i64; 2]>, Option<i64>, u64);

fn figures(bytes: Vec<u8>) -> Figures {
    let (mut capture, analysis) = read(bytes);
    capture.finish();
    assert!(capture.damage().is_empty(), "{:?}", capture.damage());
    let flows = analysis.flows();
    assert_eq!(flows.len(), 1);
    let server = if flows.get(0).client() == Side::Low { Side::High } else { Side::Low };
    let flow = flows.get(0);
    let direction = flow.direction(server);
    assert!(flow.memory() < 8192, "{}", flow.memory());
    let us = |ns: i64| (ns + 500) / 1000;
    (
        direction.stats().unwrap().bytes().unique,
        direction.retransmitted(),
        direction.rtt().min().zip(direction.rtt().from_acks().max()).map(|(a, b)| [us(a), us(b)]),
        analysis.totals.first_at.map(|at| at / 1_000_000_000),
        analysis.totals.truncated,
    )
}

const EXPECTED: Figures = (40_000, 0, Some([10_000, 10_000]), Some(1000), 0);

#[test]
fn analysis_is_equal_when_the_capture_is_compressed() {
    let plain = pcap(&conversation(1, true), 65_535);
    assert_eq!(figures(plain.clone()), EXPECTED);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&plain).unwrap();
    assert_eq!(figures(gzip.finish().unwrap()), EXPECTED);
    let zstd = ruzstd::encoding::compress_to_vec(plain.as_slice(), ruzstd::encoding::CompressionLevel::Fastest);
    assert_eq!(figures(zstd), EXPECTED);
}

#[test]
fn times_are_equal_when_interfaces_have_different_resolutions() {
    let (payload, retransmitted, rtt, start, cut) = figures(pcapng(&conversation(1, true)));
    assert_eq!((payload, retransmitted, start, cut), (40_000, 0, Some(1000), 0));
    // Units of 2^-20 s round to 1 us.
    let [min, max] = rtt.unwrap();
    assert!((min - 10_000).abs() <= 1 && (max - 10_000).abs() <= 1, "{min} {max}");
}

#[test]
fn payload_is_that_on_the_wire_when_packets_are_truncated() {
    let (payload, retransmitted, rtt, start, cut) = figures(pcap(&conversation(1, true), 60));
    assert_eq!((payload, retransmitted, rtt, start, cut), (40_000, 0, Some([10_000, 10_000]), Some(1000), 40));
}

#[test]
fn analysis_is_equal_when_sequence_numbers_wrap_and_the_handshake_is_missing() {
    assert_eq!(figures(pcap(&conversation(u32::MAX - 20_500, true), 65_535)), EXPECTED);
}

#[test]
fn rtt_is_none_when_the_capture_has_one_direction() {
    let (payload, retransmitted, rtt, ..) = figures(pcap(&conversation(1, false), 65_535));
    assert_eq!((payload, retransmitted, rtt), (40_000, 0, None));
}

#[test]
fn analysis_is_equal_when_the_capture_is_snoop_or_erf() {
    let packets = conversation(1, true);
    assert_eq!(figures(snoop(&packets)), EXPECTED);
    // ERF times have 2^-32 s, and this capture begins in 2001.
    assert_eq!(figures(erf(&packets)), (EXPECTED.0, EXPECTED.1, EXPECTED.2, Some(1_000_000_000), EXPECTED.4));
    // One record is enough to be recognized, if nothing follows.
    let (capture, analysis) = read(erf(&packets[..1]));
    assert_eq!((analysis.counts().tcp, capture.damage().len()), (1, 0));
}

#[test]
fn capture_is_rejected_by_name_when_its_format_is_not_read() {
    let rejected = |bytes: &[u8]| {
        let error = Capture::from_reader(Box::new(Cursor::new(bytes.to_vec()))).map(|_| ()).unwrap_err();
        error.problem(std::path::Path::new("x.cap")).to_string()
    };
    for (magic, name) in [(b"GMBU\0\x02\x01\0", "Network Monitor 2.x"), (b"RTSS\x01\x01\0\0", "Network Monitor 1.x")] {
        let message = rejected(magic);
        assert!(message.contains(name) && message.contains("editcap -F pcapng"), "{message}");
    }
    assert!(rejected(b"snoop\0\0\0\0\0\0\x05\0\0\0\x04").contains("snoop version 5"));
    // The times of ERF are plausible, its lengths are not.
    let mut damaged = erf(&conversation(1, true)[..3]);
    damaged[10..12].copy_from_slice(&[0, 7]);
    assert!(rejected(&damaged).contains("a file that begins with"));
}
