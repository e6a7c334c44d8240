//! Multipath TCP: which flows are subflows of which connection.

use crate::packet_builder::{pcap, read};
use ackclock_trace::report::{MptcpReport, Report};

/// A SYN or SYN-ACK between a client's port and the server's port 80.
fn syn(port: u16, is_answer: bool, options: &[u8]) -> Vec<u8> {
    let (client, server) = ([10, 0, 0, 2], [10, 0, 0, 1]);
    let (source, destination) = if is_answer { (server, client) } else { (client, server) };
    let ports = if is_answer { [80, port] } else { [port, 80] };
    let len = 40 + options.len() as u16;
    let mut out = vec![0x45, 0];
    out.extend(len.to_be_bytes());
    out.extend([0, 1, 0x40, 0, 64, 6, 0, 0]);
    out.extend(source.into_iter().chain(destination));
    out.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
    out.extend(100u32.to_be_bytes());
    out.extend(if is_answer { 101u32 } else { 0 }.to_be_bytes());
    out.extend([((20 + options.len() as u8) / 4) << 4, if is_answer { 18 } else { 2 }, 0xff, 0xff, 0, 0, 0, 0]);
    out.extend(options);
    out
}

const CAPABLE: [u8; 4] = [30, 4, 0x01, 0x81];
/// MP_CAPABLE with a key whose SHA-256 begins with the token below.
const ANSWER: [u8; 12] = [30, 12, 0x01, 0x81, 1, 2, 3, 4, 5, 6, 7, 8];
const TOKEN: [u8; 4] = [0x66, 0x84, 0x0d, 0xda];

fn join(token: [u8; 4]) -> Vec<u8> {
    [&[30, 12, 0x10, 2][..], &token, &[1, 2, 3, 4]].concat()
}

fn mptcp(packets: &[Vec<u8>]) -> Vec<Option<MptcpReport>> {
    let packets: Vec<_> = packets.iter().enumerate().map(|(i, bytes)| (i as u64 * 1_000_000, bytes.clone())).collect();
    let (capture, analysis) = read(pcap(&packets, 65_535));
    Report::of(&analysis, &capture).flows.into_iter().map(|flow| flow.mptcp).collect()
}

// finding("C41")
#[test]
fn further_subflows_name_the_first_one_by_its_token() {
    let answer = [&[30, 16, 0x10, 2][..], &[9; 12]].concat();
    let found = mptcp(&[
        syn(5000, false, &CAPABLE),
        syn(5000, true, &ANSWER),
        syn(5001, false, &join(TOKEN)),
        syn(5001, true, &answer),
        syn(5002, false, &join([9; 4])),
        syn(5003, false, &[2, 4, 5, 0xb4]),
    ]);
    let of = |subflow, accepted, first_flow| Some(MptcpReport { subflow, accepted, first_flow });
    assert_eq!(found[..2], [of("first", true, Some(1)), of("additional", true, Some(1))]);
    assert_eq!(found[2..], [of("additional", false, None), None]);
}

// finding("C41")
#[test]
fn connection_is_plain_tcp_when_the_answer_has_no_mptcp() {
    let found = mptcp(&[syn(5000, false, &CAPABLE), syn(5000, true, &[2, 4, 5, 0xb4])]);
    assert_eq!(found, [Some(MptcpReport { subflow: "first", accepted: false, first_flow: Some(1) })]);
}
