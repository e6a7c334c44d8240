//! State of a test at the server: prepared, running, stopped, reported.

use super::super::sockets::{SocketOptions, applied_options};
use super::super::tcp_flow::{FlowSpec, IoDirection, TcpFlow};
use super::super::tcp_info::TcpInfo;
use super::super::test_io::{FlowIo, TestIo, TrainIo};
use super::ServerContext;
use super::io_scheduler::{DirectionScheduler, IoStep};
use super::pending_connection::PendingConnection;
use crate::control::hello::DataHello;
use crate::control::keys::SessionKeys;
use crate::control::message::{MAX_FLOWS, ServerReply, TestOutcome};
use crate::control::server::ServerSession;
use crate::rate_budget::{FairQueue, tcp_wire_bytes};
use crate::test_spec::{Direction, TestSpec};
use crate::udp::packet::DatagramHeader;
use crate::{Nanos, SECOND};
use nix::poll::PollFlags;
use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};

/// Time after the planned end at which a test is cut short.
const SLACK_NS: Nanos = 30 * SECOND;
/// Maximum time without arrivals that a client may request.
const MAX_QUIET_NS: Nanos = 10 * SECOND;
/// Maximum number of concurrent connections of a transfer test.
pub const MAX_CONCURRENT_TRANSFERS: usize = 4;

pub struct ServerTest {
    pub number: u32,
    pub spec: TestSpec,
    pub io: TestIo,
    pub tag: u64,
    /// Listener of connections whose receive buffer must be set before the handshake.
    pub listener: Option<TcpListener>,
    attached: BTreeSet<u16>,
    /// Datagrams that the server's kernel had dropped when the test was prepared, and during it.
    pub overrun: u64,
    /// Rows of this end's memory (`Quotas::rows`) that are reserved until the report is sent.
    pub rows: u64,
    /// Requested end: its time, and the time without arrivals before it.
    stop: Option<(Nanos, Nanos)>,
    must_end: Nanos,
    cut_short: Option<String>,
    /// Table that is being sent, and its next row.
    reported: (usize, usize),
    /// The report's last message, once the tables are sent.
    outcome: Option<TestOutcome>,
    /// Bytes of IP in each direction within the session, and the fair queueing of the test's
    /// connections.
    pub moved: [u64; 2],
    queues: [FairQueue; 2],
}

impl ServerTest {
    pub fn new(number: u32, spec: TestSpec, keys: &SessionKeys, listener: Option<TcpListener>, now: Nanos) -> ServerTest {
        let io = match &spec {
            TestSpec::Datagrams { down, up } => TestIo::Trains(TrainIo::new(*down, *up, keys.tag(number, false))),
            TestSpec::Bulk(bulk) => TestIo::Flows(FlowIo::for_bulk(bulk, now)),
            TestSpec::Transfers(_) => TestIo::Flows(FlowIo::without_samples()),
        };
        let must_end = now.saturating_add(spec.duration()).saturating_add(SLACK_NS);
        let (attached, tag) = (BTreeSet::new(), keys.tag(number, true));
        ServerTest {
            number,
            spec,
            io,
            tag,
            listener,
            attached,
            overrun: 0,
            rows: 0,
            stop: None,
            must_end,
            cut_short: None,
            reported: (0, 0),
            outcome: None,
            moved: [0; 2],
            queues: Default::default(),
        }
    }

    pub fn go(&mut self, now: Nanos) {
        if let TestIo::Trains(trains) = &mut self.io
            && (trains.to.is_some() || trains.out.is_none())
        {
            trains.start(now);
        }
    }

    pub fn stop(&mut self, now: Nanos, quiet: Nanos) {
        self.stop.get_or_insert((now, quiet.clamp(0, MAX_QUIET_NS)));
    }

    /// Sets the client's address. False if the test sends no datagrams or has started to.
    pub fn on_address_validated(&mut self, at: SocketAddr) -> bool {
        match &mut self.io {
            TestIo::Trains(trains) if trains.out.as_ref().is_some_and(|out| out.sent.is_empty()) => {
                trains.to = Some(at);
                true
            }
            _ => false,
        }
    }

