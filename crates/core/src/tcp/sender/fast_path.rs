//! Fast path for bulk transfer: in-order ACKs, no SACK, loss or ECN, no reduction that may be undone,
//! and full segments of new data.
//! It gives the same results as `slow_path_ack` and `poll_slow`, without the checks whose outcome
//! is known.

use super::{NONE, STREAM_START, Sender, Transmit};
use crate::app::Socket;
use crate::packet::{RetransmitReason, Segment};
use crate::tcp::cc::{Ack, CongestionControl};
use crate::tcp::config::WindowRule;
use crate::tcp::recovery::{AckInfo, LinuxAck, Recovery};
use crate::tcp::scoreboard::Acked;
use crate::tcp::stats::SendLimit;
use crate::tcp::timestamps::TimestampEcho;
use crate::units::Time;

/// Sequence numbers up to which full segments may be sent; none of them changes with a
/// transmission. cwnd counts segments and is checked apart.
struct Reach {
    /// End of what the application has written, less a segment that would carry the FIN.
    written: u64,
    peer: u64,
    buffer: u64,
}

/// The answer of the fast path to a poll.
pub enum FastPoll {
    /// A segment, and whether it is known to be the last for now.
    Send(Transmit, bool),
    Nothing,
    /// An idle period ends, or a small segment or a FIN is due: `poll_slow` decides.
    Unclear,
}

/// Why no full segment of new data can be sent.
enum Blocked {
    SendLimit(SendLimit),
    Unclear,
}

impl Sender {
    /// An ACK of new data without SACK: nothing on the scoreboard is SACKed or lost, the recovery
    /// is idle, and at most a congestion control that uses delivery rates processes it besides.
    // inline(always): it has one caller, which nearly every ACK of a bulk transfer passes.
    #[inline(always)]
    pub(super) fn fast_path_ack(&mut self, now: Time, segment: &Segment, echo: TimestampEcho) {
        // A send buffer smaller than a segment makes small segments.
        self.fast_path = self.send_buffer >= u64::from(self.segment) && !self.searches_mtu();
        self.update_window(segment);
        let acked = self.scoreboard.ack_clean_to(segment.ack);
        self.advance(now, segment.ack, &acked, echo, None);
        if !self.recovery.wants_sends() || self.recovery_on_clean_ack(now, &acked, echo) {
            let mut ack = self.cc_ack(now, &acked, acked.rtt(now));
            if self.delivery_rate.is_some() {
                self.update_delivery_rate_fast(&mut ack, &acked);
            }
            if self.follows_state {
                ack.timestamps = segment.timestamps;
                self.cc.on_clean_ack(&ack);
            } else {
                self.cc.on_ack(&ack);
            }
        }
        self.tune_send_buffer();
        self.restart_timer(now);
        self.check_probe(now);
    }

    /// RACK processes every ACK. Returns whether the window may grow.
    #[inline(never)]
    fn recovery_on_clean_ack(&mut self, now: Time, acked: &Acked, echo: TimestampEcho) -> bool {
        let fast_path = self.fast_path;
        let linux = LinuxAck { had_outstanding: true, echo_value: echo.value(), ..LinuxAck::default() };
        let info = AckInfo { advanced: true, acked: acked.segments, echo: echo.rtt(), linux, ..AckInfo::default() };
        let (recovery, mut ctx) = self.recovery_context(now);
        let grow = recovery.on_ack(&info, &mut ctx);
        self.fast_path = fast_path && grow && self.scoreboard.is_clean();
        grow
    }

    /// RACK records every transmission.
    #[inline(never)]
    fn recovery_on_new_data(&mut self, now: Time) {
        let fast_path = self.fast_path;
        let index = self.scoreboard.end_index() - 1;
        let (recovery, mut ctx) = self.recovery_context(now);
        recovery.on_sent(index, false, &mut ctx);
        self.fast_path = fast_path;
    }

    /// As `sample_delivery_rate`, then resets `ack` to what `on_ack` expects.
    #[inline(never)]
    fn update_delivery_rate_fast(&mut self, ack: &mut Ack, acked: &Acked) {
        ack.recovering = self.una <= self.rto_recovery_point;
        self.update_delivery_rate(ack, acked, &AckInfo { advanced: true, acked: acked.segments, ..AckInfo::default() });
        (ack.recovering, ack.delivered, ack.lost, ack.rate) = (false, 0, 0, None);
        ack.cwnd_limited = self.window_limited(acked);
    }

