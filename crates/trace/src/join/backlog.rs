//! Backlog between the captures: the bytes and packets that have left the sender's capture and not
//! yet the bottleneck (arrivals minus departures; Cruz 1991). The departures are the arrivals at the
//! other capture less the minimum delay, so that the rate of the link does not matter: a token
//! bucket, a radio and a link that stops have a backlog like any other. A droptail queue drops what
//! would raise the backlog above its limit, and nothing else.

use super::bottleneck_schedule::Transit;
use super::fate::Fate;
use super::stalls::{self, LinkStall};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Backlog that one packet met, itself included. A super-segment that was lost whole counts as one
/// arrival: a queue before its segmentation drops it whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backlog {
    /// When it was sent: what a queue that drops at its tail compares with its limit.
    pub at_arrival: Amount,
    /// When its service begins, with what was sent after it: what a queue that drops at its head
    /// compares with its limit.
    pub at_service: Amount,
    /// The link stalled while the packet was in transit: the backlog may be elsewhere than in the
    /// bottleneck's queue.
    pub in_stall: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    pub bytes: i64,
    pub packets: i64,
}

impl Amount {
    fn add(&mut self, ip_len: u32) {
        self.bytes += i64::from(ip_len);
        self.packets += 1;
    }

    fn remove(&mut self, ip_len: u32) {
        self.bytes -= i64::from(ip_len);
        self.packets -= 1;
    }

    fn minus(self, other: Amount) -> Amount {
        Amount { bytes: self.bytes - other.bytes, packets: self.packets - other.packets }
    }
}

/// Minimum delay of the packets that overtake no other, nanoseconds: a packet that a link lets pass
/// others has a shorter path than the queue's. `packets` are in order of departure.
pub fn base_delay(packets: &[Transit]) -> Option<i64> {
    let mut latest = i64::MIN;
    let in_order = packets.iter().filter_map(|packet| {
        let delay = packet.fate.delay()?;
        let arrived = packet.at.saturating_add(delay);
        let overtakes = arrived < latest;
        latest = latest.max(arrived);
        (!overtakes).then_some(delay)
    });
    in_order.min()
}

/// The backlog of each packet, by direction and packet. `packets` are in order of departure;
/// `sizes` are the numbers of packets of each flow's direction.
pub fn backlogs(packets: &[Transit], sizes: &[usize], base_delay: i64, stalls: &[LinkStall]) -> Vec<Vec<Backlog>> {
    let mut all: Vec<Vec<Backlog>> = sizes.iter().map(|&n| vec![Backlog::default(); n]).collect();
    let mut at = |packet: &Transit, set: &dyn Fn(&mut Backlog)| set(&mut all[packet.direction][packet.index]);
    at_arrival(packets, base_delay, &mut at);
    at_service(packets, base_delay, &mut at);
    if !stalls.is_empty() {
        let mut last_delay = base_delay;
        for packet in packets {
            last_delay = packet.fate.delay().unwrap_or(last_delay);
            let in_stall = stalls::overlaps(stalls, packet.at, packet.at.saturating_add(last_delay));
            at(packet, &|backlog| backlog.in_stall = in_stall);
        }
    }
    all
}

type Set<'a> = dyn FnMut(&Transit, &dyn Fn(&mut Backlog)) + 'a;

fn at_arrival(packets: &[Transit], base_delay: i64, set: &mut Set<'_>) {
    let mut departures: BinaryHeap<Reverse<(i64, u32)>> = BinaryHeap::new();
    let mut queued = Amount::default();
    let mut from = 0;
    while let Some(first) = packets.get(from) {
        while departures.peek().is_some_and(|departure| departure.0.0 <= first.at) {
            departures.pop().into_iter().for_each(|Reverse((_, ip_len))| queued.remove(ip_len));
        }
        let is_same_unit = |packet: &&Transit| packet.at == first.at && packet.direction == first.direction;
        let unit = &packets[from..from + packets[from..].iter().take_while(is_same_unit).count()];
        let lost_whole = unit.iter().all(|packet| packet.fate == Fate::Lost);
        let mut with_unit = queued;
        unit.iter().for_each(|packet| with_unit.add(packet.ip_len));
        for packet in unit {
            let mut met = queued;
            met.add(packet.ip_len);
            if lost_whole {
                met = with_unit;
            }
            set(packet, &|backlog| backlog.at_arrival = met);
            if let Fate::Arrived(delay) = packet.fate {
                queued.add(packet.ip_len);
                departures.push(Reverse((packet.at.saturating_add(delay).saturating_sub(base_delay), packet.ip_len)));
            }
        }
        from += unit.len();
    }
}

fn at_service(packets: &[Transit], base_delay: i64, set: &mut Set<'_>) {
    let mut sums = Vec::with_capacity(packets.len() + 1);
    let mut sum = Amount::default();
    sums.push(sum);
    for packet in packets {
        if packet.fate.delay().is_some() {
            sum.add(packet.ip_len);
        }
        sums.push(sum);
    }
    let mut latest = i64::MIN;
    let mut end = 0;
    for (i, packet) in packets.iter().enumerate() {
        let service_at = packet.at.max(latest.saturating_sub(base_delay));
        end = end.max(i + 1);
        while packets.get(end).is_some_and(|later| later.at <= service_at) {
            end += 1;
        }
        let mut met = sums[end].minus(sums[i + 1]);
        met.add(packet.ip_len);
        set(packet, &|backlog| backlog.at_service = met);
        if let Some(delay) = packet.fate.delay() {
            latest = latest.max(packet.at.saturating_add(delay));
        }
    }
}
