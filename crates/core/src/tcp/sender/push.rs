//! Which segments carry PSH: the last that there is to send, and, of a host that hands its interface chunks, the last of each.

use super::{STREAM_START, Sender};
use crate::app::Socket;
use crate::tcp::config::Push;

impl Sender {
    /// A segment of new data has just gone: whether it carries PSH. `more`: the windows let another full one go at once.
    #[inline]
    pub(super) fn pushes(&mut self, socket: &Socket, more: impl FnOnce(&Sender) -> bool) -> bool {
        if self.config.push == Push::Every {
            return true;
        }
        self.pushing += 1;
        let done = self.next.saturating_sub(STREAM_START) >= socket.written;
        let push = done || (self.pushing > 1 && (self.chunk_is_full() || !more(self)));
        if push {
            self.pushing = 0;
        }
        push
    }

    /// A segment goes out again: alone, so it carries PSH only as the last of all. (A chunk of which nothing arrived goes out again
    /// whole in Linux; here each segment by itself.)
    pub(super) fn pushes_again(&mut self, socket: &Socket, end: u64) -> bool {
        self.pushing = 0;
        self.config.push == Push::Every || end.saturating_sub(STREAM_START) >= socket.written
    }

    /// The interface takes no more at once. What is paced counts for itself.
    fn chunk_is_full(&self) -> bool {
        if self.pacer.is_some() {
            return self.chunk == 0;
        }
        let Some(tso) = self.config.tso else { return false };
        self.pushing >= tso.segments && self.pushing >= tso.chunk(self.rate().unwrap_or(f64::INFINITY), self.segment)
    }
}
