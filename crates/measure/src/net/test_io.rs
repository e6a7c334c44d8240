//! One end of a running test.

use super::tcp_flow::{PIECE, TcpFlow};
use crate::Nanos;
use crate::control::message::{FlowOutcome, TableId, TestOutcome};
use crate::control::table::IntTable;
use crate::rate_budget::{payload_of, tcp_wire_bytes};
use crate::record::SAMPLE_COLUMNS;
use crate::test_spec::{Bulk, Train};
use crate::udp::packet::DatagramHeader;
use crate::udp::train::{TrainReceiver, TrainSender};
use std::net::{SocketAddr, UdpSocket};

/// Trains that this end sends and receives.
pub struct TrainIo {
    pub out: Option<TrainSender>,
    pub incoming: Option<TrainReceiver>,
    /// Destination, after its validation.
    pub to: Option<SocketAddr>,
}

impl TrainIo {
    /// `tag` is that of the sent datagrams.
    pub fn new(out: Option<Train>, incoming: Option<Train>, tag: u64) -> TrainIo {
        TrainIo { out: out.map(|train| TrainSender::new(train, tag)), incoming: incoming.map(TrainReceiver::new), to: None }
    }

    pub fn start(&mut self, now: Nanos) {
        self.out.iter_mut().for_each(|out| out.start(now));
    }

    pub fn due(&self) -> Nanos {
        self.out.as_ref().and_then(TrainSender::due).unwrap_or(Nanos::MAX)
    }

    /// Bytes of IP of this end's next datagram, if one is due.
    pub fn ready(&self, now: Nanos) -> Option<u64> {
        let out = self.out.as_ref().filter(|out| self.to.is_some() && out.due().is_some_and(|due| due <= now))?;
        Some(out.wire_bytes())
    }

    /// Sends the due datagram; `send` returns whether the system call succeeded.
    pub fn send_one(&mut self, now: Nanos, send: impl FnOnce(&[u8], SocketAddr) -> bool) {
        if let (Some(out), Some(to)) = (&mut self.out, self.to) {
            let taken = send(out.datagram(now), to);
            out.on_sent(now, taken);
        }
    }

    /// Sends the due datagrams, at most `max`: the caller has other sockets to serve.
    pub fn advance(&mut self, socket: &UdpSocket, max: usize, now: impl Fn() -> Nanos) {
        self.tick(now());
        for _ in 0..max {
            let at = now();
            if self.ready(at).is_none() {
                return;
            }
            self.send_one(at, |datagram, to| socket.send_to(datagram, to).is_ok());
        }
    }

    /// Counts the remaining datagrams as unsent.
    pub fn tick(&mut self, now: Nanos) {
        self.out.iter_mut().for_each(|out| out.tick(now));
    }

    /// Logs an arrival. False if the datagram is not part of the requested train.
    pub fn on_datagram(&mut self, head: &DatagramHeader, at: Nanos) -> bool {
        self.incoming.as_mut().is_some_and(|incoming| incoming.on_datagram(head, at))
    }

    /// All datagrams were sent, and none has arrived for `quiet`.
    pub fn is_quiet(&self, now: Nanos, since: Nanos, quiet: Nanos) -> bool {
        let sent = self.out.as_ref().is_none_or(TrainSender::is_done);
        let incoming = self.incoming.as_ref();
        let last = incoming.and_then(|i| i.last).unwrap_or(since).max(since);
        sent && (incoming.is_none_or(TrainReceiver::has_all) || now >= last.saturating_add(quiet))
    }
}

/// TCP connections of a test.
pub struct FlowIo {
    pub flows: Vec<TcpFlow>,
    /// Results of connections that were removed.
    ended: Vec<FlowOutcome>,
    pub samples: IntTable,
    sample_ns: Nanos,
    next: Nanos,
    max_rows: u64,
    /// Maximum bytes of IP (`Bulk::max_bytes`).
    max_bytes: u64,
    /// Bytes of IP that this end's kernel has retransmitted, at the last sample.
    retransmitted: u64,
}

impl FlowIo {
    /// Connections of a bulk test, sampled from `now` on.
    pub fn for_bulk(bulk: &Bulk, now: Nanos) -> FlowIo {
        let max_bytes = bulk.max_bytes.unwrap_or(u64::MAX);
        FlowIo { sample_ns: bulk.sample_ns, next: now, max_rows: bulk.samples(), max_bytes, ..FlowIo::without_samples() }
    }

