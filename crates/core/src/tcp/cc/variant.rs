//! The congestion controls by name, and an enum of all of them.

use super::slow_start::SlowStart;
use super::*;
use crate::config_form::named;
use crate::tcp::delivery_rate::LossSample;
use crate::tcp::info::CaState;
use crate::tcp::linux_rules::{LinuxRule, LinuxRules};
use crate::units::{Span, Time};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! variants {
    ($($kind:ident => $name:literal, $build:expr, $summary:literal, $source:literal;)*) => {
        /// The congestion controls by name.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Variant { $($kind),* }

        impl Variant {
            pub const ALL: &'static [Variant] = &[$(Variant::$kind),*];

            pub fn name(self) -> &'static str { match self { $(Variant::$kind => $name),* } }
            pub fn summary(self) -> &'static str { match self { $(Variant::$kind => $summary),* } }
            pub fn source(self) -> &'static str { match self { $(Variant::$kind => $source),* } }

            pub fn from_name(name: &str) -> Option<Variant> {
                Self::ALL.iter().copied().find(|k| k.name() == name)
            }

            /// The congestion control of a new connection with this window and slow start.
            pub fn build(self, window: CongestionWindow, slow_start: SlowStart) -> AnyCc {
                match self { $(Variant::$kind => ($build)(window, slow_start)),* }
            }
        }
    };
}

/// By its name.
impl Serialize for Variant {
    fn serialize<S: Serializer>(&self, into: S) -> Result<S::Ok, S::Error> {
        into.serialize_str(self.name())
    }
}

/// By its name.
impl<'de> Deserialize<'de> for Variant {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Variant, D::Error> {
        named(from, "TCP variant", Variant::from_name)
    }
}

