//! Checks of a medium and its hop.

use super::super::{Direction, Framing, Hop, Medium, Plan, Roaming};
use super::{Checked, ensure, fraction, span};
use ackclock_core::medium::wlan::Format;
use ackclock_core::medium::{MAX_STATIONS, RadioConfig, WlanConfig};
use ackclock_core::{Rate, Span};

pub fn check(plan: &Plan, hop: &Hop) -> Checked {
    let Some(medium) = &hop.medium else {
        return ensure(hop.roaming.is_none(), || "roaming needs a medium".into());
    };
    let max_clients = MAX_STATIONS / (1 + medium.connections());
    ensure(plan.clients <= max_clients, || format!("{} clients on a medium: at most {max_clients} are possible", plan.clients))?;
    for config in Direction::BOTH.into_iter().filter_map(|direction| hop.direction(direction)) {
        ensure(config.rate.is_none(), || "a medium and a rate: only one of them is possible".into())?;
        ensure(config.framing == Framing::None, || "a medium and a framing: only one of them is possible".into())?;
    }
    let roaming = hop.roaming.as_ref().map(Roaming::config).transpose()?;
    match *medium {
        Medium::PacketRadio(_) if roaming.is_some() => Err("packet radio has no cells for roaming".into()),
        Medium::HalfDuplex { bps, turnaround_ps } => {
            check_rate(bps)?;
            span("turnaround_ps", turnaround_ps)
        }
        Medium::Wimax(ref wimax) if !wimax.connections.is_empty() && roaming.is_some() => {
            Err("roaming and connections: only one of them is possible".into())
        }
        Medium::Wimax(ref wimax) => wimax.config()?.check_at(roaming.map_or(1.0, |roaming| roaming.slowest())),
        Medium::PacketRadio(ref radio) => check_radio(radio),
        Medium::Wlan(ref wlan) if wlan.shared_queue && roaming.is_some() => {
            Err("roaming and shared_queue: only one of them is possible".into())
        }
        Medium::Wlan(ref wlan) => check_wlan(wlan),
        Medium::Grants(ref grants) => grants.config().map(|_| ()),
    }
}

fn check_rate(bps: u64) -> Checked {
    ensure(bps > 0, || "the medium's rate is 0 b/s".into())?;
    ensure(Rate::from_bps(bps).time_to_send(1).0 > 0, || {
        format!("the medium's {bps} b/s: the transmission time of a byte is below 1 ps")
    })
}

const MAX_RADIO_HOPS: u32 = 64;
const MAX_FRAME_PART: u32 = 65_535;

fn check_radio(radio: &RadioConfig) -> Checked {
    check_rate(radio.rate.bps())?;
    ensure((1..=MAX_RADIO_HOPS).contains(&radio.hops), || {
        format!("{} radio hops: 1 to {MAX_RADIO_HOPS} are possible", radio.hops)
    })?;
    for (key, ps) in [
        ("latency_ps", radio.latency.0),
        ("to_receive_ps", radio.to_receive.0),
        ("to_send_ps", radio.to_send.0),
        ("backoff_base_ps", radio.backoff_base.0),
        ("backoff_cap_ps", radio.backoff_cap.0),
        ("ack_timeout_ps", radio.ack_timeout.0),
    ] {
        span(key, ps)?;
    }
    ensure(radio.backoff_base > Span::ZERO && radio.backoff_cap.0 / 2 > radio.backoff_base.0, || {
        "the back-off's base must be above 0, its cap above twice the base".into()
    })?;
    for (key, bytes) in [
        ("rts_bytes", radio.rts_bytes),
        ("cts_bytes", radio.cts_bytes),
        ("header_bytes", radio.header_bytes),
        ("ack_bytes", radio.ack_bytes),
    ] {
        ensure((1..=MAX_FRAME_PART).contains(&bytes), || format!("{key} is {bytes}: 1 to {MAX_FRAME_PART} are possible"))?;
    }
    ensure(radio.tries > 0, || "tries is 0: it must be at least 1".into())?;
    check_frame_error(radio.frame_error)
}

fn check_wlan(wlan: &WlanConfig) -> Checked {
    for (key, time) in [("slot_ps", wlan.slot), ("sifs_ps", wlan.sifs), ("difs_ps", wlan.difs), ("eifs_ps", wlan.eifs)] {
        span(key, time.0)?;
    }
    if let Some(aggregate) = wlan.aggregate {
        span("air_ps", aggregate.air.0)?;
    }
    check_frame_error(wlan.frame_error)?;
    check_format("data", wlan.data)?;
    check_format("control", wlan.control)?;
    wlan.check()
}

fn check_format(name: &str, format: Format) -> Checked {
    ensure(format.rate.time_to_send(1) > Span::ZERO, || {
        format!("{name}.bps is {}: a byte takes less than a picosecond", format.rate.bps())
    })?;
    for (key, time) in [("preamble_ps", format.preamble), ("symbol_ps", format.symbol), ("extension_ps", format.extension)] {
        span(key, time.0)?;
    }
    Ok(())
}

fn check_frame_error([down, up]: [f64; 2]) -> Checked {
    fraction("frame_error.down", down)?;
    fraction("frame_error.up", up)
}
