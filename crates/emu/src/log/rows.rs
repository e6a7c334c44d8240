//! Rows of comma-separated numbers, written quickly: there is one for each packet.

use super::background::Stream;

/// A row under construction; it is whole when it is dropped.
pub struct Row<'a> {
    stream: &'a mut Stream,
    first: bool,
}

impl<'a> Row<'a> {
    pub fn new(stream: &'a mut Stream) -> Row<'a> {
        Row { stream, first: true }
    }

    pub fn number(mut self, value: u64) -> Row<'a> {
        let mut digits = [0; 20];
        let mut start = digits.len();
        let mut left = value;
        loop {
            start -= 1;
            digits[start] = b'0' + (left % 10) as u8;
            left /= 10;
            if left == 0 {
                break;
            }
        }
        self.put(&digits[start..]);
        self
    }

    /// Empty where there is nothing.
    pub fn maybe(mut self, value: Option<u64>) -> Row<'a> {
        match value {
            Some(value) => self.number(value),
            None => {
                self.put(b"");
                self
            }
        }
    }

    pub fn real(mut self, value: Option<f64>) -> Row<'a> {
        self.put(value.map(|v| v.to_string()).unwrap_or_default().as_bytes());
        self
    }

    /// A word without commas.
    pub fn word(mut self, value: &str) -> Row<'a> {
        self.put(value.as_bytes());
        self
    }

    fn put(&mut self, text: &[u8]) {
        let bytes = self.stream.bytes();
        if !self.first {
            bytes.push(b',');
        }
        self.first = false;
        bytes.extend_from_slice(text);
    }
}

impl Drop for Row<'_> {
    fn drop(&mut self) {
        self.stream.bytes().push(b'\n');
        self.stream.handed_over();
    }
}
