//! A policer: a token bucket without a queue. It drops a packet that finds fewer tokens than its
//! length, and delays none (Flach et al. 2016, section 3: losses at an empty bucket, none at a full
//! one, and no longer RTT before a loss). What is missing from a full bucket is a virtual backlog that
//! drains at the token rate, and the burst is its limit: the rate and the burst are those under which
//! the fewest packets are on the wrong side of the limit.

use super::fate::Fate;
use ackclock_core::statistics::quantile_of_sorted;

/// Minimum number of drops of a policer, and of their runs without an arrival in between: any two
/// losses have a rate and a burst.
pub const MIN_DROPS: usize = 6;
const MIN_RUNS: usize = 4;
/// Minimum share of the losses that are a policer's: of others the rate would be a chance.
pub const MIN_SHARE: f64 = 0.5;
/// Share of the losses on the wrong side of the best limit of the first candidates above which no
/// candidate is near a policer's rate.
const MAX_WRONG: f64 = 0.9;
/// Maximum number of packets that passed an empty bucket, relative to the drops: those that jitter
/// before it explains.
pub const MAX_PASSED: f64 = 0.25;
/// Number of times that a bucket was used up, and the time of a single burst at the token rate,
/// nanoseconds, below which it is no change of the rate.
pub const MIN_BURSTS: usize = 2;
pub const MAX_SINGLE_BURST_NS: f64 = 1e9;
/// Maximum queueing delay at a nearly empty bucket, relative to that of a queue of the same rate and
/// limit: a policer has no queue, and the line behind it has that of a burst.
const MAX_DELAY: f64 = 0.25;
/// Minimum number of packets for the median of a delay.
const MIN_DELAYS: usize = 5;
/// Minimum median wait before a drop at a full queue, relative to the longest wait, or to that of a queue
/// of the burst's size.
const FULL_WAIT: f64 = 0.5;
/// Median wait before a drop, packets at the token rate, up to which there is no queue: ACKs alone show
/// delays with two packets and the timer of a delayed ACK.
const MAX_WAIT: f64 = 3.5;
/// A line that delivers what waited at this multiple of a rate is not the one that has the rate: packets that
/// follow each other more closely wait before it, be a bucket empty or not.
const FASTER: f64 = 4.0;
/// Losses within this time, nanoseconds, are one overflow.
const OVERFLOW_NS: i64 = 100_000_000;
/// Minimum number of packets between two losses for a candidate of the rate, number of candidates, and
/// ratio of neighbours on a grid: within what the first step of the search reaches.
const MIN_BETWEEN_LOSSES: f64 = 4.0;
const CANDIDATES: usize = 60;
const RATIO: f64 = 1.07;
/// Candidates of the grid above the largest throughput of a window, nanoseconds, that is longer than what
/// jitter compresses, and the window of its burst: a small window of TCP passes far less than the rate.
const ABOVE_MAX: i32 = 5;
const THROUGHPUT_WINDOW_NS: i64 = 200_000_000;
const BURST_WINDOW_NS: i64 = 10_000_000;
/// Candidates of the grid below the largest throughput.
const BELOW_MAX: i32 = 54;
/// Number of the best candidates that are refined, the steps of the search around one, relative, and the
/// number of steps to either side.
const REFINED: usize = 4;
const STEPS: [f64; 4] = [0.01, 0.002, 0.0004, 0.0001];
const SIDE: i32 = 8;
/// Bins of levels above which the first candidates are not separated.
const MAX_BINS: usize = 1 << 16;

/// A packet on its way to a policer.
#[derive(Debug, Clone, Copy)]
pub struct PolicedPacket {
    /// Departure from the sender, nanoseconds.
    pub at: i64,
    /// IP bytes.
    pub len: u32,
    pub fate: Fate,
}

/// The packets of one direction of a path.
#[derive(Debug, Clone, Default)]
pub struct PolicedRun {
    packets: Vec<PolicedPacket>,
    /// Smallest delay, nanoseconds.
    floor: i64,
    /// Bursts that differ by less drop the same packets of most lengths.
    half_packet: f64,
    /// The packets as a bucket meets them.
    steps: Vec<BucketStep>,
}

/// A packet as a bucket meets it: what the search for a rate reads of it, again and again.
#[derive(Debug, Clone, Copy)]
struct BucketStep {
    /// Nanoseconds since the packet before.
    gap: f64,
    /// IP bytes.
    len: f64,
    is_lost: bool,
    /// Its fate is known.
    is_counted: bool,
}

