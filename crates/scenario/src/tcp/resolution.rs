//! TCP of an end of a flow: its explicit keys, then those that its congestion control, its recovery
//! and its host stack have.

use super::host_file::HostFile;
use super::keys::TcpKeys;
use super::names::VariantName;
use super::switch::Switch;
use super::values::{Buffer, CacheRule, GroTime, InitialSsthresh, ReceiveBuffer, SegmentOverhead, SendBuffer};
use crate::invalid::Read;
use crate::keys::{Attribute, Checked, KeyValue};
use crate::value::Value;
use crate::values::Size;
use ackclock_core::tcp::config::TcpConfig;
use ackclock_core::tcp::{EcnMode, MetricsCache, ReceiveTuning, RecoveryKind, SendTuning, SlowStart, Variant};
use serde_json::json;

pub const DEFAULT_HOST: &str = "linux-6";
/// The tuning rules of hosts without their own.
const TUNING_HOST: &str = "linux-2.6.20";

/// All keys of an end of a flow, with defaults and words resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Tcp {
    pub host: String,
    /// Without `host`; `overhead` if it is explicit.
    pub keys: TcpKeys,
}

/// Without ECN this congestion control is Reno, so it has ECN by default.
fn needed_ecn(variant: &VariantName) -> Option<EcnMode> {
    match variant {
        VariantName::Engine(Variant::Dctcp) => Some(EcnMode::Classic),
        VariantName::Engine(Variant::Prague) => Some(EcnMode::Accurate),
        _ => None,
    }
}

/// This recovery uses cumulative ACKs alone, so SACK is off by default.
fn is_without_sack(recovery: RecoveryKind) -> bool {
    matches!(recovery, RecoveryKind::Classic | RecoveryKind::NewReno)
}

/// The TCP of these tables, of which later ones override earlier ones.
pub fn resolve<'a>(tables: impl IntoIterator<Item = &'a TcpKeys>) -> Read<Tcp> {
    let mut explicit = tables.into_iter().fold(TcpKeys::default(), |weaker, table| table.over(&weaker));
    let name = explicit.host.take().map_or_else(|| DEFAULT_HOST.to_owned(), |host| host.0);
    let host = HostFile::named(&name)?;
    let default_recovery = host.tcp.recovery;
    let variant = explicit.variant.as_ref().or(host.tcp.variant.as_ref());
    let mut implied = variant.and_then(|variant| host.variant.get(variant.name())).cloned().unwrap_or_default();
    let recovery = explicit.recovery.or(implied.recovery);
    if recovery.is_some_and(is_without_sack) {
        implied.sack.get_or_insert(false);
    }
    let marks_acks = explicit.ack_congestion_control.as_ref().is_some_and(|control| control.table().is_some());
    let ecn = variant.and_then(needed_ecn).or(marks_acks.then_some(EcnMode::Classic));
    implied.ecn = implied.ecn.or(ecn);
    let of_recovery = recovery.or(default_recovery).and_then(|recovery| host.recovery.get(recovery.name()));
    let keys = explicit.over(&implied.over(&of_recovery.cloned().unwrap_or_default().over(&host.tcp)));
    Ok(Tcp { keys: with_words(keys, &host)?, host: name })
}

/// The keys with what the host's words stand for, and the growth of tuned buffers.
fn with_words(mut keys: TcpKeys, host: &HostFile) -> Read<TcpKeys> {
    if keys.send_buffer == Some(SendBuffer(Buffer::Auto)) {
        keys.send_buffer = host.words.send_buffer;
    }
    if keys.receive_buffer == Some(ReceiveBuffer(Buffer::Auto)) {
        keys.receive_buffer = host.words.receive_buffer;
    }
    let other = HostFile::named(TUNING_HOST)?;
    let tuning = host.tuning.as_ref().or(other.tuning.as_ref()).cloned().unwrap_or_default();
    let tunes_send = keys.send_buffer == Some(SendBuffer(Buffer::Tuned));
    let tunes_receive = keys.receive_buffer == Some(ReceiveBuffer(Buffer::Tuned));
    keys.send_start = keys.send_start.or(tuning.send_start).filter(|_| tunes_send);
    keys.send_limit = keys.send_limit.or(tuning.send_limit).filter(|_| tunes_send);
    keys.send_overhead = keys.send_overhead.or(tuning.send_overhead).filter(|_| tunes_send);
    keys.receive_start = keys.receive_start.or(tuning.receive_start).filter(|_| tunes_receive);
    keys.receive_limit = keys.receive_limit.or(tuning.receive_limit).filter(|_| tunes_receive);
    keys.window_share = keys.window_share.or(tuning.window_share).filter(|_| tunes_receive);
    keys.receive_opening = keys.receive_opening.or(tuning.receive_opening).filter(|_| tunes_receive);
    keys.receive_growth = keys.receive_growth.or(tuning.receive_growth).filter(|_| tunes_receive);
    keys.receive_overhead = keys.receive_overhead.or(tuning.receive_overhead).filter(|_| tunes_receive);
    if keys.metrics_cache == Some(CacheRule::OfHost) {
        keys.metrics_cache = host.words.metrics_cache.or(Some(CacheRule::Keeps(MetricsCache::Full)));
    }
    if keys.delayed_ack == Some(Switch::OfHost) {
        keys.delayed_ack = host.words.delayed_ack.clone();
    }
    keys.delayed_ack = keys.delayed_ack.filter(|rule| rule.table().is_some()).or(Some(Switch::Off));
    Ok(keys)
}

