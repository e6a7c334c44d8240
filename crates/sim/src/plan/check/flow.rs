//! Checks of a flow and its TCP.

use super::super::{Direction, Flow, Measure, PageConfig, Plan, UniformTime, WorkloadConfig};
use crate::plan::UDP_HEADER;
use ackclock_core::config_check::{Checked, check_shape, check_span, ensure};
use ackclock_core::tcp::{EcnMode, TcpConfig, Variant};
use ackclock_core::{Rate, Span};

/// The length of an IP packet is a 16-bit field.
const MAX_PACKET: u32 = 65_535;
/// The largest window that 16 bits and a scale of 14 can advertise (RFC 7323, section 2.3).
const MAX_WINDOW: u32 = 65_535 << 14;
/// Maximum number of jobs of one exchange: each leaves a row in the summary.
const MAX_JOBS: u32 = 100_000;
/// Maximum number of objects of a page.
const MAX_OBJECTS: usize = 10_000;
/// Maximum frames a second of a conference.
const MAX_FRAME_RATE: u32 = 240;
/// Rates of a conference's media in bit/s. A frame has one packet at least, and each packet leaves a record.
const MIN_MEDIA_BPS: u64 = 10_000;
const MAX_MEDIA_BPS: u64 = 1_000_000_000;
/// Maximum bytes of a request or an answer.
const MAX_TRANSFER: u64 = 1 << 40;