/// A policer that losses show.
#[derive(Debug, Clone, Copy)]
pub struct PolicerEstimate {
    pub rate_bps: f64,
    pub burst_bytes: f64,
    /// Losses of which the bucket was empty, and their runs without an arrival in between.
    pub drops: usize,
    pub runs: usize,
    /// Losses of which it was not.
    pub other_losses: usize,
    /// Packets that passed although the bucket was empty.
    pub passed: usize,
    /// Queueing delay at a nearly empty bucket, relative to that of a queue of the same rate and limit.
    pub delay_share: f64,
    pub best: RateSplit,
}

/// The policer that the losses show; none if another cause explains them as well.
pub fn find(runs: &[PolicedRun]) -> Option<PolicerEstimate> {
    let lost = runs.iter().map(PolicedRun::lost).sum::<usize>();
    if lost < MIN_DROPS || runs.iter().any(PolicedRun::has_queue_before_losses) {
        return None;
    }
    let best = best_rate(runs, lost)?;
    let burst = best.split.burst();
    let samples = samples(runs, best.rate, best.burst);
    let above = |sample: &&Sample| sample.level > burst;
    let drops = samples.iter().filter(above).filter(|sample| sample.lost).count();
    let passed = samples.iter().filter(above).count() - drops;
    let drop_runs = samples.chunk_by(|a, b| a.lost == b.lost).filter(|run| run.iter().any(|s| s.lost && s.level > burst)).count();
    let is_step = drops >= MIN_DROPS
        && drop_runs >= MIN_RUNS
        && drops as f64 >= MIN_SHARE * lost as f64
        && passed as f64 <= MAX_PASSED * drops as f64;
    let delay_share = delay_share(&samples, burst, best.rate);
    // A long burst that was used up once is a rate that fell, or other traffic that came.
    let is_once =
        used_up(samples.iter().map(|sample| sample.level), burst) < MIN_BURSTS && burst / best.rate > MAX_SINGLE_BURST_NS;
    let waits = delay_share.abs() > MAX_DELAY || is_queue_full_before_drops(runs, &samples, burst, best.rate);
    (is_step && !is_once && !waits).then_some(PolicerEstimate {
        rate_bps: best.rate * 8e9,
        burst_bytes: burst,
        drops,
        runs: drop_runs,
        other_losses: lost - drops,
        passed,
        delay_share,
        best,
    })
}

impl PolicedRun {
    /// `packets` are in order of departure; `floor` is their smallest delay, nanoseconds.
    pub fn new(packets: Vec<PolicedPacket>, floor: i64) -> PolicedRun {
        let mut lens: Vec<u32> = packets.iter().map(|packet| packet.len).collect();
        lens.sort_unstable();
        let common = lens.chunk_by(|a, b| a == b).max_by_key(|same| same.len()).map_or(0, |same| same[0]);
        let before = packets.first().into_iter().chain(&packets);
        let steps = packets.iter().zip(before).map(|(packet, before)| BucketStep {
            gap: packet.at.saturating_sub(before.at).max(0) as f64,
            len: f64::from(packet.len),
            is_lost: packet.fate == Fate::Lost,
            is_counted: packet.fate != Fate::OutsideCapture,
        });
        PolicedRun { steps: steps.collect(), packets, floor, half_packet: f64::from(common) / 2.0 }
    }

    pub fn half_packet(&self) -> f64 {
        self.half_packet
    }

    /// For each packet whether it was lost at a bucket of this rate (bit/s) and burst (bytes) that was
    /// empty.
    pub fn drops(&self, rate_bps: f64, burst_bytes: f64) -> Vec<bool> {
        let dropped_from = burst_bytes - self.half_packet;
        let mut bucket = Deficit::new(rate_bps / 8e9);
        let is_dropped = |packet: &PolicedPacket| {
            let level = bucket.level(packet.at, packet.len);
            let is_dropped = packet.fate == Fate::Lost && level > dropped_from;
            if !is_dropped {
                bucket.take(packet.len);
            }
            is_dropped
        };
        self.packets.iter().map(is_dropped).collect()
    }

    fn lost(&self) -> usize {
        self.packets.iter().filter(|packet| packet.fate == Fate::Lost).count()
    }