    /// Logs an arrival. False if the datagram is not part of the requested train.
    pub fn on_datagram(&mut self, head: &DatagramHeader, at: Nanos) -> bool {
        match &mut self.io {
            TestIo::Trains(trains) => trains.on_datagram(head, at),
            TestIo::Flows(_) => false,
        }
    }

    /// Direction and limits of a connection. Err if it is not a connection of this test, or one too
    /// many.
    fn flow_spec(&self, number: u16) -> Result<FlowSpec, ()> {
        // `io_scheduler` limits the rate of the whole server.
        let rate_bps = None;
        let TestIo::Flows(flows) = &self.io else { return Err(()) };
        if self.stop.is_some() || self.attached.contains(&number) {
            return Err(());
        }
        match &self.spec {
            TestSpec::Bulk(b) if u32::from(number) < u32::from(b.down) + u32::from(b.up) => {
                let direction = if number < b.down { Direction::Down } else { Direction::Up };
                Ok(FlowSpec { number, sends: direction == Direction::Down, limit: None, rate_bps, window: b.receive_window })
            }
            TestSpec::Transfers(t)
                if number < t.count && flows.flows.iter().filter(|f| !f.is_ended()).count() < MAX_CONCURRENT_TRANSFERS =>
            {
                Ok(FlowSpec { number, sends: t.direction == Direction::Down, limit: Some(t.bytes), rate_bps, window: None })
            }
            _ => Err(()),
        }
    }

    /// Adds a data connection of this session to the test.
    pub fn attach(&mut self, hello: DataHello, pending: PendingConnection, unsent_limit: u64, now: Nanos) {
        let Ok(flow_spec) = self.flow_spec(hello.flow) else { return };
        let TestIo::Flows(flows) = &mut self.io else { return };
        let mut socket_options = match &self.spec {
            TestSpec::Bulk(bulk) => SocketOptions::of(bulk).after_handshake(),
            TestSpec::Transfers(t) => SocketOptions { congestion: t.congestion.clone(), ..SocketOptions::default() },
            TestSpec::Datagrams { .. } => return,
        };
        // The listener may have set the congestion control already; a receiver needs none.
        if !flow_spec.sends
            || socket_options.congestion.as_ref().is_some_and(|name| applied_options(&pending.stream).congestion == *name)
        {
            let congestion = socket_options.congestion.take();
            let _ = SocketOptions { congestion, ..SocketOptions::default() }.set(&pending.stream);
        }
        let failed = socket_options.set(&pending.stream).err();
        super::super::sockets::set_nodelay(&pending.stream);
        if flow_spec.sends {
            super::super::sockets::limit_unsent(&pending.stream, unsent_limit);
        }
        // The hello was sent `since` after the SYN, and took half an RTT; the handshake has
        // measured the RTT.
        let half_rtt = TcpInfo::of(&pending.stream).map_or(0, |info| i64::from(info.rtt_us) * 500);
        let began = now - hello.since.clamp(0, self.spec.duration()) - half_rtt;
        // The receiver ends a bulk connection; the sender's deadline is later.
        let more = if flow_spec.sends && flow_spec.limit.is_none() { SLACK_NS } else { 0 };
        let mut flow = TcpFlow::accepted(flow_spec, pending.stream, began, began + self.spec.duration() + more);
        flow.unsent_limit = flow_spec.sends.then_some(unsent_limit);
        self.attached.insert(hello.flow);
        match failed {
            Some(why) => flow.refuse(why),
            None if !flow_spec.sends => {
                flow.count_early_data(now, pending.received.len() - crate::control::hello::DATA_HELLO_BYTES)
            }
            None => {}
        }
        flows.flows.push(flow);
    }

