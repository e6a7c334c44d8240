//! A test as the far end has it: prepared, running, stopped, reported.

use super::super::flow::{Flow, Task, Traffic};
use super::super::run::{Flows, Run, Trains};
use super::super::sockets::{Wishes, given};
use super::super::tcp_info::TcpInfo;
use super::Shared;
use super::moving::{Line, Piece};
use super::stranger::Stranger;
use crate::control::hello::DataHello;
use crate::control::keys::Keys;
use crate::control::message::{MOST_FLOWS, Outcome, Reply};
use crate::control::server::ServerSession;
use crate::share::{Turn, tcp_wire_bytes};
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
pub const AT_A_TIME: usize = 4;

pub struct Test {
    pub number: u32,
    pub spec: Spec,
    pub run: Run,
    pub tag: u64,
    /// For connections whose receive buffer must be known from the start.
    pub listener: Option<TcpListener>,
    attached: BTreeSet<u16>,
    /// Rows that it may occupy in this end's memory (`Caps::rows`), until its report is sent.
    pub rows: u64,
    /// Asked to end: when, and after how much silence.
    stop: Option<(Nanos, Nanos)>,
    must_end: Nanos,
    cut_short: Option<String>,
    /// The table that is being sent, and its next row.
    reported: (usize, usize),
    /// What is said last, once it is begun.
    outcome: Option<Outcome>,
    /// Service received within its session in each direction, and the fair queueing state of its connections.
    pub moved: [u64; 2],
    turns: [Turn; 2],
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
        Test {
            number,
            spec,
            run,
            tag,
            listener,
            attached,
            rows: 0,
            stop: None,
            must_end,
            cut_short: None,
            reported: (0, 0),
            outcome: None,
            moved: [0; 2],
            turns: Default::default(),
        }
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

    /// Records a datagram that arrived. False if it is beyond the requested train.
    pub fn hear(&mut self, head: &Head, at: Nanos) -> bool {
        match &mut self.run {
            Run::Trains(trains) => trains.hear(head, at),
            Run::Flows(_) => false,
        }
    }

    /// What a connection of this test is to do; Err if it is none of this test's, or one too many.
    fn task(&self, number: u16) -> Result<Task, ()> {
        // No rate limit here: `moving` enforces the rate of the whole far end.
        let rate_bps = None;
        let Run::Flows(flows) = &self.run else { return Err(()) };
        if self.stop.is_some() || self.attached.contains(&number) {
            return Err(());
        }
        match &self.spec {
            Spec::Bulk(b) if u32::from(number) < u32::from(b.down) + u32::from(b.up) => {
                let way = if number < b.down { Way::Down } else { Way::Up };
                Ok(Task { number, sends: way == Way::Down, limit: None, rate_bps, window: b.receive_window })
            }
            Spec::Transfers(t) if number < t.count && flows.flows.iter().filter(|f| !f.is_ended()).count() < AT_A_TIME => {
                Ok(Task { number, sends: t.way == Way::Down, limit: Some(t.bytes), rate_bps, window: None })
            }
            _ => Err(()),
        }
    }

