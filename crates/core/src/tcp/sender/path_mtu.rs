//! What a path MTU means for a sender. A router's report (RFC 1191, section 6.5) makes segments smaller,
//! and those that were too long are retransmitted at once; the window stays, as nothing was lost to
//! congestion. Where reports are lost, packetization layer path MTU discovery (RFC 4821) finds the size:
//! segments become small when a black hole is detected, and a larger one is sent as a probe.

use super::write_queue::BurstPlan;
use super::{STREAM_START, Sender};
use crate::app::Socket;
use crate::tcp::cc::CongestionControl;
use crate::tcp::config::MtuProbing;
use crate::tcp::info::CaState;
use crate::tcp::linux_rules::LinuxRule;
use crate::tcp::metrics_cache::MTU_EXPIRES;
use crate::tcp::recovery::Recovery;
use crate::units::Time;

/// Payload of the smallest segment that a report may ask for: a report of less is an error or an attack
/// (RFC 1191, section 3: at least 68 bytes).
const SMALLEST_PAYLOAD: u32 = 8;
/// `route.min_pmtu` of ip-sysctl.rst: Linux makes no packet shorter for a report. Routers may divide
/// those of a host with a report of less.
pub const MIN_PATH_MTU: u16 = 552;
/// `tcp_base_mss` of ip-sysctl.rst: the search starts here.
const BASE_SEGMENT: u32 = 1024;
/// `tcp_mtu_probe_floor` of ip-sysctl.rst.
const PROBE_FLOOR: u32 = 48;
/// `tcp_probe_threshold` of ip-sysctl.rst: the search ends when the interval is smaller.
const PROBE_THRESHOLD: u32 = 8;
/// A probe needs this window, so that its loss is detected by ACKs (RFC 4821, section 7.4).
const PROBE_WINDOW: f64 = 11.0;
/// A black hole is assumed when retransmissions of the RTO have lasted this many minimum RTOs: those of
/// `tcp_retries1` = 3 (ip-sysctl.rst), which doubles, after the first one: 1 + 2 + 4 + 8.
const BLACK_HOLE_TIMEOUTS: u64 = 15;

/// What a router has reported to a host that forgets it (`LinuxRule::PathMtu`).
#[derive(Clone, Copy, Debug)]
pub struct ReportedMtu {
    /// When the host tries the former size again (RFC 1191, section 6.3).
    expires: Time,
    /// Payload of a full segment before the first report.
    former: u32,
}

/// The search for the path MTU, in bytes of payload.
#[derive(Clone, Copy, Debug)]
pub struct PathMtuSearch {
    rule: MtuProbing,
    /// The search is on: segments have at most `low`.
    enabled: bool,
    /// A size that passed, and the largest one that may.
    low: u32,
    high: u32,
    probe: Option<Probe>,
    /// The first RTO of those in a row.
    stalled_since: Time,
}

/// A longer segment in flight.
#[derive(Clone, Copy, Debug)]
struct Probe {
    start: u64,
    size: u32,
}

/// What the search does before new data is sent.
pub enum ProbeStep {
    /// Sends a probe of this size.
    Send(u32),
    /// Waits until the window takes a probe.
    Wait,
}

impl PathMtuSearch {
    pub fn new(rule: MtuProbing) -> Option<PathMtuSearch> {
        let search = PathMtuSearch { rule, enabled: false, low: BASE_SEGMENT, high: 0, probe: None, stalled_since: Time::NEVER };
        (rule != MtuProbing::Off).then_some(search)
    }

    fn begin(&mut self, full: u32) {
        (self.enabled, self.low, self.high) = (true, BASE_SEGMENT.min(full), full);
    }

    fn is_searching(&self) -> bool {
        self.enabled && self.high - self.low >= PROBE_THRESHOLD
    }

    /// The size of the next probe: in the middle of what is not known.
    fn next_size(&self) -> u32 {
        self.low + (self.high - self.low) / 2
    }
}

