//! Decompression of captures, detected by their first bytes: gzip (RFC 1952) of several members and
//! Zstandard (RFC 8878) of several frames.

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::io::{self, BufRead, BufReader, Read};

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Skippable frames have one of sixteen magic numbers (RFC 8878, section 3.1.2).
const ZSTD_SKIPPABLE: [u8; 3] = [0x2a, 0x4d, 0x18];
const BUFFER: usize = 64 << 10;

/// A reader of the uncompressed bytes of `raw`, which may be compressed or not.
pub fn decompress(mut raw: Box<dyn Read + Send + Sync>) -> io::Result<Box<dyn Read + Send + Sync>> {
    let mut magic = [0u8; 4];
    let mut len = 0;
    while len < magic.len() {
        match raw.read(&mut magic[len..])? {
            0 => break,
            n => len += n,
        }
    }
    let input = io::Cursor::new(magic[..len].to_vec()).chain(raw);
    Ok(if magic[..2] == GZIP {
        Box::new(MultiGzDecoder::new(BufReader::with_capacity(BUFFER, input)))
    } else if magic == ZSTD || (magic[1..] == ZSTD_SKIPPABLE && magic[0] & 0xf0 == 0x50) {
        Box::new(ZstdFrames { input: Some(Box::new(BufReader::with_capacity(BUFFER, input))), decoder: None })
    } else {
        Box::new(input)
    })
}

type Input = Box<dyn BufRead + Send + Sync>;

/// Consecutive Zstandard frames.
struct ZstdFrames {
    /// None inside a frame, where the decoder owns the input.
    input: Option<Input>,
    decoder: Option<Box<StreamingDecoder<Input, FrameDecoder>>>,
}

impl Read for ZstdFrames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if let Some(mut decoder) = self.decoder.take() {
                let n = decoder.read(buffer)?;
                if n > 0 {
                    self.decoder = Some(decoder);
                    return Ok(n);
                }
                self.input = Some(decoder.into_inner());
            }
            let Some(mut input) = self.input.take() else { return Ok(0) };
            if input.fill_buf()?.is_empty() {
                return Ok(0);
            }
            self.open_frame(input)?;
        }
    }
}

impl ZstdFrames {
    fn open_frame(&mut self, mut input: Input) -> io::Result<()> {
        // The decoder consumes its input and drops it on an error, so skippable frames are skipped
        // before it is created.
        while let Some(len) = skippable_len(&mut input)? {
            io::copy(&mut (&mut input).take(u64::from(len)), &mut io::sink())?;
        }
        if input.fill_buf()?.is_empty() {
            return Ok(());
        }
        match StreamingDecoder::new(input) {
            Ok(decoder) => self.decoder = Some(Box::new(decoder)),
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::MagicNumberReadError(_))) => {}
            Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error.to_string())),
        }
        Ok(())
    }
}

/// The content length of the skippable frame at the front of `input`; consumes its header. None for
/// any other frame.
fn skippable_len(input: &mut Input) -> io::Result<Option<u32>> {
    let front = input.fill_buf()?;
    if front.len() < 8 || front[1..4] != ZSTD_SKIPPABLE || front[0] & 0xf0 != 0x50 {
        return Ok(None);
    }
    let len = u32::from_le_bytes([front[4], front[5], front[6], front[7]]);
    input.consume(8);
    Ok(Some(len))
}
