//! CSV rows. Numbers are formatted without `fmt`, as there is a row per packet.

use super::writer_thread::FileStream;

/// A row under construction. Dropping it ends the row.
pub struct CsvRow<'a> {
    stream: &'a mut FileStream,
    is_first: bool,
}

impl<'a> CsvRow<'a> {
    pub fn new(stream: &'a mut FileStream) -> CsvRow<'a> {
        CsvRow { stream, is_first: true }
    }

    pub fn number(mut self, value: u64) -> CsvRow<'a> {
        let mut digits = [0; 20];
        let mut start = digits.len();
        let mut rest = value;
        loop {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.field(&digits[start..]);
        self
    }

    /// An empty field for none.
    pub fn optional(mut self, value: Option<u64>) -> CsvRow<'a> {
        match value {
            Some(value) => self.number(value),
            None => {
                self.field(b"");
                self
            }
        }
    }

    pub fn real(mut self, value: Option<f64>) -> CsvRow<'a> {
        self.field(value.map(|v| v.to_string()).unwrap_or_default().as_bytes());
        self
    }

    /// Text without commas.
    pub fn word(mut self, value: &str) -> CsvRow<'a> {
        self.field(value.as_bytes());
        self
    }

    fn field(&mut self, text: &[u8]) {
        let bytes = self.stream.bytes();
        if !self.is_first {
            bytes.push(b',');
        }
        self.is_first = false;
        bytes.extend_from_slice(text);
    }
}

impl Drop for CsvRow<'_> {
    fn drop(&mut self) {
        self.stream.bytes().push(b'\n');
        self.stream.flush_if_full();
    }
}
