//! The input of all estimators: the packets of one direction of a path.

use ackclock_trace::join::{Fate, PathDirection};

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// Arrived at this time, nanoseconds of the sender's clock.
    Arrived(i64),
    /// Lost; `channel` is the probability that no queue dropped it.
    Lost { channel: f64 },
    /// It passed the link, and its arrival is not known.
    Uncaptured,
    /// Sent outside of the other capture's time.
    OutsideCapture,
}

/// One packet of any flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkPacket {
    /// Departure from the sender, nanoseconds of the sender's clock.
    pub sent: i64,
    /// IP bytes.
    pub len: u32,
    pub outcome: Outcome,
}

impl LinkPacket {
    /// Difference of two arrivals up to which they are one, nanoseconds: the conversion between
    /// clocks rounds, and no link serves a full packet in this time.
    pub const SAME_TIME: i64 = 500;

    /// The one-way delay of a packet that arrived, nanoseconds under the assumed clock offset.
    pub fn delay(&self) -> Option<i64> {
        self.arrival().map(|arrival| arrival - self.sent)
    }

    pub fn arrival(&self) -> Option<i64> {
        if let Outcome::Arrived(at) = self.outcome { Some(at) } else { None }
    }

    pub fn is_lost(&self) -> bool {
        matches!(self.outcome, Outcome::Lost { .. })
    }
}

/// One direction of one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DirectionFacts {
    /// In order of departure.
    pub packets: Vec<LinkPacket>,
    /// The flow of each packet; empty if all are of one.
    pub flows: Vec<u32>,
    /// Start and end of each time in which the link sent nothing of what waited, nanoseconds.
    pub stalls: Vec<(i64, i64)>,
    /// Arrivals are those that ACKs show.
    pub by_acks: bool,
    /// Flows overtake each other and not themselves.
    pub flow_queues: bool,
    /// Packets were marked CE.
    pub marked: bool,
    /// Rate in bit/s and burst in bytes of a token bucket.
    pub token_bucket: Option<(f64, f64)>,
    /// Hosts timestamped packets late: by how much the floor of the path may lie above the smallest delay,
    /// nanoseconds.
    pub late: Option<f64>,
    /// By how much a stall of the sender's host made delays too small, which are mended, nanoseconds.
    pub host_stall: f64,
    /// By how much the smallest delay may be too small for a stall that these packets do not show, nanoseconds.
    pub floor_error: f64,
    /// Packets that arrived and of which the sender's capture lost the records.
    pub missing_at_sender: usize,
    /// Share of the records of its own packets that the capture at the receiver lost: it may have lost those of
    /// arrivals as well.
    pub receiver_misses: f64,
}

impl DirectionFacts {
    /// The most common length of the packets, bytes.
    pub fn common_len(&self) -> Option<u32> {
        let mut lens: Vec<u32> = self.packets.iter().map(|packet| packet.len).collect();
        lens.sort_unstable();
        lens.chunk_by(|a, b| a == b).max_by_key(|same| same.len()).map(|same| same[0])
    }

    /// Packets are of more than one flow.
    pub fn has_several_flows(&self) -> bool {
        self.flows.windows(2).any(|pair| pair[0] != pair[1])
    }

    /// Minimum delay of the packets that overtake no other, nanoseconds: a packet that a link lets
    /// pass others has another path.
    pub fn floor(&self) -> Option<i64> {
        let mut latest = i64::MIN;
        let in_order = self.packets.iter().filter_map(|packet| {
            let arrival = packet.arrival()?;
            let overtakes = arrival < latest;
            latest = latest.max(arrival);
            (!overtakes).then(|| arrival - packet.sent)
        });
        in_order.min()
    }

    /// Share of the packets of which the sender's capture lost the records.
    pub fn sender_misses(&self) -> f64 {
        self.missing_at_sender as f64 / (self.packets.len() + self.missing_at_sender).max(1) as f64
    }

    /// True if the link stalled between these times, nanoseconds.
    pub fn stalled(&self, from: i64, to: i64) -> bool {
        self.stalls.iter().any(|&(start, end)| start < to && end > from)
    }

    /// Indexes of the packets that found no other packet of these flows on the path: every earlier
    /// one had arrived when this one could have reached the end of the path without its service.
    /// `floor` is the delay of such a packet without its service, nanoseconds.
    pub fn isolated(&self, floor: i64) -> Vec<usize> {
        let mut latest = i64::MIN;
        let mut isolated = Vec::new();
        for (index, packet) in self.packets.iter().enumerate() {
            match packet.outcome {
                Outcome::Arrived(arrival) => {
                    if latest <= packet.sent + floor {
                        isolated.push(index);
                    }
                    latest = latest.max(arrival);
                }
                // It passed the link at a time that is not known; a packet that a queue dropped shows
                // that others waited.
                Outcome::Lost { .. } | Outcome::Uncaptured | Outcome::OutsideCapture => {
                    latest = latest.max(packet.sent + floor + 1);
                }
            }
        }
        isolated
    }
}

impl From<&PathDirection> for DirectionFacts {
    fn from(path: &PathDirection) -> DirectionFacts {
        let packet = |packet: &ackclock_trace::join::PathPacket| LinkPacket {
            sent: packet.at,
            len: packet.ip_len,
            outcome: match packet.fate {
                Fate::Arrived(delay) => Outcome::Arrived(packet.at.saturating_add(delay)),
                Fate::Lost => Outcome::Lost { channel: packet.not_queue },
                Fate::Uncaptured => Outcome::Uncaptured,
                Fate::OutsideCapture => Outcome::OutsideCapture,
            },
        };
        DirectionFacts {
            packets: path.packets.iter().map(packet).collect(),
            flows: path.packets.iter().map(|packet| packet.flow).collect(),
            stalls: path.stalls.iter().map(|stall| (stall.start, stall.end)).collect(),
            by_acks: false,
            flow_queues: path.flow_queues,
            marked: path.marked,
            token_bucket: path.token_bucket.map(|bucket| (bucket.rate_bps, bucket.burst_bytes)),
            late: None,
            host_stall: 0.0,
            floor_error: 0.0,
            missing_at_sender: path.missing_at_sender as usize,
            receiver_misses: 0.0,
        }
    }
}
