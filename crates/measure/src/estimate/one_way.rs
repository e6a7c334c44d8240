//! One direction of a train: when each datagram left by the sender's clock, and when it came by the receiver's.

use crate::Nanos;
use crate::control::message::TableId;
use crate::control::table::IntTable;
use crate::record::TestRecord;
use crate::test_spec::{Direction, TestSpec, Train};

#[derive(Debug, Clone)]
pub struct OneWayTrain {
    pub train: Train,
    /// Bytes of IP and UDP.
    pub headers: u32,
    pub direction: Direction,
    /// In the order of sending.
    pub sent: Vec<Nanos>,
    /// When the first copy of each came.
    pub received: Vec<Option<Nanos>>,
    pub duplicated: u64,
    /// Came after one that had left later.
    pub reordered: u64,
}

impl OneWayTrain {
    /// What a record of datagrams has.
    pub fn from_record(record: &TestRecord) -> Vec<OneWayTrain> {
        let TestSpec::Datagrams { down, up } = &record.spec else { return Vec::new() };
        let table = |of: &std::collections::BTreeMap<TableId, IntTable>, name| of.get(&name).cloned().unwrap_or_default();
        let (near, far) = (&record.near, &record.far);
        let down =
            down.map(|t| OneWayTrain::join(t, Direction::Down, &table(far, TableId::Sent), &table(near, TableId::Received)));
        let up = up.map(|t| OneWayTrain::join(t, Direction::Up, &table(near, TableId::Sent), &table(far, TableId::Received)));
        down.into_iter().chain(up).map(|c| OneWayTrain { headers: record.headers, ..c }).collect()
    }

    /// Over IPv4. Both logs have number and time in a row. What a far end says it got and what was never sent is left out.
    pub fn join(train: Train, direction: Direction, sent: &IntTable, received: &IntTable) -> OneWayTrain {
        let pairs = |t: &IntTable| if t.columns == 2 { t.rows().map(|r| (r[0], r[1])).collect() } else { Vec::new() };
        let mut left: Vec<(i64, Nanos)> = pairs(sent);
        left.sort_unstable();
        left.dedup_by_key(|l| l.0);
        let mut one_way = OneWayTrain {
            train,
            headers: crate::test_spec::IPV4_UDP_HEADERS,
            direction,
            sent: left.iter().map(|l| l.1).collect(),
            received: vec![None; left.len()],
            duplicated: 0,
            reordered: 0,
        };
        let mut latest = i64::MIN;
        for (number, at) in pairs(received) {
            let Ok(place) = left.binary_search_by_key(&number, |l| l.0) else { continue };
            if one_way.received[place].is_some() {
                one_way.duplicated += 1;
                continue;
            }
            one_way.reordered += u64::from(number < latest);
            latest = latest.max(number);
            one_way.received[place] = Some(at);
        }
        one_way
    }

    /// Times of sending and of coming, of what came.
    pub fn pairs(&self) -> impl Iterator<Item = (Nanos, Nanos)> + '_ {
        self.sent.iter().zip(&self.received).filter_map(|(sent, received)| Some((*sent, (*received)?)))
    }

    pub fn ip_len(&self) -> u32 {
        self.train.payload + self.headers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[[i64; 2]]) -> IntTable {
        let mut t = IntTable::new(2);
        rows.iter().for_each(|r| t.push(r));
        t
    }

    #[test]
    fn losses_copies_and_overtaking_are_told_apart() {
        let train = Train { payload: 20, gap_ns: 1000, count: 5 };
        let sent = table(&[[0, 10], [1, 20], [2, 30], [3, 40], [4, 50]]);
        let received = table(&[[0, 15], [2, 36], [1, 37], [1, 38], [4, 55], [9, 99]]);
        let c = OneWayTrain::join(train, Direction::Up, &sent, &received);
        assert_eq!(c.received, [Some(15), Some(37), Some(36), None, Some(55)]);
        assert_eq!((c.duplicated, c.reordered), (1, 1));
        assert_eq!(c.pairs().count(), 4);
    }
}
