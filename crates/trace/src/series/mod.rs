//! A row per packet, for plots, tables and xplot, or per event alone.

mod seq_unwrap;

use crate::analyze::PacketObserver;
use crate::decode::{Flags, Segment};
use crate::flow::{DataEvent, Flow, KindRule, PacketEvent, Revision, SegmentKind, Side};
use seq_unwrap::SeqUnwrapper;

/// Maximum number of rows, about 90 bytes each; later packets are counted in `left_out`.
pub const MAX_ROWS: usize = 2_000_000;

/// Maximum number of rows of events.
pub const MAX_EVENTS: usize = 400_000;

/// Packets of an end, of at most 64 KiB each, of which one is unwrapped.
const UNWRAP_PACKETS: u32 = 256;

/// Which packets get a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RowSelection {
    #[default]
    All,
    /// Packets that are not simply new data or ACKs: SYNs, resets, and what is classified.
    Events,
}

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
    /// A packet that is reported one by one: classified, or a reset.
    pub fn is_event(self) -> bool {
        matches!(self, RowKind::Classified(_) | RowKind::Reset)
    }

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
    /// Number in the capture, from 1.
    pub frame: u64,
    /// Number of the flow, from 0 in order of first packets.
    pub flow: u32,
    /// Sent by the client.
    pub from_client: bool,
    pub kind: RowKind,
    /// Confidence of the kind, 0 to 1.
    pub confidence: f32,
    /// The rule that gave the kind; none for what needs no inference.
    pub rule: Option<KindRule>,
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

/// What a packet is, as its row says.
struct Label {
    kind: RowKind,
    confidence: f32,
    rule: Option<KindRule>,
}

/// The rows of a capture and their SACK blocks.
#[derive(Debug, Default)]
pub struct Packets {
    pub rows: Vec<Row>,
    /// Row, left and right edge in the other end's stream, in order of rows.
    pub sacks: Vec<(u32, i64, i64)>,
    pub left_out: u64,
    pub selection: RowSelection,
    /// Number of the next packet.
    frame: u64,
    streams: Vec<[SeqUnwrapper; 2]>,
}

impl PacketObserver for Packets {
    #[inline]
    fn on_frame(&mut self, frame: u64) {
        self.frame = frame;
    }

    #[inline]
    fn on_packet(&mut self, at: i64, number: u32, flow: &Flow, s: &Segment<'_>, event: &PacketEvent) {
        // Most packets: neither an event nor needed by later rows.
        let is_plain = !matches!(event.data, DataEvent::Classified(_)) && !s.flags.has(Flags::RST) && !s.flags.has(Flags::SYN);
        if is_plain
            && self.selection == RowSelection::Events
            && event.revisions.is_empty()
            && !self.is_unwrap_due(number, flow, event.from)
        {
            return;
        }
        let label = label_of(s, event.data);
        let (is_selected, max_rows) = match self.selection {
            RowSelection::All => (true, MAX_ROWS),
            RowSelection::Events => (label.kind.is_event() || label.kind == RowKind::Syn, MAX_EVENTS),
        };
        if self.rows.len() >= max_rows {
            self.left_out += u64::from(is_selected);
            return;
        }
        if !is_selected && event.revisions.is_empty() && !self.is_unwrap_due(number, flow, event.from) {
            return;
        }
        self.add(at, (number, flow), s, event, is_selected.then_some(label));
    }
}

impl Packets {
    /// A packet with a row of this label, or without one.
    #[inline(never)]
    fn add(&mut self, at: i64, (number, flow): (u32, &Flow), s: &Segment<'_>, event: &PacketEvent, label: Option<Label>) {
        for revision in &event.revisions {
            self.reclassify(number, event.from == flow.client(), revision);
        }
        let streams = &mut self.streams;
        if streams.len() <= number as usize {
            streams.resize_with(number as usize + 1, Default::default);
        }
        let streams = &mut streams[number as usize];
        let (own, peer) = (event.from as usize, event.from.other() as usize);
        let seq = streams[own].advance(s.seq, s.flags.has(Flags::SYN));
        let ack = s.flags.has(Flags::ACK).then(|| streams[peer].advance(s.ack, false));
        let Some(Label { kind, confidence, rule }) = label else { return };
        let row = self.rows.len() as u32;
        for &(left, right) in s.options.sack().iter().filter(|_| ack.is_some()) {
            self.sacks.push((row, streams[peer].nearest(left), streams[peer].nearest(right)));
        }
        let ack_event = event.ack.unwrap_or_default();
        self.rows.push(Row {
            frame: self.frame,
            flow: number,
            from_client: event.from == flow.client(),
            kind,
            confidence,
            rule,
            at,
            seq,
            payload: s.payload,
            ip_len: s.ip_len,
            ack,
            duplicate_ack: ack_event.is_duplicate,
            window: flow.direction(event.from.other()).window().last(),
            in_flight: flow.direction(event.from).in_flight(),
            peer_in_flight: flow.direction(event.from.other()).in_flight(),
            rtt: ack_event.rtt,
            spurious: ack_event.spurious,
        });
    }

    /// Rows of events only.
    pub fn events() -> Packets {
        Packets { selection: RowSelection::Events, ..Packets::default() }
    }

    /// A packet without a row is needed to unwrap the sequence numbers of later ones: the first of each
    /// end, and then some of each gigabyte.
    #[inline]
    fn is_unwrap_due(&self, number: u32, flow: &Flow, from: Side) -> bool {
        let is_known = self.streams.get(number as usize).is_some_and(|ends| ends.iter().all(SeqUnwrapper::is_known));
        !is_known || flow.direction(from).counts().packets.is_multiple_of(UNWRAP_PACKETS)
    }

    /// The rows so far and their SACK blocks. Later packets have rows as if none were taken.
    pub fn take_rows(&mut self) -> Packets {
        let (rows, sacks) = (std::mem::take(&mut self.rows), std::mem::take(&mut self.sacks));
        Packets { rows, sacks, left_out: self.left_out, selection: self.selection, ..Packets::default() }
    }

    /// Reclassifies an earlier packet of the same end.
    fn reclassify(&mut self, flow: u32, from_client: bool, revision: &Revision) {
        let was: &[RowKind] = match revision.was {
            SegmentKind::Handshake => &[RowKind::Syn],
            SegmentKind::Fast => &[RowKind::Classified(SegmentKind::Fast), RowKind::Classified(SegmentKind::Rack)],
            kind => &[RowKind::Classified(kind)],
        };
        let same = |row: &&mut Row| row.flow == flow && row.from_client == from_client && was.contains(&row.kind);
        if let Some(row) = self.rows.iter_mut().rev().find(same) {
            row.kind = RowKind::Classified(revision.is.kind);
            (row.confidence, row.rule) = (revision.is.confidence, Some(revision.is.rule));
        }
    }
}

#[inline]
fn label_of(s: &Segment<'_>, data: DataEvent) -> Label {
    let kind = match data {
        DataEvent::Classified(is) => {
            return Label { kind: RowKind::Classified(is.kind), confidence: is.confidence, rule: Some(is.rule) };
        }
        _ if s.flags.has(Flags::RST) => RowKind::Reset,
        DataEvent::None => RowKind::Ack,
        _ if s.flags.has(Flags::SYN) => RowKind::Syn,
        DataEvent::New => RowKind::New,
        DataEvent::AfterGap => RowKind::AfterGap,
    };
    Label { kind, confidence: 1.0, rule: None }
}
