//! What the sender of a direction sent and received, as a capture at its end shows it. Elsewhere the
//! timestamps option shows it: a segment echoes the TSval of the last ACK that its sender had received
//! (RFC 7323, section 4).

use super::echoed_acks::EchoedAcks;
use crate::analyze::PacketObserver;
use crate::decode::{EndpointAddress, Flags, Segment, Side};
use crate::flow::{DataEvent, Flow, PacketEvent, SegmentKind};

/// What a packet was to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlightEvent {
    Sent,
    Retransmitted,
    /// Retransmitted by the RTO.
    TimedOut,
    Acked,
}

/// A packet that the sender sent, or an ACK that it received.
#[derive(Clone, Copy, Debug)]
pub struct FlightEntry {
    /// Nanoseconds.
    pub at: i64,
    pub event: FlightEvent,
    /// An ACK echoes CE, or a segment says that the window is reduced (RFC 3168: ECE, CWR).
    pub marked: bool,
    /// The advertised window has no room for another segment.
    pub window_full: bool,
    /// Payload sent, or bytes newly acknowledged.
    pub bytes: u32,
    /// Bytes sent and neither acknowledged nor SACKed, after it.
    pub in_flight: u32,
    /// RTT sample of an ACK, microseconds; zero without one.
    pub rtt_us: u32,
}

/// A direction to be logged.
#[derive(Clone, Copy, Debug)]
pub struct LoggedDirection {
    /// Number of the flow in the first reading, from 0, its first packet in the capture, and its ends.
    pub flow: usize,
    pub first_frame: u64,
    pub ends: [EndpointAddress; 2],
    /// The sender.
    pub side: Side,
    /// Payload of a full segment.
    pub mss: u32,
    /// The capture is at the sender.
    pub is_at_sender: bool,
}

/// The packets of one direction in order.
#[derive(Clone, Debug)]
pub struct FlightLog {
    pub of: LoggedDirection,
    pub entries: Vec<FlightEntry>,
    /// Segments with ECT(1): of a sender of L4S (RFC 9331).
    pub ect1: u32,
    /// Segments that a queue may mark.
    pub ecn_capable: u32,
    /// None at the sender.
    echoed: Option<Box<EchoedAcks>>,
}

/// Maximum number of entries of one direction, 24 bytes each.
const MAX_ENTRIES: usize = 600_000;

/// Records the logs of chosen directions.
#[derive(Debug, Default)]
pub struct FlightRecorder {
    logs: Vec<FlightLog>,
    /// The logs of each flow, by its number in this reading.
    of_flow: Vec<Vec<usize>>,
    frame: u64,
}

impl FlightRecorder {
    pub fn new(directions: &[LoggedDirection]) -> FlightRecorder {
        FlightRecorder { logs: directions.iter().copied().map(FlightLog::new).collect(), ..FlightRecorder::default() }
    }

    pub fn into_logs(self) -> Vec<FlightLog> {
        self.logs
    }
}

impl PacketObserver for FlightRecorder {
    fn on_frame(&mut self, frame: u64) {
        self.frame = frame;
    }

    fn on_packet(&mut self, at: i64, number: u32, flow: &Flow, s: &Segment<'_>, event: &PacketEvent) {
        let number = number as usize;
        while self.of_flow.len() <= number {
            // The first packet of a flow with a new number.
            let begins = |(index, log): (usize, &FlightLog)| (log.of.first_frame == self.frame).then_some(index);
            self.of_flow.push(self.logs.iter().enumerate().filter_map(begins).collect());
        }
        for &index in &self.of_flow[number] {
            let log = &mut self.logs[index];
            if log.entries.len() < MAX_ENTRIES {
                log.add(at, flow, s, event);
            }
        }
    }
}

impl FlightLog {
    pub fn new(of: LoggedDirection) -> FlightLog {
        let echoed = (!of.is_at_sender).then(Box::default);
        FlightLog { of: LoggedDirection { mss: of.mss.max(1), ..of }, entries: Vec::new(), ect1: 0, ecn_capable: 0, echoed }
    }

    /// The sender's packets are those of L4S.
    pub fn is_l4s(&self) -> bool {
        let sent = self.entries.iter().filter(|entry| entry.event == FlightEvent::Sent).count();
        self.ect1 as usize * 2 > sent
    }

    /// The sender's packets may be marked.
    pub fn is_ecn_capable(&self) -> bool {
        let sent = self.entries.iter().filter(|entry| entry.event == FlightEvent::Sent).count();
        self.ecn_capable as usize * 2 > sent
    }

    fn add(&mut self, at: i64, flow: &Flow, s: &Segment<'_>, event: &PacketEvent) {
        let is_data = event.from == self.of.side;
        let sent = if is_data { sent_event(s, event.data) } else { None };
        if is_data && sent.is_none() {
            return;
        }
        self.ect1 += u32::from(is_data && s.ecn == 1);
        self.ecn_capable += u32::from(is_data && s.ecn != 0);
        if let Some(echoed) = &mut self.echoed {
            let window = flow.direction(self.of.side).window().last();
            match sent {
                Some(sent) => echoed.on_data(at, s, sent, self.of.mss, window, &mut self.entries),
                None => echoed.on_ack(at, s),
            }
            return;
        }
        let direction = flow.direction(self.of.side);
        let in_flight = direction.in_flight();
        let window_full = in_flight + self.of.mss > direction.window().last();
        let entry = match (sent, event.ack) {
            (Some(event), _) => {
                let marked = s.flags.has(Flags::CWR);
                FlightEntry { at, event, marked, window_full, bytes: s.payload, in_flight, rtt_us: 0 }
            }
            (None, Some(ack)) => FlightEntry {
                at,
                event: FlightEvent::Acked,
                marked: s.flags.has(Flags::ECE),
                window_full,
                bytes: ack.acked,
                in_flight,
                rtt_us: ack.rtt.map_or(0, |rtt| (rtt / 1000).clamp(1, u32::MAX.into()) as u32),
            },
            (None, None) => return,
        };
        self.entries.push(entry);
    }
}

/// What a segment with data was to its sender; none for probes, and for copies of the network.
fn sent_event(s: &Segment<'_>, data: DataEvent) -> Option<FlightEvent> {
    if s.payload == 0 || s.flags.has(Flags::SYN) || s.flags.has(Flags::RST) {
        return None;
    }
    match data {
        DataEvent::New | DataEvent::AfterGap => Some(FlightEvent::Sent),
        DataEvent::Classified(found) if found.kind == SegmentKind::Timeout => Some(FlightEvent::TimedOut),
        DataEvent::Classified(found) if found.kind.is_retransmission() => Some(FlightEvent::Retransmitted),
        _ => None,
    }
}
