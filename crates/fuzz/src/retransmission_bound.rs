//! An upper bound of the retransmissions that a capture shows, which knows none of the analyzer's rules: segments
//! that begin below what was sent or acknowledged before, and identifications that the sender skipped.

use ackclock_trace::analyze::PacketObserver;
use ackclock_trace::decode::{Flags, Segment};
use ackclock_trace::flow::{Flow, PacketEvent};
use ackclock_trace::report::FlowRows;

/// Options of a TCP header are at most this long, bytes: a segment may have that much less than the MSS.
const MAX_OPTIONS: u32 = 40;
/// No window is larger (RFC 7323, section 2.3): of numbers further apart nothing says which is the higher.
const MAX_WINDOW: u32 = 1 << 30;
/// Identifications that one packet may skip.
const MAX_SKIPPED: u16 = 1 << 10;

/// What the flows' directions sent, by the flow's number and the sending end.
#[derive(Debug, Default)]
pub struct RetransmissionBound {
    flows: Vec<[SentNumbers; 2]>,
}

#[derive(Debug, Clone, Copy, Default)]
struct SentNumbers {
    /// The highest end of a segment, or acknowledged by the other end.
    highest: Option<u32>,
    /// Segments that begin below it, and SYNs.
    old: u64,
    last_id: Option<u16>,
    /// Identifications between those of packets that follow each other.
    skipped: u64,
    /// A number is further from the highest than any window.
    leaps: bool,
}

impl SentNumbers {
    fn raise(&mut self, to: u32) {
        let step = self.highest.map_or(1, |highest| to.wrapping_sub(highest) as i32);
        self.leaps |= step.unsigned_abs() > MAX_WINDOW;
        let is_higher = step > 0;
        self.highest = if is_higher { Some(to) } else { self.highest };
    }

    fn on_id(&mut self, id: u16) {
        let step = self.last_id.map_or(1, |last| id.wrapping_sub(last));
        if (2..=MAX_SKIPPED).contains(&step) {
            self.skipped += u64::from(step - 1);
        }
        self.last_id = Some(id);
    }
}

impl PacketObserver for RetransmissionBound {
    fn on_packet(&mut self, _: i64, number: u32, flow: &Flow, s: &Segment<'_>, event: &PacketEvent) {
        let number = number as usize;
        if self.flows.len() <= number {
            self.flows.resize_with(number + 1, Default::default);
        }
        let [here, there] = [event.from, event.from.other()];
        if s.flags.has(Flags::ACK) {
            self.flows[number][there as usize].raise(s.ack);
        }
        // The first SYN of an end that is captured may be a copy, too: the time of its answer shows that.
        let is_syn = s.flags.has(Flags::SYN);
        let mss = [here, there].into_iter().filter_map(|side| flow.direction(side).syn().mss).min();
        let sent = &mut self.flows[number][here as usize];
        if let Some(id) = s.ip_id.filter(|_| !s.flags.has(Flags::SYN)) {
            sent.on_id(id);
        }
        let len = s.payload + u32::from(s.flags.has(Flags::SYN)) + u32::from(s.flags.has(Flags::FIN));
        if len == 0 {
            // An ACK has the number of what this end sends next (RFC 9293, section 3.10.7).
            sent.raise(s.seq);
            return;
        }
        if is_syn || sent.highest.is_some_and(|highest| (s.seq.wrapping_sub(highest) as i32) < 0) {
            // A packet that a host or card merged has several.
            let unit = mss.map_or(u32::MAX, |mss| u32::from(mss).saturating_sub(MAX_OPTIONS).max(1));
            sent.old += u64::from(s.payload.div_ceil(unit).max(1));
        }
        sent.raise(s.seq.wrapping_add(len));
    }
}

impl RetransmissionBound {
    /// Panics if a direction, without leaps of its numbers, has more retransmissions than the packets show.
    pub fn check(&self, rows: &FlowRows<'_>) {
        for (number, sent) in self.flows.iter().enumerate().take(rows.len()) {
            let flow = rows.flow(number);
            for side in [flow.client(), flow.client().other()] {
                let (retransmitted, shown) = (flow.direction(side).retransmitted(), sent[side as usize]);
                assert!(
                    shown.leaps || u64::from(retransmitted) <= shown.old + shown.skipped,
                    "flow {number}: {retransmitted} segments retransmitted, of which {} begin below what was sent before and {} \
                     have skipped identifications",
                    shown.old,
                    shown.skipped
                );
            }
        }
    }
}
