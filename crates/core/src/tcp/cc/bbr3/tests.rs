use super::super::testing::loss as loss_at;
use super::long_term::in_flight_at_loss;
use super::*;
use crate::tcp::delivery_rate::RateSample;

const RTT: Span = Span::from_ms(100);

/// A path whose deliveries the test sets; one ACK per round.
struct Feed {
    cc: Bbr3,
    now: Time,
    total: u64,
    rtt: Span,
    tx_in_flight: u32,
    in_flight: u32,
    recovering: bool,
}

impl Feed {
    fn new() -> Feed {
        let window = CongestionWindow { cwnd: 10.0, ssthresh: f64::INFINITY };
        let cc = Bbr3::new(Bbr3Config::DRAFT, window);
        let now = Time::ZERO + Span::from_secs(1);
        Feed { cc, now, total: 0, rtt: RTT, tx_in_flight: 150, in_flight: 150, recovering: false }
    }

    fn state(&mut self) -> &mut Bbr3State {
        &mut self.cc.0
    }

    /// An RTT in which `rate` is delivered.
    fn round(&mut self, rate: f64) {
        let n = (rate * RTT.as_secs()).round().max(1.0) as u32;
        let prior_delivered = self.total;
        self.now += RTT;
        self.total += u64::from(n);
        let sample = RateSample {
            delivered: (rate * self.rtt.as_secs()).round() as u64,
            interval: self.rtt,
            prior_delivered,
            total: self.total,
            lost: 0,
            tx_in_flight: self.tx_in_flight,
            app_limited: false,
        };
        self.deliver(n, sample);
    }

    fn deliver(&mut self, n: u32, sample: RateSample) {
        let ack = Ack {
            now: self.now,
            acked: n,
            delivered: n,
            in_flight: self.in_flight,
            rtt: Some(self.rtt),
            srtt: Some(self.rtt),
            min_rtt: Some(RTT),
            recovering: self.recovering,
            rate: Some(sample),
            ..Ack::default()
        };
        self.cc.on_delivery(&ack);
    }

    fn lose(&mut self, segment: u64, lost: u64, tx_in_flight: u32) {
        let loss = LossSample { segment, tx_in_flight, lost, total: self.total, app_limited: false };
        self.cc.on_loss(self.now, &loss);
    }

    /// Startup on a path of 1000 segments per second with a BDP of 100, to the middle of a cycle.
    fn cruising() -> Feed {
        let mut feed = Feed::new();
        for rate in [100.0, 200.0, 400.0, 800.0, 1000.0, 1000.0, 1000.0, 1000.0] {
            feed.round(rate);
        }
        assert_eq!(feed.state().phase, Bbr3Phase::Drain);
        feed.in_flight = 90;
        feed.round(1000.0);
        feed.round(1000.0);
        assert_eq!(feed.state().phase, Bbr3Phase::Cruise);
        feed
    }

    /// As `cruising`, to the bandwidth probe: the wait is at most three seconds.
    fn probing() -> Feed {
        let mut feed = Feed::cruising();
        feed.tx_in_flight = 100;
        for _ in 0..31 {
            if feed.state().phase == Bbr3Phase::Up {
                break;
            }
            feed.round(1000.0);
        }
        assert_eq!(feed.state().phase, Bbr3Phase::Up);
        feed
    }
}

fn near(got: f64, want: f64) {
    assert!((got - want).abs() <= 1e-6 * want.abs().max(1.0), "{got}, not {want}");
}

/// Section 5.3.1.1: rate and window double per round; the pacing rate is 2.77 times the delivery
/// rate, less 1 %.
#[test]
fn startup_doubles_per_round() {
    let mut feed = Feed::new();
    let mut expected = 10.0;
    for rate in [100.0, 200.0, 400.0, 800.0] {
        feed.round(rate);
        expected += rate * 0.1;
        near(feed.cc.cwnd(), expected);
        // Before the first sample: the initial window per RTT, without the margin.
        near(feed.cc.pacing_rate().unwrap_or(0.0), (2.77 * rate * 0.99_f64).max(277.0));
    }
}

