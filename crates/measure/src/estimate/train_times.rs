//! Times of a train in one direction: of sending by the sender's clock, of arrival by the
//! receiver's.

use crate::Nanos;
use crate::control::message::TableId;
use crate::control::table::IntTable;
use crate::record::TestRecord;
use crate::test_spec::{Direction, TestSpec, Train};

#[derive(Debug, Clone)]
pub struct TrainTimes {
    pub train: Train,
    /// Bytes of IP and UDP headers.
    pub headers: u32,
    pub direction: Direction,
    /// In sending order.
    pub sent: Vec<Nanos>,
    /// Arrival of the first copy of each datagram; none: lost.
    pub received: Vec<Option<Nanos>>,
    pub duplicated: u64,
    /// Datagrams that arrived after one that was sent later (RFC 4737).
    pub reordered: u64,
}

impl TrainTimes {
    /// Trains of a datagram test, by direction.
    pub fn from_record(record: &TestRecord) -> Vec<TrainTimes> {
        let TestSpec::Datagrams { down, up } = &record.spec else { return Vec::new() };
        let table = |of: &std::collections::BTreeMap<TableId, IntTable>, name| of.get(&name).cloned().unwrap_or_default();
        let (near, far) = (&record.near, &record.far);
        let down =
            down.map(|t| TrainTimes::join(t, Direction::Down, &table(far, TableId::Sent), &table(near, TableId::Received)));
        let up = up.map(|t| TrainTimes::join(t, Direction::Up, &table(near, TableId::Sent), &table(far, TableId::Received)));
        down.into_iter().chain(up).map(|c| TrainTimes { headers: record.headers, ..c }).collect()
    }

    /// Joins two logs of sequence number and time, for IPv4. Arrivals without a sent datagram are
    /// ignored.
    pub fn join(train: Train, direction: Direction, sent: &IntTable, received: &IntTable) -> TrainTimes {
        let pairs = |t: &IntTable| if t.columns == 2 { t.rows().map(|r| (r[0], r[1])).collect() } else { Vec::new() };
        let mut left: Vec<(i64, Nanos)> = pairs(sent);
        left.sort_unstable();
        left.dedup_by_key(|l| l.0);
        let mut train_times = TrainTimes {
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
            if train_times.received[place].is_some() {
                train_times.duplicated += 1;
                continue;
            }
            train_times.reordered += u64::from(number < latest);
            latest = latest.max(number);
            train_times.received[place] = Some(at);
        }
        train_times
    }

    /// Times of sending and of arrival of the datagrams that arrived.
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
    fn losses_duplicates_and_reordering_are_counted_when_logs_are_joined() {
        let train = Train { payload: 20, gap_ns: 1000, count: 5 };
        let sent = table(&[[0, 10], [1, 20], [2, 30], [3, 40], [4, 50]]);
        let received = table(&[[0, 15], [2, 36], [1, 37], [1, 38], [4, 55], [9, 99]]);
        let c = TrainTimes::join(train, Direction::Up, &sent, &received);
        assert_eq!(c.received, [Some(15), Some(37), Some(36), None, Some(55)]);
        assert_eq!((c.duplicated, c.reordered), (1, 1));
        assert_eq!(c.pairs().count(), 4);
    }
}
