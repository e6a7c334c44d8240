//! A segment that the capture has seen before. The rules ask what the sender knew when it sent: which ACKs had come, how long it had been silent.

use super::{Cause, Verdict};

/// What is known when a segment passes again. Times in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Repeat {
    /// Since the sender last sent anything or, where the capture is at its end, last heard anything.
    pub quiet: i64,
    /// Since the timer can have been set: the last ACK with news, or the segment's last transmission.
    pub age: i64,
    /// Since the last ACK with news, where the capture is at the sender's end: a retransmission does not restart a timer that runs (RFC 6298,
    /// section 5.1).
    pub stalled: i64,
    /// Smoothed RTT of sender and receiver, and its deviation; none before the first sample.
    pub rtt: Option<(i64, i64)>,
    /// It starts at the lowest number not acknowledged.
    pub is_first: bool,
    /// It ends at the highest number sent.
    pub is_last: bool,
    /// It has been selectively acknowledged, and its sender has heard of it.
    pub had: bool,
    /// It was seen once before, not oftener.
    pub first_repeat: bool,
    /// Data behind it has been selectively acknowledged.
    pub sacked_above: bool,
    /// Duplicate ACKs since the last one with news.
    pub duplicates: u32,
    /// Those of them that have passed the capture.
    pub passed: u32,
    /// Since the segment last passed; none if it never has.
    pub since: Option<i64>,
    /// The least time in which the sender can have heard what became of it.
    pub least: Option<i64>,
    /// This sender spaces what it sends, whenever ACKs come.
    pub spaced: bool,
    /// Between the two packets with data before this one.
    pub gap: i64,
    /// Something sent after its last copy has been acknowledged (RFC 8985, section 6.2); none where the order of sending is not known.
    pub overtaken: Option<bool>,
    /// That it is lost has shown since the sender last sent anything; away from it: it left as an ACK came.
    pub asked: bool,
    /// It left as an ACK with news came.
    pub answers_news: bool,
    /// A timeout is not repaired yet.
    pub after_timeout: bool,
    /// A recovery is under way.
    pub in_recovery: bool,
    /// The capture is not at the sender's end.
    pub beyond: bool,
    /// It has passed the capture before.
    pub seen: bool,
    /// It is not, and what the sender knew is inferred from what it echoes.
    pub afar: bool,
    /// A timer has already sent something since the last ACK with news.
    pub timer_fired: bool,
    /// Whether this sender is known to use, or not to use, tail-loss probes.
    pub probes: Option<bool>,
    /// It began with less than RFC 6928's initial window, which is older than tail-loss probes.
    pub small_start: bool,
    /// SACK was agreed on, which tail-loss probes need.
    pub sack: bool,
}

/// Silence that only a timer breaks: half an RTT without ACKs or data, and at least this. ACK-driven senders act within
/// microseconds, paced ones within their pacing interval.
const LEAST_QUIET: i64 = 10_000_000;
/// What an ACK asks for leaves sooner than this after it, unless it is paced.
const UNASKED: i64 = 1_000_000;
/// More duplicates than any threshold that adapts to reordering commonly reaches.
const MANY: u32 = 16;
/// The shortest minimum of a retransmission timer in common stacks (Linux, ns-2): 200 ms.
pub const COMMON_RTO_MIN: i64 = 200_000_000;

