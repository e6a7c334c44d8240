//! The packets of a path from one capture, at the sender of the data. An ACK, or a SACK block, shows
//! that a segment arrived, and when: its time less the delay of the ACK. The path of the ACKs is taken
//! to add the same delay to all of them, half of the minimum RTT.

use super::CaptureSide;
use super::MatchedDirection;
use super::fate::{Fate, PacketFates, unwrap_seq};
use super::fingerprint::PacketFingerprint;
use super::path_facts::{PathDirection, PathPacket};
use crate::analyze::PacketObserver;
use crate::decode::{Flags, SackBlocks, Segment};
use crate::flow::{Flow, PacketEvent};
use std::collections::{BTreeMap, HashMap};

/// One ACK of a receiver.
#[derive(Debug, Clone, Copy)]
pub struct AckEvent {
    /// Nanoseconds.
    pub at: i64,
    pub ack: u32,
    pub ip_len: u32,
    pub blocks: SackBlocks,
}

/// The ACKs by flow number and by the side that sends them.
#[derive(Debug, Default)]
pub struct AckRecorder {
    pub flows: Vec<[Vec<AckEvent>; 2]>,
}

impl PacketObserver for AckRecorder {
    fn on_packet(&mut self, at: i64, number: u32, _: &Flow, s: &Segment<'_>, event: &PacketEvent) {
        let number = number as usize;
        if self.flows.len() <= number {
            self.flows.resize_with(number + 1, Default::default);
        }
        if s.flags.has(Flags::ACK) && !s.flags.has(Flags::RST) {
            let ack = AckEvent { at, ack: s.ack, ip_len: s.ip_len, blocks: s.options.sack() };
            self.flows[number][event.from as usize].push(ack);
        }
    }
}

/// The packets of one direction, and the ACKs of the other.
#[derive(Debug, Clone)]
pub struct SenderEndPath {
    pub data: PathDirection,
    pub acks: PathDirection,
    /// Number of flows with data.
    pub flows: usize,
    /// Of a segment that was sent once, nanoseconds.
    pub min_rtt: i64,
}

/// The path of the data that the server (or the client) of a capture's flows sent. None without an ACK
/// of a segment that was sent once. `ns_per_byte`: service time at the bottleneck, if it is known:
/// segments of one ACK then arrive one after another, else all with the last of them.
pub fn sender_end_path(side: &CaptureSide, server_sends: bool, ns_per_byte: Option<f64>) -> Option<SenderEndPath> {
    let acks = side.acks.as_ref()?;
    let listed = side.analysis.flows();
    let flows: Vec<(&[PacketFingerprint], &[AckEvent])> = side
        .fingerprints
        .flows
        .iter()
        .zip(&acks.flows)
        .enumerate()
        .map(|(number, (packets, acks))| {
            let client = listed.get(number).client() as usize;
            let sender = if server_sends { 1 - client } else { client };
            (packets[sender].as_slice(), acks[1 - sender].as_slice())
        })
        .filter(|(sent, _)| sent.iter().any(|packet| packet.payload > 0))
        .collect();
    let min_rtt = flows.iter().filter_map(|(sent, acks)| Scoreboard::of(sent, acks, KnownPath::default()).min_rtt).min()?;
    let known = KnownPath { shortest: min_rtt, ns_per_byte, is_alone: flows.len() == 1 };
    let half = min_rtt / 2;
    let matched: Vec<MatchedDirection<'_>> = flows
        .iter()
        .map(|(sent, acks)| {
            let mut fates = Scoreboard::of(sent, acks, known).fates;
            for fate in &mut fates {
                if let Fate::Arrived(rtt) = fate {
                    *rtt -= half;
                }
            }
            let fates = PacketFates { fates, missing_at_sender: 0, duplicated: 0 };
            MatchedDirection { sent, fates, first_to_second: true, marked: false }
        })
        .collect();
    let numbered: Vec<(usize, &MatchedDirection<'_>)> = matched.iter().enumerate().collect();
    let of_acks = |(flow, (_, acks)): (usize, &(&[PacketFingerprint], &[AckEvent]))| -> Vec<PathPacket> {
        let packet = |ack: &AckEvent| PathPacket {
            at: ack.at - half,
            ip_len: ack.ip_len,
            fate: Fate::Arrived(half),
            flow: flow as u32,
            not_queue: 0.0,
        };
        acks.iter().map(packet).collect()
    };
    let mut acks: Vec<PathPacket> = flows.iter().enumerate().flat_map(of_acks).collect();
    acks.sort_by_key(|packet| packet.at);
    Some(SenderEndPath {
        data: PathDirection::of(&numbered),
        acks: PathDirection { packets: acks, ..PathDirection::default() },
        flows: flows.len(),
        min_rtt,
    })
}

/// A segment that no ACK covers yet.
#[derive(Debug, Default)]
struct Outstanding {
    end: i64,
    /// Indexes of its transmissions.
    sent: Vec<usize>,
}

/// What the ACKs show of one flow's segments.
struct Scoreboard<'a> {
    packets: &'a [PacketFingerprint],
    fates: Vec<Fate>,
    /// Sequence number of each segment that no ACK covers.
    outstanding: BTreeMap<i64, Outstanding>,
    /// Transmissions of the segments that were sent more than once, and are covered.
    repeated: HashMap<i64, Vec<usize>>,
    min_rtt: Option<i64>,
    /// Time of the last ACK that covered a segment: what it did not cover arrived later.
    last_cover: i64,
}

