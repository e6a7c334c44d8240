//! One capture read by several threads. The calling one reads records, looks which flow each is of and hands them out in batches; each worker has the
//! flows of its share of the keys, and takes its packets in the capture's order. So every flow sees what it would see alone, and nothing of the
//! result depends on how many workers there are.

use super::fragments::Whole;
use super::shard::Shard;
use super::{Analysis, Only};
use crate::decode::{Found, Key, Skip, key, plain, walk};
use ackclock_pcap::read::{Capture, LinkType, ReadError, Record};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

/// A batch is handed over at this many bytes, or so many packets; so many may wait for each worker.
const BATCH_BYTES: usize = 256 << 10;
const BATCH_PACKETS: usize = 4096;
const WAITING: usize = 4;

#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    packets: Vec<Packet>,
    /// Fragments that were put together, by their place among the packets.
    wholes: Vec<(usize, Whole)>,
}

/// A record without its bytes, which lie in the batch.
struct Packet {
    at: i64,
    number: u64,
    original_len: u32,
    len: u32,
    link: LinkType,
}

/// What the reading thread has of one worker.
struct Share {
    filling: Batch,
    full: SyncSender<Batch>,
    empty: Receiver<Batch>,
}

pub fn read(analysis: &mut Analysis, capture: &mut Capture, most: u64) -> Result<u64, ReadError> {
    let Analysis { shards, fragments, totals, only } = analysis;
    std::thread::scope(|scope| {
        let only = &*only;
        let mut shares: Vec<Share> = shards
            .iter_mut()
            .map(|shard| {
                let ((full, batches), (done, empty)) = (sync_channel(WAITING), channel());
                scope.spawn(move || work(shard, only, &batches, &done));
                Share { filling: Batch::default(), full, empty }
            })
            .collect();
        let workers = shares.len();
        let taken = capture.packets(most, |record| {
            if !totals.take(record, only) {
                return;
            }
            let number = totals.packets;
            if let Some(key) = key(record) {
                shares[of(&key, workers)].add(record, number);
                return;
            }
            match walk(record) {
                Ok(Found::Segment(segment)) => shares[of(&segment.key, workers)].add(record, number),
                Ok(Found::Piece(ip, bytes)) => {
                    let Some(whole) = ip.piece.and_then(|place| fragments.add(record.at, &ip, place, bytes)) else { return };
                    let worker = whole.segment().map_or(0, |segment| of(&segment.key, workers));
                    shares[worker].whole(record, number, whole);
                }
                Err(_) => shares[0].add(record, number),
            }
        })?;
        shares.iter_mut().for_each(Share::hand_over);
        Ok(taken)
    })
}

/// The worker that has this flow.
#[inline]
fn of(key: &Key, workers: usize) -> usize {
    ((u64::from(key.hash(SEED)) * workers as u64) >> 32) as usize
}

/// Not the tables' own seed: a worker's keys fall anywhere in its table.
const SEED: u64 = 0x5851_f42d_4c95_7f2d;

impl Share {
    #[inline]
    fn add(&mut self, record: &Record<'_>, number: u64) {
        let batch = &mut self.filling;
        batch.bytes.extend_from_slice(record.bytes);
        batch.packets.push(Packet {
            at: record.at,
            number,
            original_len: record.original_len,
            len: record.bytes.len() as u32,
            link: record.link,
        });
        if batch.bytes.len() >= BATCH_BYTES || batch.packets.len() >= BATCH_PACKETS {
            self.hand_over();
        }
    }

    fn whole(&mut self, record: &Record<'_>, number: u64, whole: Whole) {
        self.filling.wholes.push((self.filling.packets.len(), whole));
        self.add(&Record { bytes: &[], ..*record }, number);
    }

    /// Emptied batches come back, so that no more exist than can wait.
    #[cold]
    fn hand_over(&mut self) {
        let next = self.empty.try_recv().unwrap_or_default();
        // A worker that is gone has panicked, which ends this thread too when the scope does.
        let _ = self.full.send(std::mem::replace(&mut self.filling, next));
    }
}

fn work(shard: &mut Shard, only: &Only, batches: &Receiver<Batch>, done: &Sender<Batch>) {
    while let Ok(mut batch) = batches.recv() {
        let (mut from, mut wholes) = (0, batch.wholes.drain(..).peekable());
        for (i, packet) in batch.packets.iter().enumerate() {
            let to = from + packet.len as usize;
            let bytes = &batch.bytes[from..to];
            from = to;
            if let Some((_, whole)) = wholes.next_if(|(place, _)| *place == i) {
                shard.whole(packet.at, packet.number, &whole, only, &mut ());
                continue;
            }
            let record = Record { at: packet.at, link: packet.link, original_len: packet.original_len, bytes };
            let found = plain(&record).map_or_else(|| walk(&record), |segment| Ok(Found::Segment(segment)));
            match found {
                Ok(Found::Segment(segment)) => shard.take(packet.at, packet.number, &segment, only, &mut ()),
                Ok(Found::Piece(..)) => shard.tally.skipped[Skip::Fragment as usize] += 1,
                Err(skip) => shard.tally.skipped[skip as usize] += 1,
            }
        }
        drop(wholes);
        batch.bytes.clear();
        batch.packets.clear();
        let _ = done.send(batch);
    }
}
