//! Analysis of one capture by several threads. The calling thread reads records, hashes the flow
//! key of each and hands them to the workers in batches. A worker owns the flows of its part of the
//! keys and processes its packets in capture order, so that the result does not depend on the
//! number of workers.

use super::reassembly::ReassembledSegment;
use super::shard::Shard;
use super::{Analysis, PacketFilter};
use crate::decode::{Decoded, Key, Skip, decode, decode_fast, key};
use ackclock_pcap::read::{Capture, LinkType, ReadError, Record};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

/// Maximum size of a batch in bytes.
const BATCH_BYTES: usize = 256 << 10;
/// Maximum number of packets in a batch.
const BATCH_PACKETS: usize = 4096;
/// Maximum number of batches that wait for a worker.
const QUEUED_BATCHES: usize = 4;

#[derive(Default)]
struct PacketBatch {
    bytes: Vec<u8>,
    packets: Vec<RecordHeader>,
    /// Reassembled segments, with their index among the packets.
    reassembled: Vec<(usize, ReassembledSegment)>,
}

/// A record without its bytes, which are in [`Batch::bytes`].
struct RecordHeader {
    at: i64,
    number: u64,
    original_len: u32,
    len: u32,
    link: LinkType,
}

/// The reading thread's end of a worker.
struct WorkerQueue {
    batch: PacketBatch,
    full: SyncSender<PacketBatch>,
    empty: Receiver<PacketBatch>,
}

pub fn read(analysis: &mut Analysis, capture: &mut Capture, max: u64) -> Result<u64, ReadError> {
    let Analysis { shards, reassembly, totals, filter } = analysis;
    std::thread::scope(|scope| {
        let filter = &*filter;
        let mut queues: Vec<WorkerQueue> = shards
            .iter_mut()
            .map(|shard| {
                let ((full, batches), (done, empty)) = (sync_channel(QUEUED_BATCHES), channel());
                scope.spawn(move || work(shard, filter, &batches, &done));
                WorkerQueue { batch: PacketBatch::default(), full, empty }
            })
            .collect();
        let workers = queues.len();
        let count = capture.packets(max, |record| {
            if !totals.add(record, filter) {
                return;
            }
            let number = totals.frames;
            if let Some(key) = key(record) {
                queues[worker_of(&key, workers)].add(record, number);
                return;
            }
            match decode(record) {
                Ok(Decoded::Segment(segment)) => queues[worker_of(&segment.key, workers)].add(record, number),
                Ok(Decoded::Fragment(ip, bytes)) => {
                    let reassembled = ip.fragment.and_then(|fragment| reassembly.add(record.at, &ip, fragment, bytes));
                    let Some(reassembled) = reassembled else { return };
                    let worker = reassembled.segment().map_or(0, |segment| worker_of(&segment.key, workers));
                    queues[worker].add_reassembled(record, number, reassembled);
                }
                Err(_) => queues[0].add(record, number),
            }
        })?;
        queues.iter_mut().for_each(WorkerQueue::send);
        Ok(count)
    })
}

/// The worker that owns the flow.
#[inline]
fn worker_of(key: &Key, workers: usize) -> usize {
    ((u64::from(key.hash(SEED)) * workers as u64) >> 32) as usize
}

/// Differs from the seeds of the flow indexes, so that a worker's keys are spread over its index.
const SEED: u64 = 0x5851_f42d_4c95_7f2d;

impl WorkerQueue {
    #[inline]
    fn add(&mut self, record: &Record<'_>, number: u64) {
        let batch = &mut self.batch;
        batch.bytes.extend_from_slice(record.bytes);
        batch.packets.push(RecordHeader {
            at: record.at,
            number,
            original_len: record.original_len,
            len: record.bytes.len() as u32,
            link: record.link,
        });
        if batch.bytes.len() >= BATCH_BYTES || batch.packets.len() >= BATCH_PACKETS {
            self.send();
        }
    }

    fn add_reassembled(&mut self, record: &Record<'_>, number: u64, reassembled: ReassembledSegment) {
        self.batch.reassembled.push((self.batch.packets.len(), reassembled));
        self.add(&Record { bytes: &[], ..*record }, number);
    }

    /// Sends the batch; reuses a batch that the worker has emptied.
    #[cold]
    fn send(&mut self) {
        let next = self.empty.try_recv().unwrap_or_default();
        // Sending fails only if the worker has panicked; the panic is propagated at the end of the
        // scope.
        let _ = self.full.send(std::mem::replace(&mut self.batch, next));
    }
}

fn work(shard: &mut Shard, filter: &PacketFilter, batches: &Receiver<PacketBatch>, done: &Sender<PacketBatch>) {
    while let Ok(mut batch) = batches.recv() {
        let (mut from, mut segments) = (0, batch.reassembled.drain(..).peekable());
        for (i, packet) in batch.packets.iter().enumerate() {
            let to = from + packet.len as usize;
            let bytes = &batch.bytes[from..to];
            from = to;
            if let Some((_, reassembled)) = segments.next_if(|(index, _)| *index == i) {
                shard.add_reassembled(packet.at, packet.number, &reassembled, filter, &mut ());
                continue;
            }
            let record = Record { at: packet.at, link: packet.link, original_len: packet.original_len, bytes };
            let decoded = decode_fast(&record).map_or_else(|| decode(&record), |segment| Ok(Decoded::Segment(segment)));
            match decoded {
                Ok(Decoded::Segment(segment)) => shard.add(packet.at, packet.number, &segment, filter, &mut ()),
                Ok(Decoded::Fragment(..)) => shard.counts.skipped[Skip::Fragment as usize] += 1,
                Err(skip) => shard.counts.skipped[skip as usize] += 1,
            }
        }
        drop(segments);
        batch.bytes.clear();
        batch.packets.clear();
        let _ = done.send(batch);
    }
}