impl Tcp {
    /// The configuration of the engine. A key that no host has is that of the engine's default.
    pub fn config(&self) -> TcpConfig {
        let keys = &self.keys;
        let base = TcpConfig::default();
        let narrow = |size: u64| u32::try_from(size).unwrap_or(u32::MAX);
        let or = |size: Option<Size>, otherwise: u32| size.map_or(otherwise, |size| narrow(size.0));
        TcpConfig {
            variant: match keys.variant {
                Some(VariantName::Engine(variant)) => variant,
                _ => base.variant,
            },
            user: None,
            slow_start: keys.slow_start.and_then(|name| SlowStart::from_name(name.0)).unwrap_or(base.slow_start),
            first_climb: keys.first_climb.unwrap_or(base.first_climb),
            recovery: keys.recovery.unwrap_or(base.recovery),
            segment: keys.segment.map_or(base.segment, |segment| segment.0),
            header: keys.header.map_or(base.header, |header| narrow(header.0)),
            send_buffer: match keys.send_buffer {
                Some(SendBuffer(Buffer::Bytes(size))) => size.into(),
                _ => u64::MAX,
            },
            receive_buffer: match (keys.receive_buffer, keys.receive_limit) {
                (Some(ReceiveBuffer(Buffer::Bytes(size))), _) => size,
                (_, limit) => limit.map_or(base.receive_buffer, |limit| limit.0),
            },
            send_tuning: self.send_tuning(),
            receive_tuning: self.receive_tuning(),
            window_rule: keys.window_rule.unwrap_or(base.window_rule),
            delayed_ack: keys.delayed_ack.as_ref().and_then(Switch::table).map(|table| table.config()),
            ack_control: keys.ack_congestion_control.as_ref().and_then(Switch::table).map(|table| table.config()),
            dupack_marking: keys.dupack_marking.unwrap_or(base.dupack_marking),
            max_burst: keys.max_burst.map(|segments| segments.0),
            pacing_tick: keys.pacing_tick.map_or(base.pacing_tick, |tick| tick.0),
            quick_acks: keys.quick_acks.map_or(base.quick_acks, |segments| segments.0),
            ping_pong: keys.ping_pong.unwrap_or(base.ping_pong),
            sack_compression: keys.sack_compression.as_ref().and_then(Switch::table).map(|table| table.config()),
            gro: keys.gro.and_then(|GroTime(time)| time),
            processing_jitter: keys.processing_jitter.as_ref().and_then(Switch::table).map(|table| table.config()),
            initial_window: keys.initial_window.map_or(base.initial_window, |segments| segments.0.into()),
            initial_ssthresh: match keys.initial_ssthresh {
                Some(InitialSsthresh(Some(segments))) => segments as f64,
                _ => f64::INFINITY,
            },
            rto_initial: keys.rto_initial.map_or(base.rto_initial, |timer| timer.0),
            syn_linear_timeouts: keys.syn_linear_timeouts.map_or(base.syn_linear_timeouts, |count| count.0),
            rto_min: keys.rto_min.map_or(base.rto_min, |timer| timer.0),
            rto_max: keys.rto_max.map_or(base.rto_max, |timer| timer.0),
            rto_tick: keys.rto_tick.map_or(base.rto_tick, |tick| tick.0),
            rto_floor: keys.rto_floor.unwrap_or(base.rto_floor),
            rto_restart: keys.rto_restart.unwrap_or(base.rto_restart),
            metrics_cache: match keys.metrics_cache {
                Some(CacheRule::Keeps(cache)) => cache,
                _ => base.metrics_cache,
            },
            sack: keys.sack.unwrap_or(base.sack),
            dsack: keys.dsack.unwrap_or(base.dsack),
            undo: keys.undo.unwrap_or(base.undo),
            sack_rtt: keys.sack_rtt.unwrap_or(base.sack_rtt),
            eifel: keys.eifel.unwrap_or(base.eifel),
            frto: keys.frto.unwrap_or(base.frto),
            idle_restart: keys.idle_restart.unwrap_or(base.idle_restart),
            window_validation: keys.window_validation.unwrap_or(base.window_validation),
            app_limited_growth: keys.app_limited_growth.unwrap_or(base.app_limited_growth),
            fine_timer: keys.fine_timer.unwrap_or(base.fine_timer),
            timestamps: keys.timestamps.unwrap_or(base.timestamps),
            timestamp_bytes: or(keys.timestamp_bytes, base.timestamp_bytes),
            sack_base_bytes: or(keys.sack_base_bytes, base.sack_base_bytes),
            sack_block_bytes: or(keys.sack_block_bytes, base.sack_block_bytes),
            syn_option_bytes: or(keys.syn_option_bytes, base.syn_option_bytes),
            window_scaling: keys.window_scaling.unwrap_or(base.window_scaling),
            ecn: keys.ecn.unwrap_or(base.ecn),
            ecn_packets: keys.ecn_packets.unwrap_or_default(),
            accecn_option: keys.accecn_option.unwrap_or_default(),
            ecn_beta: keys.ecn_beta,
            pacing: keys.pacing.unwrap_or(base.pacing),
            tso: keys.tso.as_ref().and_then(Switch::table).map(|table| table.config()),
            tso_win_divisor: keys.tso_win_divisor.map_or(base.tso_win_divisor, |divisor| divisor.0),
            push: keys.push.unwrap_or_default(),
            tsq: keys.tsq.as_ref().and_then(Switch::table).map(|table| table.config()),
            byte_counting: keys.byte_counting.map_or(base.byte_counting, |segments| segments.0),
            dupack_threshold: keys.dupack_threshold.map_or(base.dupack_threshold, |count| count.0),
            newreno_exit: keys.newreno_exit.unwrap_or(base.newreno_exit),
            limited_transmit: keys.limited_transmit.unwrap_or(base.limited_transmit),
            tail_loss_probe: keys.tail_loss_probe.unwrap_or(true),
            immediate_ack_on_fill: keys.immediate_ack_on_fill.unwrap_or(base.immediate_ack_on_fill),
            mtu_probing: keys.mtu_probing.unwrap_or_default(),
            linux_rules: keys.linux_rules.as_ref().map_or(base.linux_rules, |names| names.rules()),
        }
    }