    /// Maximum number of concurrent connections on which this end sends.
    pub fn planned_senders(&self) -> u64 {
        match &self.spec {
            TestSpec::Bulk(bulk) => u64::from(bulk.down),
            TestSpec::Transfers(t) if t.direction == Direction::Down => MAX_CONCURRENT_TRANSFERS.min(usize::from(t.count)) as u64,
            TestSpec::Transfers(_) | TestSpec::Datagrams { .. } => 0,
        }
    }

    /// Sum of the limits of unsent data of its connections.
    pub fn unsent_limits(&self) -> u64 {
        let TestIo::Flows(flows) = &self.io else { return 0 };
        flows.flows.iter().filter(|f| !f.is_ended()).filter_map(|f| f.unsent_limit).sum()
    }

    /// Whether connections of the test have not arrived yet.
    pub fn awaits(&self) -> bool {
        match (&self.spec, &self.stop) {
            (_, Some(_)) | (TestSpec::Datagrams { .. }, _) => false,
            (TestSpec::Bulk(b), None) => self.attached.len() < usize::from(b.down) + usize::from(b.up),
            (TestSpec::Transfers(t), None) => self.attached.len() < usize::from(t.count),
        }
    }

    /// Sockets to poll, without data sockets that are known to be ready.
    pub fn sockets(&self, now: Nanos) -> Vec<(usize, BorrowedFd<'_>, PollFlags)> {
        let TestIo::Flows(flows) = &self.io else { return Vec::new() };
        let polled = |(i, flow): (usize, &'_ TcpFlow)| {
            let interest = flow.interest(now);
            let known = flow.ready && flow.io_direction().is_some();
            Some((i, interest)).filter(|_| !known && !interest.is_empty())
        };
        let polled = flows.flows.iter().enumerate().filter_map(polled);
        polled.filter_map(|(i, interest)| Some((i, flows.flows[i].stream()?.as_fd(), interest))).collect()
    }

    /// Whether a connection has data to move in that direction.
    pub fn has_data(&self, direction: IoDirection, now: Nanos) -> bool {
        match &self.io {
            TestIo::Trains(trains) => direction == IoDirection::Out && trains.ready(now).is_some(),
            TestIo::Flows(flows) => flows.flows.iter().any(|f| f.ready && f.io_direction() == Some(direction)),
        }
    }

    /// Moves data of the connection that fair queueing selects.
    pub fn move_chunk(
        &mut self,
        direction: IoDirection,
        now: Nanos,
        scheduler: &mut DirectionScheduler,
        context: &ServerContext,
        scratch: &mut [u8],
    ) -> IoStep {
        match &mut self.io {
            TestIo::Trains(trains) => {
                let Some(bytes) = trains.ready(now) else { return IoStep::Moved(0) };
                if !scheduler.bucket.has(now, bytes) {
                    trains.out.iter_mut().for_each(|out| out.mark_held());
                    return IoStep::Wait(bytes);
                }
                trains.send_one(now, |datagram, to| context.udp.send_to(datagram, to).is_ok());
                IoStep::Moved(bytes)
            }
            TestIo::Flows(flows) => {
                let room = flows.room();
                let queue = &mut self.queues[direction as usize];
                let ready = flows.flows.iter().enumerate().filter(|(_, f)| f.ready && f.io_direction() == Some(direction));
                let Some(index) = queue.select(ready.map(|(i, f)| (i, f.moved))) else { return IoStep::Moved(0) };
                let flow = &mut flows.flows[index];
                let max = match scheduler.chunk(now) {
                    Ok(max) => max,
                    Err(bytes) => return IoStep::Wait(bytes),
                };
                let max = max.min(usize::try_from(flow.unsent_room().min(room)).unwrap_or(max));
                if max == 0 {
                    // Poll reports the socket when enough of its data has left (TCP_NOTSENT_LOWAT).
                    flow.ready = false;
                    return IoStep::Moved(0);
                }
                let done = flow.advance(now, &mut scratch[..max], |_| Vec::new());
                // A read that fills the buffer may leave data in the socket; a shorter one has
                // emptied it.
                flow.ready = !done.blocked && done.bytes == max as u64;
                let bytes = tcp_wire_bytes(done.bytes);
                flow.moved = queue.charge(flow.moved, bytes);
                IoStep::Moved(bytes)
            }
        }
    }

