//! Command line of `ackclockd`, the far end of `ackclock measure`. The binary and the Python
//! command run it.

use crate::net::log::LogTarget;
use crate::net::server::{MeasurementServer, ServerConfig, raise_descriptors};
use crate::net::stamp::ReflectorConfig;
use crate::quotas::Quotas;
use crate::token::{Token, read_key};
use crate::{DEFAULT_PORT, MeasureError, SECOND};
use ackclock_core::Problem;
use clap::Parser;
use std::ffi::OsString;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// The far end of `ackclock measure`: serves clients that know the token, within its limits. It
/// writes a log, and a token file on request.
#[derive(Parser)]
#[command(name = "ackclockd", version)]
struct Arguments {
    /// Address to listen at; 0.0.0.0 or :: for all.
    #[arg(long, default_value = "127.0.0.1")]
    listen: IpAddr,
    /// TCP and UDP port; 0 lets the kernel choose.
    #[arg(long, default_value_t = DEFAULT_PORT)]
    port: u16,
    /// File with the shared token, of mode 0600; created if it does not exist. Without this option
    /// a token is generated and printed once.
    #[arg(long)]
    token_file: Option<PathBuf>,
    /// Generate a token, write it to this new file with mode 0600, and exit.
    #[arg(long, value_name = "FILE", exclusive = true)]
    new_token: Option<PathBuf>,
    /// Maximum rate in each direction, in Mb/s: all sessions and tests together.
    #[arg(long, visible_alias = "most-rate", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    max_rate: u64,
    /// Maximum bytes that one session may move, in MB.
    #[arg(long = "most-bytes", default_value_t = 20_000)]
    max_bytes: u64,
    /// Maximum number of concurrent sessions.
    #[arg(long = "most-sessions", default_value_t = 4)]
    max_sessions: u32,
    /// Maximum number of concurrent sessions from one address.
    #[arg(long = "most-sessions-per-peer", default_value_t = 2)]
    max_sessions_per_peer: u32,
    /// Maximum duration of a session in seconds.
    #[arg(long = "most-seconds", default_value_t = 3600)]
    max_seconds: u32,
    /// Maximum size of a capture of a session's packet headers, in MB (needs CAP_NET_RAW); 0: no
    /// captures.
    #[arg(long, default_value_t = 0, value_name = "MB")]
    allow_capture: u64,
    /// File to append log lines to, one for each session and each refusal, instead of standard
    /// error.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// User to switch to when started as root, once the ports are bound; default: `nobody`.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Also reply to STAMP probes (RFC 8762) at this UDP port; needs --stamp-key-file or
    /// --stamp-open.
    #[arg(long)]
    stamp_port: Option<u16>,
    /// File with the key of STAMP's authenticated mode.
    #[arg(long, requires = "stamp_port")]
    stamp_key_file: Option<PathBuf>,
    /// Reply to unauthenticated STAMP probes, each reply as long as its probe.
    #[arg(long, requires = "stamp_port", conflicts_with = "stamp_key_file")]
    stamp_open: bool,
    /// Offset of this end's clock in nanoseconds, to test estimators.
    #[arg(long, default_value_t = 0, hide = true, allow_negative_numbers = true)]
    clock_shift: i64,
}

/// Of a token whose form no generator of ours has (R11).
const UNSEEN_TOKEN: &str = "the token was not made by --new-token: whether it is random cannot be seen, and who records a \
                            handshake can test words against it";

static STOP: AtomicBool = AtomicBool::new(false);

extern "C" fn stop(_: libc::c_int) {
    STOP.store(true, Ordering::Relaxed);
}

/// Serves until SIGINT or SIGTERM; the first of `words` is the program's name. Returns the exit
/// status: 0 after a signal, after `--help` and `--version`; 1 if the system refused; 2 for an
/// invalid command line or file, with one line on standard error. The handlers of SIGINT and
/// SIGTERM remain installed.
pub fn run<W: Into<OsString> + Clone>(words: impl IntoIterator<Item = W>) -> u8 {
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(usage) => {
            // The reader of standard output may have closed it (EPIPE).
            let _ = usage.print();
            return u8::try_from(usage.exit_code()).unwrap_or(2);
        }
    };
    match serve(&arguments) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("ackclockd: {error}");
            if matches!(error, MeasureError::Input(_)) { 2 } else { 1 }
        }
    }
}

fn serve(arguments: &Arguments) -> Result<(), MeasureError> {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler only stores to an atomic, which is async-signal-safe.
        unsafe { libc::signal(signal, stop as *const () as libc::sighandler_t) };
    }
    if let Some(path) = &arguments.new_token {
        Token::write_new(path)?;
        // The reader may have closed the pipe; the file is written.
        let _ = writeln!(std::io::stdout(), "a new token is in {}", path.display());
        return Ok(());
    }
    raise_descriptors();
    let (token, made) = Token::from_file_or_new(arguments.token_file.as_deref())?;
    if !made && !token.looks_generated() {
        // The reader of standard error may have closed it.
        let _ = writeln!(std::io::stderr(), "ackclockd: {UNSEEN_TOKEN}");
    }
    let mut quotas = Quotas {
        rate_bps: arguments.max_rate.saturating_mul(1_000_000),
        session_bytes: arguments.max_bytes.saturating_mul(1_000_000),
        sessions: arguments.max_sessions,
        sessions_per_peer: arguments.max_sessions_per_peer,
        capture_bytes: arguments.allow_capture.saturating_mul(1_000_000),
        ..Quotas::default()
    };
    quotas.session_ns = i64::from(arguments.max_seconds) * SECOND;
    let listen = SocketAddr::new(arguments.listen, arguments.port);
    let stamp = stamp(arguments)?;
    let log = arguments.log.as_deref().map_or(Ok(LogTarget::Stderr), LogTarget::file)?;
    let clock_shift = arguments.clock_shift;
    let mut server = MeasurementServer::open(ServerConfig { listen, token: token.clone(), quotas, clock_shift, stamp, log })?;
    server.drop_privileges(arguments.user.as_deref())?;
    let mut out = std::io::stdout().lock();
    // The reader of standard output may have closed it (EPIPE); the far end serves nevertheless.
    let _ = writeln!(out, "listening at {} (TCP and UDP)", server.address()?);
    if made && arguments.token_file.is_none() {
        let _ = writeln!(out, "token: {}", token.reveal());
    }
    let _ = out.flush();
    drop(out);
    server.run(|| !STOP.load(Ordering::Relaxed))
}

fn stamp(arguments: &Arguments) -> Result<Option<ReflectorConfig>, MeasureError> {
    let Some(port) = arguments.stamp_port else { return Ok(None) };
    let key = match &arguments.stamp_key_file {
        Some(path) => Some(read_key(path)?),
        None if arguments.stamp_open => None,
        None => {
            return Err(MeasureError::Input(Problem::new(
                "--stamp-port requires --stamp-key-file or --stamp-open",
                "add --stamp-key-file FILE or --stamp-open",
            )));
        }
    };
    Ok(Some(ReflectorConfig { port, key }))
}
