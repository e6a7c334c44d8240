//! Servers that leave SYNs unanswered while they accept other connections, and connections that a capture has on
//! both sides of a NAT: what only several flows show.

use super::FlowRows;
use crate::decode::EndpointAddress;
use crate::flow::{Flow, Handshake, UnansweredKind, VantagePoint};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What the other connections to the same server show about a SYN without an answer, or with a late one.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ListenerFacts {
    /// Connections to this address and port that were accepted within 10 s of the flow's SYNs.
    pub accepted: u32,
    /// Minimum time from a SYN to its SYN-ACK there, in ms; none unless the capture is at the server.
    pub answers_within_ms: Option<f64>,
    /// A connection of the same client was accepted, or clients at three addresses and more had no answer: no
    /// filter of an address drops the SYNs.
    pub is_unselective: bool,
    /// SYNs without an answer of this client's address, if all carry timestamps below those of its accepted
    /// connections, which grow as a clock does (RFC 7323, section 5.4); else 0.
    pub behind_timestamps: u32,
}

/// Connections that are accepted this long before or after a SYN, in nanoseconds, show that the server is up: copies of
/// a SYN go on for longer.
const MEANWHILE: i64 = 10_000_000_000;
/// Addresses of clients without an answer that no filter of an address explains.
const MANY_CLIENTS: usize = 3;
/// Comparisons of timestamps in one order that chance does not make: 1 in 64.
const MIN_COMPARED: u32 = 6;
/// Of a clock of timestamps, in nanoseconds (RFC 7323, section 5.4: 1 ms to 1 s), a tenth less.
const SHORTEST_TICK: i64 = 900_000;

/// A server's address and port to which SYNs went that nothing answered at once.
#[derive(Debug, Default)]
struct Listener {
    /// Addresses of clients without an answer.
    unanswered: HashSet<u128>,
    /// Times of the SYNs of accepted connections, ascending.
    accepted_at: Vec<i64>,
    /// Minimum times from SYN to SYN-ACK, and from there to the client's ACK.
    min_answer: Option<i64>,
    min_ack: Option<i64>,
    clients: HashMap<u128, ClientTimestamps>,
    is_on_one_host: bool,
}

/// TSvals of the SYNs of one client's address to one server, in the order of time.
#[derive(Debug, Clone, Copy, Default)]
struct ClientTimestamps {
    /// TSval and time of capture.
    last_accepted: Option<(u32, i64)>,
    /// Accepted SYNs that are above the last accepted one, and SYNs without an answer that are below it.
    above: u32,
    below: u32,
    accepted: u32,
    /// Two accepted ones in a row are of one clock. Linux gives each connection an offset of its own, and chance orders
    /// those.
    has_clock: bool,
    /// One is in another order.
    is_mixed: bool,
}

#[derive(Debug, Default)]
pub struct Listeners {
    by_end: HashMap<EndpointAddress, Listener>,
}

impl Listeners {
    /// Notes the flow's server if it left a SYN without an answer, or answered a copy of it only.
    pub(super) fn note(&mut self, flow: &Flow) {
        if is_unanswered(flow) || is_answered_late(flow) {
            let client = flow.endpoint(flow.client()).ip;
            self.by_end.entry(flow.endpoint(flow.client().other())).or_default().unanswered.insert(client);
        }
    }

    /// Adds all connections of the servers that were noted, in their order.
    pub(super) fn complete(&mut self, connections: &[OpenedConnection]) {
        if self.by_end.is_empty() {
            return;
        }
        for connection in connections {
            if let Some(listener) = self.by_end.get_mut(&connection.server) {
                listener.add(connection);
            }
        }
        self.by_end.values_mut().for_each(|listener| listener.accepted_at.sort_unstable());
    }

    /// What other connections to the flow's server show; none if it answered all SYNs at once.
    pub fn facts(&self, flow: &Flow) -> Option<ListenerFacts> {
        let listener = self.by_end.get(&flow.endpoint(flow.client().other()))?;
        let client = flow.endpoint(flow.client()).ip;
        let until = if is_unanswered(flow) { flow.last_at() } else { flow.handshake().syn_ack_at()? };
        let first = listener.accepted_at.partition_point(|at| *at < flow.first_at() - MEANWHILE);
        let end = listener.accepted_at.partition_point(|at| *at <= until.saturating_add(MEANWHILE));
        let place = VantagePoint::of(listener.min_ack, listener.min_answer);
        let is_at_server = listener.is_on_one_host || place == VantagePoint::Server;
        let timestamps = listener.clients.get(&client).copied().unwrap_or_default();
        let own = u32::from(!is_unanswered(flow));
        Some(ListenerFacts {
            accepted: ((end - first) as u32).saturating_sub(own),
            answers_within_ms: listener.min_answer.filter(|_| is_at_server).map(super::ms),
            is_unselective: timestamps.accepted > own || listener.unanswered.len() >= MANY_CLIENTS,
            behind_timestamps: timestamps.behind(),
        })
    }
}