variants! {
    Reno => "reno", |w, s| AnyCc::Reno(Reno::new(w, s)),
        "additive increase of one segment per RTT, half the window on loss", "RFC 5681";
    NewReno => "newreno", |w, s| AnyCc::Reno(Reno::new(w, s)),
        "Reno's window; with RFC 6582's recovery on hosts without one for SACK", "RFC 5681, RFC 6582";
    Cubic => "cubic", |w, s| AnyCc::Cubic(Cubic::new(CubicConfig::RFC9438, w, s)),
        "a cubic of the time since the last loss, 0.7 on loss; today's default", "RFC 9438";
    Cubic2 => "cubic-2.0", |w, s| AnyCc::Cubic2(Cubic2::new(Cubic2Config::LINUX_2_6, w, s)),
        "CUBIC of Linux 2.6.15 to 2.6.22: 0.8 on loss, growth limited above the origin", "Rhee and Xu 2005, Linux 2.6";
    Bic => "bic", |w, s| AnyCc::Bic(Bic::new(BicConfig::LINUX_2_6_22, w, s)),
        "a binary search for the window of the last loss, 0.8 on loss", "Xu, Harfoush and Rhee 2004, Linux 2.6.22";
    BicPaper => "bic-paper", |w, s| AnyCc::Bic(Bic::new(BicConfig::PAPER, w, s)),
        "BIC with its paper's parameters: S_max 32, 0.875 on loss", "Xu, Harfoush and Rhee 2004";
    Bic268 => "bic-2.6.8", |w, s| AnyCc::Bic(Bic::new(BicConfig::LINUX_2_6_8, w, s)),
        "BIC of Linux 2.6.8, with its defect in fast convergence", "Linux 2.6.8";
    Vegas => "vegas", |w, s| AnyCc::Vegas(Vegas::new(VegasConfig::LINUX_2_6_22, w, s)),
        "keeps 2 to 4 segments in the queue, by delay", "Brakmo and Peterson 1995, Linux 2.6.22";
    VegasOriginal => "vegas-original", |w, s| AnyCc::Vegas(Vegas::new(VegasConfig::ORIGINAL, w, s)),
        "Vegas of the paper: 1 to 3 segments, slow start grows in every other RTT", "Brakmo and Peterson 1995";
    Veno => "veno", |w, s| AnyCc::Veno(Veno::new(VenoConfig::PAPER, w, s)),
        "Reno that leaves 4/5 after a loss while fewer than 3 segments are queued", "Fu and Liew 2003";
    Westwood => "westwood", |w, s| AnyCc::Westwood(Westwood::new(w, s)),
        "Reno with the BDP estimated from ACKs as window after a loss", "Casetti et al. 2001";
    WestwoodPlus => "westwood+", |w, s| AnyCc::Westwood(Westwood::plus(w, s)),
        "Westwood with one bandwidth sample per RTT, as in Linux", "Grieco and Mascolo 2004, Linux 2.6";
    WestwoodNs2 => "westwood-ns2", |w, s| AnyCc::Westwood(Westwood::ns2(w, s)),
        "Westwood+ in ns-2's TCP-Linux: at least half the window after a loss", "ns-2 2.35, tcp-linux.cc";
    Biad => "biad", |w, s| AnyCc::Biad(Biad::new(w, s)),
        "BIC's binary increase with Westwood's adaptive decrease", "proposed in wimax-simulated";
    Htcp => "htcp", |w, s| AnyCc::Htcp(Htcp::new(HtcpConfig::DRAFT, w, s)),
        "growth rises with the time since the last loss; a reduction empties the queue", "Leith and Shorten 2004, draft-leith-tcp-htcp-06";
    Hybla => "hybla", |w, _| AnyCc::Hybla(Hybla::new(HyblaConfig::PAPER, w)),
        "a long path, such as a satellite's, grows as fast as one with an RTT of 25 ms", "Caini and Firrincieli 2004";
    Illinois => "illinois", |w, s| AnyCc::Illinois(Illinois::new(IllinoisConfig::PAPER, w, s)),
        "delay sets growth and reduction, loss triggers the reduction", "Liu, Basar and Srikant 2008";
    Scalable => "scalable", |w, s| AnyCc::Scalable(Scalable::new(ScalableConfig::PAPER, w, s)),
        "grows by a hundredth of the window per RTT, an eighth off on loss", "Kelly 2003";
    HighSpeed => "highspeed", |w, s| AnyCc::HighSpeed(HighSpeed::new(HighSpeedConfig::RFC3649, w, s)),
        "growth and reduction depend on the window; Reno below 38 segments", "RFC 3649";
    Lp => "lp", |w, s| AnyCc::Lp(Lp::new(LpConfig::PAPER, w, s)),
        "uses spare bandwidth: yields at the first sign of delay", "Kuzmanovic and Knightly 2003";
    LedbatPp => "ledbat++", |w, _| AnyCc::LedbatPp(LedbatPp::new(LedbatPpConfig::DRAFT, w)),
        "a background transport with 60 ms of queueing delay and periodic slowdowns", "draft-irtf-iccrg-ledbat-plus-plus-01";
    Bbr => "bbr", |w, _| AnyCc::Bbr(Bbr::new(BbrConfig::LINUX, w)),
        "sends at the delivery rate, independent of loss; paced", "Cardwell et al. 2016, BBR v1 as in Linux 6";
    Bbr3 => "bbr3", |w, _| AnyCc::Bbr3(Bbr3::new(Bbr3Config::DRAFT, w)),
        "BBR that reduces its rate above 2 % loss, with headroom for other flows; paced", "draft-ietf-ccwg-bbr-06 (BBR v3)";
    Dctcp => "dctcp", |w, s| AnyCc::Dctcp(Dctcp::new(DctcpConfig::RFC8257, w, s)),
        "reduces by half the share of marked segments; for queues that mark above a threshold", "RFC 8257";
    Prague => "prague", |w, s| AnyCc::Prague(Prague::new(PragueConfig::DRAFT, w, s)),
        "DCTCP for the Internet's L4S queues: ECT(1), paced, less dependent on the RTT", "draft-briscoe-iccrg-prague-congestion-control";
    Yeah => "yeah", |w, s| AnyCc::Yeah(Yeah::new(YeahConfig::PAPER, w, s)),
        "Scalable while the queue is short, otherwise Reno with precautionary decongestion", "Baiocchi, Castellani and Vacirca 2007";
}