    /// Bytes of IP that the kernel has retransmitted since the last call.
    pub fn take_retransmitted(&mut self) -> u64 {
        let TestIo::Flows(flows) = &mut self.io else { return 0 };
        flows.flows.iter_mut().map(|f| tcp_wire_bytes(f.take_retransmitted())).sum()
    }

    /// Time of the next action; in each direction no data moves before `held`.
    pub fn due(&self, now: Nanos, held: [Option<Nanos>; 2]) -> Nanos {
        let quiet = self.stop.map_or(Nanos::MAX, |(asked, quiet)| match &self.io {
            // The train's own schedule comes first.
            TestIo::Trains(t) if t.out.as_ref().is_some_and(|out| !out.is_done()) => Nanos::MAX,
            TestIo::Trains(t) => t.incoming.as_ref().and_then(|i| i.last).unwrap_or(asked).max(asked) + quiet,
            TestIo::Flows(_) => asked + quiet,
        });
        let run = match &self.io {
            TestIo::Trains(trains) => trains.due().max(held[IoDirection::Out as usize].unwrap_or(Nanos::MIN)),
            TestIo::Flows(flows) => {
                let moves = [IoDirection::Out, IoDirection::In].into_iter().filter(|direction| self.has_data(*direction, now));
                flows.due(now).min(moves.map(|direction| held[direction as usize].unwrap_or(now)).min().unwrap_or(Nanos::MAX))
            }
        };
        run.min(self.must_end).min(quiet)
    }

    /// Handles timeouts. True once the test has ended.
    pub fn tick(&mut self, now: Nanos, scratch: &mut [u8]) -> bool {
        match &mut self.io {
            TestIo::Trains(trains) => trains.tick(now),
            TestIo::Flows(flows) => {
                for flow in flows.flows.iter_mut().filter(|f| f.due(now) <= now) {
                    // The deadline of the connection has passed.
                    flow.advance(now, scratch, |_| Vec::new());
                }
                flows.tick(now);
                self.cut_short = self.cut_short.take().or_else(|| flows.spent());
                if matches!(self.spec, TestSpec::Transfers(_)) {
                    flows.drop_ended();
                }
            }
        }
        if now >= self.must_end {
            self.cut_short.get_or_insert_with(|| "the client did not end the test in time".into());
        }
        self.cut_short.is_some() || self.is_over(now)
    }

    fn is_over(&self, now: Nanos) -> bool {
        let Some((asked, quiet)) = self.stop else { return false };
        match &self.io {
            TestIo::Trains(trains) => trains.is_quiet(now, asked, quiet),
            TestIo::Flows(flows) => flows.all_ended() || now >= asked + quiet,
        }
    }

    pub fn cut_short(&mut self, why: &str) {
        self.cut_short.get_or_insert_with(|| why.to_owned());
    }

    /// Closes all connections before the report.
    pub fn end(&mut self) {
        self.listener = None;
        if let TestIo::Flows(flows) = &mut self.io {
            flows.end();
        }
    }

    /// Sends more of the report. True once it is complete.
    pub fn report(&mut self, control: &mut ServerSession) -> bool {
        let tables = self.io.tables();
        while let Some((name, table)) = tables.get(self.reported.0) {
            let next = control.send_rows(self.number, *name, table, self.reported.1);
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
        let new_outcome = || TestOutcome { cut_short: self.cut_short.clone(), overrun: self.overrun, ..self.io.outcome() };
        let outcome = self.outcome.get_or_insert_with(new_outcome);
        let from = outcome.flows.len().saturating_sub(MAX_FLOWS);
        let flows = outcome.flows.split_off(from);
        if from > 0 {
            control.send_reply(&ServerReply::Flows { test: self.number, flows });
            return false;
        }
        control.send_reply(&ServerReply::Done { test: self.number, outcome: TestOutcome { flows, ..std::mem::take(outcome) } });
        true
    }
}