/// The cause of a repeated segment. The order of the questions is the order in which a sender's own code would meet them.
pub fn why(r: &Repeat) -> Verdict {
    let srtt = r.rtt.map_or(COMMON_RTO_MIN, |(smoothed, _)| smoothed);
    if is_answer(r) {
        return Verdict::new(Cause::Fast, 0.95);
    }
    let paced = is_paced(r, srtt);
    let by_timer = match r.afar {
        // The pauses of what it hears are not seen, and a slow link spaces whatever comes.
        true => {
            r.is_first
                && !r.asked
                && r.quiet >= LEAST_QUIET.max(r.gap.saturating_mul(3) / 2)
                && r.stalled >= least_wait_of(r, srtt)
        }
        false => r.quiet >= LEAST_QUIET.max(srtt / 2) && r.age >= srtt * 9 / 10,
    };
    // Reports of duplicates and other ACKs without news break the silence, but ask for nothing.
    let unasked = !r.sacked_above && r.duplicates < 3 && !r.in_recovery && !r.after_timeout;
    let by_timer = by_timer || unasked && r.age >= timeout_of(r, srtt) * 3 / 4;
    if by_timer && !paced {
        return timer(r, srtt);
    }
    // Nobody can have asked for what is sent again before the answer to its last copy can be back, nor for a second repetition before
    // anything sent after the first was answered: a timer has declared all of it lost.
    let too_soon = r.since.zip(r.least).is_some_and(|(since, least)| since * 10 < least * 9);
    if too_soon || !r.first_repeat && r.overtaken == Some(false) {
        // The timer may have run since the recovery began, whatever was acknowledged in between (RFC 6582, section 4, the impatient variant).
        return match r.is_first && (!r.after_timeout || r.stalled >= timeout_of(r, srtt) * 8 / 10) {
            true => Verdict::new(Cause::Timeout, 0.9),
            false => Verdict::new(Cause::GoBackN, if r.after_timeout { 0.95 } else { 0.7 }),
        };
    }
    // The first one outstanding, sent a second time, with no ACK that could have asked for it: the timer ran out in the middle of a
    // recovery, as NewReno's impatient variant lets it (RFC 6582, section 4). RACK's own timer waits for a quarter of the least RTT.
    if !r.first_repeat && r.is_first && !paced && r.quiet > LEAST_QUIET.max(srtt / 4) {
        return Verdict::new(Cause::Timeout, 0.7);
    }
    // Duplicates and SACKs may still come in when the timer runs out, and leave little silence. What they ask for goes out with them, and
    // long before: when the timer runs out, it has been sent already, or its sender had reasons not to.
    let many = r.duplicates >= MANY;
    // Silence that is not the sender's spacing leaves a timer only, whichever way its minimum counts.
    let due = if r.quiet >= UNASKED && !r.spaced && !r.beyond { least_timeout_of(r, srtt) } else { timeout_of(r, srtt) };
    let unasked = r.quiet >= UNASKED || many && r.stalled < timeout_of(r, srtt) * 11 / 10;
    // What was asked for and leaves a little later was paced, unless the timer is due just then.
    let asked = r.asked && (r.afar || r.quiet < UNASKED || r.since.is_none_or(|since| r.stalled.min(since) * 20 > due * 21));
    if r.is_first && !asked && r.stalled >= due * if r.afar { 18 } else { 19 } / 20 && unasked && (many || !r.first_repeat) {
        return Verdict::new(Cause::Timeout, 0.8);
    }
    // All ACKs that can have reached the sender have passed the capture: without SACK it takes three alike.
    let reason = r.sack || r.in_recovery || r.duplicates.max(r.passed) >= 3;
    if r.afar && r.is_first && !r.after_timeout && !reason {
        return Verdict::new(Cause::Timeout, 0.8);
    }
    if r.after_timeout || r.had {
        // Only a timeout makes a sender forget what has arrived (RFC 2018, section 8).
        // Behind a timeout everything is sent again in order; SACK may single out holes, which is still that repair.
        return Verdict::new(Cause::GoBackN, if r.in_recovery { 0.7 } else { 0.95 });
    }
    // Without SACK nothing but a timer sends the first one outstanding a second time (RFC 6582, section 3.2).
    if !r.sack && !r.first_repeat && r.is_first {
        return Verdict::new(Cause::Timeout, 0.8);
    }
    if !r.first_repeat && (r.sacked_above || r.in_recovery) {
        return Verdict::new(Cause::Rack, 0.85);
    }
    // SACK tells which segments are missing: what lies beyond all of it is not, unless all is taken for lost.
    if r.beyond && r.sack && r.in_recovery && !r.sacked_above && r.overtaken == Some(false) && !r.is_first && !r.is_last {
        return Verdict::new(Cause::GoBackN, 0.7);
    }
    if r.duplicates >= 3 || r.in_recovery {
        return Verdict::new(Cause::Fast, if r.sacked_above { 0.99 } else { 0.95 });
    }
    if r.sacked_above {
        // Fewer than three duplicates, but SACK blocks: three segments' worth of them, or time (RACK).
        return Verdict::new(Cause::Fast, 0.9);
    }
    if r.duplicates > 0 && r.is_first {
        return Verdict::new(Cause::Fast, 0.6);
    }
    if r.sack && r.overtaken == Some(true) {
        // Time alone shows it: what left later has arrived (RACK), and may itself have been a retransmission.
        return Verdict::new(if r.first_repeat { Cause::Fast } else { Cause::Rack }, 0.8);
    }
    if r.beyond && r.is_first && r.seen {
        return Verdict::new(Cause::Timeout, 0.6);
    }
    Verdict::new(Cause::Unexplained, 0.5)
}

