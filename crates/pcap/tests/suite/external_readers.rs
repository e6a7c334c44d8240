//! Written captures read by tshark, tcpdump and tcptrace: every header, option and checksum, in both
//! formats. A reader that is not installed is skipped with a line on standard error.

use ackclock_core::packet::{Body, Datagram, Ecn, Flags, Kind, SackBlocks, SynOptions, Timestamps};
use ackclock_core::{Arena, Packet, Segment, Time};
use ackclock_pcap::write::{CaptureWriter, FlowEnd, FlowFrames, PcapWriter, PcapngWriter};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const FULL_SNAP_LEN: u32 = 65_535;

fn timestamps(value: u32) -> Option<Timestamps> {
    Some(Timestamps { value, echo: value / 2 })
}

fn sack(blocks: &[(u64, u64)]) -> SackBlocks {
    let mut all = SackBlocks::default();
    blocks.iter().for_each(|&(s, e)| all.push(s, e));
    all
}

/// A short connection with every option, an odd payload length and ECN; and a datagram.
fn conversation() -> Vec<(FlowEnd, Ecn, Body)> {
    let (server, client) = (FlowEnd::Server, FlowEnd::Client);
    let syn = Some(SynOptions { mss: 1460, window_scale: Some(7), sack_permitted: true });
    let hello = Segment { syn, timestamps: timestamps(1), window: 70_000, ..Segment::default() };
    let ack = Segment { flags: Flags::ACK, seq: 1, ack: 1, window: 128_000, timestamps: timestamps(3), ..Segment::default() };
    let data = Segment { payload: 1001, flags: Flags::ACK.with(Flags::PSH), ..ack };
    let all = [(2003, 3004), (4005, 5006), (6007, 7008)];
    let segments = [
        (client, Segment { flags: Flags::SYN, ..hello }),
        (server, Segment { flags: Flags::SYN.with(Flags::ACK), ack: 1, ..hello }),
        (client, ack),
        (server, data),
        (server, Segment { seq: 1002, ..data }),
        (client, Segment { ack: 1002, ..ack }),
        (client, Segment { ack: 1002, sack: sack(&all[..1]), ..ack }),
        (client, Segment { ack: 1002, sack: sack(&all), ..ack }),
        (client, Segment { ack: 2003, flags: Flags::ACK.with(Flags::ECE), ..ack }),
        (server, Segment { seq: 2003, flags: Flags::ACK.with(Flags::CWR), ..data }),
        (server, Segment { seq: 3004, flags: Flags::ACK.with(Flags::FIN), ..ack }),
        (client, Segment { ack: 3005, flags: Flags::ACK.with(Flags::FIN), ..ack }),
    ];
    let mut all: Vec<_> = segments.map(|(side, segment)| (side, Ecn::Ect0, Body::Segment(segment))).into();
    all.push((server, Ecn::Ce, Body::Datagram(Datagram { number: 77, ..Datagram::default() })));
    all
}

fn write(path: &Path, snap_len: u32) {
    let file = File::create(path).unwrap();
    let mut writer = match path.extension().and_then(|e| e.to_str()) {
        Some("pcap") => CaptureWriter::Pcap(PcapWriter::new(file, snap_len).unwrap()),
        _ => CaptureWriter::Pcapng(PcapngWriter::new(file, snap_len, "a test").unwrap()),
    };
    let mut frames = FlowFrames::new(3, 5, snap_len);
    let mut arena = Arena::default();
    for (i, (side, ecn, body)) in conversation().into_iter().enumerate() {
        let id = arena.insert(body.clone());
        let at = Time(i as u64 * 1_000_000_123_000);
        let packet = Packet { id: i as u64, body: id, flow: 3, len: 501, wire_len: 501, ecn, class: 0, kind: Kind::TCP };
        writer.write(at, &frames.frame(side, i as u16, &packet, &body)).unwrap();
    }
    writer.finish().unwrap();
}

/// The variable with the scratch folder of a test that runs another one, which writes the same files meanwhile.
const FOLDER: &str = "SCRATCH_FOLDER";

fn scratch(name: &str) -> PathBuf {
    let folder = std::env::var(FOLDER).unwrap_or_else(|_| "readers".to_owned());
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    std::fs::create_dir_all(&dir).unwrap();
    dir.join(name)
}

