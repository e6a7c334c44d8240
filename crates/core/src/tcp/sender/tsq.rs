//! TCP small queues: a connection keeps little in its host's own queue and the rest in the socket, so that queues before the path stay
//! short. BulkSource: Corbet, "TCP small queues" (LWN, 2012); what announced the limit that follows the pace (Linux 3.12: two packets or a
//! millisecond or two at the pace); ip-sysctl.rst, `tcp_limit_output_bytes`.

use super::Sender;
use crate::app::Socket;
use crate::tcp::recovery::Recovery;
use crate::tcp::scoreboard::Index;
use crate::tcp::stats::Limit;

impl Sender {
    /// From here on it is told of all that leaves its host's queue ([`Self::on_left`]), and bounds what waits there if its host does.
    pub fn enable_tsq(&mut self) {
        if self.config.tsq.is_some() {
            self.tsq_bytes = Some(0);
        }
    }

    /// So many bytes of the stream have left the host's queue, or were dropped there.
    pub fn on_left(&mut self, bytes: u64) {
        if let Some(tsq_bytes) = &mut self.tsq_bytes {
            *tsq_bytes = tsq_bytes.saturating_sub(bytes);
        }
    }

    /// A segment goes into the host's queue.
    #[inline(never)]
    pub(super) fn enqueue(&mut self, index: Index) {
        let bytes = self.scoreboard.get(index).map_or(0, |segment| u64::from(segment.len));
        if let Some(tsq_bytes) = &mut self.tsq_bytes {
            *tsq_bytes += bytes;
        }
    }

    /// There is no room for a full segment, and no chunk under way. An empty queue is never full.
    #[inline(never)]
    pub(super) fn queue_is_full(&self) -> bool {
        let (Some(tsq_bytes), Some(bound)) = (self.tsq_bytes, self.config.tsq) else { return false };
        // Before the first round trip is known, the pace is not, and only `most` binds.
        let segments = bound.chunk(self.rate().unwrap_or(f64::INFINITY), self.segment);
        let limit = u64::from(segments) * u64::from(self.segment);
        self.tso_burst == 0 && tsq_bytes > 0 && tsq_bytes + u64::from(self.segment) > limit
    }

    /// What holds the sender back while the queue is full: what does so anyway, or else the queue, as which the send buffer counts,
    /// since data wait there.
    pub(super) fn limit_when_full(&self, socket: &Socket) -> Limit {
        let in_flight = self.recovery.in_flight(&self.scoreboard);
        match self.new_piece(socket, in_flight) {
            Err(limit) if !self.scoreboard.unsent_losses() => limit,
            _ if !self.room(in_flight) => self.window_limit(),
            _ => Limit::SendBuffer,
        }
    }
}
