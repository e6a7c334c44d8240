//! The limits of the estimators, each beside its reason.

/// Declares a struct and its one constant, so that a value stands beside its reason.
macro_rules! thresholds {
    ($($(#[$doc:meta])* $name:ident: $kind:ty = $value:expr;)*) => {
        #[derive(Debug)]
        pub struct Thresholds {
            $($(#[$doc])* pub $name: $kind,)*
        }

        pub const LIMITS: Thresholds = Thresholds { $($name: $value,)* };
    };
}

/// The lower edge of delays.
#[derive(Debug, Clone, Copy)]
pub struct Edge {
    /// Shares of the delays below its outer and its inner end.
    pub shares: (f64, f64),
    /// Minimum distance of the smallest delay from the edge, relative to the edge's width, of one that a stall of the
    /// host made: that of 100,000 normal delays is three widths from the first edge, four from the second.
    pub min_outlier_edges: f64,
    /// It is as narrow as the noise of hosts.
    pub is_narrow: bool,
    /// Delays without outliers show the blur of timestamps.
    pub shows_blur: bool,
}

thresholds! {
    // Timestamps of a busy capturing host.

    /// Minimum number of delays of packets that found an empty path, for their lower edge; the second one where a fast
    /// link passes many packets in a stall, the third one of a path with jitter.
    min_bulk_packets: usize = 150;
    edges: [Edge; 3] = [
        Edge { shares: (0.02, 0.1), min_outlier_edges: 3.5, is_narrow: true, shows_blur: true },
        Edge { shares: (0.1, 0.3), min_outlier_edges: 7.0, is_narrow: true, shows_blur: false },
        Edge { shares: (0.02, 0.1), min_outlier_edges: 3.5, is_narrow: false, shows_blur: false },
    ];
    /// Shares of the delays of isolated packets between which these are alike where most found an empty queue, and the
    /// minimum number of delays that agree: stalls make few of them too small.
    isolated_shares: (f64, f64) = (0.3, 0.7);
    min_alike: usize = 50;
    /// Moments beside the one of the smallest delay that agree with it, as a share and at least, where few packets find the
    /// path empty.
    alike_moments: f64 = 0.2;
    min_alike_moments: usize = 1;
    /// Share of the packets whose delays stalls of a host make too small, at most.
    stalled_share: f64 = 0.005;
    /// Distance from the edge, relative to its width, from which on delays are such.
    outlier_edges: f64 = 2.0;
    /// Time within which a host timestamps what it held back, nanoseconds, and the minimum share of the stalls with
    /// nothing else below the edge.
    stall_bunch_ns: i64 = 1_000_000;
    min_single_share: f64 = 0.75;
    /// Relative half-width of a rate by timestamps that are late: a capture of such a host lacks records, too.
    late_rate_error: f64 = 0.003;

    // Rate.

    /// Minimum number of consecutive gaps between arrivals of a busy link: shorter runs are bursts
    /// that a sender, a frame or jitter formed.
    min_run: usize = 20;
    /// The same if the mode of the gaps is sharp: short bursts of a fixed rate agree.
    min_mode_run: usize = 4;
    /// Minimum number of such gaps for a rate: 8 blocks of 10.
    min_busy_gaps: usize = 80;
    /// Number of blocks of the bootstrap: enough for a 95 % interval, and each longer than the
    /// correlation of neighbouring gaps.
    blocks: usize = 32;
    /// Half-width of the mode of the service times, relative: timestamps of hosts are off by some
    /// microseconds in a service time of a millisecond.
    mode_half_width: f64 = 0.01;
    /// Minimum share of the gaps in the mode for a link of fixed rate.
    min_mode_share: f64 = 0.5;
    /// Maximum relative difference between the mode and the mean rate; beyond it the link does other
    /// work between packets (frames, cross traffic), and the mean is what a flow gets.
    max_mode_difference: f64 = 0.03;
    /// Minimum share of the service times of a busy link that agree, and by how much faster they are than the mean,
    /// relative, from which on it serves others, too.
    min_serving_share: f64 = 0.3;
    min_serving_difference: f64 = 0.05;
    /// By how much the service times that agree are at most faster than the mean, relative, for a link that serves
    /// others, too: beyond it, packets that were held together left what held them at its rate.
    max_serving_difference: f64 = 9.0;
    /// Maximum relative excess of the mean over the mode: a link of fixed rate serves no packet faster.
    max_mean_above_mode: f64 = 0.01;
    /// Minimum time of a busy link, seconds, and maximum ratio of its rate to the largest throughput
    /// that was seen: a shaper or a token bucket passes short bursts faster than the rest.
    min_busy_s: f64 = 1.0;
    max_burst_ratio: f64 = 4.0;
    /// The same if service times do not agree.
    max_mean_burst_ratio: f64 = 2.0;
    /// Maximum relative half-width of the mean rate of bursts alone: service times of one link agree.
    max_burst_half_width: f64 = 0.1;
    /// Minimum relative half-width of a rate's interval: a quartz is off by up to 100 ppm.
    clock_error: f64 = 1e-4;
    /// Time after which a link that keeps the order delays packets by jitter as ever, in 95 % quantiles
    /// of the jitter.
    settled_jitter: f64 = 2.0;
    /// Number of times that a rate and the busy times at this rate are estimated from each other.
    rate_rounds: usize = 4;
    /// Coefficient of variation of the block's rates from which on a rate is not fixed,
    min_variation: f64 = 0.03;
    /// if it is also this many times what the gaps' own noise explains.
    min_variation_ratio: f64 = 3.0;
    /// Length of the window of the largest throughput that was seen, nanoseconds: longer than what
    /// jitter compresses.
    throughput_window_ns: i64 = 200_000_000;
    /// The same for a rate that a link has for longer than its bursts, and the maximum ratio of what passed in
    /// this window to the rate of a link that has only one.
    sustained_window_ns: i64 = 1_000_000_000;
    max_sustained_ratio: f64 = 1.03;
    /// Maximum time per byte, relative to the median, of a packet that a stall held back behind the link.
    max_released: f64 = 0.5;
    /// Minimum share of such packets, by bytes, beyond that of all, of those under way during a stall of what is behind the link.
    min_released: f64 = 0.2;

    // Recorded rate.

    /// Minimum coefficient of variation of a rate that is fitted as a recording: below it, the mean
    /// predicts as well.
    min_recorded_variation: f64 = 0.08;
    /// Minimum share of the time in which packets waited, and minimum time, nanoseconds.
    min_recorded_share: f64 = 0.3;
    min_recorded_ns: i64 = 2_000_000_000;
    /// Minimum relative half-width of the interval of a rate that varies.
    min_recorded_width: f64 = 0.04;
    /// Length of packets below which an opportunity of 1500 bytes is not filled by those that wait, and
    /// the difference of arrivals up to which they use one, nanoseconds.
    max_short_len: u32 = 300;
    same_opportunity_ns: i64 = 500_000;
    /// Length of the windows of local rates, nanoseconds, and the minimum part of one in which packets
    /// waited.
    local_rate_ns: i64 = 1_000_000_000;
    min_local_share: f64 = 0.2;
    /// Minimum share of the blocks of gaps that have a mode each, and minimum share of a block's gaps in
    /// its mode, for a rate that changes in steps: cross traffic has other gaps in each block.
    min_step_blocks: f64 = 0.75;
    min_step_share: f64 = 0.9;

    // Rate by size.

    /// Minimum number of packets of a length, of which the minimum delay is taken.
    min_class: usize = 5;
    /// Minimum difference of two lengths, bytes: options that a few packets have.
    min_len_difference: u32 = 8;
    /// Maximum relative half-width of a slope that bounds a rate.
    max_slope_error: f64 = 0.5;
    /// Minimum ratio of what the longest packets take longer than the shortest to the range of the smallest
    /// delays of a length: hosts delay packets of two lengths by different times.
    min_slope_over_jitter: f64 = 3.0;

    // Framing.

    /// Minimum number of packets of a length, and the minimum share of them whose service times agree.
    min_framed_packets: usize = 20;
    min_framed_share: f64 = 0.6;
    /// Maximum share of arrivals that are of several packets: more are a receiver's, or a frame's.
    max_merged: f64 = 0.05;
    /// Range of overheads, bytes: less than an Ethernet's tag is within what hosts add to a time, and no
    /// encapsulation has more.
    min_overhead: u16 = 4;
    max_overhead: u16 = 96;
    /// Error of a mean service time: in standard errors, and in nanoseconds the rounding of timestamps.
    framing_sigmas: f64 = 4.0;
    framing_error_ns: f64 = 20.0;
    /// Difference of the sums of squared relative errors under which two overheads are as likely.
    same_framing: f64 = 1e-9;

    // Delay and jitter.

    /// Maximum jitter, 95 % quantile, relative to the departures over which flows overtake each other, of their hosts: a
    /// link that keeps the order adds more.
    max_host_reach: f64 = 2.0;
    /// Maximum number of smallest delays from which the floor is extrapolated: the density is about
    /// constant over them.
    max_edge: usize = 12;
    /// Packets whose order at the link is not that of their departures, at most: a path that is faster for a time passes
    /// more.
    max_misordered: usize = 3;
    /// Minimum number of packets that found an empty path, for the floor of their delays.
    min_floor_packets: usize = 5;
    /// Minimum width of the interval of a delay from fewer packets, nanoseconds: what a host takes
    /// between a timestamp and the wire differs from packet to packet.
    host_delay_ns: f64 = 100_000.0;
    /// By how much the smallest of fewer delays may be above the floor where nothing else shows it, nanoseconds:
    /// hosts answer a SYN later than they forward.
    few_delays_ns: f64 = 1_000_000.0;
    /// Maximum range of a delay that is identified without a rate, relative to its upper end.
    max_delay_range: f64 = 0.5;
    /// What every host takes between a timestamp and the wire, nanoseconds.
    host_floor_ns: f64 = 10_000.0;
    /// Resolution of the clocks of captures, nanoseconds.
    clock_resolution_ns: f64 = 1000.0;
    /// Minimum number of packets from the beginnings of busy times, for the jitter of all packets.
    min_early_packets: usize = 100;
    /// Share of the median jitter to which the error of the rate may add up since the link was idle.
    max_drift: f64 = 0.1;
    /// Minimum number of packets for a distribution of jitter.
    min_jitter_packets: usize = 30;
    /// 95 % quantile of the delay above its floor, nanoseconds, up to which it is the hosts' own:
    /// their interrupts and timers.
    host_noise_ns: f64 = 150_000.0;
    /// The same of several flows: their hosts keep packets apart by a share of the service time of a packet, and by no more than
    /// this, nanoseconds.
    host_spacing: f64 = 0.5;
    max_host_spacing_ns: f64 = 1_000_000.0;
    /// Minimum difference of the distances of two families of jitter from n delays, in roots of 1 / n, of one that is
    /// known: half of what such distances vary by.
    min_family_difference: f64 = 0.7;
    /// Error of the width of a uniform jitter for the packets that an earlier one held back.
    held_back_error: f64 = 0.025;
    /// Maximum distance (Kolmogorov and Smirnov) between the delays and a distribution that
    /// describes them.
    max_distance: f64 = 0.1;
    /// Minimum share of the gaps in the mode for gaps that show whether the link served a lost packet, and what they
    /// may differ by from a whole number of service times, relative to one.
    min_exact_share: f64 = 0.9;
    max_gap_error: f64 = 0.25;
    /// Packets to either side of one over whose arrivals the error of a rate does not add up to more
    /// than a share of a service time, while some of them have hardly any jitter.
    drift_window: usize = 64;
    /// One in this number of delays is left out where no distribution describes all of them.
    outliers: usize = 50;
    /// Minimum number of packets that jitter could have reordered and did not, for jitter in order.
    min_reorder_chances: usize = 20;

    // Queue.

    /// Minimum number of drops at the limit: one is any loss.
    min_overflow_drops: u32 = 2;
    /// Minimum share of packets lost above the limit: a droptail queue loses all, blurred by jitter.
    min_lost_above: f64 = 0.5;
    /// Minimum level of the median drop, relative to the largest backlog that was accepted, of a
    /// droptail queue whose limit is blurred: an AQM drops far below.
    min_blurred_drop: f64 = 0.85;
    /// Minimum gain of the limit (2 ln of the likelihood ratio) against losses that do not depend
    /// on the backlog.
    min_limit_gain: f64 = 6.0;
    /// Share of the largest backlog below which a loss is surely not an overflow.
    surely_below: f64 = 0.6;
    /// Maximum number of levels of the likelihood.
    max_levels: usize = 600;
    /// Losses within this time, nanoseconds, are one overflow: they share the error of the backlog.
    overflow_ns: i64 = 100_000_000;

    // Loss.

    /// Share of the largest backlog of a link that serves others from which on a queue stands: what a loss meets is
    /// known from the packet before it.
    min_standing: f64 = 0.5;
    /// Probability from which on a loss is the channel's.
    channel_probability: f64 = 0.5;
    /// Minimum number of losses for a loss rate; those of a burst are one.
    min_losses: usize = 5;
    /// Number of drops of the queue for each loss from which on some drops may be taken for losses: a backlog is off by
    /// a packet now and then.
    drops_beside_loss: usize = 10;
    /// Arrivals whose records a capture may have lost beyond as many as of its own packets, in roots of their number:
    /// a stall of a capturing host loses some records at a time, which is two standard deviations of runs of five.
    unrecorded_packets: f64 = 4.5;
    /// Maximum relative half-width of the rate of a policer that is known: drops in bursts alone leave it open.
    max_policed_half_width: f64 = 0.05;
    /// Minimum burst of a policer that is known, bytes: a queue of four full packets drops the same ones.
    min_policer_burst: f64 = 6000.0;
    /// Times for a request, its grant and the burst, relative to what a frame adds to the delays of packets.
    grant_frames: f64 = 3.0;
    /// Minimum number of bursts for their length.
    min_bursts: usize = 10;
    /// Minimum mean length of bursts of a channel, nanoseconds: no access link serves a packet in less.
    min_sojourn_ns: f64 = 10_000.0;
    /// Quantile of chi-squared with one degree of freedom for 95 %.
    chi_squared_95: f64 = 3.841;
    /// Quantile of the normal distribution for a two-sided 95 %.
    normal_95: f64 = 1.96;

    // Frames, stalls and reordering.

    /// Periods of frames and slots, in ascending order, milliseconds: those of 802.16, LTE, NR, DOCSIS
    /// and GPRS.
    periods_ms: [f64; 10] = [0.5, 1.0, 2.0, 2.5, 4.0, 5.0, 8.0, 10.0, 12.5, 20.0];
    /// Length of the windows, nanoseconds: over them clocks that differ by 100 ppm drift by 0.2 ms.
    period_window_ns: i64 = 2_000_000_000;
    /// Minimum number of packets in a window.
    min_period_packets: usize = 10;
    /// Minimum mean resultant length of the phases of arrivals.
    min_concentration: f64 = 0.5;
    /// Minimum excess over that of departures: a sender's timer has a phase of its own.
    min_phase_gain: f64 = 0.25;
    /// Minimum length of a longer period, relative to the best: parts of a period have its phases, and
    /// retransmissions of a radio blur all of them.
    min_harmonic: f64 = 0.9;
    /// Minimum number of stalls for a period.
    min_stalls: usize = 3;
    /// Maximum standard deviation of the stalls from equal times, relative to the period.
    max_stall_deviation: f64 = 0.05;
    /// Minimum number of packets that others overtook,
    min_overtaken: usize = 5;
    /// and their maximum share: more is jitter.
    max_overtaken: f64 = 0.1;

    // Policer.

    /// Number of packets on the wrong side of the limit, beyond the fewest and their square root, under
    /// which a rate and a burst are as likely.
    wrong_margin: usize = 2;
    /// Number of times that an end of the rate's interval is halved, and the parts of the interval.
    bisections: usize = 6;
    policer_grid: usize = 14;

    // Shaper.

    /// Steps of the search of the rate around that of the busy link, relative, and their number to either
    /// side: over a busy time of 30 s an error of 0.01 % is a packet or two.
    shaper_steps: [f64; 3] = [1e-3, 2e-4, 4e-5];
    shaper_side: i32 = 5;
    /// Number of arrivals of a group whose rate is one of the first candidates.
    shaper_group: usize = 65;
    /// Maximum relative difference of the rates of a policer and of the busy link behind it for which packets wait
    /// for the bucket: it is a shaper.
    same_bucket_rate: f64 = 0.02;
    /// Minimum burst in packets; queues of any link allow smaller ones.
    min_shaper_burst: f64 = 4.0;
    /// Minimum number of packets that waited for tokens, and of those that passed at once from a bucket that
    /// was partly used.
    min_shaper_waits: usize = 100;
    min_shaper_passes: usize = 4;
    /// Maximum range of the burst by packets that waited, from the 5 % to the 95 % quantile, relative to it.
    max_shaper_spread: f64 = 0.25;
    /// Maximum delay of the packets that passed at once, relative to that at a link without a burst.
    max_shaper_delay: f64 = 0.8;
}