/// A later transmission is the one that arrived if this part of the minimum RTT has passed since.
const MIN_RTT_PERCENT: i64 = 95;

impl<'a> Scoreboard<'a> {
    fn of(packets: &'a [PacketFingerprint], acks: &[AckEvent], known: KnownPath) -> Scoreboard<'a> {
        let mut board = Scoreboard {
            packets,
            fates: vec![Fate::OutsideCapture; packets.len()],
            outstanding: BTreeMap::new(),
            repeated: HashMap::new(),
            min_rtt: None,
            last_cover: i64::MIN,
        };
        let Some(origin) = packets.iter().find(|packet| packet.payload > 0).map(|packet| packet.seq) else { return board };
        let has_sack = acks.iter().any(|ack| !ack.blocks.is_empty());
        let (mut next, mut highest, mut acked) = (0, 0, 0);
        for ack in acks {
            while let Some(packet) = packets.get(next).filter(|packet| packet.at <= ack.at) {
                if packet.payload > 0 {
                    let start = unwrap_seq(highest, origin, packet.seq);
                    let end = start + i64::from(packet.payload);
                    highest = highest.max(end);
                    board.send(next, start, end, acked);
                }
                next += 1;
            }
            let position = unwrap_seq(acked, origin, ack.ack);
            let mut covered: Vec<i64> = Vec::new();
            if position > acked {
                covered
                    .extend(board.outstanding.range(..position).filter(|(_, one)| one.end <= position).map(|(start, _)| *start));
                acked = position;
            }
            for (index, &(left, right)) in ack.blocks.iter().enumerate() {
                let (left, right) = (unwrap_seq(acked, origin, left), unwrap_seq(acked, origin, right));
                let within = |&(l, r): &(u32, u32)| unwrap_seq(acked, origin, l) <= left && right <= unwrap_seq(acked, origin, r);
                if index == 0 && (right <= acked || ack.blocks.get(1).is_some_and(within)) {
                    board.duplicate(left, right);
                } else {
                    let of_block = board.outstanding.range(left..right.max(left)).filter(|(_, one)| one.end <= right);
                    covered.extend(of_block.map(|(start, _)| *start));
                }
            }
            // Without SACK the ACK that ends a recovery covers what arrived before.
            let is_late = !has_sack && covered.iter().any(|start| board.outstanding[start].sent.len() > 1);
            board.cover(&covered, ack.at, Service { known, is_late });
        }
        board.end(acks.last().map_or(i64::MIN, |ack| ack.at));
        board
    }

    fn send(&mut self, index: usize, start: i64, end: i64, acked: i64) {
        if let Some(one) = self.outstanding.get_mut(&start) {
            one.end = one.end.max(end);
            one.sent.push(index);
        } else if let Some(sent) = self.repeated.get_mut(&start) {
            self.fates[index] = Fate::Uncaptured;
            sent.push(index);
        } else if end > acked {
            self.outstanding.insert(start, Outstanding { end, sent: vec![index] });
        } else {
            self.fates[index] = Fate::Uncaptured;
        }
    }

    /// A D-SACK block: a second copy arrived of what one ACK covered, so that one copy fewer was lost.
    fn duplicate(&mut self, left: i64, right: i64) {
        let starts: Vec<i64> = self.repeated.keys().copied().filter(|start| (left..right).contains(start)).collect();
        for start in starts {
            let lost = self.repeated[&start].iter().copied().find(|&index| self.fates[index] == Fate::Lost);
            if let Some(index) = lost {
                self.fates[index] = Fate::Uncaptured;
            }
        }
    }

    /// These segments arrived, in the order of their departure; the ACK came at `at`.
    fn cover(&mut self, starts: &[i64], at: i64, service: Service) {
        let mut arrived: Vec<usize> = Vec::with_capacity(starts.len());
        for start in starts {
            let Some(Outstanding { sent, .. }) = self.outstanding.remove(start) else { continue };
            let since = at - service.known.shortest * MIN_RTT_PERCENT / 100;
            let own = sent.iter().rposition(|&index| self.packets[index].at <= since).unwrap_or(0);
            for (number, &index) in sent.iter().enumerate() {
                self.fates[index] = if number < own { Fate::Lost } else { Fate::Uncaptured };
            }
            if sent.len() == 1 || !service.is_late {
                arrived.push(sent[own]);
            }
            if sent.len() == 1 {
                let rtt = at - self.packets[sent[0]].at;
                self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
            } else {
                self.repeated.insert(*start, sent);
            }
        }
        if service.is_late {
            return;
        }
        if arrived.is_empty() {
            return;
        }
        arrived.sort_unstable();
        let before_hole = self.before_hole(&arrived, service);
        let mut bytes_after = 0;
        for &index in arrived[before_hole..].iter().rev() {
            let packet = &self.packets[index];
            let early = service.known.ns_per_byte.map_or(0, |ns| (ns * f64::from(bytes_after)) as i64);
            let arrived = (at - early).max(self.last_cover.min(at)).max(packet.at + service.known.shortest.min(at - packet.at));
            self.fates[index] = Fate::Arrived(arrived - packet.at);
            bytes_after += packet.ip_len;
        }
        let mut latest = self.last_cover;
        for &index in &arrived[..before_hole] {
            let packet = &self.packets[index];
            let own = service.known.ns_per_byte.map_or(0.0, |ns| ns * f64::from(packet.ip_len)) as i64;
            latest = latest.saturating_add(own).max(packet.at + service.known.shortest).min(at);
            self.fates[index] = Fate::Arrived(latest - packet.at);
        }
        self.last_cover = at;
    }

    /// Number of the first of these transmissions that one ACK covers which a segment without an ACK
    /// separates from the others: a receiver that delayed its ACK of them sends it at once when it
    /// misses one. They arrived after those of the ACK before, one service time after another, and
    /// the ACK shows when the segment behind the hole arrived. 0 where several flows share the
    /// service, or the rate is not known.
    fn before_hole(&self, arrived: &[usize], service: Service) -> usize {
        if !service.known.is_alone || service.known.ns_per_byte.is_none() {
            return 0;
        }
        let is_missing = |index: usize| self.packets[index].payload > 0 && self.fates[index] == Fate::OutsideCapture;
        arrived.windows(2).rposition(|pair| (pair[0] + 1..pair[1]).any(is_missing)).map_or(0, |place| place + 1)
    }

    /// What was sent an RTT before the last ACK and is not covered: all but the last copy is lost.
    fn end(&mut self, last: i64) {
        let since = last - self.min_rtt.unwrap_or(0);
        for one in self.outstanding.values() {
            let (&newest, others) = one.sent.split_last().expect("a segment was sent");
            for &index in others {
                self.fates[index] = Fate::Lost;
            }
            if self.packets[newest].at < since && !others.is_empty() {
                self.fates[newest] = Fate::Uncaptured;
            }
        }
    }
}

/// What is known of the path.
#[derive(Debug, Clone, Copy, Default)]
struct KnownPath {
    /// Minimum RTT, nanoseconds.
    shortest: i64,
    ns_per_byte: Option<f64>,
    /// No other flow shares the link.
    is_alone: bool,
}

/// What is known of the arrivals before an ACK.
#[derive(Debug, Clone, Copy)]
struct Service {
    known: KnownPath,
    /// The time of the ACK shows the time of no arrival.
    is_late: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Segments of 1000 bytes by number, sent at these times in ms.
    fn sent(segments: &[(u32, i64)]) -> Vec<PacketFingerprint> {
        let packet = |&(number, at): &(u32, i64)| PacketFingerprint {
            hash: 0,
            at: at * MS,
            seq: number * 1000,
            ack: 0,
            payload: 1000,
            ip_len: 1040,
            ip_id: 0,
            flags: Flags(Flags::ACK),
        };
        segments.iter().map(packet).collect()
    }