/// Timer-driven: the probe comes first and sends the end, the timeout sends the beginning.
fn timer(r: &Repeat, srtt: i64) -> Verdict {
    if !r.is_first {
        let probe = r.is_last && !r.timer_fired;
        return if probe { Verdict::new(Cause::TailProbe, 0.97) } else { Verdict::new(Cause::GoBackN, 0.5) };
    }
    if r.is_last && r.sack && !r.timer_fired && r.first_repeat && r.probes != Some(false) && !r.after_timeout && !r.small_start {
        // One run outstanding: probe and timeout look alike. A probe waits two RTTs and a little, so does a timeout of 200 ms or more.
        let sure = if r.probes == Some(true) { 0.9 } else { 0.7 };
        return Verdict::new(Cause::TailProbe, sure);
    }
    Verdict::new(Cause::Timeout, if r.age >= timeout_of(r, srtt) * 9 / 10 { 0.97 } else { 0.8 })
}

/// What asks for it has just come: the third duplicate (RFC 5681, section 3.2), or within a recovery an ACK for a part of what it is to repair
/// (RFC 6582, section 3.2), whenever it was last sent. Timers keep no such company.
fn is_answer(r: &Repeat) -> bool {
    let third = r.duplicates == 3 && !r.beyond && r.quiet < UNASKED;
    r.is_first && !r.after_timeout && (third || r.in_recovery && r.answers_news)
}

/// At the sender's end: it shows to be lost, and any timer would have to wait longer. It left late because its sender spaces what it sends.
fn is_paced(r: &Repeat, srtt: i64) -> bool {
    !r.beyond && r.asked && r.stalled.min(r.since.unwrap_or(i64::MAX)) < least_timeout_of(r, srtt) * 9 / 10
}

/// Away from the sender: what waited so long, with nothing that asked for it, waited for a timer. Several round trips without anything to do are a timer's
/// whatever it counts from.
fn least_wait_of(r: &Repeat, srtt: i64) -> i64 {
    (timeout_of(r, srtt) * 23 / 25).min((COMMON_RTO_MIN * 9 / 10).max(3 * srtt))
}

/// RFC 6298, section 2, with a minimum for the whole.
fn least_timeout_of(r: &Repeat, srtt: i64) -> i64 {
    (srtt + r.rtt.map_or(0, |(_, deviation)| 4 * deviation)).max(COMMON_RTO_MIN)
}

/// RFC 6298, section 2, with the minimum of common stacks in the place of one second.
fn timeout_of(r: &Repeat, srtt: i64) -> i64 {
    srtt + r.rtt.map_or(0, |(_, deviation)| 4 * deviation).max(COMMON_RTO_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_packet_of_a_capture_of_any_year_has_a_cause() {
        // Its sender has been silent since 1970, or for longer.
        let since_ever = Repeat {
            quiet: i64::MAX,
            age: i64::MAX,
            stalled: i64::MAX,
            rtt: None,
            is_first: true,
            is_last: false,
            had: false,
            first_repeat: true,
            sacked_above: false,
            duplicates: 0,
            passed: 0,
            since: None,
            least: None,
            spaced: false,
            gap: i64::MAX,
            overtaken: None,
            asked: false,
            answers_news: false,
            after_timeout: false,
            in_recovery: false,
            beyond: true,
            seen: false,
            afar: true,
            timer_fired: false,
            probes: None,
            small_start: false,
            sack: true,
        };
        assert_eq!(why(&since_ever).cause, Cause::Timeout);
        assert_eq!(why(&Repeat { is_first: false, is_last: true, ..since_ever }).cause, Cause::TailProbe);
    }
}
