//! The far end's rate budget in one direction, and its scheduler. A token bucket bounds the total.
//! Start-time fair queueing (Goyal, Vin and Cheng 1996) divides it: first among sessions, then
//! among the tests of a session, then among the connections of a test. The scheduler selects the
//! backlogged member with the fewest bytes moved; an idle member gains no credit.

use crate::quotas::MAX_DATAGRAM;
use crate::{MS, Nanos, SECOND};

/// Depth of a bucket, as a time at its rate: a late wakeup of the loop loses no tokens.
const DEPTH_NS: Nanos = 10 * MS;
/// Maximum depth, reached where the largest datagram needs it: at most 1.02 of the rate is moved in
/// any second.
const MAX_DEPTH_NS: Nanos = 20 * MS;
/// Maximum burst above the rate, as a time at the rate: the bucket's depth and the unsent data of
/// all connections. A client that reopens its receive windows receives all of it at once.
const MAX_BURST_NS: Nanos = 45 * MS;
/// Minimum limit of a connection's unsent data: one segment of the Ethernet MTU.
const MIN_UNSENT: u64 = TCP_PAYLOAD;
const MAX_UNSENT: u64 = 1 << 20;
/// Maximum debt of a bucket, as a time at its rate. The server cannot refuse datagrams that have
/// arrived; a larger debt would block the data of all other sessions.
pub const MAX_DEBT_NS: Nanos = 100 * MS;

/// IP and TCP headers with timestamps, and the payload of a segment.
const TCP_HEADERS: u64 = 52;
const TCP_PAYLOAD: u64 = 1448;

/// Bytes of IP that carry this TCP payload, in segments of the Ethernet MTU.
pub fn tcp_wire_bytes(payload: u64) -> u64 {
    payload + TCP_HEADERS * payload.div_ceil(TCP_PAYLOAD)
}

/// Payload that these bytes of IP carry, in full segments; 0 for less than one.
pub fn payload_of(wire_bytes: u64) -> u64 {
    wire_bytes / (TCP_PAYLOAD + TCP_HEADERS) * TCP_PAYLOAD
}

/// Depth in bytes of a bucket of this rate.
pub fn depth(rate_bps: u64) -> u64 {
    carried(rate_bps, DEPTH_NS).max(carried(rate_bps, MAX_DEPTH_NS).min(MAX_DATAGRAM)).max(1)
}

fn carried(rate_bps: u64, time: Nanos) -> u64 {
    (u128::from(rate_bps) * time as u128 / (8 * SECOND as u128)) as u64
}

/// Limits of the unsent data of one session. Unsent bytes were charged to the rate budget when they
/// were written to a socket, and are still in the socket. An eighth of them is for the control
/// connection.
#[derive(Debug, Clone, Copy)]
pub struct UnsentLimits {
    session: u64,
}

impl UnsentLimits {
    /// Divides the maximum burst among all `sessions`.
    pub fn new(rate_bps: u64, sessions: u32) -> UnsentLimits {
        let total = carried(rate_bps, MAX_BURST_NS).saturating_sub(depth(rate_bps));
        UnsentLimits { session: total / u64::from(sessions.max(1)) }
    }

    pub fn control(self) -> u64 {
        (self.session / 8).clamp(MIN_UNSENT, MAX_UNSENT)
    }

    /// Limit of one more connection: its part of the session's limit if the session opens `planned`
    /// connections, at most the part that other connections (`used`) leave, and at least one
    /// segment.
    pub fn connection(self, planned: u64, used: u64) -> u64 {
        let room = self.session - self.session / 8;
        (room / planned.max(1)).min(room.saturating_sub(used)).clamp(MIN_UNSENT, MAX_UNSENT)
    }
}

/// A token bucket.
#[derive(Debug, Clone)]
pub struct TokenBucket {
    rate_bps: u64,
    depth: u64,
    /// Level in bits times 10^9. Negative after a charge above the level.
    credit: i128,
    at: Nanos,
}

impl TokenBucket {
    /// A full bucket.
    pub fn new(rate_bps: u64, now: Nanos) -> TokenBucket {
        let depth = depth(rate_bps);
        TokenBucket { rate_bps: rate_bps.max(1), depth, credit: scaled(depth), at: now }
    }

    pub fn depth(&self) -> u64 {
        self.depth
    }

    /// Whether the bucket holds tokens for these bytes. More bytes than the depth need a full
    /// bucket.
    pub fn has(&mut self, now: Nanos, bytes: u64) -> bool {
        let passed = now.saturating_sub(self.at).max(0);
        self.at = self.at.max(now);
        self.credit = (self.credit + i128::from(passed) * i128::from(self.rate_bps)).min(scaled(self.depth));
        self.credit >= scaled(bytes.min(self.depth))
    }

    /// Charges bytes. Debt beyond `MAX_DEBT_NS` is dropped.
    pub fn take(&mut self, bytes: u64) {
        let floor = -i128::from(MAX_DEBT_NS) * i128::from(self.rate_bps);
        self.credit = (self.credit - scaled(bytes)).max(floor);
    }

    /// Time at which the bucket will hold tokens for these bytes, without further charges.
    pub fn ready(&self, bytes: u64) -> Nanos {
        let missing = (scaled(bytes.min(self.depth)) - self.credit).max(0) as u128;
        let ns = missing.div_ceil(u128::from(self.rate_bps));
        self.at.saturating_add(Nanos::try_from(ns).unwrap_or(Nanos::MAX))
    }
}