impl Listener {
    fn add(&mut self, connection: &OpenedConnection) {
        let OpenedConnection { client, server, handshake: h, .. } = *connection;
        let timestamps = self.clients.entry(client).or_default();
        if let (Some(syn_at), Some(answer_at)) = (h.syn_at(), h.syn_ack_at()) {
            timestamps.accepted += 1;
            if let Some(tsval) = connection.tsval {
                timestamps.on_accepted(tsval, syn_at);
            }
            self.accepted_at.push(syn_at);
            self.is_on_one_host |= client == server.ip;
            let is_first_answered = connection.syns == 1 && answer_at >= syn_at;
            if is_first_answered {
                self.min_answer = Some(self.min_answer.map_or(answer_at - syn_at, |min| min.min(answer_at - syn_at)));
            }
            if let Some(acked_at) = h.established_at() {
                self.min_ack = Some(self.min_ack.map_or(acked_at - answer_at, |min| min.min(acked_at - answer_at)));
            }
        } else if connection.is_unanswered {
            timestamps.on_unanswered(connection.tsval);
        }
    }
}

/// What a connection's beginning shows of its server.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenedConnection {
    client: u128,
    server: EndpointAddress,
    handshake: Handshake,
    /// Of the last copy of the SYN; none without timestamps.
    tsval: Option<u32>,
    /// Copies of the SYN.
    syns: u8,
    is_unanswered: bool,
}

impl OpenedConnection {
    pub fn of(flow: &Flow) -> OpenedConnection {
        let ([client, server], offer) = (flow.ends(), flow.direction(flow.client()).syn());
        OpenedConnection {
            client: client.ip,
            server,
            handshake: *flow.handshake(),
            tsval: offer.timestamps.then_some(offer.tsval),
            syns: offer.copies,
            is_unanswered: is_unanswered(flow),
        }
    }
}

impl ClientTimestamps {
    fn on_accepted(&mut self, tsval: u32, at: i64) {
        if let Some((last, last_at)) = self.last_accepted {
            let (step, waited) = (tsval.wrapping_sub(last) as i32, at - last_at);
            self.is_mixed |= step < 0;
            self.above += u32::from(step >= 0);
            self.has_clock |= step >= 0 && (i64::from(step) - 1).saturating_mul(SHORTEST_TICK) <= waited;
        }
        self.last_accepted = Some((tsval, at));
    }

    /// The TSval is that of the last copy; none without timestamps.
    fn on_unanswered(&mut self, tsval: Option<u32>) {
        match tsval.zip(self.last_accepted).map(|(tsval, (last, _))| tsval.wrapping_sub(last) as i32) {
            Some(step) if step < 0 => self.below += 1,
            _ => self.is_mixed = true,
        }
    }

    fn behind(&self) -> u32 {
        if self.is_mixed || !self.has_clock || self.above + self.below < MIN_COMPARED { 0 } else { self.below }
    }
}

fn is_unanswered(flow: &Flow) -> bool {
    flow.handshake().syn_ack_at().is_none()
        && flow.direction(flow.client()).unanswered(flow.last_at()).is_some_and(|silence| silence.what == UnansweredKind::Syn)
}

/// The first SYN had no answer, a copy of it had.
fn is_answered_late(flow: &Flow) -> bool {
    let h = flow.handshake();
    let waited = h.syn_at().zip(h.syn_ack_at()).is_some_and(|(syn, answer)| answer - syn >= MIN_SYN_WAIT);
    waited && flow.direction(flow.client()).syn().copies > 1 && flow.direction(flow.client().other()).syn().copies == 1
}

/// Less than the time to the first copy of a SYN (RFC 6298, section 2.1: 1 s), in nanoseconds.
const MIN_SYN_WAIT: i64 = 900_000_000;

/// A translation begins within this time after the flow that it translates, in nanoseconds: a router takes less.
const FORWARDED: i64 = 100_000_000;
/// Flows with the same initial sequence numbers, at most: more are no translations, but one flow replayed.
const MAX_TRANSLATED: usize = 4;

/// Flows that are translations of an earlier flow: both ends' initial sequence numbers are the same, and an
/// address is not. By number from 0, with the number of the earlier one.
pub(super) fn translations(mut opened: Vec<(u64, u32)>, rows: &FlowRows<'_>) -> BTreeMap<u32, u32> {
    opened.sort_unstable();
    let mut found = BTreeMap::new();
    for same in opened.chunk_by(|a, b| a.0 == b.0).filter(|same| (2..=MAX_TRANSLATED).contains(&same.len())) {
        let (_, first) = same[0];
        let earlier = rows.flow(first as usize);
        for &(_, number) in &same[1..] {
            let flow = rows.flow(number as usize);
            let is_now = (flow.first_at() - earlier.first_at()).abs() <= FORWARDED;
            if is_now && addresses(&flow) != addresses(&earlier) {
                found.insert(number, first);
            }
        }
    }
    found
}

fn addresses(flow: &Flow) -> [u128; 2] {
    [flow.client(), flow.client().other()].map(|side| flow.endpoint(side).ip)
}

/// The initial sequence numbers of client and server; none unless both were captured.
pub(super) fn initial_numbers(flow: &Flow) -> Option<u64> {
    let [client, server] = [flow.client(), flow.client().other()].map(|side| flow.direction(side).syn());
    (client.is_captured && server.is_captured).then(|| u64::from(client.seq) << 32 | u64::from(server.seq))
}