impl Sender {
    /// A router reports that the segment at `seq` was too long, and that a segment may have `payload`
    /// bytes. A report about data that is not outstanding is ignored (RFC 5927, section 4.1). Linux
    /// makes no segment smaller than `min_payload`.
    pub fn on_too_big(&mut self, now: Time, seq: u64, payload: u32, min_payload: u32) {
        let forgets = self.config.linux_rules.has(LinuxRule::PathMtu);
        let divisible = forgets && payload < min_payload;
        let payload = if divisible { min_payload.min(self.full_segment) } else { payload.max(SMALLEST_PAYLOAD) };
        let changes = payload < self.full_segment || (divisible && !self.may_be_divided);
        if !(self.una..self.next).contains(&seq) || !changes {
            return;
        }
        if forgets {
            let former = self.reported_mtu.map_or(self.full_segment, |reported| reported.former);
            self.reported_mtu = Some(ReportedMtu { expires: now + MTU_EXPIRES, former });
            self.may_be_divided = divisible;
        }
        self.full_segment = payload;
        if let Some(shared) = &self.path_metrics {
            shared.limit_segment(now, payload);
        }
        if let Some(search) = &mut self.mtu_search {
            (search.low, search.high) = (search.low.min(payload), search.high.min(payload));
        }
        self.resize_segments();
        self.retransmit_too_long(now);
    }

    /// Routers may divide what this host sends: a report has a tiny MTU.
    #[inline]
    pub fn may_be_divided(&self) -> bool {
        self.may_be_divided
    }

    /// A reported MTU no longer counts: the path may carry more by now, or reports again.
    pub(super) fn forget_reported_mtu(&mut self, now: Time) {
        if let Some(ReportedMtu { former, .. }) = self.reported_mtu.filter(|reported| now >= reported.expires) {
            self.reported_mtu = None;
            self.may_be_divided = false;
            self.full_segment = former;
            self.resize_segments();
        }
    }

    /// Payload of a segment that an earlier connection of the two hosts found the path to allow.
    pub fn cached_segment(&self, now: Time) -> Option<u32> {
        self.path_metrics.as_ref()?.segment(now)
    }

    /// The handshake is complete: a host that always probes starts small.
    pub(super) fn start_mtu_search(&mut self) {
        let full = self.full_segment;
        if let Some(search) = self.mtu_search.as_mut().filter(|search| search.rule == MtuProbing::Always) {
            search.begin(full);
            self.resize_segments();
        }
    }

    /// Payload of a full segment that the path is known to carry.
    pub(super) fn path_segment(&self) -> u32 {
        let searched = self.mtu_search.as_ref().filter(|search| search.enabled);
        searched.map_or(self.full_segment, |search| self.full_segment.min(search.low))
    }

    /// Probes decide what is sent.
    pub(super) fn searches_mtu(&self) -> bool {
        self.mtu_search.as_ref().is_some_and(|search| search.is_searching())
    }

    /// Sequence number of the probe in flight.
    pub(super) fn mtu_probe_start(&self) -> Option<u64> {
        self.mtu_search.as_ref()?.probe.map(|probe| probe.start)
    }

    fn resize_segments(&mut self) {
        self.segment = self.path_segment();
        self.bound_segment();
        self.fast_path = false;
    }

    /// Divides the segments in flight that have become too long. Returns whether there were any.
    fn divide_too_long(&mut self, now: Time) -> bool {
        self.report_losses(now);
        let Some(former) = self.scoreboard.resegment(self.segment) else { return false };
        if let Some(delivery_rate) = &mut self.delivery_rate {
            delivery_rate.follow_division(self.scoreboard.first_index(), &former);
        }
        if let Some(timer) = &mut self.fine_timer {
            timer.on_retransmission();
        }
        let (recovery, mut ctx) = self.recovery_context(now);
        if let Some(linux) = recovery.linux_mut() {
            linux.follow_division(&mut ctx);
        }
        true
    }

    fn retransmit_too_long(&mut self, now: Time) {
        if !self.divide_too_long(now) {
            return;
        }
        let (recovery, mut ctx) = self.recovery_context(now);
        match recovery.linux_mut() {
            Some(linux) => linux.on_mtu_reduced(&mut ctx),
            None => recovery.on_timeout(&mut ctx),
        }
        self.report_losses(now);
        if self.follows_state {
            self.report_state(now);
        }
    }