    /// A full segment of new data, if all limits allow one.
    #[inline]
    pub(super) fn poll_fast(&mut self, now: Time, socket: &mut Socket) -> FastPoll {
        // An idle period may change the window.
        if self.was_idle() {
            return FastPoll::Unclear;
        }
        let reach = self.reach(socket);
        let (window, in_flight) = (self.recovery.window(&self.cc), f64::from(self.scoreboard.len()));
        match self.can_send_full(now, &reach, socket, in_flight + 1.0 <= window) {
            Ok(()) => {}
            Err(Blocked::Unclear) => return FastPoll::Unclear,
            Err(Blocked::SendLimit(limit)) => {
                self.stop(now, limit, socket);
                return FastPoll::Nothing;
            }
        }
        if self.burst.is_new() && self.should_defer(now, socket, self.scoreboard.len()) {
            self.stop(now, self.deferral_limit(self.scoreboard.len()), socket);
            return FastPoll::Nothing;
        }
        let piece = self.send_full(now, socket);
        let next = self.can_send_full(now, &reach, socket, in_flight + 2.0 <= window);
        let more = |sender: &Sender| match next {
            Ok(()) => true,
            Err(Blocked::SendLimit(_)) => false,
            Err(Blocked::Unclear) => sender.can_send_next(now, socket).is_ok(),
        };
        let piece = Transmit { push: self.sets_psh(socket, more), ..piece };
        match next {
            Err(Blocked::SendLimit(limit)) => {
                self.stop(now, limit, socket);
                FastPoll::Send(piece, true)
            }
            _ => FastPoll::Send(piece, false),
        }
    }

    /// As `poll_fast`, where Linux's packets divide what is sent: a segment of the packet under way, or
    /// of the next one.
    #[inline(never)]
    pub(super) fn poll_packets(&mut self, now: Time, socket: &mut Socket) -> FastPoll {
        if self.was_idle() {
            return FastPoll::Unclear;
        }
        if !self.is_in_burst()
            && let Err(blocked) = self.begin_packet(now, socket)
        {
            return match blocked {
                Blocked::Unclear => FastPoll::Unclear,
                Blocked::SendLimit(limit) => {
                    self.stop(now, limit, socket);
                    FastPoll::Nothing
                }
            };
        }
        let plan = self.writes.as_ref().map_or_else(Default::default, |writes| writes.burst);
        let (payload, _) = self.next_of_burst(&plan);
        let piece = self.send_payload(now, socket, payload);
        let piece = Transmit { push: self.finish_segment(payload), ..piece };
        if !self.is_in_burst()
            && let Err(Blocked::SendLimit(limit)) = self.begin_packet(now, socket)
        {
            self.stop(now, limit, socket);
            return FastPoll::Send(piece, true);
        }
        FastPoll::Send(piece, false)
    }

    /// Begins the next packet, if all limits allow it. A FIN is left to the slow path.
    #[inline]
    fn begin_packet(&mut self, now: Time, socket: &Socket) -> Result<(), Blocked> {
        if self.probe_at <= now {
            return Err(Blocked::Unclear);
        }
        let in_flight = self.scoreboard.len();
        let plan = self.next_burst(now, socket, in_flight).map_err(Blocked::SendLimit)?;
        if plan.fin {
            return Err(Blocked::Unclear);
        }
        if f64::from(in_flight) + 1.0 > self.recovery.window(&self.cc) {
            return Err(Blocked::SendLimit(SendLimit::Cwnd));
        }
        if self.pacer.is_some_and(|pacer| now < pacer.next()) {
            return Err(Blocked::SendLimit(SendLimit::Pacing));
        }
        self.begin_burst(plan);
        Ok(())
    }

    #[inline]
    fn send_full(&mut self, now: Time, socket: &mut Socket) -> Transmit {
        self.send_payload(now, socket, self.segment)
    }

    #[inline]
    fn send_payload(&mut self, now: Time, socket: &mut Socket, payload: u32) -> Transmit {
        let seq = self.next;
        self.scoreboard.push(seq, payload, now);
        self.next += u64::from(payload);
        if self.delivery_rate.is_some() {
            self.record_send(now, self.scoreboard.end_index() - 1);
        }
        if self.pacer.is_some() {
            self.pace(now);
        }
        self.count_send(now);
        if self.recovery.wants_sends() {
            self.recovery_on_new_data(now);
        }
        self.timed_out = false;
        self.stats.first_data.get_or_insert(now);
        socket.sent = self.next - STREAM_START;
        Transmit { seq, payload, fin: false, push: false, retransmission: false, reason: RetransmitReason::No }
    }