    /// True if packets wait before a loss, about as long as packets ever wait, and longer than a policer
    /// of at least the mean rate allows: that is a queue, whatever the rate and the burst.
    fn has_queue_before_losses(&self) -> bool {
        let (Some(first), Some(last)) = (self.packets.first(), self.packets.last()) else { return false };
        let passed: u64 =
            self.packets.iter().filter(|packet| packet.fate != Fate::Lost).map(|packet| u64::from(packet.len)).sum();
        let of_packet = |packet: &PolicedPacket| (packet.at, packet.fate == Fate::Lost, self.wait(packet));
        let waits = Waits::of(self.packets.iter().map(of_packet));
        let mean_rate = passed as f64 / last.at.saturating_sub(first.at).max(1) as f64;
        waits.before > FULL_WAIT * waits.longest
            && waits.before * mean_rate > 2.0 * MAX_WAIT * 2.0 * self.half_packet
            && !self.is_of_faster_line(&waits, mean_rate)
    }

    /// Delay above the smallest, nanoseconds.
    fn wait(&self, packet: &PolicedPacket) -> Option<f64> {
        packet.fate.delay().map(|delay| (delay - self.floor) as f64)
    }

    /// Whether packets wait for a line of much more than this rate, bytes per nanosecond, and losses come without a
    /// wait as well.
    fn is_of_faster_line(&self, waits: &Waits, rate: f64) -> bool {
        waits.shortest < FULL_WAIT * waits.before && self.drain_rate(FULL_WAIT * waits.longest) >= FASTER * rate
    }

    /// Rate, bytes per nanosecond, at which packets left that waited for this time, nanoseconds, or longer: the line
    /// was busy since the packet before.
    fn drain_rate(&self, waited: f64) -> f64 {
        let (mut bytes, mut busy, mut before) = (0.0, 0.0, None);
        for packet in &self.packets {
            let Some(delay) = packet.fate.delay() else { continue };
            let arrived = packet.at.saturating_add(delay);
            let spacing = before.map(|before| arrived.saturating_sub(before)).filter(|spacing| *spacing >= 0);
            if let Some(spacing) = spacing.filter(|_| self.wait(packet).is_some_and(|wait| wait >= waited)) {
                bytes += f64::from(packet.len);
                busy += spacing as f64;
            }
            before = Some(arrived);
        }
        if busy > 0.0 { bytes / busy } else { 0.0 }
    }

    /// The largest throughput of a window in nanoseconds, bytes per nanosecond.
    fn max_throughput(&self, window: i64) -> f64 {
        let passed = self.packets.iter().filter(|packet| packet.fate != Fate::Lost).map(|packet| (packet.at, packet.len));
        max_bytes_within(&passed.collect::<Vec<_>>(), window) as f64 / window as f64
    }
}

/// The maximum of bytes within a time, nanoseconds, of packets with their times, in order, and lengths.
pub fn max_bytes_within(packets: &[(i64, u32)], window: i64) -> u64 {
    let (mut from, mut bytes, mut max) = (0, 0u64, 0u64);
    for &(at, len) in packets {
        bytes += u64::from(len);
        while at - packets[from].0 >= window {
            bytes -= u64::from(packets[from].1);
            from += 1;
        }
        max = max.max(bytes);
    }
    max
}

/// Number of times that the deficit, of packets in order, went from less than a quarter of the burst to
/// all of it.
pub fn used_up(levels: impl Iterator<Item = f64>, burst: f64) -> usize {
    let (mut is_full, mut count) = (false, 0);
    for level in levels {
        if level < burst / 4.0 {
            is_full = true;
        } else if is_full && level >= burst {
            (is_full, count) = (false, count + 1);
        }
    }
    count
}

/// What is missing from a full bucket, bytes.
pub struct Deficit {
    bytes_per_ns: f64,
    bytes: f64,
    last: i64,
}

impl Deficit {
    pub fn new(bytes_per_ns: f64) -> Deficit {
        Deficit { bytes_per_ns, bytes: 0.0, last: i64::MIN }
    }

    /// The deficit if a packet of this length took its tokens at this time.
    pub fn level(&mut self, at: i64, len: u32) -> f64 {
        self.bytes = (self.bytes - at.saturating_sub(self.last).max(0) as f64 * self.bytes_per_ns).max(0.0);
        self.last = at;
        self.bytes + f64::from(len)
    }

    pub fn take(&mut self, len: u32) {
        self.bytes += f64::from(len);
    }
}

