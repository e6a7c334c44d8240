//! The next packet of new data where Linux's rules divide what is sent: a burst of segments that leave
//! together, cut at the windows' edges (`tcp_write_xmit()`).

use super::write_queue::{BurstPlan, Division, NextPacket, Pushes};
use super::{NONE, STREAM_START, Sender, psh};
use crate::app::Socket;
use crate::tcp::cc::CongestionControl;
use crate::tcp::info::CaState;
use crate::tcp::pacer;
use crate::tcp::recovery::Recovery;
use crate::tcp::stats::SendLimit;
use crate::tcp::tso::TsoAutosize;
use crate::units::{Span, Time};

/// The minimum RTT halves what is added to a burst once per this time (2^9 us).
const RTT_UNIT: Span = Span::from_us(512);
/// Below this pacing rate, in bits per second, BBR sends segment by segment (`bbr_min_tso_segs()`).
const BBR_SINGLE_RATE: f64 = 1.2e6;

/// What bounds the next burst: cwnd, the segments that the host sends at once, and the segments that
/// both allow.
struct Quota {
    window: f64,
    burst: u32,
    segments: u32,
}

/// Segments of the next burst: at most half of the window, so that two bursts are in flight
/// (`tcp_cwnd_test()`), and what the host sends at once.
#[inline]
fn quota(window: f64, in_flight: u32, burst: u32) -> u32 {
    let cwnd = window as u32;
    (cwnd / 2).max(1).min(cwnd.saturating_sub(in_flight).max(1)).min(burst)
}

/// What the size of a burst depends on, besides the host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct BurstInputs {
    /// The congestion control's rate in segments per second, if it has one. Only without one the next
    /// two count: segments, and whether the window is far below ssthresh.
    paced: Option<f64>,
    window: f64,
    slow_start: bool,
    srtt: Option<Span>,
    min_rtt: Option<Span>,
    /// Payload of a full segment, without and with the SACK blocks that it carries now.
    segment: u32,
    segment_now: u32,
}

impl BurstInputs {
    #[inline(never)]
    fn segments(&self, tso: TsoAutosize) -> u32 {
        let (rate, min) = match self.paced {
            None => (self.unpaced_rate(), tso.min_segments),
            Some(rate) if rate * f64::from(self.segment) * 8.0 < BBR_SINGLE_RATE => (rate, 1),
            Some(rate) => (rate, tso.min_segments),
        };
        let halvings = self.min_rtt.map_or(u64::MAX, |min| min.0 / RTT_UNIT.0);
        let more = if halvings < u64::from(u32::BITS) { tso.max_bytes >> halvings } else { 0 };
        TsoAutosize { min_segments: min, ..tso }.burst_with(rate, self.segment_now, more)
    }

    /// The pacing rate that Linux keeps for flows that it does not pace, in segments per second
    /// (`tcp_update_pacing_rate()`).
    fn unpaced_rate(&self) -> f64 {
        self.srtt.map_or(f64::INFINITY, |srtt| pacer::window_rate(self.window, srtt, self.slow_start))
    }
}

impl Sender {
    /// Payload of a full segment beside the SACK blocks that it carries (`tcp_current_mss()`).
    #[inline]
    pub(super) fn segment_now(&self) -> u32 {
        self.segment.saturating_sub(self.block_bytes).max(1)
    }

    /// The segments from here on carry SACK blocks of this many bytes.
    #[inline]
    pub fn set_block_bytes(&mut self, bytes: u32) {
        self.block_bytes = bytes;
    }

    /// The next burst. What the application has written is divided first, and what fills up is sent
    /// before the rest is divided.
    #[inline]
    pub(super) fn next_burst(&mut self, now: Time, socket: &Socket, in_flight: u32) -> Result<BurstPlan, SendLimit> {
        let written = socket.written.saturating_add(STREAM_START);
        if self.writes.as_ref().is_some_and(|writes| writes.is_behind(written, self.next) || writes.pushes != Pushes::All) {
            self.divide(now, socket, in_flight)
        } else {
            self.try_burst(now, socket, in_flight)
        }
    }

    /// The next burst of what is divided. A first packet shorter than a burst takes data of the next
    /// one, even if the peer's window then holds it (`tcp_grow_skb()`).
    #[inline]
    fn try_burst(&mut self, now: Time, socket: &Socket, in_flight: u32) -> Result<BurstPlan, SendLimit> {
        let (window, burst) = (self.window(), self.repeated_burst_segments());
        let quota = quota(window, in_flight, burst);
        let (next, wanted) = (self.next, u64::from(quota) * u64::from(self.segment_now()));
        if f64::from(in_flight) + 1.0 <= window
            && self.pacer.is_none_or(|pacer| now >= pacer.next())
            && let Some(writes) = &mut self.writes
        {
            writes.grow_first(next, wanted);
        }
        self.plan_of_quota(now, socket, in_flight, &Quota { window, burst, segments: quota })
    }