    /// Connections without samples.
    pub fn without_samples() -> FlowIo {
        let samples = IntTable::new(SAMPLE_COLUMNS.len());
        FlowIo {
            flows: Vec::new(),
            ended: Vec::new(),
            samples,
            sample_ns: Nanos::MAX,
            next: Nanos::MAX,
            max_rows: 0,
            max_bytes: u64::MAX,
            retransmitted: 0,
        }
    }

    pub fn due(&self, now: Nanos) -> Nanos {
        let first = self.flows.iter().map(|f| f.due(now)).min().unwrap_or(Nanos::MAX);
        let looked_at = self.flows.iter().any(|f| !f.is_ended());
        first.min(if looked_at { self.next } else { Nanos::MAX })
    }

    /// Samples the open connections at the sampling interval.
    pub fn tick(&mut self, now: Nanos) {
        if now < self.next {
            return;
        }
        for flow in &self.flows {
            if (self.samples.len() as u64) < self.max_rows
                && let Some(row) = flow.sample(now)
            {
                self.samples.push(&row);
            }
        }
        if self.max_bytes < u64::MAX {
            self.retransmitted = self.flows.iter().map(|flow| tcp_wire_bytes(flow.retransmitted())).sum();
        }
        self.next = now.saturating_add(self.sample_ns);
    }

    /// Bytes of payload that the connections may still move; 0 ends the test.
    pub fn room(&self) -> u64 {
        if self.max_bytes == u64::MAX {
            return u64::MAX;
        }
        let moved = tcp_wire_bytes(self.bytes()).saturating_add(self.retransmitted);
        payload_of(self.max_bytes.saturating_sub(moved))
    }

    /// The room, at most so many bytes.
    pub fn room_up_to(&self, max: usize) -> usize {
        usize::try_from(self.room()).map_or(max, |room| room.min(max))
    }

    /// Why the test ends early, if its bytes have moved.
    pub fn spent(&self) -> Option<String> {
        (self.room() == 0).then(|| format!("the test has moved its maximum of {} bytes", self.max_bytes))
    }

    pub fn all_ended(&self) -> bool {
        self.flows.iter().all(TcpFlow::is_ended)
    }

    pub fn end(&mut self) {
        self.flows.iter_mut().for_each(TcpFlow::end);
    }

    /// Replaces ended connections by their results, so that a long sequence of transfers takes
    /// little memory.
    pub fn drop_ended(&mut self) {
        self.ended.extend(self.flows.extract_if(.., |f| f.is_ended()).map(|f| f.outcome()));
    }

    pub fn bytes(&self) -> u64 {
        self.flows.iter().map(|f| f.bytes).sum()
    }
}

pub enum TestIo {
    Trains(TrainIo),
    Flows(FlowIo),
}

impl TestIo {
    pub fn due(&self, now: Nanos) -> Nanos {
        match self {
            TestIo::Trains(trains) => trains.due(),
            TestIo::Flows(flows) => flows.due(now),
        }
    }

    pub fn bytes(&self) -> u64 {
        match self {
            TestIo::Trains(_) => 0,
            TestIo::Flows(flows) => flows.bytes(),
        }
    }

    /// Logs and samples, by table.
    pub fn tables(&self) -> Vec<(TableId, &IntTable)> {
        match self {
            TestIo::Trains(t) => {
                let sent = t.out.iter().map(|out| (TableId::Sent, &out.sent));
                sent.chain(t.incoming.iter().map(|incoming| (TableId::Received, &incoming.received))).collect()
            }
            TestIo::Flows(f) => vec![(TableId::Samples, &f.samples)],
        }
    }

    pub fn outcome(&self) -> TestOutcome {
        match self {
            TestIo::Trains(t) => {
                let (unsent, held) = t.out.as_ref().map_or((0, 0), |out| (out.unsent, out.held));
                TestOutcome { unsent, held, ..TestOutcome::default() }
            }
            TestIo::Flows(f) => {
                let mut flows: Vec<_> = f.ended.iter().cloned().chain(f.flows.iter().map(TcpFlow::outcome)).collect();
                flows.sort_by_key(|f| f.flow);
                TestOutcome { flows, ..TestOutcome::default() }
            }
        }
    }
}

/// Buffer for reading and writing, filled with incompressible data.
pub fn scratch() -> Vec<u8> {
    crate::udp::packet::filler(PIECE)
}