/// A packet with the deficit that it needs.
#[derive(Debug, Clone, Copy)]
struct Sample {
    at: i64,
    level: f64,
    lost: bool,
    /// Delay above the smallest, nanoseconds, of a packet whose arrival is known.
    delay: Option<f64>,
}

/// `rate` in bytes per nanosecond. With a known `burst`, a loss below it took its tokens: another cause
/// lost it behind the policer.
fn samples(runs: &[PolicedRun], rate: f64, burst: Option<f64>) -> Vec<Sample> {
    let mut samples = Vec::new();
    for run in runs {
        let dropped_from = burst.map_or(0.0, |burst| burst - run.half_packet);
        let mut bucket = Deficit::new(rate);
        for packet in &run.packets {
            let level = bucket.level(packet.at, packet.len);
            let delay = packet.fate.delay().map(|delay| (delay - run.floor) as f64);
            let lost = packet.fate == Fate::Lost;
            if packet.fate != Fate::OutsideCapture {
                samples.push(Sample { at: packet.at, level, lost, delay });
            }
            if lost && level > dropped_from {
                continue;
            }
            bucket.take(packet.len);
        }
    }
    samples
}

/// Division of the packets by a limit of the deficit.
#[derive(Debug, Clone, Copy)]
pub struct Split {
    /// Packets that were lost below the limit, and those that passed above it.
    pub wrong: usize,
    /// The limit is between these levels.
    pub from: f64,
    pub to: f64,
}

impl Split {
    /// Bytes.
    pub fn burst(&self) -> f64 {
        (self.from + self.to) / 2.0
    }
}

/// Levels from the lowest of a loss, and the highest below it, descending.
fn upper_levels(levels: &[(f64, bool)]) -> Vec<(f64, bool)> {
    let lowest = levels.iter().filter(|level| level.1).map(|level| level.0).fold(f64::INFINITY, f64::min);
    let below = levels.iter().map(|level| level.0).filter(|level| *level < lowest).fold(0.0, f64::max);
    let upper = levels.iter().filter(|level| level.0 >= lowest).copied();
    let mut levels: Vec<(f64, bool)> = upper.chain([(below, false)]).collect();
    // Of equal levels those of the losses come last: no limit is between them.
    levels.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    levels
}

/// The divisions by each limit between two levels, from the highest limit, at a rate in bytes per
/// nanosecond.
pub fn splits_at(runs: &[PolicedRun], rate: f64, burst: Option<f64>) -> Vec<Split> {
    let levels: Vec<(f64, bool)> = samples(runs, rate, burst).iter().map(|sample| (sample.level, sample.lost)).collect();
    splits(&levels)
}

/// The divisions of packets with these levels, of which some were lost.
fn splits(levels: &[(f64, bool)]) -> Vec<Split> {
    let levels = upper_levels(levels);
    let mut wrong = levels.iter().filter(|level| level.1).count();
    let mut splits = Vec::with_capacity(levels.len());
    for pair in levels.windows(2) {
        wrong = if pair[0].1 { wrong - 1 } else { wrong + 1 };
        splits.push(Split { wrong, from: pair[1].0, to: pair[0].0 });
    }
    splits
}

/// A rate in bytes per nanosecond with its best limit.
#[derive(Debug, Clone, Copy)]
pub struct RateSplit {
    pub rate: f64,
    /// By which losses of other causes are known.
    pub burst: Option<f64>,
    pub split: Split,
}

impl RateSplit {
    /// The best limit at this rate, bytes per nanosecond.
    pub fn of(runs: &[PolicedRun], rate: f64, burst: Option<f64>) -> Option<RateSplit> {
        RateSplit::middle(runs, Outline::of_each(runs, &[rate], burst))
    }

    /// Of those with the fewest packets on the wrong side the one with the middle rate.
    fn middle(runs: &[PolicedRun], outlines: Vec<Outline>) -> Option<RateSplit> {
        let mut outlines: Vec<(usize, Outline)> =
            outlines.into_iter().map(|outline| (outline.min_wrong_of(|level| level), outline)).collect();
        outlines.sort_by_key(|one| one.0);
        let mut equal: Vec<RateSplit> = Vec::new();
        for (at_least, outline) in outlines {
            let min_wrong = equal.first().map_or(usize::MAX, |best| best.split.wrong);
            if at_least > min_wrong {
                break;
            }
            // The divisions with the fewest packets on the wrong side are among these.
            let Some(split) = splits(&outline.levels(runs)).into_iter().min_by_key(|split| split.wrong) else { continue };
            if split.wrong < min_wrong {
                equal.clear();
            }
            if split.wrong <= min_wrong {
                equal.push(RateSplit { rate: outline.rate, burst: outline.burst, split });
            }
        }
        equal.sort_by(|a, b| a.rate.total_cmp(&b.rate));
        equal.get(equal.len() / 2).copied()
    }