pub fn check(plan: &Plan, flow: &Flow) -> Checked {
    ensure(flow.client < plan.clients, || {
        format!("client {} of {} clients, which are numbered from 0", flow.client, plan.clients)
    })?;
    let contiguous = flow.hops.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]));
    let known = flow.hops.iter().all(|&h| h < plan.hops.len());
    let message =
        || format!("hops {:?}: indices must be consecutive, in path order from the server, below {}", flow.hops, plan.hops.len());
    ensure(contiguous && known && !flow.hops.is_empty(), message)?;
    ensure(!flow.path(&plan.hops, flow.direction).is_empty(), || {
        format!("no hop of the flow has the direction {}", flow.direction.name())
    })?;
    check_times(flow)?;
    ensure(flow.workload.read_bps() != Some(0), || "read_bps is 0: it must be above 0".into())?;
    check_quic(flow)?;
    ensure(flow.tcp_client.is_none() || flow.tcp.is_some(), || "tcp_client without tcp".into())?;
    flow.tcp_client.as_ref().map_or(Ok(()), check_tcp).map_err(|e| format!("tcp_client: {e}"))?;
    match (&flow.tcp, flow.workload) {
        (Some(tcp), WorkloadConfig::Bulk { .. } | WorkloadConfig::Transfer { .. }) => {
            ensure(!matches!(flow.workload, WorkloadConfig::Transfer { bytes: 0, .. }), || "a transfer of 0 bytes".into())?;
            check_tcp(tcp)?;
            ensure(takes_time(plan, flow), || "its RTT is 0: give one of its hops a rate or a delay".into())
        }
        (Some(tcp), WorkloadConfig::Exchange { request, answer, jobs, think }) => {
            ensure(request > 0 && answer > 0 && jobs > 0, || "an exchange of 0 bytes or of 0 jobs".into())?;
            ensure(jobs <= MAX_JOBS, || format!("{jobs} jobs: at most {MAX_JOBS} are possible"))?;
            ensure(request.max(answer) <= MAX_TRANSFER, || format!("an exchange above {MAX_TRANSFER} bytes"))?;
            ensure(think.low_ps <= think.high_ps, || "think's low_ps is above its high_ps".into())?;
            check_span("think.high_ps", Span(think.high_ps))?;
            ensure(flow.stop_ps.is_none() && flow.job.is_none(), || "an exchange has no stop_ps and no job".into())?;
            check_tcp(tcp)?;
            ensure(takes_time(plan, flow), || "its RTT is 0: give one of its hops a rate or a delay".into())
        }
        (Some(tcp), WorkloadConfig::Page { .. }) => {
            ensure(flow.stop_ps.is_none() && flow.job.is_none(), || "a page has no stop_ps and no job".into())?;
            check_tcp(tcp)?;
            ensure(takes_time(plan, flow), || "its RTT is 0: give one of its hops a rate or a delay".into())
        }
        (Some(tcp), WorkloadConfig::Video { .. }) => {
            check_video(flow)?;
            check_tcp(tcp)?;
            ensure(takes_time(plan, flow), || "its RTT is 0: give one of its hops a rate or a delay".into())
        }
        (None, WorkloadConfig::Call { gap_ps, packet, impairment, loss_robustness }) => {
            ensure((0.0..=95.0).contains(&impairment) && (0.1..=1000.0).contains(&loss_robustness), || {
                format!("impairment {impairment} and loss_robustness {loss_robustness}: 0 to 95, and 0.1 to 1000")
            })?;
            check_bidirectional(plan, flow, gap_ps, packet)
        }
        (None, WorkloadConfig::Game { gap_ps, packet, deadline_ps }) => {
            check_span("deadline_ps", Span(deadline_ps))?;
            check_bidirectional(plan, flow, gap_ps, packet)
        }
        (None, WorkloadConfig::Conference { frame_rate, min_bps, start_bps, max_bps, .. }) => {
            ensure((1..=MAX_FRAME_RATE).contains(&frame_rate), || {
                format!("a frame_rate of {frame_rate}: 1 to {MAX_FRAME_RATE}")
            })?;
            ensure(MIN_MEDIA_BPS <= min_bps && min_bps <= start_bps && start_bps <= max_bps && max_bps <= MAX_MEDIA_BPS, || {
                format!("rates of {min_bps}, {start_bps} and {max_bps} b/s: ascending, from {MIN_MEDIA_BPS} to {MAX_MEDIA_BPS}")
            })?;
            check_reverse(plan, flow)
        }
        (None, WorkloadConfig::Cbr { bps, packet, spread }) => {
            ensure((0.0..=1.0).contains(&spread), || format!("a spread of {spread}: it is from 0 to 1"))?;
            check_datagrams(bps, packet)
        }
        (tcp, WorkloadConfig::Onoff { bps, on_ps, off_ps, shape, packet, .. }) => {
            ensure(tcp.is_none() || flow.quic.is_some(), || "tcp must be null for UDP".into())?;
            ensure(tcp.is_some() || flow.quic.is_none(), || "tcp is null: it has the congestion control of quic".into())?;
            check_datagrams(bps, packet)?;
            check_span("on_ps", Span(on_ps))
                .and_then(|()| check_span("off_ps", Span(off_ps)))
                .and_then(|()| check_shape(shape))?;
            let gap = Rate::from_bps(bps).time_to_send(u32::from(packet));
            ensure(Span(on_ps) >= gap, || format!("on_ps {on_ps} is shorter than one packet's {} ps", gap.0))
        }
        (None, WorkloadConfig::Probe { .. }) => check_probe(plan, flow),
        (None, WorkloadConfig::Live {}) => Ok(()),
        (Some(_), _) => Err("tcp must be null for UDP".into()),
        (None, _) => Err("tcp is null, but the workload needs it".into()),
    }
}

/// A flow over QUIC.
fn check_quic(flow: &Flow) -> Checked {
    let Some(quic) = &flow.quic else { return Ok(()) };
    ensure(cfg!(feature = "quic"), || "quic: the lab page has no QUIC stack".into())?;
    let is_possible = flow.workload.is_tcp() || matches!(flow.workload, WorkloadConfig::Onoff { .. });
    ensure(is_possible && flow.tcp.is_some() && flow.after.is_empty() && flow.job.is_none(), || {
        "quic: only with bulk, transfer, exchange, page, video and onoff, with tcp, without after and job".into()
    })?;
    let controls = [&flow.tcp, &flow.tcp_client].into_iter().flatten();
    ensure(
        controls.clone().all(|tcp| !matches!(tcp.variant, Variant::Dctcp | Variant::Prague | Variant::Lp) && tcp.user.is_none()),
        || "quic: no dctcp, prague, lp or control in Python".into(),
    )?;
    ensure((1..=16).contains(&quic.send_burst) && quic.streams > 0 && quic.packet_threshold > 0, || {
        "quic: send_burst 1 to 16, streams and packet_threshold at least 1".into()
    })
}