/// Section 5.3.1.2: three rounds with less than 25 % growth; then half the rate until one BDP is in
/// flight.
#[test]
fn startup_ends_on_a_plateau_and_drain_empties_the_queue() {
    let mut feed = Feed::new();
    for rate in [100.0, 200.0, 400.0, 480.0, 490.0] {
        feed.round(rate);
        assert_eq!(feed.state().phase, Bbr3Phase::Startup, "{rate}");
    }
    feed.round(490.0);
    assert_eq!(feed.state().phase, Bbr3Phase::Drain);
    near(feed.cc.pacing_rate().unwrap_or(0.0), 0.5 * 490.0 * 0.99);
    feed.in_flight = 50;
    feed.round(490.0);
    assert_eq!(feed.state().phase, Bbr3Phase::Drain);
    feed.in_flight = 49;
    feed.round(490.0);
    // DOWN ends at once.
    assert_eq!(feed.state().phase, Bbr3Phase::Cruise);
    near(feed.cc.pacing_rate().unwrap_or(0.0), 490.0 * 0.99);
}

/// Section 5.3.2: an overestimated rate does not extend Drain beyond three rounds.
#[test]
fn drain_ends_after_three_rounds_at_any_flight() {
    let mut feed = Feed::new();
    for rate in [100.0, 100.0, 100.0, 100.0] {
        feed.round(rate);
    }
    feed.in_flight = 1000;
    let phases: Vec<Bbr3Phase> = (0..4)
        .map(|_| {
            feed.round(100.0);
            feed.state().phase
        })
        .collect();
    assert_eq!(phases, [Bbr3Phase::Drain, Bbr3Phase::Drain, Bbr3Phase::Drain, Bbr3Phase::Down]);
}

/// Section 5.3.1.3: more than 2 % lost in a round of recovery, in at least six gaps.
#[test]
fn startup_ends_on_loss_above_two_percent_in_six_gaps() {
    for (gaps, lost, in_flight, phase) in [
        (6, 6, 100, Bbr3Phase::Drain),
        (5, 6, 100, Bbr3Phase::Startup),
        (6, 2, 100, Bbr3Phase::Startup),
        (6, 3, 100, Bbr3Phase::Drain),
    ] {
        let mut feed = Feed::new();
        feed.round(100.0);
        feed.round(200.0);
        feed.cc.on_congestion(&loss_at(40.0));
        feed.recovering = true;
        feed.round(400.0);
        for gap in 0..gaps {
            feed.lose(100 + 10 * gap, gap + 1, in_flight);
        }
        feed.now += RTT;
        feed.total += 40;
        let (total, tx_in_flight) = (feed.total, in_flight);
        let sample = RateSample {
            delivered: 80,
            interval: RTT,
            prior_delivered: total - 1,
            total,
            lost,
            tx_in_flight,
            app_limited: false,
        };
        feed.deliver(40, sample);
        assert_eq!(feed.state().phase, phase, "{gaps} gaps, {lost} of {in_flight} lost");
        if phase == Bbr3Phase::Drain {
            // max(BDP, deliveries of a round): both 80 segments here.
            near(feed.state().long.inflight_longterm, 80.0);
        }
    }
}

/// Sections 5.3.3 and 5.6.1: gain 0.9 until the queue is empty, 1 for two to three seconds, 1 for a
/// round, 1.25 until the rate no longer grows.
#[test]
fn probe_bw_cycles_through_down_cruise_refill_up() {
    let mut feed = Feed::cruising();
    let mut seen: Vec<(Bbr3Phase, f64, u32)> = Vec::new();
    for _ in 0..60 {
        feed.round(1000.0);
        let gain = feed.cc.pacing_rate().unwrap_or(0.0) / (1000.0 * 0.99);
        let phase = feed.state().phase;
        match seen.last_mut() {
            Some(last) if last.0 == phase => last.2 += 1,
            _ => seen.push((phase, gain, 1)),
        }
    }
    let order: Vec<Bbr3Phase> = seen.iter().map(|s| s.0).take(5).collect();
    assert_eq!(order, [Bbr3Phase::Cruise, Bbr3Phase::Refill, Bbr3Phase::Up, Bbr3Phase::Down, Bbr3Phase::Cruise]);
    for (phase, gain, rounds) in &seen[..4] {
        let (want, min_rounds, max_rounds) = match phase {
            Bbr3Phase::Down => (0.9, 1, 1),
            Bbr3Phase::Up => (1.25, 3, 3),
            Bbr3Phase::Refill => (1.0, 1, 1),
            _ => (1.0, 15, 30),
        };
        near(*gain, want);
        assert!((min_rounds..=max_rounds).contains(rounds), "{phase:?} for {rounds} rounds");
    }
}