    #[inline(never)]
    fn divide(&mut self, now: Time, socket: &Socket, in_flight: u32) -> Result<BurstPlan, SendLimit> {
        let written = socket.written.saturating_add(STREAM_START);
        let next = self.next;
        let division = self.division(socket);
        let allowed = self.room(in_flight) && self.pacer.is_none_or(|pacer| now >= pacer.next());
        loop {
            let pushes = self.writes.as_ref().map_or(Pushes::All, |writes| writes.pushes);
            if pushes != Pushes::Nothing && allowed {
                let plan = self.try_burst(now, socket, in_flight);
                if plan.is_ok() {
                    if let Some(writes) = self.writes.as_mut().filter(|_| pushes == Pushes::One) {
                        writes.pushes = Pushes::Nothing;
                    }
                    return plan;
                }
            }
            let Some(writes) = &mut self.writes else { break };
            if !writes.is_behind(written, next) {
                writes.pushes = Pushes::All;
                break;
            }
            writes.divide(written, next, division);
        }
        self.try_burst(now, socket, in_flight)
    }

    /// Half of the largest window bounds a segment (`tcp_sync_mss()`, `tcp_bound_to_half_wnd()`).
    #[inline(never)]
    pub(super) fn bound_segment(&mut self) {
        if self.in_packets {
            let bound = self.half_window().max(u64::from(SMALLEST_SEGMENT));
            self.segment = self.path_segment().min(u32::try_from(bound).unwrap_or(u32::MAX));
        }
    }

    fn half_window(&self) -> u64 {
        if self.largest_window > SMALLEST_BOUND { self.largest_window / 2 } else { self.largest_window }
    }

    fn division(&self, socket: &Socket) -> Division {
        let segment = u64::from(self.segment_now());
        let half = self.largest_window / 2;
        let max = self.config.tso.map_or(segment, |tso| u64::from(tso.max_bytes));
        Division { size_goal: (max.min(self.half_window()) / segment).max(1) * segment, push_after: half, more: socket.more }
    }

    /// Segments that the host sends at once: what the pacing rate carries in a millisecond, and more
    /// on short paths (`tcp_tso_autosize()`, `tcp_tso_rtt_log` of ip-sysctl.rst).
    pub(super) fn burst_segments(&self) -> u32 {
        self.config.tso.map_or(1, |tso| self.burst_inputs().segments(tso))
    }

    /// As `burst_segments`. Before and after the packet that an ACK lets go it is the same.
    fn repeated_burst_segments(&mut self) -> u32 {
        let Some(tso) = self.config.tso else { return 1 };
        let inputs = self.burst_inputs();
        if self.last_burst.0 != inputs {
            self.last_burst = (inputs, inputs.segments(tso));
        }
        self.last_burst.1
    }

    #[inline]
    fn burst_inputs(&self) -> BurstInputs {
        let paced = self.cc.pacing_rate();
        let cwnd = self.cc.cwnd();
        BurstInputs {
            paced,
            window: if paced.is_some() { 0.0 } else { libm::floor(cwnd).max(f64::from(self.scoreboard.len())) },
            slow_start: paced.is_none() && cwnd < self.cc.ssthresh() / 2.0,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            segment: self.segment,
            segment_now: self.segment_now(),
        }
    }

    /// Where the next packet ends, what it carries, and the packet of the queue that it is of.
    /// `in_flight` and cwnd are taken to allow at least one segment.
    pub(super) fn plan_burst(&self, now: Time, socket: &Socket, in_flight: u32) -> Result<BurstPlan, SendLimit> {
        let (window, burst) = (self.window(), self.burst_segments());
        self.plan_of_quota(now, socket, in_flight, &Quota { window, burst, segments: quota(window, in_flight, burst) })
    }

