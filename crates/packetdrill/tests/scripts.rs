//! Reading of scripts, verdicts, and foreign text.

use ackclock_core::packet::Flags;
use ackclock_core::tcp::TcpConfig;
use ackclock_core::units::Span;
use ackclock_packetdrill::{Base, Event, Ignored, Packet, PacketOption, RunOptions, Script, TcpPacket, Verdict, run};
use proptest::prelude::*;

const SERVER: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 65535
+0 accept(3, ..., ...) = 4
";

fn verdict(rest: &str) -> Verdict {
    let script = Script::parse(&format!("{SERVER}{rest}")).unwrap();
    run(&script, &TcpConfig { timestamps: false, ..TcpConfig::default() }, &RunOptions::default()).verdict
}

fn verdict_without(ignored: Ignored, rest: &str) -> Verdict {
    let script = Script::parse(&format!("{SERVER}{rest}")).unwrap();
    let options = RunOptions { ignored, ..RunOptions::default() };
    run(&script, &TcpConfig { timestamps: false, ..TcpConfig::default() }, &options).verdict
}

fn tcp(event: &Event) -> &TcpPacket {
    match event {
        Event::Inbound(Packet::Tcp(packet)) | Event::Outbound(Packet::Tcp(packet)) => packet,
        other => panic!("{other:?} is no TCP packet"),
    }
}

#[test]
fn packet_has_all_fields_of_its_text() {
    let script = Script::parse("+.25 < [ce] EAP. 1001:2001(1000) ack 7 win 320 <sack 1:2 3:4,nop,TS val 5 ecr 6>").unwrap();
    let statement = &script.statements[0];
    assert_eq!((statement.when.base, statement.when.from), (Base::Previous, Span::from_ms(250)));
    let packet = tcp(&statement.event);
    assert_eq!(packet.flags, Flags::ECE.with(Flags::AE).with(Flags::PSH).with(Flags::ACK));
    assert_eq!((packet.seq, packet.payload, packet.ack, packet.window), (1001, 1000, Some(7), Some(320)));
    let options = packet.options.as_deref().unwrap();
    assert_eq!(options[0], PacketOption::Sack(2, [(1, 2), (3, 4), (0, 0), (0, 0)]));
    assert_eq!(options[1], PacketOption::Timestamps { value: 5, echo: 6 });
}

#[test]
fn times_are_absolute_relative_ranges_open_or_blocking() {
    let script = Script::parse(
        "0.1 > . 1:1(0) ack 1\n+.1~+.2 > . 1:1(0) ack 1\n* > . 1:1(0) ack 1\n0...0.2 read(4, ..., 10) = 10\n1 close(4) = 0",
    )
    .unwrap();
    let times: Vec<_> = script.statements.iter().map(|s| (s.when.base, s.when.from, s.when.to, s.when.returns)).collect();
    assert_eq!(times[0], (Base::Start, Span::from_ms(100), None, None));
    assert_eq!(times[1], (Base::Previous, Span::from_ms(100), Some(Span::from_ms(200)), None));
    assert_eq!(times[2], (Base::Any, Span::ZERO, None, None));
    assert_eq!(times[3], (Base::Start, Span::ZERO, None, Some(Span::from_ms(200))));
}

#[test]
fn call_keeps_arguments_result_and_error() {
    let script =
        Script::parse("+0 setsockopt(3, SOL_TCP, TCP_CONGESTION, \"a,b\", 4) = -1 ENOENT (No such file) // why").unwrap();
    let Event::Call(call) = &script.statements[0].event else { panic!() };
    assert_eq!(call.args[3], "\"a,b\"");
    assert_eq!((call.result, call.errno.as_deref()), (Some(-1), Some("ENOENT")));
}

#[test]
fn sysctls_are_read_from_commands_before_the_last_packet() {
    let text = "`./defaults.sh\nsysctl -q net.ipv4.tcp_sack=0 net.ipv4.tcp_rmem=\"4096 8192 16384\"\nip link show`\n\
                0 < . 1:1(0) ack 1\n`sysctl -q net.ipv4.tcp_sack=1`";
    let script = Script::parse(text).unwrap();
    let last = |name: &str| script.sysctls().iter().rfind(|s| s.name == name).map(|s| (s.line, s.value.clone()));
    assert_eq!(last("tcp_sack"), Some((2, "0".to_owned())));
    assert_eq!(last("tcp_rmem"), Some((2, "4096 8192 16384".to_owned())));
    assert_eq!(script.other_commands(), [(3, "ip link show".to_owned())]);
    let continued = Script::parse("`./set_sysctls.py /proc/sys/net/ipv4/tcp_a=1 \\\n  /proc/sys/net/ipv4/tcp_b=2`").unwrap();
    let names: Vec<_> = continued.sysctls().into_iter().map(|s| (s.name, s.value)).collect();
    assert_eq!(names, [("tcp_a".to_owned(), "1".to_owned()), ("tcp_b".to_owned(), "2".to_owned())]);
}

