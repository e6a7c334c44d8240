//! Dialogues of Linux's rules for receivers, closing, windows and PSH: each holds with its rule, and
//! fails without it.

use ackclock_core::tcp::{
    DelayedAck, LinuxRule, LinuxRules, Push, ReceiveTuning, RecoveryKind, RtoFloor, RtoRestart, TcpConfig, TsoAutosize, Variant,
    WindowGrowth, WindowRule,
};
use ackclock_core::units::Span;
use ackclock_packetdrill::{RunOptions, Script, Verdict, run};

/// A host like linux-6.
fn linux() -> TcpConfig {
    TcpConfig {
        recovery: RecoveryKind::Rack,
        segment: 1448,
        send_buffer: 1 << 20,
        receive_buffer: 6 << 20,
        receive_tuning: Some(ReceiveTuning {
            start: 131_072,
            limit: 6 << 20,
            share: 0.625,
            opening: 65_535,
            growth: WindowGrowth::Near,
            overhead: None,
        }),
        window_rule: WindowRule::Sequence,
        delayed_ack: Some(DelayedAck { push: true, ..DelayedAck::new(2, Span::from_ms(40)) }),
        quick_acks: 16,
        ping_pong: true,
        initial_window: 10.0,
        rto_initial: Span::from_secs(1),
        rto_min: Span::from_ms(200),
        rto_max: Span::from_secs(120),
        rto_tick: Span::from_ms(1),
        rto_floor: RtoFloor::Variance,
        rto_restart: RtoRestart::HeadAndSack,
        sack: true,
        dsack: true,
        sack_rtt: true,
        timestamps: true,
        timestamp_bytes: 12,
        sack_base_bytes: 4,
        sack_block_bytes: 8,
        window_scaling: true,
        tso: Some(TsoAutosize { min_segments: 2, time: Span::from_ms(1), max_bytes: 65_536 }),
        push: Push::Chunks,
        byte_counting: 65_535,
        immediate_ack_on_fill: true,
        linux_rules: LinuxRules::all(),
        ..TcpConfig::default()
    }
}

fn without(rule: LinuxRule) -> TcpConfig {
    TcpConfig { linux_rules: LinuxRules::all().without(rule), ..linux() }
}

/// A server whose peer offers `options` and then has a window of `window`.
fn server(options: &str, window: u32) -> String {
    format!(
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <{options}>
+0 > S. 0:0(0) ack 1 <...>
+.02 < . 1:1(0) ack 1 win {window}
+0 accept(3, ..., ...) = 4
"
    )
}

const SCALED: &str = "mss 1000,sackOK,nop,nop,nop,wscale 7";
const UNSCALED: &str = "mss 1000,sackOK,nop,nop";

fn play(config: &TcpConfig, text: &str) -> Verdict {
    run(&Script::parse(text).unwrap(), config, &RunOptions::default()).verdict
}

fn passes(config: &TcpConfig, text: &str) {
    let verdict = play(config, text);
    assert_eq!(verdict, Verdict::Passes, "{text}");
}

/// The dialogue is Linux's, and without the rule it is not.
fn decides(rule: LinuxRule, text: &str) {
    passes(&linux(), text);
    let verdict = play(&without(rule), text);
    assert!(matches!(verdict, Verdict::Fails(_)), "without {}: {verdict:?}", rule.name());
}

/// Segments of 1000 bytes, 10 ms apart, `count` of them acknowledged one by one.
fn one_by_one(count: u64) -> String {
    (0..count)
        .map(|n| {
            let (start, end) = (1000 * n + 1, 1000 * n + 1001);
            format!("+.01 < . {start}:{end}(1000) ack 1 win 511\n+0 > . 1:1(0) ack {end}\n+.001 read(4, ..., 1000) = 1000\n")
        })
        .collect()
}

// finding("H11-10")
#[test]
fn quick_acks_are_sixteen_when_the_window_cannot_open() {
    let rest = "+.01 < . 16001:17001(1000) ack 1 win 511\n+.04 > . 1:1(0) ack 17001\n";
    decides(LinuxRule::DelayedAcks, &format!("{}{}{rest}", server(SCALED, 511), one_by_one(16)));
}

// finding("H11-9")
#[test]
fn write_soon_after_received_data_begins_ping_pong_mode() {
    let text = server(SCALED, 511)
        + "+.002 < . 1:1001(1000) ack 1 win 511
+0 > . 1:1(0) ack 1001
+.002 read(4, ..., 2000) = 1000
+.002 write(4, ..., 100) = 100
+0 > P. 1:101(100) ack 1001
+.02 < . 1001:1001(0) ack 101 win 511
+.04 < . 1001:2001(1000) ack 101 win 511
+.04 > . 101:101(0) ack 2001
";
    decides(LinuxRule::DelayedAcks, &text);
}