    /// Losses below the limit are of other causes.
    fn knowing_burst(self) -> RateSplit {
        RateSplit { burst: Some(self.split.burst()), ..self }
    }

    /// The best one of `step` to either side.
    fn around(self, runs: &[PolicedRun], step: f64) -> Option<RateSplit> {
        RateSplit::middle(runs, Outline::of_each(runs, &neighbours(self.rate, step), self.burst))
    }
}

/// Rates around one.
fn neighbours(rate: f64, step: f64) -> Vec<f64> {
    (-SIDE..=SIDE).map(|i| rate * (1.0 + step * f64::from(i))).collect()
}

/// The rate under which the fewest of these losses, and of the packets that passed, are on the wrong side.
fn best_rate(runs: &[PolicedRun], lost: usize) -> Option<RateSplit> {
    let [first, second, fine @ ..] = STEPS;
    let around_first: Vec<Vec<f64>> = first_rates(runs, lost)?.into_iter().map(|rate| neighbours(rate, first)).collect();
    let mut outlines = Outline::of_each(runs, &around_first.concat(), None);
    let mut refined: Vec<RateSplit> = Vec::new();
    for rates in around_first {
        let others = outlines.split_off(rates.len());
        refined.extend(RateSplit::middle(runs, outlines));
        outlines = others;
    }
    let mut best = refined.into_iter().min_by_key(|one| one.split.wrong)?;
    for step in [second].into_iter().chain(fine) {
        best = best.around(runs, step)?;
    }
    // A loss of another cause took tokens. If hardly any has one, those just below the limit are the policer's, too,
    // whose packets came to it in another order.
    let mut knowing = best;
    for step in fine {
        knowing = knowing.knowing_burst().around(runs, step)?;
    }
    if knowing.split.wrong < best.split.wrong { Some(knowing) } else { Some(best) }
}

/// The best candidates, with levels to within half a packet; none if no candidate is near a policer's rate.
fn first_rates(runs: &[PolicedRun], lost: usize) -> Option<Vec<f64>> {
    let bin = runs.iter().map(|run| run.half_packet).fold(1.0, f64::max);
    let binned = |level: f64| ((level / bin) as usize).min(MAX_BINS) as f64;
    let mut outlines: Vec<(usize, usize, Outline)> = Outline::of_each(runs, &candidates(runs), None)
        .into_iter()
        .enumerate()
        .map(|(number, outline)| (outline.min_wrong_of(binned), number, outline))
        .collect();
    outlines.sort_by_key(|one| (one.0, one.1));
    let max_wrong = (MAX_WRONG * lost as f64) as usize;
    if outlines.first()?.0 > max_wrong {
        return None;
    }
    // Packets on the wrong side, number of the candidate, its rate.
    let mut best: Vec<(usize, usize, f64)> = Vec::new();
    for (min_wrong, number, outline) in outlines {
        if best.get(REFINED - 1).is_some_and(|last| last.0 < min_wrong) {
            break;
        }
        let levels = outline.levels(runs);
        let wrong = min_wrong_of(levels.iter().map(|level| (binned(level.0), level.1)));
        best.push((wrong, number, outline.rate));
        best.sort_by_key(|one| (one.0, one.1));
        best.truncate(REFINED);
    }
    (best.first()?.0 <= max_wrong).then(|| best.into_iter().map(|one| one.2).collect())
}

/// Rates that are tried together: their buckets do not depend on each other, so that their steps overlap.
const LANES: usize = 8;
/// Packets of which an outline has the highest level alone.
const PART: usize = 32;

/// The levels at a rate, bytes per nanosecond, of the losses and of the highest packet of each part.
struct Outline {
    rate: f64,
    burst: Option<f64>,
    lost: Vec<f64>,
    /// Deficit before each part, and the highest level in it of a packet that passed.
    parts: Vec<(f64, f64)>,
}