    fn send_tuning(&self) -> Option<SendTuning> {
        let (start, limit) = (self.keys.send_start?.0, self.keys.send_limit?.0);
        let overhead = u32::try_from(self.keys.send_overhead?.0).unwrap_or(u32::MAX);
        Some(SendTuning { start: start.min(limit), limit, overhead })
    }

    fn receive_tuning(&self) -> Option<ReceiveTuning> {
        let keys = &self.keys;
        let limit = keys.receive_limit?.0;
        Some(ReceiveTuning {
            start: keys.receive_start?.0.min(limit),
            limit,
            share: keys.window_share?,
            opening: keys.receive_opening?.0,
            growth: keys.receive_growth?,
            overhead: keys.receive_overhead.and_then(|SegmentOverhead(size)| size),
        })
    }

    pub(crate) fn plan_json(&self) -> serde_json::Value {
        let mut plan = json!(self.config());
        if let Some(keys) = plan.as_object_mut() {
            // A plan has these keys where they are given, whatever their value.
            let given = [
                ("dupack_marking", self.keys.dupack_marking.is_some()),
                ("tail_loss_probe", self.keys.tail_loss_probe.is_some()),
                ("tso_win_divisor", self.keys.tso_win_divisor.is_some()),
            ];
            for (key, _) in given.iter().filter(|(_, is_given)| !is_given) {
                keys.remove(*key);
            }
            if let Some(VariantName::Python(class)) = &self.keys.variant {
                keys.insert("variant".into(), json!(class));
            }
        }
        plan
    }
}