#[test]
fn write_long_after_received_data_leaves_quick_acks() {
    let text = server(SCALED, 511)
        + "+.002 < . 1:1001(1000) ack 1 win 511
+0 > . 1:1(0) ack 1001
+.1 write(4, ..., 100) = 100
+0 > P. 1:101(100) ack 1001
+.02 < . 1001:2001(1000) ack 101 win 511
+0 > . 101:101(0) ack 2001
";
    passes(&linux(), &text);
}

// finding("H11-11")
#[test]
fn ack_of_a_fin_with_little_data_is_delayed() {
    let text = server(SCALED, 511) + "+.06 < FP. 1:301(300) ack 1 win 511\n+.04 > . 1:1(0) ack 302\n";
    decides(LinuxRule::DelayedAcks, &text);
    // After close() nothing is left to carry it.
    passes(
        &linux(),
        &(server(SCALED, 511) + "+0 close(4) = 0\n+0 > F. 1:1(0) ack 1\n+.02 < F. 1:1(0) ack 2 win 511\n+0 > . 2:2(0) ack 2\n"),
    );
}

// finding("H11-12")
#[test]
fn ack_has_four_sack_blocks_when_the_peer_has_no_timestamps() {
    let mut text = server(SCALED, 511);
    for (n, blocks) in ["1001:2001", "3001:4001 1001:2001", "5001:6001 3001:4001 1001:2001"].iter().enumerate() {
        let start = 2000 * n + 1001;
        text += &format!("+.01 < . {start}:{}(1000) ack 1 win 511\n+0 > . 1:1(0) ack 1 <nop,nop,sack {blocks}>\n", start + 1000);
    }
    text +=
        "+.01 < . 7001:8001(1000) ack 1 win 511\n+0 > . 1:1(0) ack 1 <nop,nop,sack 7001:8001 5001:6001 3001:4001 1001:2001>\n";
    decides(LinuxRule::DelayedAcks, &text);
}

// finding("H11-13")
#[test]
fn segment_below_the_window_leaves_ts_recent() {
    let text = server("mss 1000,sackOK,TS val 1000 ecr 0,nop,wscale 7", 511)
        .replace("win 511", "win 511 <nop,nop,TS val 1020 ecr 0>")
        + "+.01 < . 1:989(988) ack 1 win 511 <nop,nop,TS val 1030 ecr 0>
+0 > . 1:1(0) ack 989 <nop,nop,TS val 0 ecr 1030>
+.01 < . 989:1977(988) ack 1 win 511 <nop,nop,TS val 1040 ecr 0>
+0 > . 1:1(0) ack 1977 <nop,nop,TS val 0 ecr 1040>
+.01 < . 1:989(988) ack 1 win 511 <nop,nop,TS val 1050 ecr 0>
+0 > . 1:1(0) ack 1977 <nop,nop,TS val 0 ecr 1040,nop,nop,sack 1:989>
";
    decides(LinuxRule::DelayedAcks, &text);
}

// finding("H11-14")
#[test]
fn data_is_refused_when_both_directions_are_shut() {
    let shut = |how: &str| server(SCALED, 511) + &format!("+.1 shutdown(4, {how}) = 0\n");
    passes(
        &linux(),
        &(shut("SHUT_RDWR")
            + "+0 > F. 1:1(0) ack 1\n+.02 < P. 1:1001(1000) ack 2 win 511\n+0 > R 2:2(0)\n+.1 < F. 1001:1001(0) ack 2 win 511\n+0 > R 2:2(0)\n"),
    );
    // Shut for reading alone, the host still acknowledges.
    passes(&linux(), &(shut("SHUT_RD") + "+.02 < P. 1:1001(1000) ack 1 win 511\n+0 > . 1:1(0) ack 1001\n"));
}

// finding("H11-27", "K7")
#[test]
fn read_returns_data_then_the_error_once_then_the_end() {
    let text = server(SCALED, 511)
        + "+.02 < P. 1:301(300) ack 1 win 511
+0 > . 1:1(0) ack 301
+.01 < R. 301:301(0) ack 1 win 0
+.01 read(4, ..., 1000) = 300
+.01 read(4, ..., 1000) = -1 ECONNRESET (Connection reset by peer)
+.01 read(4, ..., 1000) = 0
";
    passes(&linux(), &text);
    passes(&linux(), &(server(SCALED, 511) + "+.1 shutdown(4, SHUT_RD) = 0\n+.1 read(4, ..., 1000) = 0\n"));
}

