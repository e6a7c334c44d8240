//! A test as the far end has it: prepared, running, stopped, reported.

use super::super::flow::{Flow, Task};
use super::super::run::{Flows, Run, Trains};
use super::super::sockets::Wishes;
use super::super::tcp_info::TcpInfo;
use super::stranger::Stranger;
use crate::caps::Caps;
use crate::control::hello::DataHello;
use crate::control::keys::Keys;
use crate::control::message::Reply;
use crate::control::server::ServerSession;
use crate::spec::{Spec, Way};
use crate::udp::packet::Head;
use crate::{Nanos, SECOND};
use nix::poll::PollFlags;
use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};

/// A test may outlast its plan by this much before it is cut short.
const SLACK_NS: Nanos = 30 * SECOND;
/// Longest silence that may be waited for.
const MOST_QUIET_NS: Nanos = 10 * SECOND;
/// Connections of a row of transfers that stand at a time.
const AT_A_TIME: usize = 4;

pub struct Test {
    pub number: u32,
    pub spec: Spec,
    pub run: Run,
    pub tag: u64,
    /// For connections whose receive buffer must be known from the start.
    pub listener: Option<TcpListener>,
    attached: BTreeSet<u16>,
    /// Asked to end: when, and after how much silence.
    stop: Option<(Nanos, Nanos)>,
    must_end: Nanos,
    cut_short: Option<String>,
    /// The table that is being sent, and its next row.
    told: (usize, usize),
}

impl Test {
    pub fn new(number: u32, spec: Spec, keys: &Keys, listener: Option<TcpListener>, now: Nanos) -> Test {
        let run = match &spec {
            Spec::Datagrams { down, up } => Run::Trains(Trains::new(*down, *up, keys.tag(number, false))),
            Spec::Bulk(bulk) => Run::Flows(Flows::of_bulk(bulk, now)),
            Spec::Transfers(_) => Run::Flows(Flows::unsampled()),
        };
        let must_end = now.saturating_add(spec.duration()).saturating_add(SLACK_NS);
        let (attached, tag) = (BTreeSet::new(), keys.tag(number, true));
        Test { number, spec, run, tag, listener, attached, stop: None, must_end, cut_short: None, told: (0, 0) }
    }

    pub fn go(&mut self, now: Nanos) {
        if let Run::Trains(trains) = &mut self.run
            && (trains.to.is_some() || trains.out.is_none())
        {
            trains.start(now);
        }
    }

    pub fn stop(&mut self, now: Nanos, quiet: Nanos) {
        self.stop.get_or_insert((now, quiet.clamp(0, MOST_QUIET_NS)));
    }

    /// The client's address, if this test sends datagrams and has not begun to.
    pub fn proven(&mut self, at: SocketAddr) -> bool {
        match &mut self.run {
            Run::Trains(trains) if trains.out.as_ref().is_some_and(|out| out.sent.is_empty()) => {
                trains.to = Some(at);
                true
            }
            _ => false,
        }
    }

    pub fn hear(&mut self, head: &Head, at: Nanos) {
        if let Run::Trains(trains) = &mut self.run {
            trains.hear(head, at);
        }
    }

    /// What a connection of this test is to do; Err if it is none of this test's, or one too many.
    fn task(&self, number: u16, caps: &Caps) -> Result<Task, ()> {
        let rate_bps = caps.rate_bps;
        let Run::Flows(flows) = &self.run else { return Err(()) };
        if self.stop.is_some() || self.attached.contains(&number) {
            return Err(());
        }
        match &self.spec {
            Spec::Bulk(b) if u32::from(number) < u32::from(b.down) + u32::from(b.up) => {
                let way = if number < b.down { Way::Down } else { Way::Up };
                Ok(Task {
                    number,
                    sends: way == Way::Down,
                    limit: None,
                    rate_bps: b.rate_each(way, rate_bps),
                    window: b.receive_window,
                })
            }
            Spec::Transfers(t) if number < t.count && flows.flows.iter().filter(|f| !f.is_ended()).count() < AT_A_TIME => {
                Ok(Task { number, sends: t.way == Way::Down, limit: Some(t.bytes), rate_bps, window: None })
            }
            _ => Err(()),
        }
    }