    #[inline]
    fn reach(&self, socket: &Socket) -> Reach {
        let closing = socket.closed && self.fin == NONE;
        Reach {
            written: socket.written.saturating_add(STREAM_START) - u64::from(closing),
            peer: match self.config.window_rule {
                WindowRule::Sequence => self.right_edge,
                WindowRule::InFlight => self.next + self.usable_window(self.scoreboard.len()),
            },
            buffer: self.una.saturating_add(self.send_buffer),
        }
    }

    /// Whether a full segment may be sent. The limits are checked in the order of `next_piece`.
    /// `room`: cwnd allows it.
    #[inline]
    fn can_send_full(&self, now: Time, reach: &Reach, socket: &Socket, room: bool) -> Result<(), Blocked> {
        let end = self.next + u64::from(self.segment);
        if end > reach.written {
            let all_sent = self.next == reach.written && !socket.closed;
            return Err(if all_sent { Blocked::SendLimit(SendLimit::Application) } else { Blocked::Unclear });
        }
        if end > reach.peer {
            let usable = reach.peer.saturating_sub(self.next);
            let shut = usable == 0 || usable < self.largest_window / 2;
            return Err(if shut { Blocked::SendLimit(SendLimit::ReceiveWindow) } else { Blocked::Unclear });
        }
        if end > reach.buffer {
            return Err(Blocked::SendLimit(SendLimit::SendBuffer));
        }
        if !room {
            return Err(Blocked::SendLimit(SendLimit::Cwnd));
        }
        let early = !self.burst.in_progress() && self.pacer.is_some_and(|pacer| now < pacer.next());
        if early { Err(Blocked::SendLimit(SendLimit::Pacing)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{AnyApp, BulkSource, Sink};
    use crate::element::Port;
    use crate::endpoint::AnyEndpoint;
    use crate::impairment::{ListedPackets, Loss, LossConfig};
    use crate::link::{Framing, FusedLink};
    use crate::network::{EndpointId, Network, Route};
    use crate::packet::{Body, Packet};
    use crate::probe::Probe;
    use crate::queue::Limit;
    use crate::rng::Rng;
    use crate::shortcuts;
    use crate::tcp::autotune::SendTuning;
    use crate::tcp::config::{DelayedAck, FrtoKind, IdleRestart, Push, RtoRestart, TcpConfig, WindowValidation};
    use crate::tcp::linux_rules::LinuxRules;
    use crate::tcp::recovery::RecoveryKind;
    use crate::tcp::tso::TsoAutosize;
    use crate::tcp::{TcpEndpoint, Variant};
    use crate::units::{Rate, Span};

    /// Every packet that was sent.
    #[derive(Default)]
    struct Log(Vec<String>);

    impl Probe for Log {
        fn sent(&mut self, now: Time, by: EndpointId, _packet: &Packet, body: &Body) {
            self.0.push(format!("{now:?} {by:?} {body:?}"));
        }
    }

    /// The packets of a transfer over 10 Mb/s and 20 ms with a queue of 20 packets that loses these
    /// data packets, and the number of ACKs on the fast path.
    fn transfer(config: &TcpConfig, fast: bool) -> (Vec<String>, u64) {
        shortcuts::allow(fast);
        let mut b = Network::builder();
        let link = || FusedLink::new(Some(Rate::from_bps(10_000_000)), Span::from_ms(10), Limit::packets(20), Framing::None);
        let (there, back) = (b.element(link()), b.element(link()));
        let packets = vec![150, 700, 701, 705, 1200, 1201, 1203, 2890, 2999, 3000];
        let lost = LossConfig::List { packets, of: ListedPackets::Data };
        let loss = b.element(Loss::new(&lost, Rng::for_element(1, "loss"), Rng::for_element(1, "signal")));
        let source = AnyApp::BulkSource(BulkSource::new(3_000_700, Time::NEVER));
        let client = AnyEndpoint::Tcp(Box::new(TcpEndpoint::client(config.clone(), source, Time::ZERO)));
        let client = b.endpoint(client, 0, Route::Node(there, Port(0)));
        let server = AnyEndpoint::Tcp(Box::new(TcpEndpoint::server(config.clone(), AnyApp::Sink(Sink::new(None)))));
        let server = b.endpoint(server, 0, Route::Node(back, Port(0)));
        b.connect(there, Port(0), Route::Node(loss, Port(0)));
        b.connect(loss, Port(0), Route::Endpoint(server));
        b.connect(back, Port(0), Route::Endpoint(client));
        let mut log = Log::default();
        b.build().run_until(Time::ZERO + Span::from_secs(30), &mut log);
        (log.0, shortcuts::taken())
    }

    /// A host like Linux 6, with some of its mechanisms.
    fn host(recovery: RecoveryKind, variant: Variant, undo: bool, pacing: bool, push: Push) -> TcpConfig {
        TcpConfig {
            variant,
            recovery,
            undo,
            eifel: undo,
            frto: if undo { FrtoKind::Sack } else { FrtoKind::Off },
            pacing,
            push,
            segment: 1000,
            dsack: true,
            sack_rtt: true,
            byte_counting: u32::MAX,
            initial_window: 10.0,
            delayed_ack: Some(DelayedAck { push: true, ..DelayedAck::new(2, Span::from_ms(40)) }),
            quick_acks: 16,
            rto_restart: RtoRestart::HeadAndSack,
            idle_restart: IdleRestart::Decay,
            window_validation: WindowValidation::Rfc2861,
            send_tuning: Some(SendTuning { start: 16_384, limit: 1 << 22, overhead: 400 }),
            tso: Some(TsoAutosize { min_segments: 2, time: Span::from_ms(1), max_bytes: 65_536 }),
            ..TcpConfig::default()
        }
    }

    #[test]
    fn transfer_sends_the_same_packets_on_the_slow_path_when_linux_packets_divide_it() {
        for variant in [Variant::Reno, Variant::Cubic] {
            for undo in [false, true] {
                let host = host(RecoveryKind::Linux, variant, undo, false, Push::Chunks);
                let config = TcpConfig { linux_rules: LinuxRules::all(), app_limited_growth: true, ..host };
                let (fast, acks) = transfer(&config, true);
                let (slow, _) = transfer(&config, false);
                let differs = fast.iter().zip(&slow).find(|(a, b)| a != b);
                assert!(acks > 500, "{variant:?} {undo}: {acks} ACKs");
                assert_eq!((differs, fast.len()), (None, slow.len()), "{variant:?} {undo}");
            }
        }
    }

    /// The application writes 3 MB and closes before TCP sends anything.
    #[test]
    fn fin_follows_all_data_when_the_application_closes_with_its_first_write() {
        let host = host(RecoveryKind::Linux, Variant::Cubic, true, false, Push::Chunks);
        let (packets, _) = transfer(&TcpConfig { linux_rules: LinuxRules::all(), ..host }, true);
        assert!(packets.len() > 4000, "{} packets: {:?}", packets.len(), packets.get(3));
    }

    #[test]
    fn transfer_sends_the_same_packets_when_no_ack_takes_the_fast_path() {
        for recovery in [
            RecoveryKind::Classic,
            RecoveryKind::NewReno,
            RecoveryKind::Sack,
            RecoveryKind::Prr,
            RecoveryKind::Rack,
            RecoveryKind::Linux,
        ] {
            for variant in [Variant::Reno, Variant::Cubic, Variant::Bbr] {
                for (undo, pacing, push) in [
                    (false, false, Push::Every),
                    (true, false, Push::Chunks),
                    (true, true, Push::Chunks),
                    (false, true, Push::Every),
                ] {
                    let config = host(recovery, variant, undo, pacing, push);
                    let (fast, acks) = transfer(&config, true);
                    let (slow, _) = transfer(&config, false);
                    let differs = fast.iter().zip(&slow).find(|(a, b)| a != b);
                    let what = format!("{recovery:?} {variant:?} {undo} {pacing} {push:?}");
                    // RACK beside delivery rates takes the slow path.
                    let only_slow = matches!(recovery, RecoveryKind::Rack | RecoveryKind::Linux) && variant == Variant::Bbr;
                    assert!(fast.len() > 4000 && (only_slow || acks > 500), "{what}: {} packets, {acks} ACKs", fast.len());
                    assert_eq!((differs, fast.len()), (None, slow.len()), "{what}");
                }
            }
        }
    }
}