/// Standard output of a reader; none if it is not installed.
fn read(program: &str, arguments: &[&str]) -> Option<String> {
    match Command::new(program).args(arguments).output() {
        Ok(output) => {
            assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Err(_) => {
            let test = std::thread::current();
            // Not by a macro, whose output is shown of failed tests only.
            let _ = writeln!(std::io::stderr(), "skipped: {}: {program} is not installed", test.name().unwrap_or_default());
            None
        }
    }
}

#[test]
fn tshark_reports_no_malformed_packet_and_valid_checksums() {
    for (name, snap_len) in [("whole.pcap", FULL_SNAP_LEN), ("whole.pcapng", FULL_SNAP_LEN)] {
        let path = scratch(name);
        write(&path, snap_len);
        let path = path.to_str().unwrap();
        let checks = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"];
        let fields = [
            "-T",
            "fields",
            "-e",
            "ip.checksum.status",
            "-e",
            "tcp.checksum.status",
            "-e",
            "udp.checksum.status",
            "-e",
            "_ws.malformed",
        ];
        let Some(text) = read("tshark", &[&["-r", path], &checks[..], &fields[..]].concat()) else { return };
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        assert_eq!(lines.len(), conversation().len());
        for line in &lines[..lines.len() - 1] {
            assert_eq!(*line, "1\t1", "{name}: {text}");
        }
        assert_eq!(lines[lines.len() - 1], "1\t\t1");
    }
}

#[test]
fn tshark_reads_the_written_fields() {
    let path = scratch("fields.pcapng");
    write(&path, 128);
    let fields = [
        "frame.len",
        "tcp.len",
        "tcp.ack",
        "tcp.window_size",
        "tcp.options.sack.count",
        "tcp.options.timestamp.tsval",
        "ip.dsfield.ecn",
    ];
    let mut arguments = vec!["-r", path.to_str().unwrap(), "-T", "fields"];
    fields.iter().for_each(|f| arguments.extend(["-e", f]));
    let Some(text) = read("tshark", &arguments) else { return };
    let rows: Vec<Vec<&str>> = text.lines().map(|l| l.split('\t').collect()).collect();
    // Ethernet, IPv4, TCP with timestamps, payload: the length on the wire although only headers
    // were written.
    assert_eq!(rows[3][..4], [(14 + 20 + 32 + 1001).to_string().as_str(), "1001", "1", "128000"]);
    assert_eq!(rows[0][3], "65535", "a SYN's window is never scaled");
    assert_eq!((rows[6][4], rows[7][4], rows[7][2]), ("1", "3", "1002"));
    assert_eq!((rows[3][5], rows[3][6]), ("3", "2"));
    assert_eq!((rows[12][0], rows[12][6]), ("515", "3"));
}

#[test]
fn tcpdump_reads_both_formats_with_nanoseconds() {
    for name in ["dump.pcap", "dump.pcapng"] {
        let path = scratch(name);
        write(&path, 128);
        let Some(text) = read("tcpdump", &["-nn", "-tt", "--nano", "-v", "-r", path.to_str().unwrap()]) else { return };
        assert!(text.starts_with("946684800.000000000 IP") && text.contains("946684801.000000123"), "{text}");
        assert!(!text.contains("bad") && !text.contains("incorrect") && !text.contains("truncated"), "{text}");
        assert!(text.contains("sack 3 {2003:3004}{4005:5006}{6007:7008}"), "{text}");
    }
}

#[test]
fn tcptrace_reports_one_complete_connection() {
    let path = scratch("trace.pcap");
    write(&path, 128);
    let Some(text) = read("tcptrace", &["-l", "-n", path.to_str().unwrap()]) else { return };
    assert!(text.contains("complete conn: yes"), "{text}");
    assert!(text.contains("max sack blks/ack:         3"), "{text}");
    assert!(text.contains("unique bytes sent:      3003"), "{text}");
}

// finding("U44")
#[test]
fn missing_reader_is_named_when_the_output_of_tests_is_captured() {
    let test = "external_readers::tcpdump_reads_both_formats_with_nanoseconds";
    let mut alone = Command::new(std::env::current_exe().unwrap());
    let run = alone.args([test, "--exact"]).env("PATH", "/nonexistent").env(FOLDER, "no-reader").output().unwrap();
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && errors.contains(&format!("skipped: {test}: tcpdump is not installed")), "{errors}");
}