// finding("K8")
#[test]
fn time_wait_answers_only_what_is_not_the_ack_in_sequence() {
    let text = server(SCALED, 511)
        + "+0 close(4) = 0
+0 > F. 1:1(0) ack 1
+.02 < F. 1:1(0) ack 2 win 511
+0 > . 2:2(0) ack 2
+.02 < F. 2:2(0) ack 2 win 511
+0 > . 2:2(0) ack 2
+.02 < F. 9000:9000(0) ack 2 win 511
+0 > . 2:2(0) ack 2
+.02 < . 2:2(0) ack 2 win 511
+.02 < . 1:1(0) ack 2 win 511
+0 > . 2:2(0) ack 2
";
    passes(&linux(), &text);
}

// finding("K9")
#[test]
fn ack_for_a_listening_socket_is_answered_with_a_reset() {
    let text = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+.1 < . 1:1(0) ack 77 win 511
+0 > R 77:77(0)
+.1 < R 1:1(0) win 0
+.1 < S 0:0(0) win 65535 <mss 1000>
+0 > S. 0:0(0) ack 1 <...>
";
    passes(&linux(), text);
}

// finding("K10")
#[test]
fn syns_that_cross_open_one_connection() {
    let text = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
+0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)
+0 > S 0:0(0) <...>
+.1 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
+.1 < S. 0:0(0) ack 1 win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > . 1:1(0) ack 1 <nop,nop,sack 0:1>
+.1 write(3, ..., 1000) = 1000
+0 > P. 1:1001(1000) ack 1
";
    passes(&linux(), text);
}

// finding("H11-7")
#[test]
fn persist_timer_sends_what_fits_when_the_window_is_small() {
    let text = server(SCALED, 23)
        + "+0 write(4, ..., 20000) = 20000
+0 > . 1:1001(1000) ack 1
+0 > P. 1001:2001(1000) ack 1
+.02 < . 1:1(0) ack 2001 win 7
+.22 > P. 2001:2897(896) ack 1
";
    decides(LinuxRule::PersistTimer, &text);
}

// finding("K14")
#[test]
fn persist_timer_sends_what_cork_or_more_holds() {
    let more = "+0 send(4, ..., 300, MSG_MORE) = 300\n+.22~+.24 > P. 1:301(300) ack 1\n";
    decides(LinuxRule::PersistTimer, &(server(SCALED, 511) + more));
    let cork = "+0 setsockopt(4, SOL_TCP, TCP_CORK, [1], 4) = 0\n+0 write(4, ..., 300) = 300\n+.22~+.24 > P. 1:301(300) ack 1\n";
    decides(LinuxRule::PersistTimer, &(server(SCALED, 511) + cork));
}

// finding("H11-19")
#[test]
fn backoff_counts_window_probes_when_the_window_is_closed() {
    let text = server(UNSCALED, 4000)
        + "+0 write(4, ..., 20000) = 20000
* > . 1:1001(1000) ack 1
* > P. 1001:2001(1000) ack 1
* > . 2001:3001(1000) ack 1
* > P. 3001:4001(1000) ack 1
+.02 < . 1:1(0) ack 4001 win 0
+.22 > . 4000:4000(0) ack 1
+.005 %{ assert tcpi_backoff == 1 and tcpi_probes == 1 }%
+.005 < . 1:1(0) ack 4001 win 0
+.005 %{ assert tcpi_backoff == 1 and tcpi_probes == 0 }%
";
    decides(LinuxRule::PersistTimer, &text);
}

// finding("H11-8")
#[test]
fn packet_is_cut_when_the_window_ends_in_it() {
    let text = server(SCALED, 46)
        + "+0 write(4, ..., 80000) = 80000
+0 > . 1:1001(1000) ack 1
+0 > P. 1001:2001(1000) ack 1
+0 > . 2001:3001(1000) ack 1
+0 > P. 3001:4001(1000) ack 1
+0 > . 4001:5001(1000) ack 1
+0 > P. 5001:5889(888) ack 1
";
    decides(LinuxRule::TsoPackets, &text);
}

// finding("H11-22")
#[test]
fn write_carries_psh_after_half_of_the_largest_window() {
    let text = server(UNSCALED, 6000)
        + "+0 write(4, ..., 80000) = 80000
+0 > . 1:1001(1000) ack 1
+0 > P. 1001:2001(1000) ack 1
+0 > . 2001:3001(1000) ack 1
+0 > P. 3001:4001(1000) ack 1
+0 > P. 4001:5001(1000) ack 1
+0 > . 5001:6001(1000) ack 1
";
    decides(LinuxRule::TsoPackets, &text);
}

