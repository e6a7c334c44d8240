//! Property tests: no input makes the readers or the flow engine panic, loop or allocate without
//! bound. `ACKCLOCK_FUZZ_CASES` sets the number of cases.

use crate::packet_builder::{erf, snoop};
use ackclock_pcap::read::Capture;
use ackclock_trace::analyze::{Analysis, CachePolicy, PacketFilter};
use ackclock_trace::report::Report;
use proptest::prelude::*;
use std::io::Cursor;

fn cases() -> ProptestConfig {
    let cases = std::env::var("ACKCLOCK_FUZZ_CASES").ok().and_then(|n| n.parse().ok());
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases.unwrap_or(300)) }
}

/// Runs the entire analyzer; returns the number of packets.
fn analyze(bytes: Vec<u8>) -> u64 {
    crate::full_analysis::analyze(bytes).packets()
}

fn pcap(link: u16, packets: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut out = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0];
    out.extend(u32::from(link).to_le_bytes());
    for (at, bytes) in packets {
        for field in [at / 1000, at % 1000 * 1000, bytes.len() as u32, bytes.len() as u32] {
            out.extend(field.to_le_bytes());
        }
        out.extend(bytes);
    }
    out
}

fn pcapng(packets: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut block = |kind: u32, body: &[u8]| {
        let len = (12 + body.len().next_multiple_of(4)) as u32;
        out.extend(kind.to_le_bytes());
        out.extend(len.to_le_bytes());
        out.extend(body);
        out.resize(out.len().next_multiple_of(4), 0);
        out.extend(len.to_le_bytes());
    };
    block(0x0a0d_0d0a, &[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
    block(1, &[101, 0, 0, 0, 0, 0, 4, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
    for (at, bytes) in packets {
        let mut body = vec![0; 4];
        body.extend([0, at * 1000, bytes.len() as u32, bytes.len() as u32].iter().flat_map(|f| f.to_le_bytes()));
        body.extend(bytes);
        block(6, &body);
    }
    out
}

/// Times in nanoseconds.
fn timed(packets: Vec<(u32, Vec<u8>)>) -> Vec<(u64, Vec<u8>)> {
    packets.into_iter().map(|(at, bytes)| (u64::from(at) * 1_000_000, bytes)).collect()
}

/// An IPv4 datagram with a TCP segment of one of two ends; sequence numbers overlap.
fn segment() -> impl Strategy<Value = Vec<u8>> {
    let numbers = (0u32..40, 0u32..40, prop::sample::select(vec![0u8, 1, 2, 4, 16, 16, 16, 17, 18, 24]));
    let rest = (any::<bool>(), 0u16..4, 0usize..60, 0u16..3, prop::collection::vec((0u32..40, 0u32..40), 0..4), 0u16..200);
    (numbers, rest).prop_map(|((seq, ack, flags), (from_a, payload, tsval, window, blocks, id))| {
        let mut options = Vec::new();
        if tsval < 40 {
            options.extend([1, 1, 8, 10, 0, 0, 0, tsval as u8, 0, 0, 0, (tsval / 2) as u8]);
        }
        if !blocks.is_empty() && options.len() + 4 + 8 * blocks.len() <= 40 {
            options.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
            let base = 0xffff_f000u32;
            blocks.iter().for_each(|(l, r)| {
                options.extend(base.wrapping_add(l * 500).to_be_bytes());
                options.extend(base.wrapping_add(r * 500).to_be_bytes());
            });
        }
        let len = (40 + options.len() + usize::from(payload) * 500) as u16;
        let (a, b) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        let (s, d) = if from_a { (a, b) } else { (b, a) };
        let mut out = vec![0x45, 0];
        out.extend(len.to_be_bytes());
        out.extend(id.to_be_bytes());
        out.extend([0x40, 0, 64, 6, 0, 0]);
        out.extend(s);
        out.extend(d);
        out.extend(if from_a { [0x80, 0, 0, 80] } else { [0, 80, 0x80, 0] });
        // Sequence numbers near 2^32, so that they wrap.
        out.extend(0xffff_f000u32.wrapping_add(seq * 500).to_be_bytes());
        out.extend(0xffff_f000u32.wrapping_add(ack * 500).to_be_bytes());
        out.extend([((20 + options.len()) as u8 / 4) << 4, flags]);
        out.extend((window * 2000).to_be_bytes());
        out.extend([0; 4]);
        out.extend(options);
        out
    })
}

fn report(mut analysis: Analysis, bytes: &[u8]) -> String {
    let mut capture = Capture::from_reader(Box::new(Cursor::new(bytes.to_vec()))).unwrap();
    // In two steps, as in a front end that handles signals between them.
    analysis.read(&mut capture, &mut (), 50).unwrap();
    analysis.read(&mut capture, &mut (), u64::MAX).unwrap();
    capture.finish();
    serde_json::to_string(&Report::of(&analysis, &capture)).unwrap()
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn report_does_not_depend_on_cache_policy(
        packets in prop::collection::vec((0u32..5000, segment(), 0u8..12, 0u16..40), 0..200),
    ) {
        // Twelve clients; some packets are fragments.
        let packets: Vec<(u32, Vec<u8>)> = packets.into_iter().map(|(at, mut bytes, client, piece)| {
            let from_client = bytes[20..22] == [0x80, 0];
            bytes[if from_client { 15 } else { 19 }] = 100 + client;
            if piece < 6 {
                (bytes[6], bytes[7]) = (if piece % 2 == 0 { 0x20 } else { 0 }, (piece / 2) as u8);
            }
            (at, bytes)
        }).collect();
        let bytes = pcap(101, &packets);
        let expected = report(Analysis::new(PacketFilter::default()), &bytes);
        // Flows are frozen at each packet of another flow, or sometimes.
        for (flows, quiet_ns) in [(1, -i64::MAX), (1, 1_000_000_000), (4, 100_000_000)] {
            let policy = CachePolicy { min_hot: flows, max_hot: flows, idle_ns: quiet_ns };
            prop_assert_eq!(&report(Analysis::with_policy(PacketFilter::default(), policy), &bytes), &expected);
        }
    }

    #[test]
    fn analysis_returns_when_input_is_arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        analyze(bytes);
    }

    #[test]
    fn analysis_returns_when_arbitrary_bytes_follow_a_magic_number(
        magic in prop::sample::select(vec![[0xd4, 0xc3, 0xb2, 0xa1], [0xa1, 0xb2, 0x3c, 0x4d], [0x34, 0xcd, 0xb2, 0xa1],
            [0x0a, 0x0d, 0x0d, 0x0a], [0x1f, 0x8b, 8, 0], [0x28, 0xb5, 0x2f, 0xfd], [0x50, 0x2a, 0x4d, 0x18], *b"snoo"]),
        bytes in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        analyze([&magic[..], &bytes].concat());
    }

    #[test]
    fn packets_are_counted_when_their_bytes_are_arbitrary(
        link in prop::sample::select(vec![0u16, 1, 9, 12, 14, 50, 51, 101, 104, 108, 113, 204, 219, 228, 229, 276, 999]),
        packets in prop::collection::vec((0u32..5000, prop::collection::vec(any::<u8>(), 0..120)), 0..20),
    ) {
        prop_assert_eq!(analyze(pcap(link, &packets)), packets.len() as u64);
    }

    #[test]
    fn packets_are_counted_when_order_and_times_are_arbitrary(
        packets in prop::collection::vec((0u32..5000, segment()), 0..200),
    ) {
        let n = packets.len() as u64;
        prop_assert_eq!(analyze(pcap(101, &packets)), n);
        prop_assert_eq!(analyze(pcapng(&packets)), n);
        let packets = timed(packets);
        prop_assert_eq!(analyze(snoop(&packets)), n);
        prop_assert_eq!(analyze(erf(&packets)), n);
    }

    #[test]
    fn analysis_returns_when_a_capture_is_modified_or_truncated(
        packets in prop::collection::vec((0u32..5000, segment()), 1..40),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
        cut in any::<prop::sample::Index>(),
        format in 0..4,
    ) {
        let mut bytes = match format {
            0 => pcap(101, &packets),
            1 => pcapng(&packets),
            2 => snoop(&timed(packets)),
            _ => erf(&timed(packets)),
        };
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        analyze(bytes);
    }
}
