//! Traffic sources and sinks: applications over TCP, and UDP endpoints.

mod adaptation;
mod bulk;
mod call;
mod conference;
mod controlled_app;
mod datagram;
mod external;
mod game;
mod ladder;
mod page;
mod path_probe;
mod request_response;
mod sink;
mod stream_source;
mod video;
mod workload;

pub use adaptation::Adaptation;
pub use bulk::BulkSource;
pub use call::CallEnd;
pub use conference::{ConferenceEnd, MAX_MEDIA_PAYLOAD, MEDIA_HEADERS, MediaConfig, conference};
pub use controlled_app::ControlledApp;
pub use datagram::{Pattern, UdpSink, UdpSource};
pub use external::ExternalHost;
pub use game::GameClient;
pub use ladder::LadderName;
pub use page::{BrowserConnection, PageConfig, PageServer, SharedPage};
pub use path_probe::{ProbeConfig, ProbeReflector, ProbeStats, Prober, ReplyConfig};
pub use request_response::{Requester, Responder};
pub use sink::Sink;
pub use stream_source::StreamSource;
pub use video::{VideoConfig, VideoPlayer, VideoServer, video};
pub use workload::{OnDistribution, UDP_HEADER, UniformTime, WorkloadConfig};

use crate::units::Time;

/// When a segment that is not full is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SmallSegments {
    /// At once: TCP_NODELAY.
    #[default]
    AtOnce,
    /// None while an earlier one is not acknowledged: Nagle's algorithm (RFC 896; RFC 9293, section
    /// 3.7.4) with Minshall's modification (draft-minshall-nagle-01; Linux, `tcp_nagle_test()`).
    OneAtATime,
    /// None: TCP_CORK.
    Never,
}

/// A TCP connection as its application sees it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Socket {
    pub established: bool,
    pub small_segments: SmallSegments,
    /// Bytes that the application has written so far, sent or not; `u64::MAX` means unlimited.
    pub written: u64,
    /// Bytes that TCP has accepted. They cannot be withdrawn.
    pub sent: u64,
    /// The application writes nothing more.
    pub closed: bool,
    /// The last write announced another (MSG_MORE): what it leaves of a segment waits for an ACK.
    pub more: bool,
    /// Bytes received in order.
    pub arrived: u64,
    /// Bytes that the application has read.
    pub read: u64,
    /// The peer has sent FIN, and all data before it has arrived.
    pub peer_closed: bool,
}

/// An application over a TCP connection.
pub trait Application {
    /// Reads, writes or closes. Called when the connection opens, when data arrives and at the due
    /// time.
    fn act(&mut self, now: Time, socket: &mut Socket);
    fn due(&self) -> Time;
}

/// What an application writes to the streams of a connection of many, each a request and its answer. The client
/// opens them in their order.
#[derive(Clone, Debug, Default)]
pub struct StreamWrites {
    /// By stream: bytes that this end writes to it in all, and then ends it; 0 for not yet.
    pub bytes: Vec<u64>,
    /// The application opens and writes nothing more.
    pub closed: bool,
}

/// Every kind of application over TCP.
#[derive(Clone, Debug)]
pub enum AnyApp {
    BulkSource(BulkSource),
    StreamSource(Box<StreamSource>),
    Sink(Sink),
    Requester(Box<Requester>),
    Responder(Responder),
    ControlledApp(ControlledApp),
    BrowserConnection(BrowserConnection),
    PageServer(PageServer),
    VideoPlayer(Box<VideoPlayer>),
    VideoServer(VideoServer),
}

impl Application for AnyApp {
    #[inline]
    fn act(&mut self, now: Time, socket: &mut Socket) {
        match self {
            AnyApp::BulkSource(a) => a.act(now, socket),
            AnyApp::StreamSource(a) => a.act(now, socket),
            AnyApp::Sink(a) => a.act(now, socket),
            AnyApp::Requester(a) => a.act(now, socket),
            AnyApp::Responder(a) => a.act(now, socket),
            AnyApp::ControlledApp(a) => a.act(now, socket),
            AnyApp::BrowserConnection(a) => a.act(now, socket),
            AnyApp::PageServer(a) => a.act(now, socket),
            AnyApp::VideoPlayer(a) => a.act(now, socket),
            AnyApp::VideoServer(a) => a.act(now, socket),
        }
    }
    #[inline]
    fn due(&self) -> Time {
        match self {
            AnyApp::BulkSource(a) => a.due(),
            AnyApp::StreamSource(a) => a.due(),
            AnyApp::Sink(a) => a.due(),
            AnyApp::Requester(a) => a.due(),
            AnyApp::Responder(a) => a.due(),
            AnyApp::ControlledApp(a) => a.due(),
            AnyApp::BrowserConnection(a) => a.due(),
            AnyApp::PageServer(a) => a.due(),
            AnyApp::VideoPlayer(a) => a.due(),
            AnyApp::VideoServer(a) => a.due(),
        }
    }
}

impl AnyApp {
    /// Whether it has a stream for each request on a connection of many streams; others have one stream of bytes
    /// ([`Application::act`]).
    pub fn has_streams(&self) -> bool {
        matches!(self, AnyApp::BrowserConnection(_) | AnyApp::PageServer(_))
    }

    /// On a connection of many streams: takes what has arrived on each, and sets what it writes. Nothing for an
    /// application without them.
    pub fn act_on_streams(&mut self, now: Time, arrived: &[u64], writes: &mut StreamWrites) {
        match self {
            AnyApp::BrowserConnection(browser) => browser.act_on_streams(now, arrived, writes),
            AnyApp::PageServer(server) => server.act_on_streams(arrived, writes),
            _ => {}
        }
    }
}
