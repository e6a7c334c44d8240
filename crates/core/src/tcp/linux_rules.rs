//! Where Linux differs from the RFCs. Each rule is a switch of a host stack, so that a host may have
//! the kernel's answers ACK by ACK (`linux-6`), the RFC's, or some of them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! linux_rules {
    ($($rule:ident => $name:literal, $summary:literal, $function:literal;)*) => {
        /// A rule of Linux, named as in `linux_rules` of a host stack.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum LinuxRule { $($rule),* }

        impl LinuxRule {
            pub const ALL: &'static [LinuxRule] = &[$(LinuxRule::$rule),*];

            pub fn name(self) -> &'static str { match self { $(LinuxRule::$rule => $name),* } }
            pub fn summary(self) -> &'static str { match self { $(LinuxRule::$rule => $summary),* } }
            /// The kernel's functions that decide.
            pub fn source(self) -> &'static str { match self { $(LinuxRule::$rule => $function),* } }

            pub fn from_name(name: &str) -> Option<LinuxRule> {
                Self::ALL.iter().copied().find(|rule| rule.name() == name)
            }
        }
    };
}

linux_rules! {
    RttDeviation => "rtt-deviation",
        "the RTO holds the largest mean deviation of a round trip, and a fall of the RTT counts an eighth in it",
        "tcp_rtt_estimator(), tcp_ack_update_rtt()";
    TimerWheel => "timer-wheel",
        "timers of TCP expire up to an eighth late, by the granularity of the timer wheel",
        "calc_index() in kernel/time/timer.c";
    IdleRestartValidates => "idle-restart-validates",
        "the restart after an idle period validates cwnd: no decay for its low use follows at once",
        "tcp_cwnd_restart()";
    DelayedAcks => "delayed-acks",
        "the delay of an ACK follows the data's intervals; quick ACKs, ping-pong mode and sequence checks of the kernel",
        "tcp_event_data_recv(), __tcp_ack_snd_check(), tcp_event_data_sent(), tcp_fin(), tcp_sequence()";
    TsoPackets => "tso-packets",
        "data leaves in packets that the host's writes, the windows and TSO divide; each carries PSH",
        "tcp_write_xmit(), tcp_mss_split_point(), tcp_grow_skb(), forced_push(), tcp_fragment()";
    PersistTimer => "persist-timer",
        "the persist timer sends what fits a small window, and what TCP_CORK holds",
        "tcp_write_wakeup(), tcp_send_probe0(), tcp_ack_probe()";
    OneLostSyn => "one-lost-syn",
        "the initial window survives one retransmission of the SYN",
        "tcp_init_transfer()";
    ReceiveMemory => "receive-memory",
        "a receive buffer counts the memory of packets; windows follow from what is free",
        "__tcp_select_window(), tcp_grow_window(), tcp_rcv_space_adjust()";
    IntegerControls => "integer-controls",
        "congestion controls count whole segments, ticks and microseconds; an undone reduction leaves 3/4 of cwnd as ssthresh",
        "tcp_slow_start(), tcp_cong_avoid_ai(), tcp_undo_cwnd_reduction(), struct tcp_congestion_ops";
    BbrLongTermBandwidth => "bbr-long-term-bandwidth",
        "bbr detects a policer, and sends at its rate for 48 RTTs",
        "bbr_lt_bw_sampling(), bbr_lt_bw_interval_done()";
    BbrFlightAtDeparture => "bbr-flight-at-departure",
        "bbr's phases end by the segments in flight at the next departure, not now",
        "bbr_packets_in_net_at_edt()";
    CubicRenoRate => "cubic-reno-rate",
        "cubic's Reno-friendly window grows by 0.53 segments per RTT for ever",
        "bictcp_update()";
    PathMtu => "path-mtu",
        "a reported MTU counts for 10 minutes and is 552 B at least, below which routers may divide the host's packets",
        "__ip_rt_update_pmtu(), ip_dont_fragment(), tcp_current_mss()";
}

/// The rules that a host stack follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinuxRules(u64);

impl LinuxRules {
    /// Every rule.
    pub fn all() -> LinuxRules {
        LinuxRule::ALL.iter().copied().collect()
    }

    /// The host follows this rule.
    #[inline(always)]
    pub fn has(self, rule: LinuxRule) -> bool {
        self.0 >> rule as u8 & 1 != 0
    }

    /// The same rules without this one.
    pub fn without(self, rule: LinuxRule) -> LinuxRules {
        LinuxRules(self.0 & !(1 << rule as u8))
    }
}

impl FromIterator<LinuxRule> for LinuxRules {
    fn from_iter<I: IntoIterator<Item = LinuxRule>>(rules: I) -> LinuxRules {
        LinuxRules(rules.into_iter().fold(0, |bits, rule| bits | 1 << rule as u8))
    }
}

/// What `deserialize` reads: a name for each rule, unless the host follows all or none.
impl Serialize for LinuxRules {
    fn serialize<S: Serializer>(&self, into: S) -> Result<S::Ok, S::Error> {
        let rules = LinuxRule::ALL.iter().filter(|rule| self.has(**rule));
        match rules.clone().count() {
            0 => into.serialize_bool(false),
            count if count == LinuxRule::ALL.len() => into.serialize_bool(true),
            _ => into.collect_seq(rules.map(|rule| rule.name())),
        }
    }
}

/// In a plan: true (every rule), false, or a list of names.
impl<'de> Deserialize<'de> for LinuxRules {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<LinuxRules, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "linux_rules is true, false or a list of names")]
        enum Form {
            Flag(bool),
            Names(Vec<String>),
        }
        match Form::deserialize(from)? {
            Form::Flag(true) => Ok(LinuxRules::all()),
            Form::Flag(false) => Ok(LinuxRules::default()),
            Form::Names(names) => names
                .iter()
                .map(|name| {
                    LinuxRule::from_name(name).ok_or_else(|| serde::de::Error::custom(format!("there is no Linux rule '{name}'")))
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::IntoDeserializer;
    use serde::de::value::Error;

    #[test]
    fn rules_fit_the_bits_that_hold_them() {
        assert!(LinuxRule::ALL.len() <= u64::BITS as usize);
    }

    #[test]
    fn rule_is_absent_after_it_is_taken_out() {
        for &rule in LinuxRule::ALL {
            assert!(LinuxRules::all().has(rule));
            let rest = LinuxRules::all().without(rule);
            assert!(LinuxRule::ALL.iter().all(|&other| rest.has(other) == (other != rule)));
        }
    }

    #[test]
    fn list_of_names_selects_those_rules_alone() {
        for &rule in LinuxRule::ALL {
            assert_eq!(LinuxRule::from_name(rule.name()), Some(rule));
        }
        let flag = |on: bool| LinuxRules::deserialize(IntoDeserializer::<Error>::into_deserializer(on));
        let list = |names: Vec<&'static str>| LinuxRules::deserialize(IntoDeserializer::<Error>::into_deserializer(names));
        assert_eq!(flag(true), Ok(LinuxRules::all()));
        assert_eq!(flag(false), Ok(LinuxRules::default()));
        assert_eq!(list(vec!["rtt-deviation"]), Ok([LinuxRule::RttDeviation].into_iter().collect()));
        assert!(list(vec!["no-such-rule"]).is_err());
    }
}
