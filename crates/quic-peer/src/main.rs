//! A transfer over QUIC by real sockets: noq with rustls at both ends of a link that `ackclock emulate` makes, whose
//! figures stand beside those of the same stack in virtual time (studies/quic/sockets.py).
//!
//! `ackclock-quic-peer serve CONTROL SECONDS FILE` answers one request with zeros for so long.
//! `ackclock-quic-peer fetch SECONDS FILE` asks the server of `$ACKCLOCK_SERVER`, and writes what arrived.
//! `ackclock-quic-peer sink SECONDS FILE` writes what arrived from one client.
//! `ackclock-quic-peer upload CONTROL SECONDS FILE` sends zeros to the server of `$ACKCLOCK_SERVER` for so long.

use noq::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use noq::crypto::rustls::QuicClientConfig;
use noq::{ClientConfig, Connection, Endpoint, PathId, RecvStream, SendStream, ServerConfig, TransportConfig, VarInt};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use serde_json::{Value, json};
use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const PORT: u16 = 4433;
/// As in hosts/noq-1.4.toml.
const RECEIVE_WINDOW: u32 = 12_500_000;
const SAMPLE: Duration = Duration::from_millis(10);
const CHUNK: usize = 1 << 16;
/// Longer than from the first packet until it arrives, queue included.
const LONGEST_TRIP: Duration = Duration::from_millis(1500);
/// A client that finds no server gives up.
const PATIENCE: Duration = Duration::from_secs(20);

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (found, file) = match words[..] {
        ["serve", control, seconds, file] => (runtime.block_on(serve(control, seconds.parse()?))?, file),
        ["fetch", seconds, file] => (runtime.block_on(fetch(seconds.parse()?))?, file),
        ["sink", seconds, file] => (runtime.block_on(sink(seconds.parse()?))?, file),
        ["upload", control, seconds, file] => (runtime.block_on(upload(control, seconds.parse()?))?, file),
        _ => return Err("serve or upload CONTROL SECONDS FILE, fetch or sink SECONDS FILE".into()),
    };
    std::fs::write(file, found.to_string())?;
    Ok(())
}

fn transport(control: &str) -> Outcome<Arc<TransportConfig>> {
    let factory: Arc<dyn ControllerFactory + Send + Sync> = match control {
        "noq-cubic" => Arc::new(CubicConfig::default()),
        "noq-newreno" => Arc::new(NewRenoConfig::default()),
        "noq-bbr3" => Arc::new(Bbr3Config::default()),
        _ => return Err(format!("{control}: noq-cubic, noq-newreno or noq-bbr3").into()),
    };
    let mut config = TransportConfig::default();
    config
        .congestion_controller_factory(factory)
        .receive_window(VarInt::from_u32(RECEIVE_WINDOW))
        .stream_receive_window(VarInt::from_u32(RECEIVE_WINDOW))
        .enable_segmentation_offload(false);
    Ok(Arc::new(config))
}

/// The first connection that comes.
async fn accept(control: &str) -> Outcome<(Endpoint, Connection)> {
    let certificate = rcgen::generate_simple_self_signed(vec!["ackclock".into()])?;
    let key = PrivatePkcs8KeyDer::from(certificate.signing_key.serialize_der());
    let mut config = ServerConfig::with_single_cert(vec![CertificateDer::from(certificate.cert)], key.into())?;
    config.transport_config(transport(control)?);
    let endpoint = Endpoint::server(config, SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT)))?;
    let connection = endpoint.accept().await.ok_or("no connection")?.await?;
    Ok((endpoint, connection))
}

/// Answers the first stream that is opened with zeros.
async fn serve(control: &str, seconds: f64) -> Outcome<Value> {
    let (endpoint, connection) = accept(control).await?;
    let (send, mut receive) = connection.accept_bi().await?;
    receive.read_to_end(16).await?;
    let found = send_zeros(&connection, send, seconds).await?;
    connection.close(VarInt::from_u32(0), b"");
    endpoint.wait_idle().await;
    Ok(found)
}

