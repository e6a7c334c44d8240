//! DualPI2 (RFC 9332, appendix A): an L4S queue with very low delay, a classic queue, and a
//! coupling that gives flows of both about the same rate.

use super::pie::check_pi;
use super::{Fifo, Limit, Queue};
use crate::config_check::{Checked, check_fraction, check_span, ensure};
use crate::element::{DropReason, Output};
use crate::packet::{Ecn, Packet};
use crate::units::{Span, Time};
use serde::{Deserialize, Serialize};

/// Names and defaults as in RFC 9332, appendix A.1.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DualPi2Config {
    /// Limit of both queues together.
    #[serde(flatten)]
    pub limit: Limit,
    /// Target delay of the classic queue.
    #[serde(rename = "target_ps")]
    pub target: Span,
    #[serde(rename = "update_ps")]
    pub update: Span,
    /// Gains per second: of the deviation from the target, and (`beta`) of the change in delay.
    pub alpha: f64,
    pub beta: f64,
    /// Coupling factor k: the L4S marking probability is k times the square root of the classic
    /// probability.
    pub coupling: f64,
    /// Every L4S packet is marked from this sojourn time on.
    #[serde(rename = "step_ps")]
    pub step: Span,
    /// Above this classic probability ECN-capable packets are dropped as well.
    pub overload: f64,
    /// Minimum share of the bytes for the classic queue while both are backlogged.
    pub classic_share: f64,
}

impl DualPi2Config {
    pub(super) fn check(&self) -> Checked {
        let DualPi2Config { limit, target, update, alpha, beta, coupling, step, overload, classic_share } = *self;
        limit.check_room()?;
        check_span("queue.step_ps", step)?;
        check_fraction("queue.overload", overload)?;
        ensure(coupling > 0.0 && coupling.is_finite(), || format!("queue.coupling is {coupling}: it must be above 0"))?;
        ensure((0.0..1.0).contains(&classic_share), || {
            format!("queue.classic_share is {classic_share}: it must lie between 0 and below 1")
        })?;
        check_pi(target, update, alpha, beta)
    }
}

/// Below this backlog in bytes, two Ethernet frames without FCS, the controller signals nothing, as
/// in the reference implementation (Linux, sch_dualpi2) and in PIE (RFC 8033, section 4.1): p' falls
/// slowly, and would reduce flows further that have emptied the queue.
const MIN_BACKLOG: u64 = 2 * 1514;

/// Selects one of 1/p packets evenly, without random numbers (RFC 9332, appendix A.1, `recur`).
#[derive(Debug, Default)]
struct Recurrence(f64);

impl Recurrence {
    fn chooses(&mut self, likelihood: f64) -> bool {
        self.0 += likelihood;
        let chosen = self.0 > 1.0;
        if chosen {
            self.0 -= 1.0;
        }
        chosen
    }
}

#[derive(Debug)]
pub struct DualPi2 {
    config: DualPi2Config,
    l4s: Fifo,
    classic: Fifo,
    /// p' of the controller: the classic probability is its square, the coupled one `coupling`
    /// times it.
    base: f64,
    last_delay: Span,
    next_update: Time,
    l4s_count: Recurrence,
    classic_count: Recurrence,
    drop_count: Recurrence,
    /// Bytes that the scheduler owes to the classic queue.
    classic_credit: f64,
}

impl DualPi2 {
    pub fn new(config: DualPi2Config) -> DualPi2 {
        DualPi2 {
            config,
            l4s: Fifo::default(),
            classic: Fifo::default(),
            base: 0.0,
            last_delay: Span::ZERO,
            next_update: Time::ZERO + config.update,
            l4s_count: Recurrence::default(),
            classic_count: Recurrence::default(),
            drop_count: Recurrence::default(),
            classic_credit: 0.0,
        }
    }

    /// p_C = p'^2 // RFC 9332, appendix A.1
    pub fn classic_probability(&self) -> f64 {
        self.base * self.base
    }

    /// p_CL = k p' // RFC 9332, section 2.5.1.1
    pub fn coupled_probability(&self) -> f64 {
        (self.config.coupling * self.base).min(1.0)
    }

    /// Executes the updates due since the last call. The queues have not changed in between.
    fn catch_up(&mut self, now: Time) {
        while self.next_update <= now {
            self.correct(self.classic.delay(self.next_update));
            self.next_update += self.config.update;
            if self.base == 0.0 && self.last_delay == Span::ZERO && self.packets() == 0 {
                let missed = (now - self.next_update).0 / self.config.update.0.max(1);
                self.next_update += self.config.update.saturating_mul(missed);
            }
        }
    }

    /// p' += alpha (delay - target) + beta (delay - last) // RFC 9332, appendix A.1, dualpi2_update
    fn correct(&mut self, delay: Span) {
        let DualPi2Config { target, alpha, beta, .. } = self.config;
        let step = alpha * (delay.as_secs() - target.as_secs()) + beta * (delay.as_secs() - self.last_delay.as_secs());
        self.base = (self.base + step).clamp(0.0, 1.0);
        self.last_delay = delay;
    }

