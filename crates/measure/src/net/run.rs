//! One end's part in one test.

use super::flow::{Flow, PIECE};
use super::sample;
use crate::Nanos;
use crate::control::message::{FlowOutcome, Name, Outcome};
use crate::control::table::Table;
use crate::spec::{Bulk, Train};
use crate::udp::packet::Head;
use crate::udp::train::{Incoming, Outgoing};
use std::net::{SocketAddr, UdpSocket};

/// Datagrams out, in, or both.
pub struct Trains {
    pub out: Option<Outgoing>,
    pub inn: Option<Incoming>,
    /// Where they go, once that is proven.
    pub to: Option<SocketAddr>,
}

impl Trains {
    /// `tag` marks what is sent.
    pub fn new(out: Option<Train>, inn: Option<Train>, tag: u64) -> Trains {
        Trains { out: out.map(|train| Outgoing::new(train, tag)), inn: inn.map(Incoming::new), to: None }
    }

    pub fn start(&mut self, now: Nanos) {
        self.out.iter_mut().for_each(|out| out.start(now));
    }

    pub fn due(&self) -> Nanos {
        self.out.as_ref().and_then(Outgoing::due).unwrap_or(Nanos::MAX)
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
            out.left(now, taken);
        }
    }

    /// Sends the due datagrams, at most so many: the caller has other sockets to serve.
    pub fn advance(&mut self, socket: &UdpSocket, most: usize, now: impl Fn() -> Nanos) {
        self.tick(now());
        for _ in 0..most {
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

    /// Records a datagram that arrived. False if no train or not this much of one was requested.
    pub fn hear(&mut self, head: &Head, at: Nanos) -> bool {
        self.inn.as_mut().is_some_and(|inn| inn.came(head, at))
    }

    /// All has been sent, and nothing has come in for so long.
    pub fn is_quiet(&self, now: Nanos, since: Nanos, quiet: Nanos) -> bool {
        let sent = self.out.as_ref().is_none_or(Outgoing::is_done);
        let inn = self.inn.as_ref();
        let last = inn.and_then(|i| i.last).unwrap_or(since).max(since);
        sent && (inn.is_none_or(Incoming::has_all) || now >= last.saturating_add(quiet))
    }
}

/// TCP connections.
pub struct Flows {
    pub flows: Vec<Flow>,
    /// Those that were laid aside.
    over: Vec<FlowOutcome>,
    pub samples: Table,
    sample_ns: Nanos,
    next: Nanos,
    most_rows: u64,
}

impl Flows {
    /// For a bulk test; `now` is when it begins to be looked at.
    pub fn of_bulk(bulk: &Bulk, now: Nanos) -> Flows {
        Flows { sample_ns: bulk.sample_ns, next: now, most_rows: bulk.samples(), ..Flows::unsampled() }
    }

    /// Connections at which nobody looks while they last.
    pub fn unsampled() -> Flows {
        let samples = Table::new(sample::COLUMNS.len());
        Flows { flows: Vec::new(), over: Vec::new(), samples, sample_ns: Nanos::MAX, next: Nanos::MAX, most_rows: 0 }
    }

    pub fn due(&self, now: Nanos) -> Nanos {
        let first = self.flows.iter().map(|f| f.due(now)).min().unwrap_or(Nanos::MAX);
        let looked_at = self.flows.iter().any(|f| !f.is_ended());
        first.min(if looked_at { self.next } else { Nanos::MAX })
    }

    /// Looks at what is open every so often.
    pub fn tick(&mut self, now: Nanos) {
        if now < self.next {
            return;
        }
        for flow in &self.flows {
            if (self.samples.len() as u64) < self.most_rows
                && let Some(row) = flow.sample(now)
            {
                self.samples.push(&row);
            }
        }
        self.next = now.saturating_add(self.sample_ns);
    }

    pub fn all_ended(&self) -> bool {
        self.flows.iter().all(Flow::is_ended)
    }

    pub fn end(&mut self) {
        self.flows.iter_mut().for_each(Flow::end);
    }

    /// Keeps of those that have ended only what is said of them, so that the many that were cost the few that are nothing.
    pub fn lay_aside(&mut self) {
        self.over.extend(self.flows.extract_if(.., |f| f.is_ended()).map(|f| f.outcome()));
    }

    pub fn bytes(&self) -> u64 {
        self.flows.iter().map(|f| f.bytes).sum()
    }
}

pub enum Run {
    Trains(Trains),
    Flows(Flows),
}

impl Run {
    pub fn due(&self, now: Nanos) -> Nanos {
        match self {
            Run::Trains(trains) => trains.due(),
            Run::Flows(flows) => flows.due(now),
        }
    }

    pub fn bytes(&self) -> u64 {
        match self {
            Run::Trains(_) => 0,
            Run::Flows(flows) => flows.bytes(),
        }
    }

    /// What it leaves: tables by name.
    pub fn tables(&self) -> Vec<(Name, &Table)> {
        match self {
            Run::Trains(t) => {
                let sent = t.out.iter().map(|out| (Name::Sent, &out.sent));
                sent.chain(t.inn.iter().map(|inn| (Name::Got, &inn.got))).collect()
            }
            Run::Flows(f) => vec![(Name::Samples, &f.samples)],
        }
    }

    pub fn outcome(&self) -> Outcome {
        match self {
            Run::Trains(t) => {
                let (unsent, held) = t.out.as_ref().map_or((0, 0), |out| (out.unsent, out.held));
                Outcome { unsent, held, ..Outcome::default() }
            }
            Run::Flows(f) => {
                let mut flows: Vec<_> = f.over.iter().cloned().chain(f.flows.iter().map(Flow::outcome)).collect();
                flows.sort_by_key(|f| f.flow);
                Outcome { flows, ..Outcome::default() }
            }
        }
    }
}

/// A buffer for reading and writing, filled with what no link compresses.
pub fn scratch() -> Vec<u8> {
    crate::udp::packet::filler(PIECE)
}
