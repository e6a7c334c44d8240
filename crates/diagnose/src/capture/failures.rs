//! Findings about connections that fail or wait, however few packets they have: refused, without an
//! answer, a closed window, think times.

use super::connection::Connection;
use super::rule::{Claim, ClaimOfEnd};
use super::sending_end::SendingEnd;
use crate::number_text::{many, size, span};

/// Sum of an end's think times, in seconds, from which there is a finding.
pub const THINK_S: f64 = 0.5;
/// Share of the flow's time below which think time and a closed window are no finding.
pub const MATTERS: f64 = 0.05;
/// A window that is closed for longer is a finding, whatever its share, in s.
pub const LONG_STALL_S: f64 = 0.2;
/// Probes of a window that is closed at the end, from which the reader has stopped.
pub const MIN_PROBES: u32 = 2;
/// Ratios of successive waits that are a doubling: timers have ticks.
const DOUBLING: (f64, f64) = (1.6, 2.5);
/// Waits that are listed.
const NAMED_WAITS: usize = 6;

/// Number of SYNs: the first and its retransmissions.
fn tries(connection: &Connection<'_>) -> u32 {
    connection.flow.a2b.causes.get("handshake").map_or(0, |kind| kind.count) + 1
}

fn is_refused(connection: &Connection<'_>) -> bool {
    connection.flow.reset.kind == Some("refused")
}

pub fn connection_refused(connection: &Connection<'_>) -> Option<ClaimOfEnd> {
    if !is_refused(connection) {
        return None;
    }
    let tries = tries(connection);
    let times = if tries > 1 { format!(" The client sent it {tries} times.") } else { String::new() };
    let evidence = format!(
        "{} answered the SYN with a reset after {}: no program listens on that port, or a filter answers in its name.{times}",
        connection.flow.server,
        span(connection.flow.reset.at_s.unwrap_or(0.0))
    );
    let advice = "Check on the server that the program runs and listens on this address and port, then the filters.";
    Some((SendingEnd::Client, Claim::new(evidence, advice)))
}

pub fn connection_unanswered(connection: &Connection<'_>) -> Option<ClaimOfEnd> {
    let syn = &connection.flow.a2b.unanswered;
    if is_refused(connection) || syn.what != Some("syn") {
        return None;
    }
    let evidence = format!(
        "The SYN was sent {} times{}, and nothing returned: {} is down, or a filter or the path drops it or the answer.",
        syn.copies,
        waits(&syn.sent_at_s),
        connection.flow.server
    );
    let advice = "Capture at the server: if the SYN arrives there, search for its answer; if not, for a filter.";
    Some((SendingEnd::Client, Claim::new(evidence, advice)))
}

pub fn handshake_unfinished(connection: &Connection<'_>) -> Option<ClaimOfEnd> {
    let answer = &connection.flow.b2a.unanswered;
    if answer.what != Some("syn") {
        return None;
    }
    let evidence = format!(
        "The SYN-ACK was sent {} times{}, and the client never acknowledged it: it does not arrive, or the SYN came from an \
         address that another host uses (a scan, a SYN flood).",
        answer.copies,
        waits(&answer.sent_at_s)
    );
    Some((SendingEnd::Server, Claim::new(evidence, "")))
}

pub fn peer_gone(connection: &Connection<'_>, end: SendingEnd) -> Option<Claim> {
    let what = &end.direction_of(connection.flow).unanswered;
    let name = match what.what {
        Some("data") => format!("The segment of {}", size(f64::from(what.bytes))),
        Some("fin") => "The FIN".into(),
        _ => return None,
    };
    let first = what.sent_at_s.first().copied().unwrap_or(0.0);
    let lasted = what.lasted_s.unwrap_or(0.0);
    let gave_up = if connection.flow.reset.kind == Some("gave_up") {
        format!("; the {} then gave up with a reset", end.name())
    } else {
        String::new()
    };
    let since = if first != 0.0 { format!(" {} after the flow's first packet", span(first)) } else { " first".into() };
    let evidence = format!(
        "{name} that the {} sent{since} was sent {} times{}, and nothing came back for {}{gave_up}: the {} or the path to it is \
         gone.",
        end.name(),
        what.copies,
        waits(&what.sent_at_s),
        span(lasted),
        end.peer().name()
    );
    let advice = "Capture at the other end: it shows whether the copies arrive and whether answers leave. Search for a host that \
                  went down, a changed route or address, or a filter or NAT that forgot the connection.";
    Some(Claim::new(evidence, advice).of_share(connection.share(lasted)))
}

/// A window that was zero for long enough to matter.
struct ClosedWindow {
    /// Of the flow's time.
    share: Option<f64>,
    /// The probes that the sender sent, as a clause.
    probed: String,
    /// It was zero at the end, and the reader has stopped.
    at_end: Option<f64>,
}