    /// L4S has priority, except for the classic queue's share (RFC 9332, section 4.1, weighted
    /// round robin).
    fn l4s_is_next(&mut self) -> bool {
        if self.l4s.is_empty() || self.classic.is_empty() {
            self.classic_credit = 0.0;
            return !self.l4s.is_empty();
        }
        let next = self.classic.first().map_or(0.0, |first| f64::from(first.packet.len));
        self.classic_credit < next
    }

    fn charge(&mut self, l4s: bool, packet: &Packet) {
        let (len, share) = (f64::from(packet.len), self.config.classic_share.clamp(0.0, 0.99));
        self.classic_credit += if l4s { len * share / (1.0 - share) } else { -len };
    }

    /// True if the controller may mark or drop the packet just dequeued.
    fn has_backlog(&self) -> bool {
        self.bytes() >= MIN_BACKLOG
    }

    /// Marks or drops an L4S packet; false if dropped (RFC 9332, appendix A.1 and, for overload,
    /// A.2).
    fn signal_l4s(&mut self, now: Time, since: Time, packet: &mut Packet, out: &mut Output<'_>) -> bool {
        if self.config.coupling * self.base < 1.0 || !self.has_backlog() {
            let native = if now - since >= self.config.step { 1.0 } else { 0.0 };
            let coupled = if self.has_backlog() { self.coupled_probability() } else { 0.0 };
            if self.l4s_count.chooses(coupled.max(native)) {
                let _ = out.mark(packet);
            }
            return true;
        }
        if self.drop_count.chooses(self.classic_probability()) {
            out.drop(*packet, DropReason::Early);
            return false;
        }
        let _ = out.mark(packet);
        true
    }

    fn signal_classic(&mut self, packet: &mut Packet, out: &mut Output<'_>) -> bool {
        let probability = self.classic_probability();
        if !self.has_backlog() || !self.classic_count.chooses(probability) {
            return true;
        }
        let marked = probability < self.config.overload && out.mark(packet);
        if !marked {
            out.drop(*packet, DropReason::Early);
        }
        marked
    }
}

/// ECT(1) and CE are L4S (RFC 9331, section 4.1).
fn is_l4s(packet: &Packet) -> bool {
    matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce)
}

impl Queue for DualPi2 {
    fn enqueue(&mut self, now: Time, packet: Packet, out: &mut Output<'_>) {
        self.catch_up(now);
        if !self.has_room(&packet) {
            return out.drop(packet, DropReason::QueueFull);
        }
        let queue = if is_l4s(&packet) { &mut self.l4s } else { &mut self.classic };
        queue.push(now, packet);
    }

    fn pass(&mut self, now: Time, packet: Packet, _out: &mut Output<'_>) -> Option<Packet> {
        // Neither delay nor backlog.
        self.catch_up(now);
        Some(packet)
    }

    fn dequeue(&mut self, now: Time, out: &mut Output<'_>) -> Option<(Time, Packet)> {
        self.catch_up(now);
        loop {
            let l4s = self.l4s_is_next();
            let mut first = if l4s { self.l4s.pop()? } else { self.classic.pop()? };
            let stays = if l4s {
                self.signal_l4s(now, first.since, &mut first.packet, out)
            } else {
                self.signal_classic(&mut first.packet, out)
            };
            if stays {
                self.charge(l4s, &first.packet);
                return Some((first.since, first.packet));
            }
        }
    }

    fn packets(&self) -> u64 {
        self.l4s.packets() + self.classic.packets()
    }
    fn bytes(&self) -> u64 {
        self.l4s.bytes() + self.classic.bytes()
    }
    fn has_room(&self, packet: &Packet) -> bool {
        self.config.limit.admits(self.packets(), self.bytes(), packet.len)
    }
    fn with_fifo(&mut self, packet: &Packet, out: &mut Output<'_>, change: &mut dyn FnMut(&mut Fifo, &mut Output<'_>)) {
        change(if is_l4s(packet) { &mut self.l4s } else { &mut self.classic }, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dual() -> DualPi2 {
        let ms = Span::from_ms;
        DualPi2::new(DualPi2Config {
            limit: Limit::packets(1000),
            target: ms(15),
            update: ms(16),
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            step: ms(1),
            overload: 0.25,
            classic_share: 0.1,
        })
    }

    #[test]
    fn base_probability_follows_alpha_and_beta() {
        let mut dual = dual();
        dual.base = 0.1;
        dual.last_delay = Span::from_ms(20);
        dual.correct(Span::from_ms(25));
        let base = 0.1 + 0.16 * 0.010 + 3.2 * 0.005;
        assert!((dual.base - base).abs() < 1e-12);
        assert!((dual.classic_probability() - base * base).abs() < 1e-12);
        assert!((dual.coupled_probability() - 2.0 * base).abs() < 1e-12);
    }

    #[test]
    fn recurrence_selects_the_exact_share() {
        let mut recurrence = Recurrence::default();
        let chosen = (0..1000).filter(|_| recurrence.chooses(0.25)).count();
        assert!((249..=250).contains(&chosen), "{chosen}");
    }
}
