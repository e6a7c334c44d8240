//! COBALT (Palmei et al. 2019): a CoDel whose signal frequency falls as it rose, for responsive
//! flows, and BLUE (Feng et al. 2002), for unresponsive ones, in parallel.

use super::codel::{CoDelParameters, control_law};
use super::{AqmSignal, CakeConfig, Fifo, QueuedPacket};
use crate::element::{DropReason, Output};
use crate::rng::Rng;
use crate::units::{Span, Time};

/// BLUE's increment on overflow and its decrement on an empty FIFO (Palmei et al., section III).
const INCREMENT: f64 = 1.0 / 256.0;
const DECREMENT: f64 = 1.0 / 4096.0;

/// State of one FIFO.
#[derive(Clone, Debug, Default)]
pub struct Cobalt {
    ramp: SignalRamp,
    /// BLUE's probability, and the time of its last change: at most one change per target delay.
    probability: f64,
    changed: Option<Time>,
}

impl Cobalt {
    /// The next packet of the FIFO. BLUE drops ECN-capable packets as well: their flows did not
    /// respond to marks. The last packet is not dropped, because no later packet would reveal the
    /// loss to the receiver, but counts as a signal. Four full-sized packets' serialization time is
    /// no standing queue (Linux, `cobalt_should_drop()`).
    pub fn dequeue(
        &mut self,
        now: Time,
        fifo: &mut Fifo,
        config: &CakeConfig,
        rng: &mut Rng,
        out: &mut Output<'_>,
    ) -> Option<QueuedPacket> {
        let control = &config.control;
        let target = control.target.max(config.packet_time.saturating_mul(4));
        loop {
            let Some(mut first) = fifo.pop() else {
                self.ramp.update(now, false, control.interval);
                self.change(now, control, -DECREMENT);
                return None;
            };
            let above = first.sojourn(now) >= target;
            if self.ramp.update(now, above, control.interval) {
                if control.signal == AqmSignal::Mark && out.mark(&mut first.packet) {
                    self.ramp.forgive(now);
                } else if !fifo.is_empty() {
                    out.drop(first.packet, DropReason::Early);
                    continue;
                }
            }
            if fifo.is_empty() || self.probability <= 0.0 || !rng.chance(self.probability) {
                return Some(first);
            }
            out.drop(first.packet, DropReason::Early);
        }
    }

    /// The queue overflowed, and this FIFO was the longest: a signal is due at once, too.
    pub fn overflow(&mut self, now: Time, control: &CoDelParameters) {
        self.ramp.hasten(now);
        self.change(now, control, INCREMENT);
    }

    fn change(&mut self, now: Time, control: &CoDelParameters, by: f64) {
        if self.changed.is_none_or(|last| now.since(last) >= control.target) {
            self.probability = (self.probability + by).clamp(0.0, 1.0);
            self.changed = Some(now);
        }
    }
}

/// COBALT's schedule of signals. While the delay is above the target, the frequency rises by
/// CoDel's control law; while it is below, the frequency falls by the same law. CoDel leaves its
/// dropping state instead, and guesses a count when it enters the state again (RFC 8289, section
/// 5.5).
#[derive(Clone, Debug, Default)]
struct SignalRamp {
    /// Signals of the rise, less those of the fall.
    count: u64,
    /// Time of the next step, up or down, if the count is not zero.
    next: Time,
    above: bool,
    /// The count has changed by a step.
    has_stepped: bool,
}

impl SignalRamp {
    /// A packet leaves the FIFO, or the FIFO is empty. True if a signal is due. A step that is due
    /// when the delay rises above the target is a step up, as in Linux (`cobalt_should_drop()`).
    ///
    /// The first rise makes a signal due for the next packet: the paper waits for an interval, but
    /// in Linux the control law's reciprocal square root is 0 until the first step
    /// (`cobalt_vars_init()`).
    fn update(&mut self, now: Time, above: bool, interval: Span) -> bool {
        let due = self.count > 0 && now >= self.next;
        if above && !self.above {
            self.count = self.count.max(1);
            self.next = if self.has_stepped { control_law(now, self.count, interval) } else { now };
        }
        self.above = above;
        if !above {
            self.fall(now, interval);
        } else if due {
            self.count += 1;
            self.has_stepped = true;
            self.next = control_law(self.next, self.count, interval);
        }
        above && due
    }

    fn fall(&mut self, now: Time, interval: Span) {
        while self.count > 0 && now >= self.next {
            self.count -= 1;
            self.has_stepped = true;
            self.next = control_law(self.next, self.count, interval);
        }
    }

    /// Makes a signal due now, whatever the delay has been.
    fn hasten(&mut self, now: Time) {
        self.above = true;
        self.count = self.count.max(1);
        self.next = now;
    }

