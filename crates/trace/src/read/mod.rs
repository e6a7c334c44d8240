//! Reading captures: any format, compressed or not, from a file, a pipe or a file that grows.

mod compress;
mod pcap;
mod pcapng;
mod pulses;
mod source;

pub use compress::plain;
pub use pulses::Pulses;

use ackclock_core::Problem;
use ackclock_core::problem::reason;
use pcap::Pcap;
use pcapng::Pcapng;
use serde::Serialize;
use source::Source;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Longer than any packet (IPv6 jumbograms that hosts make are below 1 MB). A longer record is damage, and must not cost memory.
const MAX_RECORD: u32 = 16 << 20;

/// What the first bytes of a packet are: a number of the tcpdump group's list, <https://www.tcpdump.org/linktypes.html>.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkType(pub u16);

/// One captured packet.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// Nanoseconds of Unix time.
    pub at: i64,
    pub link: LinkType,
    /// Length on the wire, at least what is here of it.
    pub original_len: u32,
    pub bytes: &'a [u8],
}

/// Why a capture cannot be read at all.
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
}

const CAPTURE: &str = "a pcap or pcapng capture, plain or in gzip or zstd";

impl ReadError {
    /// The user's message: what the file at `path` is instead of a capture.
    pub fn problem(self, path: &Path) -> Problem {
        let allowed = match &self {
            ReadError::Version { .. } => "2.0 to 2.4",
            ReadError::CutOffHeader => "a whole pcap or pcapng header",
            _ => CAPTURE,
        };
        let found = match &self {
            ReadError::Io(error) if error.kind() == io::ErrorKind::NotFound => "no such file".to_owned(),
            ReadError::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => "no permission to read it".to_owned(),
            ReadError::Io(error) => format!("what cannot be read ({})", reason(error)),
            other => other.to_string(),
        };
        Problem::found(found, allowed).in_file(path)
    }
}

/// What is wrong with the file itself, beside what may be wrong with packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Damage {
    /// A length that no record has: what follows cannot be found, so reading ends there.
    RecordLength,
    /// A section that is neither little nor big endian: likewise.
    ByteOrder,
    /// The file ends within a record.
    CutOff,
    /// A block too short for what it holds.
    ShortBlock,
    /// A packet of an interface that was not described.
    UnknownInterface,
    /// Decompression failed: likewise.
    Compression,
}

impl Damage {
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

/// Where reading a damaged capture ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Truncated {
    /// [`Damage::name`].
    pub kind: &'static str,
    /// The number that the packet of the broken record would have, from 1; those before it were read.
    pub packet: u64,
    /// Offset of that record, and length of the file as read, in bytes after decompression.
    pub byte: u64,
    pub end: u64,
}

/// A packet at the front of the source.
#[derive(Debug, Clone, Copy)]
struct Found {
    at: i64,
    link: LinkType,
    original_len: u32,
    /// Bytes of the whole record, and where in it the packet's lie.
    whole: usize,
    from: usize,
    captured: usize,
}

/// What a format's reader found in front of it.
enum Next {
    Packet(Found),
    /// One bad record, stepped over; reading goes on.
    Bad(Damage),
    /// Reading cannot go on.
    Damaged(Damage),
    /// No whole record is at hand.
    End,
}

enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// A capture being read.
pub struct Capture {
    source: Source,
    format: Format,
    damage: BTreeMap<Damage, u64>,
    broken: bool,
    /// Packets read so far.
    read: u64,
    truncated: Option<Truncated>,
    /// Where the time stamps are a counter's.
    pulses: Option<Box<Pulses>>,
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
        let mut source = Source::new(compress::plain(raw)?);
        if !source.has(4)? {
            return Err(if source.bytes().is_empty() { ReadError::Empty } else { ReadError::CutOffHeader });
        }
        let front = source.bytes();
        let magic = [front[0], front[1], front[2], front[3]];
        let format = if Pcap::begins(magic) {
            Format::Pcap(Pcap::open(&mut source)?)
        } else if Pcapng::begins(magic) {
            Format::Pcapng(Pcapng::default())
        } else {
            return Err(ReadError::NotACapture(format!("{:02x} {:02x} {:02x} {:02x}", magic[0], magic[1], magic[2], magic[3])));
        };
        Ok(Capture { source, format, damage: BTreeMap::new(), broken: false, read: 0, truncated: None, pulses: None })
    }

    /// Takes the time stamps for those of a counter whose value at each second is known.
    pub fn with_pulses(self, pulses: Pulses) -> Capture {
        Capture { pulses: Some(Box::new(pulses)), ..self }
    }

    /// The next packets, up to `most` of those that there are now; the number taken. A growing file may have more later.
    #[inline(always)]
    pub fn packets(&mut self, most: u64, mut each: impl FnMut(&Record<'_>)) -> Result<u64, ReadError> {
        let mut taken = 0;
        while taken < most {
            if let Format::Pcap(pcap) = &self.format
                && !self.broken
                && self.pulses.is_none()
            {
                let bytes = self.source.bytes();
                let (rest, run) = pcap.run(bytes, most - taken, &mut each);
                let done = bytes.len() - rest.len();
                taken += run;
                self.read += run;
                self.source.skip(done);
            }
            if taken == most {
                break;
            }
            let Some(record) = self.packet()? else { break };
            each(&record);
            taken += 1;
        }
        Ok(taken)
    }

    fn record(&mut self, found: Found) -> Record<'_> {
        let at = self.pulses.as_mut().map_or(found.at, |pulses| pulses.utc(found.at));
        let bytes = &self.source.take(found.whole)[found.from..];
        let bytes = &bytes[..found.captured.min(bytes.len())];
        let original_len = found.original_len.max(bytes.len() as u32);
        Record { at, link: found.link, original_len, bytes }
    }

    /// The next packet; none at the end of what there is now.
    pub fn packet(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        while !self.broken {
            let next = match &mut self.format {
                Format::Pcap(pcap) => pcap.next(&mut self.source),
                Format::Pcapng(pcapng) => pcapng.next(&mut self.source),
            };
            match next {
                Ok(Next::Packet(found)) => {
                    self.read += 1;
                    return Ok(Some(self.record(found)));
                }
                Ok(Next::End) => return Ok(None),
                Ok(Next::Bad(damage)) => self.note(damage),
                Ok(Next::Damaged(damage)) => self.stop(damage),
                // A disk that cannot be read is the user's affair; damage inside a compressed file is the capture's.
                Err(error) if is_damage(&error) => self.stop(Damage::Compression),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }

    /// Says that no more will come: what is left over is a record cut off.
    pub fn finish(&mut self) {
        if !self.broken && !self.source.bytes().is_empty() {
            self.stop(Damage::CutOff);
        }
    }

    /// How often the file itself was damaged, by kind.
    pub fn damage(&self) -> &BTreeMap<Damage, u64> {
        &self.damage
    }

    /// Where reading stands, in bytes after decompression.
    pub fn offset(&self) -> u64 {
        self.source.offset()
    }

    fn note(&mut self, damage: Damage) {
        *self.damage.entry(damage).or_default() += 1;
    }

    /// Where the capture ends before its last record does; none for a whole one.
    pub fn truncated(&self) -> Option<Truncated> {
        self.truncated
    }

    fn stop(&mut self, damage: Damage) {
        self.note(damage);
        self.broken = true;
        let byte = self.source.offset();
        let end = byte + self.source.bytes().len() as u64;
        self.truncated = Some(Truncated { kind: damage.name(), packet: self.read + 1, byte, end });
    }
}

fn is_damage(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof};
    matches!(error.kind(), InvalidData | InvalidInput | Other | UnexpectedEof)
}
