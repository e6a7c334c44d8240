//! Dialogues on the congestion controls of Linux (`integer-controls`, `cubic-reno-rate`): the same
//! ACKs, with the rule and without it.

use ackclock_core::tcp::TcpConfig;
use ackclock_core::tcp::cc::Variant;
use ackclock_core::tcp::linux_rules::{LinuxRule, LinuxRules};
use ackclock_core::tcp::recovery::RecoveryKind;
use ackclock_packetdrill::{RunOptions, Script, Verdict, run};

const SERVER: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
+.05 < . 1:1(0) ack 1 win 1000
+0 accept(3, ..., ...) = 4
+0 write(4, ..., 900000) = 900000
";

fn host(variant: Variant, linux_rules: LinuxRules) -> TcpConfig {
    TcpConfig {
        variant,
        linux_rules,
        recovery: RecoveryKind::Linux,
        timestamps: false,
        initial_window: 10.0,
        byte_counting: u32::MAX,
        ..TcpConfig::default()
    }
}

/// Plays the ACKs to a host, and the assertion after them.
fn assert_passes(config: &TcpConfig, acks: &str) {
    let script = Script::parse(&format!("{SERVER}{acks}")).expect("a script");
    let verdict = run(&script, config, &RunOptions::default()).verdict;
    assert!(matches!(verdict, Verdict::Passes), "{:?}: {verdict:?}", config.linux_rules);
}

/// 280 segments acknowledged after a loss at 10 segments, seven per ACK.
fn growth_after_a_loss(lowest: u32, highest: u32) -> String {
    let mut acks = "+.05 < . 1:1(0) ack 1 win 1000 <nop,nop,sack 1001:10001>\n+.05 < . 1:1(0) ack 10001 win 1000\n".to_owned();
    for i in 1..=40 {
        acks += &format!("+.05 < . 1:1(0) ack {} win 1000\n", 10_001 + 7000 * i);
    }
    acks + &format!("+.001 %{{ assert {lowest} <= tcpi_snd_cwnd <= {highest}, tcpi_snd_cwnd }}%\n")
}

/// A segment per 1.875 windows from 7 on gives 18 or 19 after 280 segments; RFC 9438 has one per
/// window from 10 on.
// finding("K0")
#[test]
fn cubic_keeps_renos_slow_rate_above_the_window_of_the_loss_when_the_host_has_the_rule() {
    assert_passes(&host(Variant::Cubic, LinuxRules::all()), &growth_after_a_loss(18, 19));
    let rfc = LinuxRules::all().without(LinuxRule::CubicRenoRate);
    assert_passes(&host(Variant::Cubic, rfc), &growth_after_a_loss(22, 25));
    assert_passes(&host(Variant::Cubic, LinuxRules::default()), &growth_after_a_loss(22, 25));
}

/// One loss of 21 segments in flight: ssthresh is 14, so three delivered release two (14 * 3/21); by
/// RFC 9438 it is 14.7, and they release three.
// finding("K4")
#[test]
fn prr_sends_by_a_whole_ssthresh_when_cubic_counts_segments() {
    let acks = |cwnd: u32| {
        format!(
            "+.05 < . 1:1(0) ack 1001 win 1000\n\
             +.05 < . 1:1(0) ack 1001 win 1000 <nop,nop,sack 2001:5001>\n\
             +.001 %{{ assert tcpi_snd_cwnd == {cwnd} and tcpi_snd_ssthresh == 14, tcpi_snd_cwnd }}%\n"
        )
    };
    let prr = |rules| TcpConfig { recovery: RecoveryKind::Prr, initial_window: 20.0, ..host(Variant::Cubic, rules) };
    assert_passes(&prr(LinuxRules::all()), &acks(19));
    assert_passes(&prr(LinuxRules::all().without(LinuxRule::IntegerControls)), &acks(20));
}

/// Five segments acknowledged by two ACKs add one to a window of five.
#[test]
fn reno_counts_segments_of_several_acks_towards_a_whole_window() {
    let acks = "+.05 < . 1:1(0) ack 1 win 1000 <nop,nop,sack 1001:10001>\n\
                +.05 < . 1:1(0) ack 10001 win 1000\n\
                +.05 < . 1:1(0) ack 14001 win 1000\n\
                +.001 %{ assert tcpi_snd_cwnd == 5, tcpi_snd_cwnd }%\n\
                +.05 < . 1:1(0) ack 15001 win 1000\n\
                +.001 %{ assert tcpi_snd_cwnd == 6, tcpi_snd_cwnd }%\n";
    assert_passes(&host(Variant::Reno, LinuxRules::all()), acks);
}