#[test]
fn error_names_line_and_what_may_be_there() {
    let error = Script::parse("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\n+0 > . 1:9(1000) ack 1").unwrap_err();
    assert_eq!((error.line, error.expected.as_str()), (3, "the difference of the sequence numbers"));
}

#[test]
fn segments_of_one_instant_are_joined_to_the_expected_super_segment() {
    assert_eq!(verdict("+0 write(4, ..., 2000) = 2000\n+0 > P. 1:2001(2000) ack 1"), Verdict::Passes);
    assert_eq!(
        verdict("+0 write(4, ..., 2000) = 2000\n+0 > P. 1:1001(1000) ack 1\n+0 > P. 1001:2001(1000) ack 1"),
        Verdict::Passes
    );
}

#[test]
fn segment_fails_when_late_beyond_the_tolerance() {
    let late = |tolerance: &str| {
        let script = format!(
            "--tolerance_usecs={tolerance}\n{SERVER}+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n+.303 > P. 1:1001(1000) ack 1"
        );
        run(&Script::parse(&script).unwrap(), &TcpConfig { timestamps: false, ..TcpConfig::default() }, &RunOptions::default())
            .verdict
    };
    assert_eq!(late("4000"), Verdict::Passes, "the RTO is 300 ms");
    let Verdict::Fails(failure) = late("1000") else { panic!() };
    assert_eq!(failure.differs, ["time: expected 0.403000 s, got 0.400000 s"]);
}

/// The data leave at once; with its time of 3 ms as the origin the acknowledgment would come 103 ms
/// after them.
#[test]
fn relative_time_counts_from_when_the_packet_before_was_sent() {
    let rest = "+0 write(4, ..., 1000) = 1000
+.003 > P. 1:1001(1000) ack 1 <...>
+.1 < . 1:1(0) ack 1001 win 65535
+0 %{ assert tcpi_rtt == 100000, tcpi_rtt }%";
    assert_eq!(verdict(rest), Verdict::Passes);
}

/// Each difference ends the run unless it, and only it, is ignored.
#[test]
fn ignored_difference_ends_no_run() {
    let none = Ignored::default();
    let cases = [
        ("+0 > . 1:1001(1000) ack 1", Ignored { psh: true, ..none }),
        ("+0 > P. 1:1001(1000) ack 1 win 7", Ignored { window: true, ..none }),
        ("+0 %{ assert tcpi_snd_cwnd == 7 }%\n+0 > P. 1:1001(1000) ack 1", Ignored { info: true, ..none }),
        ("+.2 > P. 1:1001(1000) ack 1\n+.3 > P. 1:1001(1000) ack 1", Ignored { time: true, ..none }),
    ];
    for (rest, ignored) in cases {
        let rest = format!("+0 write(4, ..., 1000) = 1000\n{rest}");
        assert_eq!(verdict_without(ignored, &rest), Verdict::Passes, "{ignored:?}");
        let others = Ignored { psh: !ignored.psh, window: !ignored.window, info: !ignored.info, time: !ignored.time };
        assert!(matches!(verdict_without(others, &rest), Verdict::Fails(_)), "{others:?}");
    }
}

/// The timeout at 0.4 s is late for 0.15 s, and before the next inbound segment or behind it.
#[test]
fn late_segment_is_passed_over_before_the_next_step_only() {
    let time = Ignored { time: true, ..Ignored::default() };
    let script = |next: &str| {
        format!(
            "+0 write(4, ..., 1000) = 1000
+0 > P. 1:1001(1000) ack 1
0.15 > P. 1:1001(1000) ack 1
{next} < . 1:1(0) ack 1001 win 65535"
        )
    };
    assert_eq!(verdict_without(time, &script("0.5")), Verdict::Passes);
    let Verdict::Fails(failure) = verdict_without(time, &script("0.3")) else { panic!() };
    assert!(failure.got.starts_with("nothing until"), "{}", failure.got);
}

