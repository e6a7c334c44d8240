//! Reading captures: pcap, pcapng, snoop or ERF, compressed or not, from a file, a pipe or a growing
//! file.

mod decompress;
mod erf;
mod pcap;
mod pcapng;
mod pps;
mod snoop;
mod source;

pub use decompress::decompress;
pub use pps::PpsClock;

use ackclock_contract::Document;
use ackclock_core::Problem;
use ackclock_core::problem::reason;
use erf::Erf;
use pcap::Pcap;
use pcapng::Pcapng;
use serde::Serialize;
use snoop::Snoop;
use source::Source;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Maximum length of a record, longer than any packet (hosts' IPv6 jumbograms are below 1 MB). A
/// longer record is damage and must not allocate memory.
const MAX_RECORD: u32 = 16 << 20;

/// Link-layer header type of a packet: a number of <https://www.tcpdump.org/linktypes.html>.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkType(pub u16);

/// A link type of another list that has no number in this one.
const UNKNOWN_LINK: LinkType = LinkType(u16::MAX);

/// One captured packet.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// Unix time in nanoseconds.
    pub at: i64,
    pub link: LinkType,
    /// Length on the wire, at least that of `bytes`.
    pub original_len: u32,
    /// The captured bytes.
    pub bytes: &'a [u8],
}

/// Receives the packets of a capture in their order. A method marked `#[inline(always)]` is compiled
/// into the reader's loop; a closure is called there.
pub trait RecordVisitor {
    fn visit(&mut self, record: &Record<'_>);
}

impl<F: FnMut(&Record<'_>)> RecordVisitor for F {
    #[inline]
    fn visit(&mut self, record: &Record<'_>) {
        self(record);
    }
}

/// Why a capture cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("{}", reason(.0))]
    Io(#[from] io::Error),
    #[error("a folder")]
    Folder,
    #[error("an empty file")]
    Empty,
    #[error("a file that begins with {0}")]
    NotACapture(String),
    #[error("a file that ends within its header")]
    CutOffHeader,
    #[error("pcap version {major}.{minor}")]
    Version { major: u16, minor: u16 },
    #[error("snoop version {0}")]
    SnoopVersion(u32),
    #[error("a Network Monitor {0} capture")]
    NetworkMonitor(&'static str),
}

const CAPTURE_FORMATS: &str = "a pcap, pcapng, snoop or ERF capture, plain or in gzip or zstd";
const CONVERTED: &str = "a pcap, pcapng, snoop or ERF capture: `editcap -F pcapng IN OUT` of Wireshark converts it";

/// The version of Network Monitor whose files begin with `magic`.
fn network_monitor(magic: [u8; 4]) -> Option<&'static str> {
    match &magic {
        b"RTSS" => Some("1.x"),
        b"GMBU" => Some("2.x"),
        _ => None,
    }
}

impl ReadError {
    /// Whether the file is of another kind than a capture, as opposed to a capture that this reader
    /// cannot read.
    pub fn is_other_file(&self) -> bool {
        matches!(self, ReadError::Folder | ReadError::Empty | ReadError::NotACapture(_) | ReadError::CutOffHeader)
    }

    /// The error message for the file at `path`.
    pub fn problem(self, path: &Path) -> Problem {
        let allowed = match &self {
            ReadError::Version { .. } => "2.0 to 2.4",
            ReadError::SnoopVersion(_) => "version 2 (RFC 1761)",
            ReadError::CutOffHeader => "a whole pcap, pcapng or snoop header",
            ReadError::NetworkMonitor(_) => CONVERTED,
            _ => CAPTURE_FORMATS,
        };
        let found = match &self {
            ReadError::Io(error) if error.kind() == io::ErrorKind::NotFound => "no such file".to_owned(),
            ReadError::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => "no permission to read it".to_owned(),
            ReadError::Io(error) => format!("an unreadable file ({})", reason(error)),
            other => other.to_string(),
        };
        Problem::found(found, allowed).in_file(path)
    }
}

/// Damage of the file's structure, as opposed to malformed packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Damage {
    /// An impossible record length. The next record cannot be located: reading stops.
    RecordLength,
    /// A pcapng section with an invalid byte-order magic: reading stops.
    ByteOrder,
    /// The file ends within a record.
    CutOff,
    /// A pcapng block shorter than its content.
    ShortBlock,
    /// A packet of an interface without a description.
    UnknownInterface,
    /// Decompression failed: reading stops.
    Compression,
}

