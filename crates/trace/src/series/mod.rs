//! A row per packet, for plots, tables and xplot.

mod seq_unwrap;

use crate::analyze::PacketObserver;
use crate::decode::{Flags, Segment};
use crate::flow::classify::SegmentKind;
use crate::flow::{Amended, Data, Flow, Passed};
use seq_unwrap::SeqUnwrapper;

/// Maximum number of rows, about 90 bytes each; later packets are counted in `left_out`.
pub const MAX_ROWS: usize = 2_000_000;

/// Kind of a row's packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    /// No payload, no SYN, no FIN.
    Ack,
    New,
    /// New, after a gap in the sequence space.
    AfterGap,
    Classified(SegmentKind),
    /// First SYN or SYN-ACK.
    Syn,
    Reset,
}

impl RowKind {
    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            RowKind::Ack => "ack",
            RowKind::New => "new",
            RowKind::AfterGap => "after_hole",
            RowKind::Classified(cause) => cause.name(),
            RowKind::Syn => "syn",
            RowKind::Reset => "reset",
        }
    }
}

/// One packet.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Number of the flow, from 0 in order of first packets.
    pub flow: u32,
    /// Sent by the client.
    pub from_client: bool,
    pub kind: RowKind,
    /// Confidence of the kind, 0 to 1.
    pub confidence: f32,
    /// Unix time in nanoseconds.
    pub at: i64,
    /// Offset in the sender's stream; negative before the first byte captured.
    pub seq: i64,
    pub payload: u32,
    /// Length of the IP packet.
    pub ip_len: u32,
    /// Acknowledged offset in the other end's stream; none without the ACK flag.
    pub ack: Option<i64>,
    pub duplicate_ack: bool,
    /// Advertised window in bytes.
    pub window: u32,
    /// Outstanding bytes of the sender, after this packet.
    pub in_flight: u32,
    /// Outstanding bytes of the other end, after this packet.
    pub peer_in_flight: u32,
    /// RTT sample between capture point and sender that the packet completes, nanoseconds.
    pub rtt: Option<i64>,
    /// Retransmissions of the other end that the packet shows to be spurious.
    pub spurious: u32,
}

/// The rows of a capture and their SACK blocks.
#[derive(Debug, Default)]
pub struct Packets {
    pub rows: Vec<Row>,
    /// Row, left and right edge in the other end's stream, in order of rows.
    pub sacks: Vec<(u32, i64, i64)>,
    pub left_out: u64,
    streams: Vec<[SeqUnwrapper; 2]>,
}

impl PacketObserver for Packets {
    fn on_packet(&mut self, at: i64, number: u32, flow: &Flow, s: &Segment<'_>, passed: &Passed) {
        if self.rows.len() >= MAX_ROWS {
            self.left_out += 1;
            return;
        }
        let streams = &mut self.streams;
        if streams.len() <= number as usize {
            streams.resize_with(number as usize + 1, Default::default);
        }
        let streams = &mut streams[number as usize];
        let (own, peer) = (passed.from as usize, passed.from.other() as usize);
        let seq = streams[own].advance(s.seq, s.flags.has(Flags::SYN));
        let ack = s.flags.has(Flags::ACK).then(|| streams[peer].advance(s.ack, false));
        let row = self.rows.len() as u32;
        for &(left, right) in s.options.sack().iter().filter(|_| ack.is_some()) {
            self.sacks.push((row, streams[peer].nearest(left), streams[peer].nearest(right)));
        }
        if let Some(amended) = passed.amends {
            self.reclassify(number, passed.from == flow.client(), amended);
        }
        let (kind, confidence) = kind_of(s, passed.data);
        let ack_effect = passed.ack.unwrap_or_default();
        self.rows.push(Row {
            flow: number,
            from_client: passed.from == flow.client(),
            kind,
            confidence,
            at,
            seq,
            payload: s.payload,
            ip_len: s.ip_len,
            ack,
            duplicate_ack: ack_effect.duplicate,
            window: flow.half(passed.from.other()).offered_window(),
            in_flight: flow.half(passed.from).in_flight(),
            peer_in_flight: flow.half(passed.from.other()).in_flight(),
            rtt: ack_effect.rtt,
            spurious: ack_effect.spurious,
        });
    }
}

impl Packets {
    /// Reclassifies earlier packets of the same end.
    fn reclassify(&mut self, flow: u32, from_client: bool, amended: Amended) {
        let was: &[RowKind] = match amended.was {
            SegmentKind::Handshake => &[RowKind::Syn],
            SegmentKind::Fast => &[RowKind::Classified(SegmentKind::Fast), RowKind::Classified(SegmentKind::Rack)],
            _ => &[RowKind::Classified(SegmentKind::Timeout)],
        };
        let same = |row: &&mut Row| row.flow == flow && row.from_client == from_client && was.contains(&row.kind);
        let rows = self.rows.iter_mut().rev().filter(same);
        for (row, is) in rows.zip([Some(amended.is), amended.before_it].into_iter().flatten()) {
            (row.kind, row.confidence) = (RowKind::Classified(is.kind), is.confidence);
        }
    }
}

fn kind_of(s: &Segment<'_>, data: Data) -> (RowKind, f32) {
    match data {
        Data::Odd(verdict) => (RowKind::Classified(verdict.kind), verdict.confidence),
        _ if s.flags.has(Flags::RST) => (RowKind::Reset, 1.0),
        Data::None => (RowKind::Ack, 1.0),
        _ if s.flags.has(Flags::SYN) => (RowKind::Syn, 1.0),
        Data::New => (RowKind::New, 1.0),
        Data::AfterHole => (RowKind::AfterGap, 1.0),
    }
}