    /// A connection that has proven to be of this session says that it is this test's.
    pub fn attach(&mut self, hello: DataHello, stranger: Stranger, caps: &Caps, now: Nanos) {
        let Ok(task) = self.task(hello.flow, caps) else { return };
        let Run::Flows(flows) = &mut self.run else { return };
        let wishes = match &self.spec {
            Spec::Bulk(bulk) => Wishes::of(bulk).after_handshake(),
            Spec::Transfers(t) => Wishes { congestion: t.congestion.clone(), ..Wishes::default() },
            Spec::Datagrams { .. } => return,
        };
        let failed = wishes.set(&stranger.stream).err();
        super::super::sockets::no_delay(&stranger.stream);
        // The hello left `since` after the first SYN and took half a round trip, of which the handshake has given an idea.
        let half = TcpInfo::of(&stranger.stream).map_or(0, |info| i64::from(info.rtt_us) * 500);
        let began = now - hello.since.clamp(0, self.spec.duration()) - half;
        // What it sends is ended by whoever counts.
        let more = if task.sends && task.limit.is_none() { SLACK_NS } else { 0 };
        let mut flow = Flow::accepted(task, stranger.stream, began, began + self.spec.duration() + more);
        self.attached.insert(hello.flow);
        match failed {
            Some(why) => flow.refuse(why),
            None if !task.sends => flow.had(now, stranger.heard.len() - crate::control::hello::DATA_HELLO_BYTES),
            None => {}
        }
        flows.flows.push(flow);
    }

    pub fn sockets(&self, now: Nanos) -> Vec<(usize, BorrowedFd<'_>, PollFlags)> {
        let Run::Flows(flows) = &self.run else { return Vec::new() };
        let polled = |(i, flow): (usize, &'_ Flow)| {
            let interest = flow.interest(now);
            Some((i, interest)).filter(|_| !interest.is_empty())
        };
        let wanted = flows.flows.iter().enumerate().filter_map(polled);
        wanted.filter_map(|(i, interest)| Some((i, flows.flows[i].stream()?.as_fd(), interest))).collect()
    }

    pub fn due(&self, now: Nanos) -> Nanos {
        let quiet = self.stop.map_or(Nanos::MAX, |(asked, quiet)| match &self.run {
            // While it still sends that says when to look.
            Run::Trains(t) if t.out.as_ref().is_some_and(|out| !out.is_done()) => Nanos::MAX,
            Run::Trains(t) => t.inn.as_ref().and_then(|i| i.last).unwrap_or(asked).max(asked) + quiet,
            Run::Flows(_) => asked + quiet,
        });
        self.run.due(now).min(self.must_end).min(quiet)
    }

    /// Does what is due. True once the test is over.
    pub fn tick(&mut self, now: Nanos, scratch: &mut [u8]) -> bool {
        if let Run::Flows(flows) = &mut self.run {
            for flow in &mut flows.flows {
                if flow.due(now) <= now {
                    flow.advance(now, scratch, |_| Vec::new());
                }
            }
            flows.tick(now);
        }
        if now >= self.must_end {
            self.cut_short.get_or_insert_with(|| "the client did not end it in time".into());
        }
        self.cut_short.is_some() || self.is_over(now)
    }

    fn is_over(&self, now: Nanos) -> bool {
        let Some((asked, quiet)) = self.stop else { return false };
        match &self.run {
            Run::Trains(trains) => trains.is_quiet(now, asked, quiet),
            Run::Flows(flows) => flows.all_ended() || now >= asked + quiet,
        }
    }

    pub fn cut(&mut self, why: &str) {
        self.cut_short.get_or_insert_with(|| why.to_owned());
    }

    /// Ends everything, before the report.
    pub fn end(&mut self) {
        self.listener = None;
        if let Run::Flows(flows) = &mut self.run {
            flows.end();
        }
    }

    /// Says more of the report. True once it is complete.
    pub fn report(&mut self, session: &mut ServerSession) -> bool {
        let tables = self.run.tables();
        while let Some((name, table)) = tables.get(self.told.0) {
            let next = session.say_rows(self.number, *name, table, self.told.1);
            if next < table.len() {
                let stuck = next == self.told.1;
                self.told.1 = next;
                if stuck {
                    return false;
                }
            } else {
                self.told = (self.told.0 + 1, 0);
            }
        }
        let outcome = crate::control::message::Outcome { cut_short: self.cut_short.clone(), ..self.run.outcome() };
        session.say(&Reply::Done { test: self.number, outcome });
        true
    }
}