macro_rules! any_cc {
    ($($kind:ident),*) => {
        /// All congestion controls.
        #[derive(Clone, Debug)]
        pub enum AnyCc { $($kind($kind)),* }

        impl CongestionControl for AnyCc {
            fn follows_state(&self) -> bool { match self { $(AnyCc::$kind(c) => c.follows_state()),* } }
            fn on_established(&mut self, ack: &Ack) { match self { $(AnyCc::$kind(c) => c.on_established(ack)),* } }
            fn on_acked(&mut self, ack: &Ack) { match self { $(AnyCc::$kind(c) => c.on_acked(ack)),* } }
            fn on_clean_ack(&mut self, ack: &Ack) { match self { $(AnyCc::$kind(c) => c.on_clean_ack(ack)),* } }
            fn on_state(&mut self, state: CaState, ack: &Ack) { match self { $(AnyCc::$kind(c) => c.on_state(state, ack)),* } }
            fn on_transmit_start(&mut self, now: Time, last: Time) { match self { $(AnyCc::$kind(c) => c.on_transmit_start(now, last)),* } }
            fn on_ack(&mut self, ack: &Ack) { match self { $(AnyCc::$kind(c) => c.on_ack(ack)),* } }
            fn on_congestion(&mut self, c: &Congestion) { match self { $(AnyCc::$kind(cc) => cc.on_congestion(c)),* } }
            fn on_recovered(&mut self, now: Time, cwnd: f64) { match self { $(AnyCc::$kind(c) => c.on_recovered(now, cwnd)),* } }
            fn set_cwnd(&mut self, now: Time, cwnd: f64) { match self { $(AnyCc::$kind(c) => c.set_cwnd(now, cwnd)),* } }
            fn on_restart(&mut self, now: Time, window: CongestionWindow) { match self { $(AnyCc::$kind(c) => c.on_restart(now, window)),* } }
            fn on_idle(&mut self, now: Time, idle: Span) { match self { $(AnyCc::$kind(c) => c.on_idle(now, idle)),* } }
            #[inline]
            fn cwnd(&self) -> f64 { match self { $(AnyCc::$kind(c) => c.cwnd()),* } }
            fn ssthresh(&self) -> f64 { match self { $(AnyCc::$kind(c) => c.ssthresh()),* } }
            fn ecn_response(&self) -> EcnResponse { match self { $(AnyCc::$kind(c) => c.ecn_response()),* } }
            fn on_ecn_negotiated(&mut self, agreement: &EcnAgreement) { match self { $(AnyCc::$kind(c) => c.on_ecn_negotiated(agreement)),* } }
            fn on_marks(&mut self, ack: &Ack) { match self { $(AnyCc::$kind(c) => c.on_marks(ack)),* } }
            fn wants_delivery_rate(&self) -> bool { match self { $(AnyCc::$kind(c) => c.wants_delivery_rate()),* } }
            fn on_delivery(&mut self, ack: &Ack) { match self { $(AnyCc::$kind(c) => c.on_delivery(ack)),* } }
            fn on_loss(&mut self, now: Time, loss: &LossSample) { match self { $(AnyCc::$kind(c) => c.on_loss(now, loss)),* } }
            fn undo(&mut self) -> bool { match self { $(AnyCc::$kind(c) => c.undo()),* } }
            fn controls_recovery(&self) -> bool { match self { $(AnyCc::$kind(c) => c.controls_recovery()),* } }
            fn pacing_rate(&self) -> Option<f64> { match self { $(AnyCc::$kind(c) => c.pacing_rate()),* } }
            fn halving_floor(&self) -> f64 { match self { $(AnyCc::$kind(c) => c.halving_floor()),* } }
            fn phase(&self) -> Phase { match self { $(AnyCc::$kind(c) => c.phase()),* } }
        }
    };
}

impl AnyCc {
    /// The modules of Linux 2.6.22 to the letter, as they run in ns-2's Agent/TCP/Linux.
    pub fn in_tcp_linux(self) -> AnyCc {
        match self {
            AnyCc::Vegas(vegas) => AnyCc::Vegas(vegas.in_tcp_linux()),
            AnyCc::Westwood(westwood) => AnyCc::Westwood(westwood.in_tcp_linux()),
            other => other,
        }
    }

    /// The RTT of the handshake, before any data: BBR's first pacing rate.
    pub fn on_handshake_rtt(&mut self, rtt: Span) {
        if let AnyCc::Bbr(bbr) = self {
            bbr.on_handshake_rtt(rtt);
        }
    }

    /// Sets Linux's minimum growth before the first loss for CUBIC; no effect on others.
    pub fn with_min_growth(self, share: f64) -> AnyCc {
        match self {
            AnyCc::Cubic(cubic) => AnyCc::Cubic(cubic.with_min_growth(share)),
            other => other,
        }
    }

    /// Sets the rules of Linux that a control has beside its integers: CUBIC's and BBR's.
    pub fn with_linux_rules(self, rules: LinuxRules, segment: u32) -> AnyCc {
        match self {
            AnyCc::Bbr(bbr) => AnyCc::Bbr(bbr.with_linux_rules(rules, segment)),
            AnyCc::Cubic(cubic) => AnyCc::Cubic(cubic.with_reno_rate(rules.has(LinuxRule::CubicRenoRate))),
            other => other,
        }
    }
}

any_cc!(
    Reno,
    Cubic,
    Cubic2,
    Bic,
    Vegas,
    Veno,
    Westwood,
    Biad,
    Htcp,
    Hybla,
    Illinois,
    Scalable,
    HighSpeed,
    Yeah,
    Bbr,
    Bbr3,
    Lp,
    LedbatPp,
    Dctcp,
    Prague,
    User,
    LinuxReno,
    LinuxCubic,
    LinuxBic,
    LinuxVegas,
    LinuxVeno,
    LinuxWestwood,
    LinuxHtcp,
    LinuxHybla,
    LinuxIllinois,
    LinuxScalable,
    LinuxHighSpeed,
    LinuxYeah,
    LinuxLp,
    LinuxDctcp
);
