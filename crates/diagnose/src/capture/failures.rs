//! Findings about connections that fail or wait, however few packets they have: refused, without an
//! answer, a closed window, think times.

use super::connection::Connection;
use super::defects;
use super::path_mtu;
use super::recording::has_one_direction;
use super::resets;
use super::rule::{Claim, ClaimOfEnd, Remedy};
use super::sending_end::SendingEnd;
use crate::number_text::{count, many, milliseconds, size, span, whole_percent};
use ackclock_trace::report::DirectionReport;

/// Sum of an end's think times, in seconds, from which there is a finding.
pub const THINK_S: f64 = 0.5;
/// Share of the flow's time below which think time and a closed window are no finding.
pub const MATTERS: f64 = 0.05;
/// A window that is closed for longer is a finding, whatever its share, in s.
pub const LONG_STALL_S: f64 = 0.2;
/// Probes of a window that is closed at the end, from which the reader has stopped.
pub const MIN_PROBES: u32 = 2;
/// Openings of a closed window, all of which answer a probe, that show a receiver without window updates.
pub const OPENED: u32 = 3;
/// Less than the time to the first copy of a SYN (RFC 6298, section 2.1: 1 s), in ms.
const FIRST_COPY_MS: f64 = 900.0;
/// Ratios of successive waits that are a doubling: timers have ticks.
const DOUBLING: (f64, f64) = (1.6, 2.5);
/// Waits that are listed.
const NAMED_WAITS: usize = 6;

/// Number of SYNs: the first and its retransmissions.
fn tries(connection: &Connection<'_>) -> u32 {
    connection.flow.a2b.causes.get("handshake").map_or(0, |kind| kind.count) + 1
}