    #[inline]
    fn plan_of_quota(&self, now: Time, socket: &Socket, in_flight: u32, quota: &Quota) -> Result<BurstPlan, SendLimit> {
        let probing = !self.recovery.active() && self.recovery.is_probing();
        let holds = |short: bool| {
            let all = self.writes.as_ref().is_some_and(|writes| writes.pushes == Pushes::All);
            short && !probing && all && self.holds_small_segment(socket)
        };
        let segment = u64::from(self.segment_now()).min(self.send_buffer.max(1));
        let cwnd = quota.window as u32;
        let burst = u64::from(quota.segments) * segment;
        // The FIN follows what is written, and an application may close with its first write.
        let written = socket.written.saturating_add(STREAM_START);
        let divided = self.writes.as_ref().is_none_or(|writes| writes.holds_all(written));
        let closing = socket.closed && self.fin == NONE && divided;
        let usable = self.usable_window(in_flight);
        let Some(packet) = self.writes.as_ref().and_then(|writes| writes.next_packet(self.next)) else {
            return self.plan_fin(closing, usable);
        };
        let mut len = packet.end - self.next;
        let fin = packet.last && closing;
        let buffered = self.una.saturating_add(self.send_buffer).saturating_sub(self.next);
        if buffered < len.min(segment) {
            return Err(SendLimit::SendBuffer);
        }
        let lone = len <= segment;
        if usable < if lone { len + u64::from(fin) } else { segment } {
            return Err(SendLimit::ReceiveWindow);
        }
        let mut limit = segment;
        if lone {
            if packet.last && !fin && holds(len < segment) {
                return Err(SendLimit::Application);
            }
        } else {
            if self.defers(now, &packet, fin, in_flight, quota) {
                return Err(if usable < u64::from(cwnd.saturating_sub(in_flight)) * segment {
                    SendLimit::ReceiveWindow
                } else {
                    self.window_limit()
                });
            }
            let needed = len.min(usable);
            limit = burst.min(needed);
            if limit < burst && holds(limit % segment != 0) {
                limit -= limit % segment;
            }
        }
        if buffered < len {
            limit = limit.min(buffered / segment * segment);
        }
        let whole = len <= limit;
        len = len.min(limit);
        let plan = BurstPlan {
            end: self.next + len,
            push: (whole && packet.push) || len > segment,
            written_push: whole && packet.push,
            fin: whole && fin,
            segment: segment as u32,
        };
        Ok(plan)
    }

    /// Nothing but a FIN is left.
    fn plan_fin(&self, closing: bool, usable: u64) -> Result<BurstPlan, SendLimit> {
        if !closing {
            return Err(SendLimit::Application);
        }
        if usable == 0 {
            return Err(SendLimit::ReceiveWindow);
        }
        Ok(BurstPlan { end: self.next, fin: true, segment: self.segment, ..BurstPlan::default() })
    }

    /// The burst under way has more segments.
    #[inline]
    pub(super) fn is_in_burst(&self) -> bool {
        self.in_packets && self.writes.as_ref().is_some_and(|writes| writes.burst.end > self.next)
    }

    /// Payload and FIN of the next segment.
    #[inline]
    pub(super) fn next_of_burst(&self, plan: &BurstPlan) -> (u32, bool) {
        let left = plan.end - self.next;
        let payload = left.min(u64::from(plan.segment));
        (payload as u32, plan.fin && payload == left)
    }

    /// Begins the burst of a plan.
    #[inline]
    pub(super) fn begin_burst(&mut self, plan: BurstPlan) {
        let next = self.next;
        if let Some(writes) = &mut self.writes {
            writes.begin(next, plan);
        }
    }

    /// After a segment of new data: its PSH; the scoreboard learns what a retransmission keeps.
    #[inline]
    pub(super) fn finish_segment(&mut self, payload: u32) -> bool {
        let Some(writes) = self.writes.as_ref().filter(|_| self.in_packets) else { return false };
        let BurstPlan { end, push, written_push, segment, .. } = writes.burst;
        let ends = self.next >= end;
        if payload < segment {
            self.small_end = self.next;
        }
        self.scoreboard.note_packet(!ends, ends && written_push);
        ends && push && payload > 0
    }

    /// In Recovery or Loss nothing waits for an ACK.
    fn is_reducing(&self) -> bool {
        match self.recovery.linux() {
            Some(linux) => linux.ca_state() >= CaState::Recovery,
            None => self.is_repairing(),
        }
    }

    /// A packet of several segments waits for an ACK that is due soon and lets it grow
    /// (`tcp_tso_should_defer()`).
    fn defers(&self, now: Time, packet: &NextPacket, fin: bool, in_flight: u32, quota: &Quota) -> bool {
        let recent = self.last_send.is_some_and(|last| now < last + psh::MAX_DEFER);
        if !recent || !psh::may_defer(&self.config, self.pacer.is_some()) || self.is_reducing() {
            return false;
        }
        let (Some(srtt), Some(oldest)) = (self.rtt.srtt(), self.scoreboard.first()) else { return false };
        let (segment, cwnd) = (u64::from(self.segment), quota.window as u64);
        let congestion = cwnd.saturating_sub(u64::from(in_flight)) * segment;
        let (limit, len) = (self.usable_window(in_flight).min(congestion), packet.end - self.next);
        let third = self.peer_window.min(cwnd * segment) / u64::from(self.config.tso_win_divisor.max(1));
        limit < u64::from(quota.burst) * segment
            && (packet.last || limit < len)
            && limit < third
            && now - oldest.sent_at + Span(srtt.0 / 2).min(psh::MAX_DEFER) >= srtt
            && (limit <= len || !fin)
    }
}

/// No window makes segments smaller than this.
const SMALLEST_SEGMENT: u32 = 48;
/// A peer whose window was never larger is not asked for packets of half of it (`TCP_MSS_DEFAULT`).
const SMALLEST_BOUND: u64 = 536;