    /// The number of the next segment, a time in ms, and a SACK block of segments.
    type Ack = (u32, i64, Option<(u32, u32)>);

    fn acks(events: &[Ack]) -> Vec<AckEvent> {
        let event = |&(next, at, block): &Ack| AckEvent {
            at: at * MS,
            ack: next * 1000,
            ip_len: 40,
            blocks: block.map_or_else(SackBlocks::default, |(left, right)| SackBlocks::one(left * 1000, right * 1000)),
        };
        events.iter().map(event).collect()
    }

    /// A path of one flow with a minimum RTT of 20 ms.
    fn known(ns_per_byte: Option<f64>) -> KnownPath {
        KnownPath { shortest: 20 * MS, ns_per_byte, is_alone: true }
    }

    #[test]
    fn segment_is_lost_when_its_retransmission_arrives_an_rtt_later() {
        let sent = sent(&[(0, 0), (1, 1), (2, 2), (1, 30)]);
        let acks = acks(&[(1, 20, None), (1, 22, Some((2, 3))), (3, 50, None)]);
        let fates = Scoreboard::of(&sent, &acks, known(None)).fates;
        assert_eq!(fates, [Fate::Arrived(20 * MS), Fate::Lost, Fate::Arrived(20 * MS), Fate::Arrived(20 * MS)]);
    }

