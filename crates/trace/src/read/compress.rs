//! Compressed captures, told by their first bytes: gzip (RFC 1952) and Zstandard (RFC 8878), each of several members or frames.

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::io::{self, BufRead, BufReader, Read};

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Skippable frames have one of sixteen magic numbers (RFC 8878, section 3.1.2).
const ZSTD_SKIPPABLE: [u8; 3] = [0x2a, 0x4d, 0x18];
const BUFFER: usize = 64 << 10;

/// The plain bytes of `raw`.
pub fn plain(mut raw: Box<dyn Read + Send + Sync>) -> io::Result<Box<dyn Read + Send + Sync>> {
    let mut first = [0u8; 4];
    let mut n = 0;
    while n < first.len() {
        match raw.read(&mut first[n..])? {
            0 => break,
            got => n += got,
        }
    }
    let whole = io::Cursor::new(first[..n].to_vec()).chain(raw);
    Ok(if first[..2] == GZIP {
        Box::new(MultiGzDecoder::new(BufReader::with_capacity(BUFFER, whole)))
    } else if first == ZSTD || (first[1..] == ZSTD_SKIPPABLE && first[0] & 0xf0 == 0x50) {
        Box::new(Frames { input: Some(Box::new(BufReader::with_capacity(BUFFER, whole))), frame: None })
    } else {
        Box::new(whole)
    })
}

type Input = Box<dyn BufRead + Send + Sync>;

/// Zstandard frames one after another.
struct Frames {
    /// Between frames the input is here, inside one it is in the decoder.
    input: Option<Input>,
    frame: Option<Box<StreamingDecoder<Input, FrameDecoder>>>,
}

impl Read for Frames {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            if let Some(mut frame) = self.frame.take() {
                let got = frame.read(into)?;
                if got > 0 {
                    self.frame = Some(frame);
                    return Ok(got);
                }
                self.input = Some(frame.into_inner());
            }
            let Some(mut input) = self.input.take() else { return Ok(0) };
            if input.fill_buf()?.is_empty() {
                return Ok(0);
            }
            self.open(input)?;
        }
    }
}

impl Frames {
    fn open(&mut self, mut input: Input) -> io::Result<()> {
        // The decoder takes its input by value, and an error would lose it; so a skippable frame is stepped over first.
        while let Some(len) = skippable(&mut input)? {
            io::copy(&mut (&mut input).take(u64::from(len)), &mut io::sink())?;
        }
        if input.fill_buf()?.is_empty() {
            return Ok(());
        }
        match StreamingDecoder::new(input) {
            Ok(frame) => self.frame = Some(Box::new(frame)),
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::MagicNumberReadError(_))) => {}
            Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error.to_string())),
        }
        Ok(())
    }
}

/// The length of a skippable frame that starts here, its header stepped over.
fn skippable(input: &mut Input) -> io::Result<Option<u32>> {
    let ahead = input.fill_buf()?;
    if ahead.len() < 8 || ahead[1..4] != ZSTD_SKIPPABLE || ahead[0] & 0xf0 != 0x50 {
        return Ok(None);
    }
    let len = u32::from_le_bytes([ahead[4], ahead[5], ahead[6], ahead[7]]);
    input.consume(8);
    Ok(Some(len))
}