/// Reads the first stream that is opened, for so long from the client's first packet on, as the simulator's run lasts:
/// its handshake has taken three one-way delays here.
async fn sink(seconds: f64) -> Outcome<Value> {
    let (endpoint, connection) = accept("noq-cubic").await?;
    let rtt = connection.path_stats(PathId::ZERO).ok_or("no path")?.rtt;
    let started = Instant::now() - rtt.mul_f64(1.5);
    let mut receive = connection.accept_uni().await?;
    let bytes = read_until(&mut receive, started + Duration::from_secs_f64(seconds)).await;
    connection.close(VarInt::from_u32(0), b"");
    // The emulation ends with the client, which waits no longer than LONGEST_TRIP.
    tokio::time::timeout(SAMPLE, endpoint.wait_idle()).await.ok();
    Ok(json!({ "bytes": bytes, "seconds": seconds }))
}

/// Sends zeros, and says what the connection did.
async fn send_zeros(connection: &Connection, mut send: SendStream, seconds: f64) -> Outcome<Value> {
    let zeros = vec![0; CHUNK];
    let write = async {
        loop {
            if send.write_all(&zeros).await.is_err() {
                return;
            }
        }
    };
    let mut rtts = Vec::new();
    tokio::select! {
        () = write => {}
        () = sample(connection, &mut rtts, seconds) => {}
    }
    let stats = connection.path_stats(PathId::ZERO).ok_or("no path")?;
    Ok(json!({
        "sent_packets": stats.sent_packets - stats.sent_plpmtud_probes,
        "lost_packets": stats.lost_packets - stats.lost_plpmtud_probes,
        "rtt_ms": rtts,
        "congestion_events": stats.congestion_events,
        "mtu": stats.current_mtu,
    }))
}

/// The bytes that arrive until then.
async fn read_until(receive: &mut RecvStream, end: Instant) -> usize {
    let (mut bytes, mut buffer) = (0, vec![0; CHUNK]);
    while let Ok(Ok(Some(read))) = tokio::time::timeout_at(end.into(), receive.read(&mut buffer)).await {
        bytes += read;
    }
    bytes
}

/// The RTT as the sender has it, in ms.
async fn sample(connection: &Connection, rtts: &mut Vec<f64>, seconds: f64) {
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    while Instant::now() < end {
        tokio::time::sleep(SAMPLE).await;
        if let Some(stats) = connection.path_stats(PathId::ZERO) {
            rtts.push(stats.rtt.as_secs_f64() * 1e3);
        }
    }
}

/// A connection to the server.
async fn connect(control: &str) -> Outcome<(Endpoint, Connection)> {
    let server: IpAddr = std::env::var("ACKCLOCK_SERVER")?.parse()?;
    let crypto = rustls::ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate(ring::default_provider())))
        .with_no_client_auth();
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(crypto)?));
    config.transport_config(transport(control)?);
    let endpoint = Endpoint::client(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)))?;
    endpoint.set_default_client_config(config);
    let connection = tokio::time::timeout(PATIENCE, endpoint.connect(SocketAddr::new(server, PORT), "ackclock")?).await??;
    Ok((endpoint, connection))
}

/// Reads for so long from the first packet on, as the simulator's run lasts.
async fn fetch(seconds: f64) -> Outcome<Value> {
    let started = Instant::now();
    let (endpoint, connection) = connect("noq-cubic").await?;
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(b"go").await?;
    send.finish()?;
    let bytes = read_until(&mut receive, started + Duration::from_secs_f64(seconds)).await;
    // The sender stops by itself, and says what it did.
    tokio::time::sleep(LONGEST_TRIP).await;
    connection.close(VarInt::from_u32(0), b"");
    endpoint.wait_idle().await;
    Ok(json!({ "bytes": bytes, "seconds": seconds }))
}

/// Sends zeros on a stream.
async fn upload(control: &str, seconds: f64) -> Outcome<Value> {
    let (endpoint, connection) = connect(control).await?;
    let send = connection.open_uni().await?;
    let found = send_zeros(&connection, send, seconds).await?;
    // The receiver ends by itself, and says what arrived.
    tokio::time::sleep(LONGEST_TRIP).await;
    connection.close(VarInt::from_u32(0), b"");
    endpoint.wait_idle().await;
    Ok(found)
}

/// The two ends are ours: the certificate has the size of one, and says nothing.
#[derive(Debug)]
struct AnyCertificate(CryptoProvider);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