impl Checked for Tcp {
    fn table(&self) -> &'static str {
        "Tcp"
    }

    fn attribute(&self, key: &str) -> Option<Attribute> {
        if key == "host" { Some(Attribute::Value(self.host.as_str().into())) } else { Checked::attribute(&self.keys, key) }
    }

    fn written(&self, _: Option<&Value>) -> Value {
        let keys = match self.keys.write(None) {
            Value::Table(keys) => keys,
            _ => Vec::new(),
        };
        let keys = keys.into_iter().filter(|(key, value)| key != "host" && key != "overhead" && *value != Value::Absent);
        Value::Table([("host".to_owned(), self.host.as_str().into())].into_iter().chain(keys).collect())
    }

    fn plan(&self) -> serde_json::Value {
        self.plan_json()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Bounds;
    use crate::table;

    fn tcp(written: Value) -> Tcp {
        let keys = TcpKeys::read(&written, &Bounds::NONE).expect("keys");
        resolve([&keys]).expect("a host")
    }

    #[test]
    fn explicit_key_precedes_that_of_the_variant_of_the_recovery_and_of_the_host() {
        let host = tcp(table!("max_burst" => 3));
        assert_eq!((host.host.as_str(), host.keys.sack), (DEFAULT_HOST, Some(true)));
        assert_eq!(host.written(None).get("slow_start"), Some(&"hystart".into()));
        assert_eq!(host.written(None).get("rto_floor"), Some(&"variance".into()));
        let explicit = tcp(table!("slow_start" => "classic", "rto_floor" => "timeout", "variant" => "reno"));
        assert_eq!(explicit.written(None).get("slow_start"), Some(&"classic".into()));
        assert_eq!(explicit.written(None).get("rto_floor"), Some(&"timeout".into()));
        assert_eq!(tcp(table!("variant" => "reno")).keys.slow_start, None);
    }

    #[test]
    fn later_table_overrides_an_earlier_one() {
        let tables = [table!("host" => "windows-xp", "sack" => false), table!("host" => "linux-6")];
        let keys = tables.map(|table| TcpKeys::read(&table, &Bounds::NONE).expect("keys"));
        let both = resolve(&keys).expect("a host");
        assert_eq!((both.host.as_str(), both.keys.sack), ("linux-6", Some(false)));
    }

    #[test]
    fn sack_is_off_by_default_with_a_recovery_by_ack_numbers_and_ecn_on_with_dctcp() {
        assert_eq!(tcp(table!("recovery" => "newreno")).keys.sack, Some(false));
        assert_eq!(tcp(table!("recovery" => "newreno", "sack" => true)).keys.sack, Some(true));
        assert_eq!(tcp(table!("variant" => "dctcp")).keys.ecn, Some(EcnMode::Classic));
        assert_eq!(tcp(table!("variant" => "prague")).keys.ecn, Some(EcnMode::Accurate));
        assert_eq!(tcp(table!("ack_congestion_control" => true)).keys.ecn, Some(EcnMode::Classic));
        assert_eq!(tcp(table!("ack_congestion_control" => false)).keys.ecn, None);
    }

    #[test]
    fn only_a_tuned_buffer_has_the_keys_of_tuning() {
        let auto = tcp(table!("receive_start" => "1 KiB")).plan_json();
        assert_eq!(auto["send_tuning"], json!({"start": 16_384, "limit": 4 << 20, "overhead": 100}));
        assert_eq!((&auto["send_buffer"], &auto["receive_buffer"]), (&serde_json::Value::Null, &json!(65_536)));
        assert!(auto.get("receive_tuning").is_none());
        let tuned = tcp(table!("receive_buffer" => "tuned", "receive_limit" => "40 KB")).plan_json();
        assert_eq!((&tuned["receive_buffer"], &tuned["receive_tuning"]["start"]), (&json!(40_000), &json!(40_000)));
    }

    #[test]
    fn plan_has_the_host_s_words_and_the_keys_that_are_given() {
        let plan = tcp(table!("tail_loss_probe" => true)).plan_json();
        assert_eq!((&plan["metrics_cache"], &plan["delayed_ack"]["segments"]), (&json!("full"), &json!(2)));
        assert_eq!((plan.get("tail_loss_probe"), plan.get("dupack_marking")), (Some(&json!(true)), None));
        assert_eq!(tcp(table!("variant" => "python:my.Control")).plan_json()["variant"], "python:my.Control");
    }
}