// finding("H11-22")
#[test]
fn bbr_sends_packets_of_two_segments_with_psh() {
    let text = server(SCALED, 2047)
        + "+0 write(4, ..., 40000) = 40000
+0 > . 1:1001(1000) ack 1
+0 > P. 1001:2001(1000) ack 1
+0 > . 2001:3001(1000) ack 1
+0 > P. 3001:4001(1000) ack 1
";
    let bbr = |config: TcpConfig| TcpConfig { variant: Variant::Bbr, ..config };
    passes(&bbr(linux()), &text);
    assert!(matches!(play(&bbr(without(LinuxRule::TsoPackets)), &text), Verdict::Fails(_)));
}

// finding("H11-22")
#[test]
fn retransmission_keeps_psh_of_its_own_write_only() {
    let text = server(SCALED, 511)
        + "+0 write(4, ..., 3000) = 3000
+0 > . 1:1001(1000) ack 1
+0 > P. 1001:2001(1000) ack 1
+0 > P. 2001:3001(1000) ack 1
+.02 < . 1:1(0) ack 1 win 511 <nop,nop,sack 1001:2001>
+0~+.03 > . 1:1001(1000) ack 1
+.1 < . 1:1(0) ack 2001 win 511
* > P. 2001:3001(1000) ack 1
";
    passes(&linux(), &text);
}

// finding("H11-23")
#[test]
fn window_hardly_grows_when_packets_take_twice_their_payload() {
    let text = server(SCALED, 511)
        + "+.002 < P. 1:1001(1000) ack 1 win 511
+0 > . 1:1(0) ack 1001 win 495
+.002 < P. 1001:2001(1000) ack 1 win 511
+0 > . 1:1(0) ack 2001 win 488
+.002 < P. 2001:3001(1000) ack 1 win 511
+0 > . 1:1(0) ack 3001 win 481
";
    decides(LinuxRule::ReceiveMemory, &text);
}

// finding("H11-28")
#[test]
fn tail_loss_probe_sends_new_data_that_nagle_holds() {
    let text = server(SCALED, 511)
        + "+.06 write(4, ..., 100) = 100
+0 > P. 1:101(100) ack 1
+.17 write(4, ..., 2500) = 2500
+0 > . 101:1101(1000) ack 1
+0 > P. 1101:2101(1000) ack 1
+.04 > P. 2101:2601(500) ack 1
";
    decides(LinuxRule::TsoPackets, &text);
}

#[test]
fn one_lost_syn_leaves_the_initial_window() {
    let text = |syns: &str, cwnd: u32| {
        format!(
            "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
+0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)
+0 > S 0:0(0) <...>
{syns}+.1 < S. 0:0(0) ack 1 win 65535 <mss 1000,sackOK>
+0 > . 1:1(0) ack 1
+.01 %{{ assert tcpi_snd_cwnd == {cwnd} }}%
"
        )
    };
    decides(LinuxRule::OneLostSyn, &text("+1 > S 0:0(0) <...>\n", 10));
    passes(&linux(), &text("+1 > S 0:0(0) <...>\n+2 > S 0:0(0) <...>\n", 1));
}

/// Each call's first data joins the packet that waits, which then is not the end of what is written.
#[test]
fn packet_loses_psh_when_another_write_fills_it() {
    let text = server(SCALED, 511)
        + "+0 setsockopt(4, SOL_TCP, TCP_CORK, [1], 4) = 0
+0 write(4, ..., 300) = 300
+0 write(4, ..., 66000) = 66000
+0 > . 1:1001(1000) ack 1
+0 > P. 1001:2001(1000) ack 1
+0 > . 2001:3001(1000) ack 1
";
    passes(&linux(), &text);
}

// finding("K14")
#[test]
fn fin_waits_when_the_window_is_closed() {
    let text = server(UNSCALED, 4000)
        + "+0 write(4, ..., 4000) = 4000
* > . 1:1001(1000) ack 1
* > P. 1001:2001(1000) ack 1
* > . 2001:3001(1000) ack 1
* > P. 3001:4001(1000) ack 1
+.02 < . 1:1(0) ack 4001 win 0
+.01 shutdown(4, SHUT_WR) = 0
+.02 < . 1:1(0) ack 4001 win 1000
+0 > F. 4001:4001(0) ack 1
";
    decides(LinuxRule::TsoPackets, &text);
}