impl Damage {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Damage::RecordLength => "record_length",
            Damage::ByteOrder => "byte_order",
            Damage::CutOff => "cut_off_file",
            Damage::ShortBlock => "short_block",
            Damage::UnknownInterface => "unknown_interface",
            Damage::Compression => "damaged_compression",
        }
    }
}

/// The position at which reading of a damaged capture stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Document)]
pub struct Truncation {
    /// [`Damage::name`].
    pub kind: &'static str,
    /// Number of the damaged record's packet, from 1; all packets before it were read.
    pub packet: u64,
    /// Offset of the damaged record, in bytes after decompression.
    pub byte: u64,
    /// Length of the file as read, in bytes after decompression.
    pub end: u64,
}

/// Layout of the packet record at the front of the source.
#[derive(Debug, Clone, Copy)]
struct RecordLayout {
    at: i64,
    link: LinkType,
    original_len: u32,
    /// Length of the record, its headers included.
    len: usize,
    /// Offset of the captured bytes in the record.
    data_offset: usize,
    captured_len: usize,
}

/// Result of reading one record.
enum ReadStep {
    Packet(RecordLayout),
    /// A damaged record was skipped.
    Skipped(Damage),
    /// Damage after which reading cannot continue.
    Damaged(Damage),
    /// The input ends before or within a record.
    Incomplete,
}

enum FormatReader {
    Pcap(Pcap),
    Pcapng(Pcapng),
    Snoop(Snoop),
    Erf(Erf),
}

/// A capture being read.
pub struct Capture {
    source: Source,
    format: FormatReader,
    damage: BTreeMap<Damage, u64>,
    /// Damage ended the reading.
    stopped: bool,
    packets_read: u64,
    truncation: Option<Truncation>,
    /// Converts timestamps that are a counter's values.
    pps_clock: Option<Box<PpsClock>>,
}