/// Checks `after` and `job`.
pub fn check_order(plan: &Plan, number: usize) -> Checked {
    let flow = &plan.flows[number];
    if flow.after.is_empty() && flow.job.is_none() {
        return Ok(());
    }
    let sized = |f: &Flow| matches!(f.workload, WorkloadConfig::Transfer { .. });
    ensure(sized(flow) && flow.stop_ps.is_none(), || "only a transfer without stop_ps can have after or a job".into())?;
    ensure(plan.measure != (Measure::AllActive {}), || "measure all-active excludes flows with after or a job".into())?;
    let known = |&before: &usize| before < number && sized(&plan.flows[before]);
    ensure(flow.after.iter().all(known), || format!("after {:?}: it must list earlier transfers", flow.after))
}

/// Checks the connections of a page: the first has the number 0, and each further one stands behind the
/// one before it.
pub fn check_page(plan: &Plan, number: usize) -> Checked {
    let flow = &plan.flows[number];
    let WorkloadConfig::Page { page, load, connection } = flow.workload else { return Ok(()) };
    ensure((page as usize) < plan.pages.len(), || format!("page {page} of {} pages, from 0", plan.pages.len()))?;
    let is_first = connection == 0 && !plan.flows[..number].iter().any(|other| is_load(other, load));
    let follows = number.checked_sub(1).is_some_and(|before| {
        let before = &plan.flows[before];
        let alike = (before.client, before.device) == (flow.client, flow.device)
            && before.hops == flow.hops
            && before.direction == flow.direction;
        let workload = connection.checked_sub(1).map(|connection| WorkloadConfig::Page { page, load, connection });
        alike && Some(before.workload) == workload
    });
    ensure(is_first || follows, || format!("connection {connection} of load {load} does not stand behind the one before it"))
}

fn is_load(flow: &Flow, number: u32) -> bool {
    matches!(flow.workload, WorkloadConfig::Page { load, .. } if load == number)
}

/// Checks a page: objects with sizes, each behind its parent.
pub fn check_page_config(page: &PageConfig) -> Checked {
    ensure(page.request > 0 && (1..=MAX_OBJECTS).contains(&page.objects.len()), || {
        format!(
            "a request of {} bytes, {} objects: at least 1, and at most {MAX_OBJECTS} objects",
            page.request,
            page.objects.len()
        )
    })?;
    ensure((page.handshake[0] > 0) == (page.handshake[1] > 0), || "a handshake with one side".into())?;
    let largest = page.objects.iter().map(|(bytes, _)| *bytes).chain(page.handshake).chain([page.request]).max();
    ensure(largest <= Some(MAX_TRANSFER), || format!("an object, a handshake or a request above {MAX_TRANSFER} bytes"))?;
    ensure(page.objects.iter().all(|(bytes, _)| *bytes > 0), || "an object of 0 bytes".into())?;
    let in_order = |(number, (_, parent)): (u32, &(u64, Option<u32>))| match parent {
        None => number == 0,
        Some(parent) => *parent < number,
    };
    ensure((0..).zip(&page.objects).all(in_order), || "an object without an earlier parent".into())?;
    ensure([page.hosts.len(), page.waits_ps.len()].iter().all(|&len| len == 0 || len == page.objects.len()), || {
        "hosts or waits_ps of another number than the objects".into()
    })?;
    page.waits_ps.iter().try_for_each(|&wait| check_span("waits_ps", Span(wait)))?;
    ensure(page.per_host != Some(0), || "no connection to a host".into())
}

/// Checks a video: its buffer holds two segments and what its thresholds need.
fn check_video(flow: &Flow) -> Checked {
    let WorkloadConfig::Video { segment_ps, buffer_ps, start_threshold_ps, resume_threshold_ps, request, handshake, .. } =
        flow.workload
    else {
        return Ok(());
    };
    ensure(flow.job.is_none() && flow.direction == Direction::Down, || "a video has no job, and goes down".into())?;
    for (key, span) in [("segment_ps", segment_ps), ("buffer_ps", buffer_ps)] {
        check_span(key, Span(span))?;
    }
    ensure(Span(segment_ps) >= Span::from_ms(1), || "segment_ps is below 1 ms".into())?;
    let segments = buffer_ps / segment_ps;
    let longest = start_threshold_ps.max(resume_threshold_ps);
    ensure(segments >= 2 && longest <= segments * segment_ps, || {
        format!("a buffer of {segments} whole segments: two, and the thresholds, are the minimum")
    })?;
    let largest = request.max(handshake[0]).max(handshake[1]);
    ensure(request > 0 && largest <= MAX_TRANSFER && (handshake[0] > 0) == (handshake[1] > 0), || {
        format!("a request of {request} bytes, a handshake of {handshake:?}")
    })
}

