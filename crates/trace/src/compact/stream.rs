//! Bit and byte streams of the compact encoding: the length of the bits, the bits, the bytes.

/// Encodes bits, integers and bytes.
#[derive(Debug, Default)]
pub struct Writer {
    bits: Vec<u8>,
    bit_count: usize,
    bytes: Vec<u8>,
    /// The last time that was written; the next one is encoded as a difference.
    pub last_time: i64,
}

impl Writer {
    #[inline]
    pub fn bit(&mut self, bit: bool) {
        if self.bit_count.is_multiple_of(8) {
            self.bits.push(0);
        }
        if let Some(last) = self.bits.last_mut() {
            *last |= u8::from(bit) << (self.bit_count % 8);
        }
        self.bit_count += 1;
    }

    /// One bit for zero; else a bit and a varint with seven bits per byte.
    #[inline]
    pub fn varint(&mut self, mut value: u64) {
        self.bit(value != 0);
        while value >= 128 {
            self.bytes.push(value as u8 | 128);
            value >>= 7;
        }
        if value != 0 {
            self.bytes.push(value as u8);
        }
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the encoding after `prefix` and clears the writer.
    pub fn finish(&mut self, prefix: &[u8]) -> Box<[u8]> {
        let length = (self.bits.len() as u32).to_le_bytes();
        let encoded = [prefix, &length[..LENGTH], &self.bits, &self.bytes].concat().into_boxed_slice();
        self.bits.clear();
        self.bytes.clear();
        (self.bit_count, self.last_time) = (0, 0);
        encoded
    }
}

/// Size of the length of the bits, in bytes.
const LENGTH: usize = 3;

/// Decodes in the order of encoding. Returns zeros past the end.
#[derive(Debug)]
pub struct Reader<'a> {
    bits: &'a [u8],
    bit: usize,
    bytes: &'a [u8],
    pub last_time: i64,
}

impl<'a> Reader<'a> {
    /// `encoded` begins after the prefix.
    pub fn new(encoded: &'a [u8]) -> Reader<'a> {
        let (length, rest) = encoded.split_at_checked(LENGTH).unwrap_or_default();
        let bits = length.iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
        let (bits, bytes) = rest.split_at_checked(bits).unwrap_or_default();
        Reader { bits, bit: 0, bytes, last_time: 0 }
    }

    #[inline]
    pub fn bit(&mut self) -> bool {
        let byte = self.bits.get(self.bit / 8).copied().unwrap_or(0);
        let bit = byte >> (self.bit % 8) & 1 != 0;
        self.bit += 1;
        bit
    }

    #[inline]
    pub fn varint(&mut self) -> u64 {
        let (mut value, mut shift) = (0, 0);
        if !self.bit() {
            return 0;
        }
        while let Some((&byte, rest)) = self.bytes.split_first() {
            self.bytes = rest;
            value |= u64::from(byte & 127) << shift;
            shift += 7;
            if byte < 128 || shift > 63 {
                break;
            }
        }
        value
    }

    pub fn bytes(&mut self, n: usize) -> &'a [u8] {
        let (bytes, rest) = self.bytes.split_at_checked(n).unwrap_or_default();
        self.bytes = rest;
        bytes
    }

    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        self.bytes(N).try_into().unwrap_or([0; N])
    }
}