impl Outline {
    fn of_each(runs: &[PolicedRun], rates: &[f64], burst: Option<f64>) -> Vec<Outline> {
        let mut outlines: Vec<Outline> = Vec::with_capacity(rates.len());
        let (lost, parts) =
            (runs.iter().map(PolicedRun::lost).sum(), runs.iter().map(|run| run.steps.len().div_ceil(PART)).sum());
        let new = |rate| Outline { rate, burst, lost: Vec::with_capacity(lost), parts: Vec::with_capacity(parts) };
        for rates in rates.chunks(LANES) {
            let mut lanes: [Outline; LANES] = std::array::from_fn(|lane| new(rates[lane.min(rates.len() - 1)]));
            runs.iter().for_each(|run| run.outline(burst, &mut lanes));
            outlines.extend(lanes.into_iter().take(rates.len()));
        }
        outlines
    }

    /// At least so many packets are on the wrong side of any limit, or as many as were lost; `rounded` is what each
    /// level counts as.
    fn min_wrong_of(&self, rounded: impl Fn(f64) -> f64) -> usize {
        let lost = self.lost.iter().map(|level| (rounded(*level), true));
        let passed = self.parts.iter().filter(|part| part.1 > f64::NEG_INFINITY);
        min_wrong_of(lost.chain(passed.map(|part| (rounded(part.1), false))))
    }

    /// The levels of all losses, and the highest ones of the packets that passed, so many that a lower limit has more
    /// of these above it than packets are on the wrong side of the highest limit.
    fn levels(&self, runs: &[PolicedRun]) -> Vec<(f64, bool)> {
        let enough = self.lost.len() + 2;
        let mut highest: Vec<f64> = self.parts.iter().map(|part| part.1).collect();
        let from = match highest.len() > enough {
            true => *highest.select_nth_unstable_by(enough - 1, |a, b| b.total_cmp(a)).1,
            false => f64::NEG_INFINITY,
        };
        let mut levels: Vec<(f64, bool)> = self.lost.iter().map(|level| (*level, true)).collect();
        let mut parts = self.parts.iter();
        for run in runs {
            let dropped_from = self.burst.map_or(0.0, |burst| burst - run.half_packet);
            for (steps, &(deficit, _)) in run.steps.chunks(PART).zip(&mut parts).filter(|(_, part)| part.1 >= from) {
                let mut deficit = deficit;
                for step in steps {
                    deficit = step.left(deficit, self.rate);
                    let level = deficit + step.len;
                    if !step.is_lost && step.is_counted && level >= from {
                        levels.push((level, false));
                    }
                    if !step.is_lost || level <= dropped_from {
                        deficit = level;
                    }
                }
            }
        }
        levels
    }
}

/// The fewest packets on the wrong side of any limit, of packets with these levels of which some were lost; as many as
/// were lost without a better one.
fn min_wrong_of(levels: impl Iterator<Item = (f64, bool)> + Clone) -> usize {
    let mut lost: Vec<f64> = levels.clone().filter(|level| level.1).map(|level| level.0).collect();
    lost.sort_unstable_by(|a, b| b.total_cmp(a));
    // By the number of losses above them.
    let mut passed = vec![0; lost.len() + 1];
    for (level, _) in levels.filter(|level| !level.1) {
        passed[lost.partition_point(|lost| *lost > level)] += 1;
    }
    let (mut fewest, mut dropped, mut above) = (lost.len(), 0, 0);
    for same in lost.chunk_by(|a, b| a == b) {
        above += passed[dropped];
        dropped += same.len();
        fewest = fewest.min(lost.len() - dropped + above);
    }
    fewest
}

impl BucketStep {
    /// What is left of a deficit when the packet comes, at a rate in bytes per nanosecond.
    #[inline]
    fn left(&self, deficit: f64, rate: f64) -> f64 {
        let left = deficit - self.gap * rate;
        if left > 0.0 { left } else { 0.0 }
    }
}