/// Section 5.3.3.8: a window of 8 segments is probed as often as Reno would fill it, not every two
/// seconds.
#[test]
fn small_window_probes_as_often_as_reno_loses() {
    let mut feed = Feed::new();
    for _ in 0..5 {
        feed.round(80.0);
    }
    feed.in_flight = 4;
    let mut rounds = 0;
    while feed.state().phase != Bbr3Phase::Refill {
        feed.round(80.0);
        rounds += 1;
        assert!(rounds < 12);
    }
}

/// Section 5.5.10.2: where losses crossed 2 %; values worked out by hand.
#[test]
fn inflight_at_loss_is_where_losses_crossed_two_percent() {
    for (in_flight, lost, want) in [
        (100.0, 3.0, 99.0 - 0.02 / 0.98),
        (101.0, 3.0, 100.0),
        (200.0, 5.0, 199.0 - 0.02 / 0.98),
        (50.0, 2.0, 49.0 - 0.02 / 0.98),
    ] {
        near(in_flight_at_loss(0.02, in_flight, lost), want);
    }
}

#[test]
fn probe_ends_and_sets_the_bound_when_loss_exceeds_two_percent() {
    let mut feed = Feed::probing();
    feed.lose(500, 1, 150);
    feed.lose(501, 2, 150);
    feed.lose(502, 3, 150);
    assert_eq!((feed.state().phase, feed.state().long.inflight_longterm), (Bbr3Phase::Up, f64::INFINITY), "2 % of 150 is borne");
    feed.lose(503, 4, 150);
    near(feed.state().long.inflight_longterm, in_flight_at_loss(0.02, 150.0, 4.0));
    assert_eq!(feed.state().phase, Bbr3Phase::Down);
    // Once per probe, and at least 0.7 of the target (section 5.5.10.2).
    feed.lose(504, 100, 150);
    near(feed.state().long.inflight_longterm, in_flight_at_loss(0.02, 150.0, 4.0));
    let mut feed = Feed::probing();
    feed.lose(500, 50, 60);
    near(feed.state().long.inflight_longterm, 0.7 * 100.0);
}

/// Sections 5.3.3.1 and 5.6.4.7: CRUISE leaves 15 % of the bound free.
#[test]
fn cruise_leaves_headroom_below_the_bound() {
    let mut feed = Feed::probing();
    feed.lose(500, 4, 150);
    feed.tx_in_flight = 80;
    feed.in_flight = 80;
    feed.round(1000.0);
    feed.round(1000.0);
    assert_eq!(feed.state().phase, Bbr3Phase::Cruise);
    let inflight_longterm = feed.state().long.inflight_longterm;
    near(feed.cc.cwnd(), 0.85 * inflight_longterm);
}

/// Section 5.3.3.5: 1, 2, 4, 8 segments more in the rounds of a probe that uses the whole bound.
#[test]
fn bound_grows_by_powers_of_two_while_it_is_used() {
    let mut long = LongTerm::default();
    long.inflight_longterm = 100.0;
    let mut grown = Vec::new();
    long.raise_slope(100.0);
    for _ in 0..5 {
        let before = long.inflight_longterm;
        for ack in 0..100 {
            long.grow(1.0, 100.0, ack == 99);
        }
        grown.push(long.inflight_longterm - before);
    }
    // Whole deliveries per step: 100/16 is 6.25.
    assert_eq!(grown, [1.0, 2.0, 4.0, 8.0, 16.0]);
}