    /// A packet carries one mark: signals that are overdue after it are not made up for.
    fn forgive(&mut self, now: Time) {
        self.next = self.next.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::PacketCounts;
    use crate::packet::Arena;
    use crate::queue::Order;

    const INTERVAL: Span = Span::from_ms(100);

    /// The times, in ms, at which a signal is due, with an update each millisecond.
    fn signals(ramp: &mut SignalRamp, ms: std::ops::Range<u64>, above: bool) -> Vec<u64> {
        ms.filter(|&ms| ramp.update(Time::ZERO + Span::from_ms(ms), above, INTERVAL)).collect()
    }

    /// A ramp that has risen above the target and fallen to 0 before.
    fn ramp() -> SignalRamp {
        SignalRamp { has_stepped: true, ..SignalRamp::default() }
    }

    // finding("L11")
    #[test]
    fn ramp_falls_by_the_control_law_when_the_delay_is_below_the_target() {
        let mut ramp = ramp();
        // 100, then 100/sqrt(2), 100/sqrt(3), ... later: a signal at each step.
        assert_eq!(signals(&mut ramp, 0..320, true), [100, 171, 229, 279]);
        assert_eq!(ramp.count, 5);
        // Each step down takes the time of the step up to the same count.
        assert!(signals(&mut ramp, 320..420, false).is_empty());
        assert_eq!(ramp.count, 3);
        // Above the target again: the frequency continues from its count.
        assert_eq!(signals(&mut ramp, 420..540, true), [478, 528]);
    }

    #[test]
    fn ramp_of_a_new_queue_signals_at_its_second_packet_above_the_target() {
        let mut ramp = SignalRamp::default();
        assert!(signals(&mut ramp, 0..40, false).is_empty());
        // The count is 2 after it.
        assert_eq!(signals(&mut ramp, 40..200, true), [41, 111, 169]);
        // Only once.
        assert!(signals(&mut ramp, 200..5000, false).is_empty());
        assert_eq!(signals(&mut ramp, 5000..5150, true), [5100]);
    }

    // finding("L11")
    #[test]
    fn ramp_signals_at_once_when_a_step_is_due_as_the_delay_returns_above_the_target() {
        let mut ramp = ramp();
        signals(&mut ramp, 0..320, true);
        assert!(signals(&mut ramp, 320..322, false).is_empty());
        // The next step is due at 323.2; no packet leaves before 330. The step after it follows two
        // steps later: 330 + 100/sqrt(5) + 100/sqrt(6).
        assert_eq!(signals(&mut ramp, 330..430, true), [330, 416]);
    }

    // finding("L11")
    #[test]
    fn ramp_forgets_its_count_when_the_delay_stays_below_the_target() {
        let mut ramp = ramp();
        signals(&mut ramp, 0..320, true);
        // One update after a long idle time has the effect of many.
        assert!(!ramp.update(Time::ZERO + Span::from_ms(5000), false, INTERVAL));
        assert!(!ramp.update(Time::ZERO + Span::from_ms(5001), true, INTERVAL));
        assert_eq!((ramp.count, ramp.next), (1, Time::ZERO + Span::from_ms(5101)));
    }

    // finding("L11")
    #[test]
    fn ramp_signals_at_once_when_the_queue_overflows() {
        let mut ramp = ramp();
        assert!(!ramp.update(Time::ZERO, true, INTERVAL));
        ramp.hasten(Time::ZERO + Span::from_ms(20));
        // The next one follows the control law from there.
        assert_eq!(signals(&mut ramp, 21..100, true), [21, 91]);
    }

    /// Palmei et al. (2019), section III: 1/256 more on an overflow, 1/4096 less on an empty queue, one
    /// change per target delay.
    #[test]
    fn blue_rises_on_overflow_and_falls_on_an_empty_queue_once_per_target_delay() {
        let ms = |ms| Time::ZERO + Span::from_ms(ms);
        let control = CoDelParameters { target: Span::from_ms(5), interval: INTERVAL, mtu: 1500, signal: AqmSignal::Drop };
        let config = CakeConfig {
            control,
            flows: 8,
            quantum: 1514,
            limit: 10,
            memory: 1 << 20,
            hosts: false,
            packet_time: Span::ZERO,
            order: Order::Arrival,
        };
        let (mut arena, mut counts, mut handoffs, mut id) = (Arena::default(), PacketCounts::default(), Vec::new(), 0);
        let mut out = Output::new(&mut arena, &mut counts, &mut handoffs, &mut id);
        let mut rng = Rng::for_element(1, "cobalt");
        let mut cobalt = Cobalt::default();
        cobalt.overflow(ms(0), &control);
        cobalt.overflow(ms(4), &control);
        assert_eq!(cobalt.probability, 1.0 / 256.0);
        for now in [ms(5), ms(9)] {
            assert!(cobalt.dequeue(now, &mut Fifo::new(Order::Arrival), &config, &mut rng, &mut out).is_none());
        }
        assert_eq!(cobalt.probability, 1.0 / 256.0 - 1.0 / 4096.0);
    }
}