fn check_bidirectional(plan: &Plan, flow: &Flow, gap_ps: u64, packet: u16) -> Checked {
    ensure(packet > UDP_HEADER, || format!("packets of {packet} bytes: IPv4 and UDP headers have {UDP_HEADER}"))?;
    check_span("gap_ps", Span(gap_ps))?;
    // Packets are numbered, and each leaves a record.
    ensure(Span(gap_ps) >= Span::from_ms(1), || "gap_ps is below 1 ms".into())?;
    check_reverse(plan, flow)
}

fn check_reverse(plan: &Plan, flow: &Flow) -> Checked {
    ensure(!flow.path(&plan.hops, flow.direction.reverse()).is_empty(), || "no hop of the flow has the other direction".into())
}

fn check_times(flow: &Flow) -> Checked {
    let UniformTime { low_ps, high_ps } = flow.start;
    ensure(low_ps <= high_ps, || format!("start.low_ps {low_ps} is above start.high_ps {high_ps}"))?;
    check_span("start.high_ps", Span(high_ps))?;
    check_span("overhead_ps", Span(flow.overhead_ps))?;
    check_span("overhead_alone_ps", Span(flow.overhead_alone_ps.unwrap_or(0)))?;
    ensure(flow.stop_ps.is_none_or(|stop| stop > high_ps), || {
        format!("stop_ps {} is not after its start", flow.stop_ps.unwrap_or(0))
    })
}

fn check_datagrams(bps: u64, packet: u16) -> Checked {
    ensure(packet > UDP_HEADER, || format!("packets of {packet} bytes: IPv4 and UDP headers have {UDP_HEADER}"))?;
    ensure(bps > 0, || "bps is 0".into())?;
    ensure(Rate::from_bps(bps).time_to_send(u32::from(packet)) > Span::ZERO, || {
        format!("{bps} b/s: the transmission time of a packet is below 1 ps")
    })
}

fn check_probe(plan: &Plan, flow: &Flow) -> Checked {
    let WorkloadConfig::Probe { first, last, step, rounds, gap_ps, timeout_ps, reply, .. } = flow.workload else { return Ok(()) };
    ensure(first.min(reply) > UDP_HEADER, || {
        format!("IPv4 and UDP headers have {UDP_HEADER} bytes: first and reply must be above")
    })?;
    ensure(first <= last && step > 0, || format!("sizes from {first} to {last} by {step}"))?;
    ensure(rounds > 0, || "0 rounds".into())?;
    check_span("gap_ps", Span(gap_ps)).and_then(|()| check_span("timeout_ps", Span(timeout_ps)))?;
    ensure(gap_ps > 0 && timeout_ps > 0, || "gap_ps and timeout_ps must be above 0".into())?;
    ensure(!flow.path(&plan.hops, flow.direction.reverse()).is_empty(), || {
        "no hop of the flow has the direction of the replies".into()
    })
}

/// A hop has a rate, a medium or a delay. Otherwise a bulk sender would send without end at one
/// instant.
fn takes_time(plan: &Plan, flow: &Flow) -> bool {
    Direction::BOTH.into_iter().any(|direction| {
        let mut hops = flow.path(&plan.hops, direction).into_iter().map(|h| &plan.hops[h]);
        hops.any(|hop| {
            hop.medium.is_some()
                || hop.direction(direction).is_some_and(|config| config.rate.is_some() || config.mean_delay() > Span::ZERO)
        })
    })
}

fn check_ack_rate(tcp: &TcpConfig) -> Checked {
    ensure(tcp.delayed_ack.and_then(|d| d.per_rtt).is_none_or(|n| (0.1..=1000.0).contains(&n)), || {
        "delayed_ack.per_rtt must lie between 0.1 and 1000".into()
    })?;
    ensure(tcp.max_burst != Some(0), || "max_burst is 0".into())?;
    let Some(control) = tcp.ack_control else { return Ok(()) };
    ensure(control.max > 0 && control.timer > Span::ZERO, || "ack_congestion_control.max and .timer_ps must be above 0".into())?;
    ensure(control.option_bytes <= 40, || "ack_congestion_control.option_bytes must be at most 40".into())?;
    ensure(tcp.timestamps && tcp.ecn == EcnMode::Classic, || {
        "ack_congestion_control needs timestamps and ecn (true, not \"accecn\")".into()
    })
}

