//! TCP small queues (TSQ): bounds the bytes of a connection in its host's queue and leaves the rest
//! in the socket, which keeps queues before the path short. Sources: Corbet, "TCP small queues"
//! (LWN, 2012); the announcement of the limit that follows the pacing rate (Linux 3.12: two
//! packets, or one to two milliseconds at the rate); ip-sysctl.rst, `tcp_limit_output_bytes`.

/// Bytes of the stream in the host's queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tsq {
    bytes: u64,
}

impl Tsq {
    pub fn on_enqueued(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// `bytes` have left the host's queue, or were dropped there.
    pub fn on_dequeued(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// A segment of `segment` bytes would exceed `limit`. An empty queue is never full.
    pub fn is_full(self, segment: u64, limit: u64) -> bool {
        self.bytes > 0 && self.bytes + segment > limit
    }
}