fn closed_window(connection: &Connection<'_>, end: SendingEnd) -> Option<ClosedWindow> {
    let figures = end.direction_of(connection.flow);
    let closed = &figures.zero_window;
    let share = connection.share(closed.closed_s);
    if closed.acks == 0 || (closed.longest_s < LONG_STALL_S && share.unwrap_or(0.0) < MATTERS) {
        return None;
    }
    let probes = figures.zero_window_probes;
    let probed =
        if probes > 0 { format!(", which the {} probed {}", end.name(), many(u64::from(probes), "time")) } else { String::new() };
    // A program that resets the connection has not stopped; one that paused for longer may go on.
    let has_ended = connection.flow.reset.from == Some(end.peer().name());
    let at_end = closed
        .closed_at_end_s
        .filter(|at_end| *at_end != 0.0 && *at_end >= closed.longest_s && probes >= MIN_PROBES && !has_ended);
    Some(ClosedWindow { share, probed, at_end })
}

pub fn zero_window_death(connection: &Connection<'_>, end: SendingEnd) -> Option<Claim> {
    let closed = closed_window(connection, end)?;
    let evidence = format!(
        "The {}'s window was zero for the last {} of the flow{}, and never opened again: the program there has stopped reading.",
        end.peer().name(),
        span(closed.at_end?),
        closed.probed
    );
    let advice = "Examine the receiving application: it hangs, or has forgotten this connection.";
    Some(Claim::new(evidence, advice).of_share(closed.share))
}

pub fn zero_window_stall(connection: &Connection<'_>, end: SendingEnd) -> Option<Claim> {
    let closed = closed_window(connection, end).filter(|closed| closed.at_end.is_none())?;
    let figures = end.direction_of(connection.flow);
    let (zero, window) = (figures.zero_windows, &figures.zero_window);
    let times = if zero > 1 {
        format!("{}, {} in all and {} at most", many(u64::from(zero), "time"), span(window.closed_s), span(window.longest_s))
    } else {
        format!("for {}", span(window.closed_s))
    };
    let evidence = format!(
        "The {}'s window was zero {times}{}: the program there reads more slowly than data arrives.",
        end.peer().name(),
        closed.probed
    );
    Some(Claim::slow_reader(evidence).of_share(closed.share))
}

pub fn client_think_time(connection: &Connection<'_>, end: SendingEnd) -> Option<Claim> {
    if end == SendingEnd::Client { think_time(connection, end) } else { None }
}

pub fn server_think_time(connection: &Connection<'_>, end: SendingEnd) -> Option<Claim> {
    if end == SendingEnd::Server { think_time(connection, end) } else { None }
}

fn think_time(connection: &Connection<'_>, end: SendingEnd) -> Option<Claim> {
    let think = &end.direction_of(connection.flow).think_time;
    let share = connection.share(think.total_s);
    if think.total_s < THINK_S || share.unwrap_or(0.0) < MATTERS {
        return None;
    }
    let (waited, advice) = match end {
        SendingEnd::Server => {
            ("its answer", "This time is the server's program or what it waits for, not the network: see its log, its database.")
        }
        SendingEnd::Client => {
            ("its request or its next data", "This time is the client's program or its user, not the network and not the server.")
        }
    };
    let side = end.name();
    let beginning = if think.count == 1 {
        format!("The {side} began {waited} {} later than the RTT explains (until ", span(think.total_s))
    } else {
        format!(
            "The {side} began {waited} {} times later than the RTT explains: {} in all, {} on average, {} at most (which ended ",
            think.count,
            span(think.total_s),
            span(think.total_s / f64::from(think.count)),
            span(think.longest_s)
        )
    };
    let evidence = format!("{beginning}{} after the flow's first packet).", span(think.longest_at_s.unwrap_or(0.0)));
    Some(Claim::new(evidence, advice).of_share(share))
}

/// The times between copies, and whether they double.
fn waits(sent_at: &[f64]) -> String {
    let waits: Vec<f64> = sent_at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    if waits.is_empty() {
        return String::new();
    }
    let ratios: Vec<f64> = waits.windows(2).filter(|pair| pair[0] > 0.0).map(|pair| pair[1] / pair[0]).collect();
    let doubles = !ratios.is_empty() && ratios.iter().all(|ratio| DOUBLING.0 <= *ratio && *ratio <= DOUBLING.1);
    let mut listed: Vec<String> = waits.iter().take(NAMED_WAITS).map(|wait| span(*wait)).collect();
    if waits.len() > NAMED_WAITS {
        listed.push("...".into());
    }
    let backoff = if doubles { ", each about twice the one before it (RFC 6298)" } else { "" };
    format!(" (after waits of {}{backoff})", listed.join(", "))
}