    /// A connection that has proven to be of this session says that it is this test's.
    pub fn attach(&mut self, hello: DataHello, stranger: Stranger, unsent_limit: u64, now: Nanos) {
        let Ok(task) = self.task(hello.flow) else { return };
        let Run::Flows(flows) = &mut self.run else { return };
        let mut wishes = match &self.spec {
            Spec::Bulk(bulk) => Wishes::of(bulk).after_handshake(),
            Spec::Transfers(t) => Wishes { congestion: t.congestion.clone(), ..Wishes::default() },
            Spec::Datagrams { .. } => return,
        };
        // The listener's port may have set the control already; an end that only receives needs none.
        if !task.sends || wishes.congestion.as_ref().is_some_and(|name| given(&stranger.stream).congestion == *name) {
            let named = wishes.congestion.take();
            let _ = Wishes { congestion: named, ..Wishes::default() }.set(&stranger.stream);
        }
        let failed = wishes.set(&stranger.stream).err();
        super::super::sockets::no_delay(&stranger.stream);
        if task.sends {
            super::super::sockets::hold_unsent(&stranger.stream, unsent_limit);
        }
        // The hello left `since` after the first SYN and took half a round trip, of which the handshake has given an idea.
        let half = TcpInfo::of(&stranger.stream).map_or(0, |info| i64::from(info.rtt_us) * 500);
        let began = now - hello.since.clamp(0, self.spec.duration()) - half;
        // What it sends is ended by whoever counts.
        let more = if task.sends && task.limit.is_none() { SLACK_NS } else { 0 };
        let mut flow = Flow::accepted(task, stranger.stream, began, began + self.spec.duration() + more);
        flow.unsent_limit = task.sends.then_some(unsent_limit);
        self.attached.insert(hello.flow);
        match failed {
            Some(why) => flow.refuse(why),
            None if !task.sends => flow.had(now, stranger.heard.len() - crate::control::hello::DATA_HELLO_BYTES),
            None => {}
        }
        flows.flows.push(flow);
    }

    /// Maximum number of connections on which this end sends at a time.
    pub fn planned_senders(&self) -> u64 {
        match &self.spec {
            Spec::Bulk(bulk) => u64::from(bulk.down),
            Spec::Transfers(t) if t.way == Way::Down => AT_A_TIME.min(usize::from(t.count)) as u64,
            Spec::Transfers(_) | Spec::Datagrams { .. } => 0,
        }
    }

    /// Sum of the limits of its connections' unsent data.
    pub fn unsent_limits(&self) -> u64 {
        let Run::Flows(flows) = &self.run else { return 0 };
        flows.flows.iter().filter(|f| !f.is_ended()).filter_map(|f| f.unsent_limit).sum()
    }

    /// Number of connections that have not arrived yet.
    pub fn awaits(&self) -> bool {
        match (&self.spec, &self.stop) {
            (_, Some(_)) | (Spec::Datagrams { .. }, _) => false,
            (Spec::Bulk(b), None) => self.attached.len() < usize::from(b.down) + usize::from(b.up),
            (Spec::Transfers(t), None) => self.attached.len() < usize::from(t.count),
        }
    }

    /// The sockets to poll; a data socket already known to be ready is left out.
    pub fn sockets(&self, now: Nanos) -> Vec<(usize, BorrowedFd<'_>, PollFlags)> {
        let Run::Flows(flows) = &self.run else { return Vec::new() };
        let polled = |(i, flow): (usize, &'_ Flow)| {
            let interest = flow.interest(now);
            let known = flow.ready && flow.moves().is_some();
            Some((i, interest)).filter(|_| !known && !interest.is_empty())
        };
        let wanted = flows.flows.iter().enumerate().filter_map(polled);
        wanted.filter_map(|(i, interest)| Some((i, flows.flows[i].stream()?.as_fd(), interest))).collect()
    }

    /// Whether a connection has data to move in that direction.
    pub fn has_to_move(&self, way: Traffic, now: Nanos) -> bool {
        match &self.run {
            Run::Trains(trains) => way == Traffic::Out && trains.ready(now).is_some(),
            Run::Flows(flows) => flows.flows.iter().any(|f| f.ready && f.moves() == Some(way)),
        }
    }