fn scaled(bytes: u64) -> i128 {
    i128::from(bytes) * 8 * i128::from(SECOND)
}

/// One level of start-time fair queueing: the start tag of the last piece moved.
#[derive(Debug, Clone, Default)]
pub struct FairQueue {
    now: u64,
}

impl FairQueue {
    /// Selects the backlogged member with the minimum start tag; each member comes with its finish
    /// tag.
    pub fn select<T>(&mut self, ready: impl Iterator<Item = (T, u64)>) -> Option<T> {
        let (member, tag) = ready.map(|(member, moved)| (member, moved.max(self.now))).min_by_key(|(_, tag)| *tag)?;
        self.now = tag;
        Some(member)
    }

    /// Finish tag of a member after these bytes.
    pub fn charge(&self, before: u64, bytes: u64) -> u64 {
        before.max(self.now) + bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // finding("S2")
    #[test]
    fn bucket_passes_at_most_1_02_of_its_rate_in_any_second_when_always_backlogged() {
        for rate in [1_000_000, 20_000_000, 1_000_000_000] {
            for piece in [100, 1400, 16_384, 65_528] {
                let piece = depth(rate).min(piece);
                let (mut bucket, mut now, mut left) = (TokenBucket::new(rate, 0), 0, Vec::new());
                while now < 3 * SECOND && left.len() < 400_000 {
                    if bucket.has(now, piece) {
                        bucket.take(piece);
                        left.push((now, piece));
                    } else {
                        now = bucket.ready(piece);
                    }
                }
                let mut first = 0;
                for last in 0..left.len() {
                    while left[last].0 - left[first].0 >= SECOND {
                        first += 1;
                    }
                    let bits = 8 * (last - first + 1) as u64 * piece;
                    assert!(bits as f64 <= 1.0201 * rate as f64, "{bits} bits in a second of {rate}, pieces of {piece}");
                }
            }
        }
    }

    // finding("S2")
    #[test]
    fn bucket_passes_data_again_within_120_ms_when_a_flood_of_datagrams_ends() {
        for rate in [1_000_000, 20_000_000, 1_000_000_000] {
            let (mut bucket, mut now) = (TokenBucket::new(rate, 0), 0);
            // Ten times the rate for a minute, charged every 10 ms.
            while now < 60 * SECOND {
                bucket.has(now, 1);
                bucket.take(rate / 8 / 10);
                now += 10 * MS;
            }
            let waits = bucket.ready(1500) - now;
            assert!(waits <= 120 * MS, "{} ms at {rate} b/s", waits / MS);
        }
    }

    // finding("S2")
    #[test]
    fn unsent_data_and_bucket_depth_carry_at_most_50_ms_of_the_rate() {
        for rate in [10_000_000, 20_000_000, 100_000_000, 1_000_000_000, 10_000_000_000] {
            let (sessions, connections) = (4, 4);
            let room = UnsentLimits::new(rate, sessions);
            let mut used = 0;
            for _ in 0..connections {
                used += room.connection(connections, used);
            }
            let burst = u64::from(sessions) * (used + room.control()) + depth(rate);
            assert!(burst as f64 * 8.0 <= 0.05 * rate as f64, "{burst} bytes at {rate} b/s");
        }
    }

    #[test]
    fn connection_may_hold_one_segment_when_others_use_the_whole_limit() {
        let room = UnsentLimits::new(1_000_000, 100);
        assert_eq!(room.connection(64, 1 << 30), TCP_PAYLOAD);
        assert_eq!(room.control(), TCP_PAYLOAD);
    }

    /// Bytes that each of several backlogged members has moved after this number of rounds.
    fn shares(pieces: &[u64], rounds: usize) -> Vec<u64> {
        let (mut queue, mut moved) = (FairQueue::default(), vec![0; pieces.len()]);
        for _ in 0..rounds {
            let member = queue.select(moved.iter().copied().enumerate()).unwrap();
            moved[member] = queue.charge(moved[member], pieces[member]);
        }
        moved
    }

    // finding("S2")
    #[test]
    fn shares_are_equal_when_pieces_differ_in_size() {
        let moved = shares(&[100, 1500, 16_384, 48], 20_000);
        let (min, max) = (moved.iter().min().unwrap(), moved.iter().max().unwrap());
        assert!(max - min <= 16_384, "{moved:?}");
    }

    #[test]
    fn member_gains_no_credit_when_it_was_idle_and_others_used_its_share() {
        let mut queue = FairQueue::default();
        let mut moved = [0u64; 2];
        for _ in 0..1000 {
            queue.select([(0, moved[0])].into_iter()).unwrap();
            moved[0] = queue.charge(moved[0], 1000);
        }
        let before = moved[0];
        let mut rounds = [0; 2];
        for _ in 0..1000 {
            let member = queue.select(moved.iter().copied().enumerate()).unwrap();
            moved[member] = queue.charge(moved[member], 1000);
            rounds[member] += 1;
        }
        assert_eq!(before, 1_000_000);
        assert!((499..=501).contains(&rounds[1]), "{rounds:?}");
    }
}
