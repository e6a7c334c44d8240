//! Every packet as a row, for plots, tables and xplot: what it carried, what it acknowledged, what was then outstanding.

mod seq_unwrap;

use crate::analyze::PacketObserver;
use crate::classify::SegmentKind;
use crate::decode::{Flags, Segment};
use crate::flow::{Amended, Data, Flow, Passed};
use seq_unwrap::SeqUnwrapper;

/// Rows kept at most, about 90 bytes each: what comes later is counted in `left_out`.
pub const MAX_ROWS: usize = 2_000_000;

/// What a row's packet was to the data of the end that sent it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    /// No payload, no SYN, no FIN.
    Ack,
    New,
    /// New, with something before it missing.
    AfterHole,
    Classified(SegmentKind),
    /// A connection's beginning: SYN for the first time.
    Syn,
    Reset,
}

impl RowKind {
    pub fn name(self) -> &'static str {
        match self {
            RowKind::Ack => "ack",
            RowKind::New => "new",
            RowKind::AfterHole => "after_hole",
            RowKind::Classified(cause) => cause.name(),
            RowKind::Syn => "syn",
            RowKind::Reset => "reset",
        }
    }
}

/// One packet.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The flow's number, from 0 in order of appearance.
    pub flow: u32,
    /// The client sent it.
    pub from_client: bool,
    pub kind: RowKind,
    /// How sure the kind is, 0 to 1.
    pub confidence: f32,
    /// Nanoseconds of Unix time.
    pub at: i64,
    /// Bytes of this end's stream before this packet; negative before the first that the capture saw.
    pub seq: i64,
    pub payload: u32,
    /// The whole IP packet.
    pub ip_len: u32,
    /// Bytes of the other end's stream that it acknowledges; none without the flag.
    pub ack: Option<i64>,
    pub duplicate_ack: bool,
    /// Bytes that it offers to take.
    pub window: u32,
    /// Outstanding after it: of the end that sent it, and of the other.
    pub in_flight: u32,
    pub peer_in_flight: u32,
    /// The sample that it completes, nanoseconds: the round trip from the capture towards this end and back.
    pub rtt: Option<i64>,
    /// Retransmissions of the other end that it shows to have been unnecessary.
    pub spurious: u32,
}

/// The rows of a capture, and their SACK blocks.
#[derive(Debug, Default)]
pub struct Packets {
    pub rows: Vec<Row>,
    /// Row, left and right edge in the other end's stream; in order of rows.
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
        let (mine, theirs) = (passed.from as usize, passed.from.other() as usize);
        let seq = streams[mine].place(s.seq, s.flags.has(Flags::SYN));
        let ack = s.flags.has(Flags::ACK).then(|| streams[theirs].place(s.ack, false));
        let row = self.rows.len() as u32;
        for &(left, right) in s.options.sack().iter().filter(|_| ack.is_some()) {
            self.sacks.push((row, streams[theirs].near(left), streams[theirs].near(right)));
        }
        if let Some(amended) = passed.amends {
            self.amend(number, passed.from == flow.client(), amended);
        }
        let (kind, confidence) = kind_of(s, passed.data);
        let heard = passed.heard.unwrap_or_default();
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
            duplicate_ack: heard.duplicate,
            window: flow.half(passed.from.other()).offered_window(),
            in_flight: flow.half(passed.from).in_flight(),
            peer_in_flight: flow.half(passed.from.other()).in_flight(),
            rtt: heard.rtt,
            spurious: heard.spurious,
        });
    }
}

impl Packets {
    /// Earlier packets of this end were something else.
    fn amend(&mut self, flow: u32, from_client: bool, amended: Amended) {
        let was: &[RowKind] = match amended.was {
            SegmentKind::Handshake => &[RowKind::Syn],
            SegmentKind::Fast => &[RowKind::Classified(SegmentKind::Fast), RowKind::Classified(SegmentKind::Rack)],
            _ => &[RowKind::Classified(SegmentKind::Timeout)],
        };
        let same = |row: &&mut Row| row.flow == flow && row.from_client == from_client && was.contains(&row.kind);
        let found = self.rows.iter_mut().rev().filter(same);
        for (row, is) in found.zip([Some(amended.is), amended.before_it].into_iter().flatten()) {
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
        Data::AfterHole => (RowKind::AfterHole, 1.0),
    }
}
