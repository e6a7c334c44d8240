//! Findings about data that waits for a delayed ACK: Nagle's algorithm, and senders with one segment in flight.

use super::connection::Connection;
use super::rule::{Claim, MIN_SHARE, Remedy};
use super::sending_end::SendingEnd;
use crate::number_text::{many, milliseconds, span};
use ackclock_trace::report::{DirectionReport, LateAckReport};

/// Segments that waited for a late ACK, from which there is a finding.
pub const AGAIN: u32 = 3;
/// Maximum delay of an ACK (RFC 1122, section 4.2.3.2), and a tick of its timer, in ms.
const MAX_DELAY_MS: f64 = 600.0;
/// A timer's delays deviate from their mean by less than this share of it; those of a queue by more.
pub const STEADY: f64 = 0.5;
/// Share of the late ACKs that data follows at once: fewer is coincidence.
pub const MOSTLY: f64 = 0.5;

/// The late ACKs of a direction, if a timer of the receiver delays them and data waits for them again and again.
fn delayed(figures: &DirectionReport) -> Option<&LateAckReport> {
    let late = &figures.late_acks;
    let held = late.held_small + late.held_full;
    let (mean, sd) = (late.mean_ms?, late.sd_ms?);
    let is_timer = mean <= MAX_DELAY_MS && sd <= STEADY * mean;
    (held >= AGAIN && is_timer && f64::from(held) >= MOSTLY * f64::from(late.acks)).then_some(late)
}

fn is_small(late: &LateAckReport) -> bool {
    late.held_small >= late.held_full
}

/// Seconds that small segments, or full ones, waited for delayed ACKs.
pub fn waited_s(figures: &DirectionReport, small: bool) -> f64 {
    delayed(figures).filter(|late| is_small(late) == small).map_or(0.0, |late| late.waited_s)
}

fn late_acks<'a>(connection: &Connection<'a>, end: SendingEnd, small: bool) -> Option<(&'a LateAckReport, f64)> {
    let late = delayed(end.direction_of(connection.flow)).filter(|late| is_small(late) == small)?;
    Some((late, connection.share(late.waited_s).filter(|share| *share >= MIN_SHARE)?))
}

pub fn nagle_delayed_ack(connection: &Connection<'_>, end: SendingEnd) -> Option<Claim> {
    let (late, share) = late_acks(connection, end, true)?;
    let (name, peer) = (end.name(), end.peer().name());
    let evidence = format!(
        "{} a small segment of the {name} left only when an ACK came that the {peer} had delayed by {}, {} in all: Nagle's \
         algorithm holds a small segment back until the one before it is acknowledged, and the {peer} delays that ACK.",
        many(u64::from(late.held_small + late.held_full), "time"),
        milliseconds(late.mean_ms),
        span(late.waited_s)
    );
    let advice = format!(
        "Set TCP_NODELAY in the {name}'s program, or write each message at once (one buffer, writev): either takes these waits \
         away."
    );
    let short = format!(
        "The {name}'s program writes its messages in small parts, and TCP holds back every part but the first for {}: {} in all.",
        milliseconds(late.mean_ms),
        span(late.waited_s)
    );
    Some(Claim::new(evidence, advice).in_short(short).with_remedy(Remedy::EarlierAcks).of_share(share))
}

pub fn delayed_ack_stall(connection: &Connection<'_>, end: SendingEnd) -> Option<Claim> {
    let (late, share) = late_acks(connection, end, false)?;
    let (name, peer) = (end.name(), end.peer().name());
    let evidence = format!(
        "{} the {name} had one segment in flight and waited for an ACK that the {peer} had delayed by {}, {} in all: a receiver \
         waits for a second segment before it acknowledges one (RFC 1122, section 4.2.3.2), and none comes.",
        many(u64::from(late.held_small + late.held_full), "time"),
        milliseconds(late.mean_ms),
        span(late.waited_s)
    );
    let advice = format!(
        "Let the {name} have two segments in flight (a larger send window; uIP: UIP_SPLIT), or turn off the {peer}'s delayed ACKs. \
         The path is not at fault."
    );
    let short = format!(
        "The {name} sends one segment at a time, and the {peer} acknowledges each {} late: {} in all.",
        milliseconds(late.mean_ms),
        span(late.waited_s)
    );
    Some(Claim::new(evidence, advice).in_short(short).with_remedy(Remedy::EarlierAcks).of_share(share))
}