/// Section 5.5.10.3: a round with loss outside a probe leaves its deliveries, or 0.7 of the
/// previous bound.
#[test]
fn lossy_round_outside_a_probe_sets_short_term_bounds() {
    for (delivered, rate) in [(900.0, 900.0), (300.0, 700.0)] {
        let mut feed = Feed::cruising();
        let cwnd = feed.cc.cwnd();
        feed.round(delivered);
        feed.lose(700, 1, 90);
        feed.round(delivered);
        near(feed.state().short.bounds.rate, rate);
        let in_flight = (0.7 * cwnd).max(delivered * 0.1);
        assert!(feed.state().short.bounds.in_flight >= in_flight - 1e-9);
        near(feed.state().rate(), rate);
        // The next probe resets the bounds.
        feed.state().start_refill();
        near(feed.state().rate(), 1000.0);
    }
}

/// Section 5.3.4: five seconds without a smaller RTT, then half a BDP for 200 ms.
#[test]
fn probe_rtt_halves_the_bdp_every_five_seconds() {
    let mut feed = Feed::cruising();
    feed.rtt = Span::from_ms(101);
    let begun = feed.now;
    while feed.state().phase != Bbr3Phase::ProbeRtt {
        feed.round(1000.0);
        assert!(feed.now < begun + Span::from_secs(7));
    }
    assert!(feed.now > Time::ZERO + Span::from_secs(6), "the smallest was seen in the first second");
    near(feed.cc.cwnd(), 0.5 * 1000.0 * 0.1);
    feed.in_flight = 50;
    feed.round(500.0);
    let entered = feed.now;
    while feed.state().phase == Bbr3Phase::ProbeRtt {
        feed.round(500.0);
    }
    assert!(feed.now >= entered + Span::from_ms(200) && feed.now <= entered + Span::from_ms(500));
    assert_eq!(feed.state().phase, Bbr3Phase::Cruise);
    assert!(feed.cc.cwnd() > 150.0, "the window is back: {}", feed.cc.cwnd());
    near(feed.state().max_bw.max_rate(), 1000.0);
    near(feed.state().min_rtt.get().map_or(0.0, Span::as_secs), 0.1);
}

/// Section 5.5.11: bounds, window and phase are restored.
#[test]
fn spurious_loss_is_undone() {
    let mut feed = Feed::probing();
    let (cwnd, max_rate) = (feed.cc.cwnd(), feed.state().max_bw.max_rate());
    feed.cc.on_congestion(&loss_at(150.0));
    feed.lose(500, 4, 150);
    assert_eq!(feed.state().phase, Bbr3Phase::Down);
    assert!(feed.cc.undo());
    assert_eq!(feed.state().long.inflight_longterm, f64::INFINITY);
    assert_eq!((feed.state().phase, feed.cc.cwnd()), (Bbr3Phase::Refill, cwnd));
    near(feed.state().max_bw.max_rate(), max_rate);
}

/// Section 5.6.4.4.
#[test]
fn timeout_leaves_one_segment_and_keeps_the_model() {
    let mut feed = Feed::cruising();
    let before = feed.cc.cwnd();
    feed.cc.on_congestion(&super::super::testing::timeout(90.0));
    assert_eq!(feed.cc.cwnd(), 1.0);
    feed.recovering = true;
    feed.round(1000.0);
    feed.recovering = false;
    feed.round(1000.0);
    assert!(feed.cc.cwnd() >= before, "{} after {before}", feed.cc.cwnd());
}

/// Section 5.4.1.
#[test]
fn restart_from_idle_paces_at_the_rate() {
    let mut feed = Feed::probing();
    near(feed.cc.pacing_rate().unwrap_or(0.0), 1.25 * 1000.0 * 0.99);
    feed.cc.on_idle(feed.now, Span::from_secs(3));
    near(feed.cc.pacing_rate().unwrap_or(0.0), 1000.0 * 0.99);
}

#[test]
fn mark_sets_bounds_like_a_loss() {
    let mut feed = Feed::cruising();
    feed.cc.on_congestion(&Congestion { signal: CongestionSignal::Ecn, ..loss_at(90.0) });
    feed.round(1000.0);
    feed.round(1000.0);
    assert!(feed.state().short.bounds.rate.is_finite());
    let mut feed = Feed::probing();
    feed.cc.on_congestion(&Congestion { signal: CongestionSignal::Ecn, ..loss_at(120.0) });
    assert_eq!((feed.state().phase, feed.state().long.inflight_longterm), (Bbr3Phase::Down, 120.0));
}
