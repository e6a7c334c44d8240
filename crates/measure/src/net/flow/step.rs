//! What a connection does when its socket is ready: one call of the system each.

use super::super::sockets::{no_delay, number};
use super::{BURST_SHARE, Flow, Phase};
use crate::{Nanos, SECOND};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};

impl Flow {
    pub(super) fn connect(&mut self, now: Nanos, hello: impl FnOnce(Nanos) -> Vec<u8>) -> std::io::Result<()> {
        let stream = self.open()?;
        if let Some(error) = stream.take_error()? {
            return Err(error);
        }
        if stream.peer_addr().is_ok() {
            no_delay(stream);
            (self.connected, self.phase, self.hello) = (Some(now), Phase::Open, hello(now - self.began));
        }
        Ok(())
    }

    pub(super) fn open(&self) -> std::io::Result<&TcpStream> {
        self.stream.as_ref().ok_or(ErrorKind::NotConnected.into())
    }

    pub(super) fn say_hello(&mut self) -> std::io::Result<()> {
        let written = self.open()?.write(&self.hello)?;
        self.hello.drain(..written);
        Ok(())
    }

    pub(super) fn send(&mut self, now: Nanos, scratch: &[u8]) -> std::io::Result<()> {
        let left = self.task.limit.map_or(u64::MAX, |limit| limit - self.bytes);
        let written = self.open()?.write(&scratch[..(left.min(scratch.len() as u64)) as usize])?;
        self.count(now, written);
        if self.task.limit == Some(self.bytes) {
            self.open()?.shutdown(Shutdown::Write)?;
            self.phase = Phase::Confirming;
        }
        Ok(())
    }

    pub(super) fn receive(&mut self, now: Nanos, scratch: &mut [u8]) -> std::io::Result<()> {
        let read = self.open()?.read(scratch)?;
        if read > 0 {
            if self.first.is_none() {
                self.hold_window();
            }
            self.count(now, read);
            return Ok(());
        }
        match self.task.limit {
            Some(limit) if limit != self.bytes => self.fail(now, "it ended early"),
            Some(_) => {
                // If this is not delivered the peer finds out by itself.
                let _ = self.open()?.write(&[1]);
                self.end();
            }
            None => self.end(),
        }
        Ok(())
    }

    /// Says again how large the window may be: when data shows how much of a buffer a packet takes, Linux reckons the limit anew from the buffer.
    pub(super) fn hold_window(&self) {
        if let (Some(bytes), Some(stream), false) = (self.task.window, &self.stream, self.task.sends) {
            // The handshake had it; a kernel that refuses it now goes by the buffer.
            let _ = number(stream, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, bytes);
        }
    }

    pub(super) fn confirm(&mut self, now: Nanos) -> std::io::Result<()> {
        if self.open()?.read(&mut [0; 1])? > 0 {
            self.last = Some(now);
            self.end();
        } else {
            self.fail(now, "the peer did not confirm");
        }
        Ok(())
    }

    pub(super) fn count(&mut self, now: Nanos, bytes: usize) {
        self.first.get_or_insert(now);
        self.last = Some(now);
        self.bytes += bytes as u64;
        let Some(rate_bps) = self.task.rate_bps else { return };
        let time = (bytes as i64 * 8).saturating_mul(SECOND) / (rate_bps.max(1) as i64);
        self.free_at = self.free_at.max(now - SECOND / BURST_SHARE).saturating_add(time);
    }
}