    #[test]
    fn first_transmission_arrived_when_the_ack_follows_the_second_at_once() {
        let sent = sent(&[(0, 0), (1, 1), (2, 2), (1, 30)]);
        let acks = acks(&[(1, 20, None), (1, 22, Some((2, 3))), (3, 31, None)]);
        let fates = Scoreboard::of(&sent, &acks, known(None)).fates;
        assert_eq!(fates, [Fate::Arrived(20 * MS), Fate::Arrived(30 * MS), Fate::Arrived(20 * MS), Fate::Uncaptured]);
    }

    #[test]
    fn time_of_arrival_is_unknown_when_the_ack_of_a_recovery_has_no_sack() {
        let sent = sent(&[(0, 0), (1, 1), (1, 30)]);
        let fates = Scoreboard::of(&sent, &acks(&[(1, 20, None), (2, 31, None)]), known(None)).fates;
        assert_eq!(fates, [Fate::Arrived(20 * MS), Fate::Uncaptured, Fate::Uncaptured]);
    }

    #[test]
    fn segments_of_one_ack_arrive_one_service_time_after_another_when_the_rate_is_known() {
        let sent = sent(&[(0, 0), (1, 0), (2, 0)]);
        let fates = Scoreboard::of(&sent, &acks(&[(1, 20, None), (3, 40, None)]), known(Some(10e6 / 1040.0))).fates;
        assert_eq!(fates, [Fate::Arrived(20 * MS), Fate::Arrived(30 * MS), Fate::Arrived(40 * MS)]);
    }

    /// Segments 1 and 3 share an ACK, since its delay ends when 2 is missing. 3 arrives two service
    /// times after 1 if 2 was lost behind the link, and one if it was dropped in front of it.
    #[test]
    fn segment_before_a_hole_arrives_one_service_time_after_the_ack_before_it() {
        let sent = sent(&[(0, 0), (1, 0), (2, 0), (3, 0)]);
        for third in [40, 50] {
            let acks = acks(&[(1, 20, None), (2, third, Some((3, 4)))]);
            let fates = Scoreboard::of(&sent, &acks, known(Some(10e6 / 1040.0))).fates;
            let arrived = |ms: i64| Fate::Arrived(ms * MS);
            assert_eq!(fates, [arrived(20), arrived(30), Fate::OutsideCapture, arrived(third)]);
            let shared = KnownPath { is_alone: false, ..known(Some(10e6 / 1040.0)) };
            let fates = Scoreboard::of(&sent, &acks, shared).fates;
            assert_eq!(fates[1], arrived(third - 10), "another flow may have used the time before it");
        }
    }
}
