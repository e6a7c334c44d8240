//! Record of a retransmission whose ACK may still show that it was spurious.

use super::super::classify::SegmentKind;
use crate::compact::compact;

#[derive(Debug, Clone, Copy)]
pub struct Retransmission {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) at: i64,
    pub(super) tsval: Option<u32>,
    pub(super) segments: u16,
    pub(super) ip_id: u16,
    pub(super) kind: SegmentKind,
    /// It was found spurious; nothing else is looked for.
    pub(super) is_settled: bool,
    /// An RTO within a fast recovery.
    pub(super) is_pair: bool,
    /// No earlier copy was captured; it may only be late.
    pub(super) fills_gap: bool,
}

compact!(Retransmission { start, end, at, tsval, segments, ip_id, kind, is_settled, is_pair, fills_gap });

const _: () = assert!(size_of::<Retransmission>() == 32);