impl PolicedRun {
    /// Adds the packets to outlines, which have levels as [`samples`] has.
    fn outline(&self, burst: Option<f64>, outlines: &mut [Outline; LANES]) {
        let dropped_from = burst.map_or(0.0, |burst| burst - self.half_packet);
        let rates = outlines.each_ref().map(|outline| outline.rate);
        let mut deficits = [0.0; LANES];
        for steps in self.steps.chunks(PART) {
            let (before, mut highest) = (deficits, [f64::NEG_INFINITY; LANES]);
            for step in steps {
                for (deficit, rate) in deficits.iter_mut().zip(&rates) {
                    *deficit = step.left(*deficit, *rate);
                }
                if step.is_lost {
                    for (deficit, outline) in deficits.iter_mut().zip(outlines.iter_mut()) {
                        let level = *deficit + step.len;
                        outline.lost.push(level);
                        if level <= dropped_from {
                            *deficit = level;
                        }
                    }
                    continue;
                }
                for deficit in &mut deficits {
                    *deficit += step.len;
                }
                if step.is_counted {
                    for (highest, level) in highest.iter_mut().zip(&deficits) {
                        *highest = if *level > *highest { *level } else { *highest };
                    }
                }
            }
            for ((outline, deficit), highest) in outlines.iter_mut().zip(before).zip(highest) {
                outline.parts.push((deficit, highest));
            }
        }
    }
}

/// Candidates of the rate, bytes per nanosecond: those between two losses, and a grid up to the largest
/// throughput of a burst.
fn candidates(runs: &[PolicedRun]) -> Vec<f64> {
    let mut rates = between_losses(runs);
    let largest = |window| runs.iter().map(|run| run.max_throughput(window)).fold(0.0, f64::max);
    let (max, of_burst) = (largest(THROUGHPUT_WINDOW_NS), largest(BURST_WINDOW_NS));
    let upwards = (-BELOW_MAX..).map(|i| max * RATIO.powi(i));
    rates.extend(upwards.take_while(|rate| max > 0.0 && *rate <= of_burst.max(max * RATIO.powi(ABOVE_MAX))));
    rates
}

/// Rates in bytes per nanosecond, ascending: what passed between two losses. The bucket
/// was as empty at both, so that as much came in, unless it was full in between.
fn between_losses(runs: &[PolicedRun]) -> Vec<f64> {
    let mut rates = Vec::new();
    for run in runs {
        // Time of each loss, and the bytes that passed before it.
        let mut bytes = 0.0;
        let mut losses: Vec<(i64, f64)> = Vec::new();
        for packet in &run.packets {
            if packet.fate == Fate::Lost {
                losses.push((packet.at, bytes));
            } else {
                bytes += f64::from(packet.len);
            }
        }
        let common = 2.0 * run.half_packet;
        let mut lag = 1;
        while lag < losses.len() {
            rates.extend(losses.iter().zip(&losses[lag..]).filter_map(|(before, after)| {
                let (passed, time) = (after.1 - before.1, after.0 - before.0);
                (passed >= MIN_BETWEEN_LOSSES * common && time > 0).then(|| passed / time as f64)
            }));
            lag *= 2;
        }
    }
    rates.sort_unstable_by(f64::total_cmp);
    let last = rates.len().saturating_sub(1);
    let count = CANDIDATES.min(rates.len());
    (0..count).map(|i| rates[last * i / count.max(2).saturating_sub(1)]).collect()
}

/// Queueing delay from a nearly full bucket to a nearly empty one, relative to that of a queue of this
/// rate (bytes per nanosecond) whose backlog is the deficit.
fn delay_share(samples: &[Sample], burst: f64, rate: f64) -> f64 {
    let median = |is_in: &dyn Fn(f64) -> bool| {
        let part = samples.iter().filter(|sample| is_in(sample.level));
        let (mut delays, mut levels): (Vec<f64>, Vec<f64>) =
            part.filter_map(|sample| Some((sample.delay?, sample.level))).unzip();
        [&mut delays, &mut levels].into_iter().for_each(|values| values.sort_unstable_by(f64::total_cmp));
        (delays.len() >= MIN_DELAYS).then(|| (quantile_of_sorted(&delays, 0.5), quantile_of_sorted(&levels, 0.5)))
    };
    let Some((Some(high), Some(high_level))) = median(&|level| level >= burst / 2.0) else { return f64::INFINITY };
    let (low, low_level) = match median(&|level| level < burst / 4.0) {
        Some((Some(low), Some(level))) => (low, level),
        _ => (0.0, 0.0),
    };
    (high - low) * rate / (high_level - low_level)
}