pub fn check_tcp(tcp: &TcpConfig) -> Checked {
    ensure(tcp.segment > 0, || "segments of 0 bytes".into())?;
    let options = tcp.timestamp_bytes.saturating_add(tcp.sack_base_bytes).saturating_add(tcp.sack_block_bytes.saturating_mul(4));
    let longest = tcp.segment.saturating_add(tcp.header).saturating_add(options.max(tcp.syn_option_bytes));
    ensure(longest <= MAX_PACKET, || {
        format!("segments of {} bytes make packets of up to {longest}: at most {MAX_PACKET} are possible", tcp.segment)
    })?;
    ensure(tcp.header > 0, || "headers of 0 bytes".into())?;
    ensure((1..=MAX_WINDOW).contains(&tcp.receive_buffer), || {
        format!("a receive buffer of {} bytes: 1 to {MAX_WINDOW} can be advertised", tcp.receive_buffer)
    })?;
    ensure(tcp.send_tuning.is_none_or(|t| 0 < t.start && t.start <= t.limit), || {
        "send_tuning.start must lie between 1 and its limit".into()
    })?;
    ensure(tcp.receive_tuning.is_none_or(|t| 0 < t.start && t.start <= tcp.receive_buffer && t.opening > 0), || {
        "receive_tuning.start must lie between 1 and receive_buffer, opening above 0".into()
    })?;
    ensure(tcp.sack_compression.is_none_or(|c| 0.0 < c.share && c.share <= 1.0), || {
        "sack_compression.share must be above 0 and at most 1".into()
    })?;
    ensure(tcp.tso.is_none_or(|t| t.min_segments > 0 && t.max_bytes > 0), || "tso.segments and tso.most must be above 0".into())?;
    ensure(tcp.tsq.is_none_or(|t| t.min_segments > 0 && t.max_bytes > 0), || "tsq.segments and tsq.most must be above 0".into())?;
    ensure(tcp.receive_tuning.is_none_or(|t| 0.0 < t.share && t.share <= 1.0), || {
        "receive_tuning.share must be above 0 and at most 1".into()
    })?;
    ensure(tcp.send_buffer != 0, || "a send buffer of 0 bytes".into())?;
    ensure(tcp.initial_window >= 1.0, || format!("initial_window {}: it must be at least 1", tcp.initial_window))?;
    ensure(tcp.initial_ssthresh >= 1.0, || "initial_ssthresh is below one segment".into())?;
    ensure((0.0..=1.0).contains(&tcp.first_climb), || "first_climb is not between 0 and 1".into())?;
    ensure(tcp.ecn_beta.is_none_or(|beta| 0.0 < beta && beta < 1.0), || "ecn_beta is not between 0 and 1".into())?;
    ensure(tcp.dupack_threshold > 0, || "dupack_threshold is 0".into())?;
    ensure(tcp.delayed_ack.is_none_or(|d| d.segments > 0 && d.timer > Span::ZERO), || {
        "delayed_ack.segments and .timer_ps must be above 0".into()
    })?;
    check_ack_rate(tcp)?;
    for (key, value) in [("rto_initial_ps", tcp.rto_initial), ("rto_min_ps", tcp.rto_min), ("rto_max_ps", tcp.rto_max)] {
        check_span(key, value)?;
        ensure(value > Span::ZERO, || format!("{key} is 0"))?;
    }
    check_span("rto_tick_ps", tcp.rto_tick)?;
    check_span("pacing_tick_ps", tcp.pacing_tick)?;
    check_span("gro_ps", tcp.gro.unwrap_or(Span::ZERO))?;
    tcp.processing_jitter.map_or(Ok(()), |jitter| jitter.check())?;
    ensure(tcp.rto_min <= tcp.rto_max, || format!("rto_min_ps {} is above rto_max_ps {}", tcp.rto_min.0, tcp.rto_max.0))
}