fn is_refused(connection: &Connection<'_>) -> bool {
    connection.flow.reset.kind == Some("refused") && !resets::is_injected(connection)
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
    let is_explained = tw_recycle(connection).is_some() || accept_queue(connection).is_some();
    if is_refused(connection) || is_explained || syn.what != Some("syn") {
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

/// Copies of a SYN that reached a server and had no answer.
fn ignored_syns(connection: &Connection<'_>) -> Option<u32> {
    let (flow, syn) = (connection.flow, &connection.flow.a2b.unanswered);
    let is_late = flow.handshake.server_side_ms.is_some_and(|ms| ms >= FIRST_COPY_MS) && flow.handshake.complete;
    match (syn.what, is_late) {
        (Some("syn"), _) => Some(syn.copies),
        (_, true) => Some(tries(connection) - 1).filter(|copies| *copies > 0),
        _ => None,
    }
}

/// At the server: it leaves SYNs without an answer while it accepts other connections to the same port.
pub fn accept_queue(connection: &Connection<'_>) -> Option<ClaimOfEnd> {
    let (listener, copies) = (connection.listener?, ignored_syns(connection)?);
    let answers_ms = listener.answers_within_ms?;
    if listener.accepted == 0 || !listener.is_unselective || tw_recycle(connection).is_some() {
        return None;
    }
    let last = if connection.flow.handshake.complete { " Only the next copy was answered." } else { "" };
    let evidence = format!(
        "{} of the SYN reached {} and had no answer, while {} to the same port {} accepted at about that time, one within {}: \
         its accept queue is full, as its program accepts too slowly or its backlog is too short.{last}",
        count(f64::from(copies), "copy", "copies"),
        connection.flow.server,
        many(u64::from(listener.accepted), "connection"),
        if listener.accepted == 1 { "was" } else { "were" },
        milliseconds(answers_ms)
    );
    let advice = "Compare Recv-Q with Send-Q of the listening socket (ss -ltn), and see ListenOverflows (nstat): raise the backlog \
                  of listen() and net.core.somaxconn, and let the program accept sooner. If they are 0, a filter or a rate limit \
                  of that host drops the SYNs.";
    Some((SendingEnd::Client, Claim::new(evidence, advice)))
}

/// All SYNs of an address that had no answer carry lower timestamps than its accepted ones.
pub fn tw_recycle(connection: &Connection<'_>) -> Option<ClaimOfEnd> {
    let (listener, syn) = (connection.listener?, &connection.flow.a2b.unanswered);
    if listener.behind_timestamps == 0 || syn.what != Some("syn") {
        return None;
    }
    let evidence = format!(
        "The SYN was sent {} times{}, and nothing returned: its timestamp is below those of connections from the same address that \
         {} accepts, as that of all {} without an answer is. The server takes the hosts behind one NAT for one host and drops \
         what seems old.",
        syn.copies,
        waits(&syn.sent_at_s),
        connection.flow.server,
        many(u64::from(listener.behind_timestamps), "connection")
    );
    let advice = "Turn net.ipv4.tcp_tw_recycle off at the server (Linux 4.12 has it no more).";
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

pub fn many_retransmissions(connection: &Connection<'_>, end: SendingEnd) -> Option<Claim> {
    let figures = end.direction_of(connection.flow);
    let is_explained = path_mtu::size_limit(connection, end).is_some() || figures.unanswered.what.is_some();
    let defect = defects::retransmitted(figures).filter(|_| !is_explained)?;
    let evidence = format!("{} That is {} of what the {} sent.", defect.sentence, whole_percent(defect.share), end.name());
    let advice = "Capture at both ends: two captures show at which size, rate or queue the segments are lost.";
    Some(Claim::new(evidence, advice))
}

pub fn peer_gone(connection: &Connection<'_>, end: SendingEnd) -> Option<Claim> {
    let what = &end.direction_of(connection.flow).unanswered;
    if has_one_direction(connection) {
        return None;
    }
    let name = match what.what {
        Some("data") => format!("The segment of {}", size(f64::from(what.bytes))),
        Some("fin") if what.bytes > 0 => format!("The FIN with {}", size(f64::from(what.bytes))),
        Some("fin") => "The FIN".into(),
        _ => return None,
    };
    // The peer is there, and shorter packets reach it.
    if path_mtu::size_limit(connection, end).is_some() {
        return None;
    }
    let first = what.sent_at_s.first().copied().unwrap_or(0.0);
    let lasted = what.lasted_s.unwrap_or(0.0);
    let gave_up = if connection.flow.reset.kind == Some("gave_up") {
        format!("; the {} then gave up with a reset", end.name())
    } else {
        String::new()
    };
    let short = format!(
        "The {} answered nothing for {}, though the {} sent the same packet {} times: it or the path to it is gone.",
        end.peer().name(),
        span(lasted),
        end.name(),
        what.copies
    );
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
    Some(Claim::new(evidence, advice).in_short(short).of_share(connection.share(lasted)))
}

/// Keep-alive probes without an answer until the end, or until the end that sent them gave up.
pub fn keepalive_unanswered(connection: &Connection<'_>, end: SendingEnd) -> Option<Claim> {
    let probes = &end.direction_of(connection.flow).unanswered_keep_alives;
    let lasted = connection.flow.duration_s - probes.first_at_s.filter(|_| probes.count > 0)?;
    let gave_up = if connection.flow.reset.kind == Some("gave_up") && connection.flow.reset.from == Some(end.name()) {
        format!(", and the {} then gave up with a reset", end.name())
    } else {
        String::new()
    };
    let evidence = format!(
        "{} of the {} had no answer in {}{gave_up}: the {}, or a NAT or firewall on the path, has forgotten the connection while \
         it was idle, or is gone.",
        many(u64::from(probes.count), "keep-alive probe"),
        end.name(),
        span(lasted),
        end.peer().name()
    );
    let advice = "Send keep-alives sooner than the NAT or firewall forgets (TCP_KEEPIDLE below its timeout), or raise that timeout; \
                  a capture at the other end shows whether the probes arrive.";
    Some(Claim::new(evidence, advice).of_share(connection.share(lasted)))
}

/// Whether each opening of a closed window answers a probe: the receiver announces none.
pub fn opens_only_when_probed(figures: &DirectionReport) -> bool {
    let opened = figures.zero_windows - u32::from(figures.zero_window.closed_at_end_s.is_some()).min(figures.zero_windows);
    opened >= OPENED && figures.zero_window.opened_by_probe == opened
}

/// The claim about such a receiver.
pub fn unannounced_window(evidence: &str, receiver: &str) -> Claim {
    let evidence = format!(
        "{evidence}, and it opened each time only with the answer to a probe: the {receiver}'s TCP sends no window updates, so that \
         the sender waits for its probe timer."
    );
    let advice = "Examine the TCP of the receiving host, not the network: it has to announce the window when its program has read \
                  (RFC 9293, section 3.8.6.2.2). A larger receive buffer closes it less often.";
    Claim::new(evidence, advice).with_remedy(Remedy::FasterReader)
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
    let stated = format!("The {}'s window was zero {times}{}", end.peer().name(), closed.probed);
    if opens_only_when_probed(figures) {
        return Some(unannounced_window(&stated, end.peer().name()).of_share(closed.share));
    }
    Some(Claim::slow_reader(stated + ": the program there reads more slowly than data arrives.").of_share(closed.share))
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