impl Capture {
    /// Opens a file; `-` is standard input.
    pub fn open(path: &Path) -> Result<Capture, ReadError> {
        if path.as_os_str() == "-" {
            return Capture::from_reader(Box::new(io::stdin()));
        }
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(ReadError::Folder);
        }
        Capture::from_reader(Box::new(file))
    }

    pub fn from_reader(raw: Box<dyn Read + Send + Sync>) -> Result<Capture, ReadError> {
        let mut source = Source::new(decompress(raw)?);
        if !source.has(4)? {
            return Err(if source.bytes().is_empty() { ReadError::Empty } else { ReadError::CutOffHeader });
        }
        let front = source.bytes();
        let magic = [front[0], front[1], front[2], front[3]];
        let format = if Pcap::matches_magic(magic) {
            FormatReader::Pcap(Pcap::open(&mut source)?)
        } else if Pcapng::matches_magic(magic) {
            FormatReader::Pcapng(Pcapng::default())
        } else if Snoop::matches_magic(magic) {
            FormatReader::Snoop(Snoop::open(&mut source)?)
        } else if let Some(version) = network_monitor(magic) {
            return Err(ReadError::NetworkMonitor(version));
        } else if let Some(erf) = Erf::open(&mut source)? {
            FormatReader::Erf(erf)
        } else {
            return Err(ReadError::NotACapture(format!("{:02x} {:02x} {:02x} {:02x}", magic[0], magic[1], magic[2], magic[3])));
        };
        let damage = BTreeMap::new();
        Ok(Capture { source, format, damage, stopped: false, packets_read: 0, truncation: None, pps_clock: None })
    }

    /// Treats the timestamps as a counter's values and converts them to UTC.
    pub fn with_pps_clock(self, clock: PpsClock) -> Capture {
        Capture { pps_clock: Some(Box::new(clock)), ..self }
    }

    /// Visits up to `max` of the packets that are available now; returns their number. A growing
    /// file may have more later.
    #[inline(always)]
    pub fn packets(&mut self, max: u64, mut visitor: impl RecordVisitor) -> Result<u64, ReadError> {
        let mut count = 0;
        while count < max {
            if let FormatReader::Pcap(pcap) = &self.format
                && !self.stopped
                && self.pps_clock.is_none()
            {
                let bytes = self.source.bytes();
                let (rest, parsed) = pcap.parse_records(bytes, max - count, &mut visitor);
                let consumed = bytes.len() - rest.len();
                count += parsed;
                self.packets_read += parsed;
                self.source.skip(consumed);
            }
            if count == max {
                break;
            }
            let Some(record) = self.packet()? else { break };
            visit_one(&mut visitor, &record);
            count += 1;
        }
        Ok(count)
    }

    fn take_record(&mut self, record: RecordLayout) -> Record<'_> {
        let at = self.pps_clock.as_mut().map_or(record.at, |clock| clock.utc(record.at));
        let bytes = &self.source.take(record.len)[record.data_offset..];
        let bytes = &bytes[..record.captured_len.min(bytes.len())];
        let original_len = record.original_len.max(bytes.len() as u32);
        Record { at, link: record.link, original_len, bytes }
    }

    /// The next packet; none if no complete record is available now.
    pub fn packet(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        while !self.stopped {
            let next = match &mut self.format {
                FormatReader::Pcap(pcap) => pcap.next(&mut self.source),
                FormatReader::Pcapng(pcapng) => pcapng.next(&mut self.source),
                FormatReader::Snoop(snoop) => snoop.next(&mut self.source),
                FormatReader::Erf(erf) => erf.next(&mut self.source),
            };
            match next {
                Ok(ReadStep::Packet(record)) => {
                    self.packets_read += 1;
                    return Ok(Some(self.take_record(record)));
                }
                Ok(ReadStep::Incomplete) => return Ok(None),
                Ok(ReadStep::Skipped(damage)) => self.count_damage(damage),
                Ok(ReadStep::Damaged(damage)) => self.stop(damage),
                Err(error) if is_decompression_error(&error) => self.stop(Damage::Compression),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }

    /// Declares the input complete: bytes that remain are a truncated record.
    pub fn finish(&mut self) {
        if !self.stopped && !self.source.bytes().is_empty() {
            self.stop(Damage::CutOff);
        }
    }

    /// Number of damaged places in the file, by kind.
    pub fn damage(&self) -> &BTreeMap<Damage, u64> {
        &self.damage
    }

    /// Position of the reader, in bytes after decompression.
    pub fn offset(&self) -> u64 {
        self.source.offset()
    }

    fn count_damage(&mut self, damage: Damage) {
        *self.damage.entry(damage).or_default() += 1;
    }

    /// Where reading stopped because of damage; none for a complete capture.
    pub fn truncation(&self) -> Option<Truncation> {
        self.truncation
    }

    fn stop(&mut self, damage: Damage) {
        self.count_damage(damage);
        self.stopped = true;
        let byte = self.source.offset();
        let end = byte + self.source.bytes().len() as u64;
        self.truncation = Some(Truncation { kind: damage.name(), packet: self.packets_read + 1, byte, end });
    }
}

/// A second place that a visitor is compiled into, outside of the loop over buffered records.
#[inline(never)]
fn visit_one(visitor: &mut impl RecordVisitor, record: &Record<'_>) {
    visitor.visit(record);
}

/// True for damage inside a compressed file, false for an error of the device.
fn is_decompression_error(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof};
    matches!(error.kind(), InvalidData | InvalidInput | Other | UnexpectedEof)
}
