//! One direction of a train: when each datagram left by the sender's clock, and when it came by the receiver's.

use crate::Nanos;
use crate::control::message::Name;
use crate::control::table::Table;
use crate::net::client::Record;
use crate::spec::{Spec, Train, Way};

#[derive(Debug, Clone)]
pub struct Crossing {
    pub train: Train,
    /// Bytes of IP and UDP.
    pub headers: u32,
    pub way: Way,
    /// In the order of sending.
    pub sent: Vec<Nanos>,
    /// When the first copy of each came.
    pub got: Vec<Option<Nanos>>,
    pub duplicated: u64,
    /// Came after one that had left later.
    pub reordered: u64,
}

impl Crossing {
    /// What a record of datagrams has.
    pub fn of(record: &Record) -> Vec<Crossing> {
        let Spec::Datagrams { down, up } = &record.spec else { return Vec::new() };
        let table = |of: &std::collections::BTreeMap<Name, Table>, name| of.get(&name).cloned().unwrap_or_default();
        let (near, far) = (&record.near, &record.far);
        let down = down.map(|t| Crossing::joined(t, Way::Down, &table(far, Name::Sent), &table(near, Name::Got)));
        let up = up.map(|t| Crossing::joined(t, Way::Up, &table(near, Name::Sent), &table(far, Name::Got)));
        down.into_iter().chain(up).map(|c| Crossing { headers: record.headers, ..c }).collect()
    }

    /// Over IPv4. Both logs have number and time in a row. What a far end says it got and what was never sent is left out.
    pub fn joined(train: Train, way: Way, sent: &Table, got: &Table) -> Crossing {
        let pairs = |t: &Table| if t.columns == 2 { t.rows().map(|r| (r[0], r[1])).collect() } else { Vec::new() };
        let mut left: Vec<(i64, Nanos)> = pairs(sent);
        left.sort_unstable();
        left.dedup_by_key(|l| l.0);
        let mut crossing = Crossing {
            train,
            headers: crate::spec::HEADERS,
            way,
            sent: left.iter().map(|l| l.1).collect(),
            got: vec![None; left.len()],
            duplicated: 0,
            reordered: 0,
        };
        let mut latest = i64::MIN;
        for (number, at) in pairs(got) {
            let Ok(place) = left.binary_search_by_key(&number, |l| l.0) else { continue };
            if crossing.got[place].is_some() {
                crossing.duplicated += 1;
                continue;
            }
            crossing.reordered += u64::from(number < latest);
            latest = latest.max(number);
            crossing.got[place] = Some(at);
        }
        crossing
    }

    /// Times of sending and of coming, of what came.
    pub fn pairs(&self) -> impl Iterator<Item = (Nanos, Nanos)> + '_ {
        self.sent.iter().zip(&self.got).filter_map(|(sent, got)| Some((*sent, (*got)?)))
    }

    pub fn ip_len(&self) -> u32 {
        self.train.payload + self.headers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[[i64; 2]]) -> Table {
        let mut t = Table::new(2);
        rows.iter().for_each(|r| t.push(r));
        t
    }

    #[test]
    fn losses_copies_and_overtaking_are_told_apart() {
        let train = Train { payload: 20, gap_ns: 1000, count: 5 };
        let sent = table(&[[0, 10], [1, 20], [2, 30], [3, 40], [4, 50]]);
        let got = table(&[[0, 15], [2, 36], [1, 37], [1, 38], [4, 55], [9, 99]]);
        let c = Crossing::joined(train, Way::Up, &sent, &got);
        assert_eq!(c.got, [Some(15), Some(37), Some(36), None, Some(55)]);
        assert_eq!((c.duplicated, c.reordered), (1, 1));
        assert_eq!(c.pairs().count(), 4);
    }
}