#[test]
fn assertion_fails_with_the_values_that_it_reads() {
    assert_eq!(
        verdict("+0 %{ assert tcpi_snd_cwnd == 2 and tcpi_unacked < 1, 'text'\nassert (1 + 2) * 3 == 9 }%"),
        Verdict::Passes
    );
    let Verdict::Fails(failure) = verdict("+0 %{ assert tcpi_snd_cwnd >= 10 }%") else { panic!() };
    assert_eq!(failure.got, "tcpi_snd_cwnd = 2");
}

#[test]
fn what_the_engine_lacks_is_unsupported_and_not_failed() {
    for rest in [
        "+0 %{ import os }%",
        "+0 %{ assert tcpi_nonsense == 1 }%",
        "+0 %{ assert __import__('os') }%",
        "+0 > icmp unreachable",
        "+0 sendfile(4, 5, [0], 1000) = 1000",
        "+0 < S 0:1000(1000) win 1000 <mss 1000>",
        "+0 send(4, ..., 1000, MSG_OOB) = 1000",
    ] {
        assert!(matches!(verdict(rest), Verdict::Unsupported(_)), "{rest}: {:?}", verdict(rest));
    }
}

#[test]
fn silent_endpoint_fails_with_its_next_timer() {
    let Verdict::Fails(failure) = verdict("+0 > . 1:1(0) ack 1") else { panic!() };
    assert_eq!(failure.got, "nothing: the endpoint has nothing to send and no timer");
}

proptest! {
    /// Any text is read or refused; what is read is played to an end.
    #[test]
    fn foreign_text_gives_a_verdict_or_an_error(text in "[ -~\n]{0,300}") {
        if let Ok(script) = Script::parse(&text) {
            let _ = run(&script, &TcpConfig::default(), &RunOptions::default());
        }
    }

    /// Statements in any order with any numbers.
    #[test]
    fn shuffled_statements_give_a_verdict(
        picks in prop::collection::vec((0usize..10, any::<u32>(), any::<u16>(), 0u32..200_000), 0..40),
    ) {
        let mut text = SERVER.to_owned();
        for (kind, a, b, size) in picks {
            let end = u64::from(a) + u64::from(size);
            text += &match kind {
                0 => format!("+.{b} < . {a}:{end}({size}) ack {b} win {b}\n"),
                1 => format!("+{b} < F. {a}:{end}({size}) ack {a} win 0\n"),
                2 => format!("+0 < . 1:1(0) ack {a} win {b} <sack {a}:{end} {b}:{a}>\n"),
                3 => format!("* > . {a}:{end}({size}) ack 1 <...>\n"),
                4 => format!("+.1 write(4, ..., {size}) = {size}\n"),
                5 => format!("+0 read(4, ..., {size}) = ?\n"),
                6 => "+0 shutdown(4, SHUT_WR) = 0\n".to_owned(),
                7 => format!("+.01 %{{ assert tcpi_snd_cwnd + {a} >= {b} }}%\n"),
                8 => format!("+.01 < [ce] SEWA. {a}:{end}({size}) ack {b} win {b} <mss {b},wscale 200,ECN e0b {a}>\n"),
                _ => format!("+0 < R. 1:1(0) ack {a}\n"),
            };
        }
        if let Ok(script) = Script::parse(&text) {
            let _ = run(&script, &TcpConfig::default(), &RunOptions::default());
        }
    }
}

#[test]
fn nested_and_endless_text_is_refused_in_bounded_time() {
    let deep = format!("{SERVER}+0 %{{ assert {}1{} }}%", "(".repeat(100_000), ")".repeat(100_000));
    let script = Script::parse(&deep).unwrap();
    assert!(matches!(run(&script, &TcpConfig::default(), &RunOptions::default()).verdict, Verdict::Unsupported(_)));
    assert!(Script::parse(&"a".repeat(2 << 20)).is_err());
    let long = format!("{SERVER}+0 write(4, ..., 4000000000) = 4000000000\n+600000 > . 1:1001(1000) ack 1");
    assert!(!matches!(
        run(&Script::parse(&long).unwrap(), &TcpConfig::default(), &RunOptions::default()).verdict,
        Verdict::Passes
    ));
}
