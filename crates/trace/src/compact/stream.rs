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
    pub fn varint(&mut self, value: u64) {
        self.bit(value != 0);
        if value != 0 {
            append_varint(&mut self.bytes, value);
        }
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the encoding after `prefix` and clears the writer.
    pub fn finish(&mut self, prefix: &[u8]) -> Box<[u8]> {
        let mut length = Vec::with_capacity(LENGTH);
        append_varint(&mut length, self.bits.len() as u64);
        let encoded = [prefix, &length, &self.bits, &self.bytes].concat().into_boxed_slice();
        self.bits.clear();
        self.bytes.clear();
        (self.bit_count, self.last_time) = (0, 0);
        encoded
    }
}

/// Size of the length of the bits in bytes, up to 2 MB of them; mostly one.
const LENGTH: usize = 3;

/// Seven bits per byte, the lowest first.
#[inline]
fn append_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 128 {
        bytes.push(value as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Takes a varint from the front of `bytes`; zero past the end.
#[inline]
fn take_varint(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    while let Some((&byte, rest)) = bytes.split_first() {
        *bytes = rest;
        value |= u64::from(byte & 127) << shift;
        shift += 7;
        if byte < 128 || shift > 63 {
            break;
        }
    }
    value
}

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
        let mut rest = encoded;
        let length = take_varint(&mut rest) as usize;
        let (bits, bytes) = rest.split_at_checked(length).unwrap_or_default();
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
        if self.bit() { take_varint(&mut self.bytes) } else { 0 }
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