    /// An RTO, before its retransmission (RFC 4821, section 7.7).
    #[cold]
    pub(super) fn search_mtu_on_timeout(&mut self, now: Time) {
        let (full, again) = (self.full_segment, self.timeouts_in_a_row > 0);
        let black_hole = self.config.rto_min.saturating_mul(BLACK_HOLE_TIMEOUTS);
        let Some(search) = &mut self.mtu_search else { return };
        search.probe = None;
        if !again {
            search.stalled_since = now;
        } else if now - search.stalled_since >= black_hole {
            if search.enabled {
                search.low = (search.low / 2).max(PROBE_FLOOR).min(search.low);
            } else {
                search.begin(full);
            }
            self.resize_segments();
        }
        self.divide_too_long(now);
    }

    /// Whether a probe is due before new data (`tcp_mtu_probe()`).
    pub(super) fn mtu_probe_step(&self, socket: &Socket, in_flight: u32) -> Option<ProbeStep> {
        let search = self.mtu_search.as_ref().filter(|search| search.is_searching() && search.probe.is_none())?;
        let open = self.recovery.linux().is_some_and(|linux| linux.ca_state() == CaState::Open);
        if !open || self.is_in_burst() || self.cc.cwnd() < PROBE_WINDOW || !self.scoreboard.is_clean() {
            return None;
        }
        let size = search.next_size();
        // Enough behind the probe that its loss shows.
        let needed = u64::from(size) + u64::from(self.config.dupack_threshold + 1) * u64::from(self.segment);
        let end = self.next + needed;
        let written = socket.written.saturating_add(STREAM_START).min(self.una.saturating_add(self.send_buffer));
        let divided = self.writes.as_ref().is_none_or(|writes| writes.holds_all(end));
        if written < end || !divided || self.usable_window(in_flight) < needed {
            return None;
        }
        match (f64::from(in_flight) + 2.0 > self.window(), in_flight) {
            (true, 0) => None,
            (true, _) => Some(ProbeStep::Wait),
            (false, _) => Some(ProbeStep::Send(size)),
        }
    }

    /// Sends a probe. It takes the place of two segments.
    pub(super) fn begin_mtu_probe(&mut self, now: Time, size: u32) {
        let start = self.next;
        if let Some(search) = &mut self.mtu_search {
            search.probe = Some(Probe { start, size });
        }
        if let Some(writes) = &mut self.writes {
            writes.begin(start, BurstPlan { end: start + u64::from(size), segment: size, ..BurstPlan::default() });
        }
        self.shift_window(now, |cwnd| cwnd - 1.0);
    }

    /// The ACK number has advanced: a probe below it has passed. The window stays in bytes.
    pub(super) fn check_mtu_probe(&mut self, now: Time) {
        let una = self.una;
        let Some(search) = &mut self.mtu_search else { return };
        let Some(Probe { size, .. }) = search.probe.filter(|probe| una >= probe.start + u64::from(probe.size)) else { return };
        (search.probe, search.low) = (None, size);
        let before = f64::from(self.segment);
        self.resize_segments();
        let after = f64::from(self.segment);
        self.shift_window(now, |cwnd| libm::floor(cwnd * before / after));
    }

    /// A retransmission is due: the probe in flight proves nothing (RFC 4821, section 7.6.3), and is sent
    /// again in segments that pass.
    pub(super) fn give_up_mtu_probe(&mut self, now: Time) {
        if self.mtu_search.as_mut().is_some_and(|search| search.probe.take().is_some()) {
            self.divide_too_long(now);
        }
    }

    /// The probe alone was lost: it was too long (RFC 4821, section 7.6.2).
    pub(super) fn on_mtu_probe_lost(&mut self, now: Time) {
        let Some(search) = &mut self.mtu_search else { return };
        let Some(Probe { size, .. }) = search.probe.take() else { return };
        search.high = size - 1;
        self.shift_window(now, |cwnd| cwnd + 1.0);
        self.retransmit_too_long(now);
    }

    fn shift_window(&mut self, now: Time, to: impl FnOnce(f64) -> f64) {
        if !self.cc.controls_recovery() {
            let cwnd = to(self.cc.cwnd()).max(1.0);
            self.cc.set_cwnd(now, cwnd);
        }
    }
}
