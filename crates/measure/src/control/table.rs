//! Tables of integers in a compact encoding: each value as its difference to the value above it, as
//! a zigzag varint.

/// Maximum number of columns.
pub const MAX_COLUMNS: usize = 32;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IntTable {
    pub columns: usize,
    /// Row-major.
    pub values: Vec<i64>,
}

impl IntTable {
    pub fn new(columns: usize) -> IntTable {
        IntTable { columns, values: Vec::new() }
    }

    pub fn push(&mut self, row: &[i64]) {
        debug_assert_eq!(row.len(), self.columns);
        self.values.extend_from_slice(row);
    }

    pub fn rows(&self) -> std::slice::ChunksExact<'_, i64> {
        self.values.chunks_exact(self.columns.max(1))
    }

    pub fn len(&self) -> usize {
        self.values.len() / self.columns.max(1)
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Encodes rows from `first` on in at most `max_bytes`. Returns the encoding and the index of
    /// the next row. Differences start from zero in each encoding.
    pub fn encode_rows(&self, first: usize, max_bytes: usize) -> (Vec<u8>, usize) {
        let mut out = Vec::new();
        let mut above = vec![0i64; self.columns];
        let mut next = first;
        for row in self.rows().skip(first) {
            if out.len() + 10 * self.columns > max_bytes {
                break;
            }
            for (value, above) in row.iter().zip(&mut above) {
                write(zigzag(value.wrapping_sub(*above)), &mut out);
                *above = *value;
            }
            next += 1;
        }
        (out, next)
    }

    /// Appends encoded rows, up to `max_rows` in all. Err: malformed rows, or too many.
    pub fn decode_rows(&mut self, piece: &[u8], max_rows: usize) -> Result<(), &'static str> {
        if self.columns == 0 || self.columns > MAX_COLUMNS {
            return Err("a table with no or too many columns");
        }
        let mut rest = piece;
        let mut above = [0i64; MAX_COLUMNS];
        while !rest.is_empty() {
            if self.len() >= max_rows {
                return Err("a table with too many rows");
            }
            for above in &mut above[..self.columns] {
                *above = above.wrapping_add(unzigzag(read(&mut rest).ok_or("a table ends within a row")?));
                self.values.push(*above);
            }
        }
        Ok(())
    }
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Varint: seven bits a byte, least significant first; the top bit marks a continuation.
fn write(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn read(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, more) = rest.split_first()?;
        *rest = more;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn table_is_equal_when_its_encoded_rows_are_decoded(columns in 1usize..6, values in proptest::collection::vec(any::<i64>(), 0..200), max in 60usize..500) {
            let mut table = IntTable::new(columns);
            values.chunks_exact(columns).for_each(|row| table.push(row));
            let (mut back, mut next) = (IntTable::new(columns), 0);
            while next < table.len() {
                let (piece, after) = table.encode_rows(next, max);
                prop_assert!(piece.len() <= max && after > next);
                back.decode_rows(&piece, 1000).unwrap();
                next = after;
            }
            prop_assert_eq!(back, table);
        }

        #[test]
        fn table_length_is_bounded_when_any_bytes_are_decoded(columns in 0usize..40, piece in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let mut table = IntTable::new(columns);
            let _ = table.decode_rows(&piece, 20);
            prop_assert!(table.len() <= 21);
        }
    }
}