/// True if packets wait before a drop, about as long as packets ever wait: a queue was full, behind a
/// token bucket or at a rate that changed.
fn is_queue_full_before_drops(runs: &[PolicedRun], samples: &[Sample], burst: f64, rate: f64) -> bool {
    let packet = 2.0 * runs.iter().map(|run| run.half_packet).fold(0.0, f64::max);
    let is_drop = |sample: &Sample| sample.lost && sample.level > burst;
    let known = samples.iter().filter(|sample| !sample.lost || is_drop(sample));
    let waits = Waits::of(known.map(|sample| (sample.at, sample.lost, sample.delay)));
    let is_full = waits.before > FULL_WAIT * waits.longest || waits.before * rate > FULL_WAIT * burst;
    waits.before * rate > MAX_WAIT * packet && is_full && !runs.iter().all(|run| run.is_of_faster_line(&waits, rate))
}

/// How long packets wait, nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Waits {
    /// The median of those that arrived last before the first losses of an overflow, and the shortest.
    before: f64,
    shortest: f64,
    /// The 99 % quantile of all.
    longest: f64,
}

impl Waits {
    /// Of packets with their departures, whether they were lost, and their delays above the smallest.
    fn of(packets: impl Iterator<Item = (i64, bool, Option<f64>)>) -> Waits {
        let (mut last_loss, mut last_delay) = (i64::MIN, None);
        let (mut before, mut all) = (Vec::new(), Vec::new());
        for (at, is_lost, delay) in packets {
            if is_lost {
                before.extend(last_delay.filter(|_| at.saturating_sub(last_loss) > OVERFLOW_NS));
                last_loss = at;
            }
            all.extend(delay);
            last_delay = delay;
        }
        [&mut before, &mut all].into_iter().for_each(|delays| delays.sort_unstable_by(f64::total_cmp));
        let quantile = |delays: &[f64], q| quantile_of_sorted(delays, q).unwrap_or(0.0);
        Waits { before: quantile(&before, 0.5), shortest: before.first().copied().unwrap_or(0.0), longest: quantile(&all, 0.99) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE_BPS: f64 = 3.5e6;
    const BURST: f64 = 39_000.0;
    const LEN: u32 = 1500;

    /// Packets through a policer and then a path that loses one of `other_losses`, with the times of a capture in
    /// which packets within `jitter` nanoseconds are in another order.
    fn policed(jitter: u64, other_losses: u64) -> PolicedRun {
        let mut seed = 7_u64;
        let mut draw = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let mut bucket = Deficit::new(RATE_BPS / 8e9);
        let (mut at, mut packets) = (0, Vec::new());
        for _ in 0..600 {
            at += 15_000_000 + draw(35_000_000) as i64;
            for _ in 0..4 + draw(16) {
                at += 60_000;
                let passes = bucket.level(at, LEN) <= BURST;
                if passes {
                    bucket.take(LEN);
                }
                let fate = if passes && draw(other_losses) > 0 { Fate::Arrived(10_000_000) } else { Fate::Lost };
                packets.push(PolicedPacket { at: at + draw(jitter) as i64, len: LEN, fate });
            }
        }
        packets.sort_by_key(|packet| packet.at);
        PolicedRun::new(packets, 10_000_000)
    }

    fn burst_of(run: PolicedRun) -> f64 {
        find(&[run]).expect("a policer").burst_bytes
    }

    #[test]
    fn burst_is_found_when_packets_come_to_it_in_another_order() {
        for jitter in [1, 200_000, 500_000] {
            let burst = burst_of(policed(jitter, u64::MAX));
            assert!((burst - BURST).abs() <= f64::from(LEN), "{jitter} ns: {burst}");
        }
    }

    #[test]
    fn burst_is_found_when_packets_are_lost_behind_it() {
        let burst = burst_of(policed(1, 200));
        assert!((burst - BURST).abs() <= f64::from(LEN), "{burst}");
    }

    #[test]
    fn best_limit_is_that_of_all_levels_at_any_rate() {
        for (jitter, other_losses) in [(1, u64::MAX), (500_000, 40)] {
            let runs = [policed(jitter, other_losses)];
            for (step, burst) in (-20..=20).flat_map(|step| [(step, None), (step, Some(BURST))]) {
                let rate = RATE_BPS / 8e9 * 1.06_f64.powi(step);
                let all = splits_at(&runs, rate, burst);
                let best = all.iter().min_by_key(|split| split.wrong).map(|split| (split.wrong, split.from, split.to));
                let found = RateSplit::of(&runs, rate, burst).map(|of| (of.split.wrong, of.split.from, of.split.to));
                assert_eq!(found, best, "{jitter} ns, {rate}, {burst:?}");
            }
        }
    }
}