    /// Moves one piece, of the connection that fair queueing selects.
    pub fn move_one(&mut self, way: Traffic, now: Nanos, line: &mut Line, shared: &Shared, scratch: &mut [u8]) -> Piece {
        match &mut self.run {
            Run::Trains(trains) => {
                let Some(bytes) = trains.ready(now) else { return Piece::Moved(0) };
                if !line.bucket.has(now, bytes) {
                    trains.out.iter_mut().for_each(|out| out.wait());
                    return Piece::Wait(bytes);
                }
                trains.send_one(now, |datagram, to| shared.udp.send_to(datagram, to).is_ok());
                Piece::Moved(bytes)
            }
            Run::Flows(flows) => {
                let turn = &mut self.turns[way as usize];
                let ready = flows.flows.iter().enumerate().filter(|(_, f)| f.ready && f.moves() == Some(way));
                let Some(who) = turn.pick(ready.map(|(i, f)| (i, f.moved))) else { return Piece::Moved(0) };
                let flow = &mut flows.flows[who];
                let most = match line.chunk(now) {
                    Ok(most) => most,
                    Err(bytes) => return Piece::Wait(bytes),
                };
                let most = most.min(usize::try_from(flow.unsent_room()).unwrap_or(most));
                if most == 0 {
                    // Poll reports the socket when enough of its data has left (TCP_NOTSENT_LOWAT).
                    flow.ready = false;
                    return Piece::Moved(0);
                }
                let done = flow.advance(now, &mut scratch[..most], |_| Vec::new());
                // A read that fills its buffer may leave data in the socket; a shorter one has emptied it.
                flow.ready = !done.blocked && done.bytes == most as u64;
                let bytes = tcp_wire_bytes(done.bytes);
                flow.moved = turn.moved(flow.moved, bytes);
                Piece::Moved(bytes)
            }
        }
    }

    /// Bytes of IP that the kernel has retransmitted since the last call.
    pub fn sent_again(&mut self) -> u64 {
        let Run::Flows(flows) = &mut self.run else { return 0 };
        flows.flows.iter_mut().map(|f| tcp_wire_bytes(f.sent_again())).sum()
    }

    /// Time of the next action; in each direction no data moves before `held`.
    pub fn due(&self, now: Nanos, held: [Option<Nanos>; 2]) -> Nanos {
        let quiet = self.stop.map_or(Nanos::MAX, |(asked, quiet)| match &self.run {
            // While it still sends that says when to look.
            Run::Trains(t) if t.out.as_ref().is_some_and(|out| !out.is_done()) => Nanos::MAX,
            Run::Trains(t) => t.inn.as_ref().and_then(|i| i.last).unwrap_or(asked).max(asked) + quiet,
            Run::Flows(_) => asked + quiet,
        });
        let run = match &self.run {
            Run::Trains(trains) => trains.due().max(held[Traffic::Out as usize].unwrap_or(Nanos::MIN)),
            Run::Flows(flows) => {
                let moves = [Traffic::Out, Traffic::In].into_iter().filter(|way| self.has_to_move(*way, now));
                flows.due(now).min(moves.map(|way| held[way as usize].unwrap_or(now)).min().unwrap_or(Nanos::MAX))
            }
        };
        run.min(self.must_end).min(quiet)
    }

    /// Does what is due. True once the test is over.
    pub fn tick(&mut self, now: Nanos, scratch: &mut [u8]) -> bool {
        match &mut self.run {
            Run::Trains(trains) => trains.tick(now),
            Run::Flows(flows) => {
                for flow in flows.flows.iter_mut().filter(|f| f.due(now) <= now) {
                    // The time limit has passed.
                    flow.advance(now, scratch, |_| Vec::new());
                }
                flows.tick(now);
                if matches!(self.spec, Spec::Transfers(_)) {
                    flows.lay_aside();
                }
            }
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
        while let Some((name, table)) = tables.get(self.reported.0) {
            let next = session.say_rows(self.number, *name, table, self.reported.1);
            if next < table.len() {
                let stuck = next == self.reported.1;
                self.reported.1 = next;
                if stuck {
                    return false;
                }
            } else {
                self.reported = (self.reported.0 + 1, 0);
            }
        }
        let whole = || Outcome { cut_short: self.cut_short.clone(), ..self.run.outcome() };
        let outcome = self.outcome.get_or_insert_with(whole);
        let from = outcome.flows.len().saturating_sub(MOST_FLOWS);
        let flows = outcome.flows.split_off(from);
        if from > 0 {
            session.say(&Reply::Flows { test: self.number, flows });
            return false;
        }
        session.say(&Reply::Done { test: self.number, outcome: Outcome { flows, ..std::mem::take(outcome) } });
        true
    }
}
