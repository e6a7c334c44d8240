//! The RX ring (Documentation/networking/packet_mmap.rst of the kernel): fixed-size frames in
//! memory shared with the kernel, each with a status word that names its owner. TPACKET_V2 has one
//! packet per frame; the kernel releases a block of TPACKET_V3 only when it is full or its timer
//! expires.

use super::set_option;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering, fence};

/// TPACKET_V2: timestamps in nanoseconds, one packet per frame.
pub const VERSION: libc::c_int = 1;

/// Size of a frame in bytes: header and a packet of 1500 B.
const FRAME: usize = 2048;
const BLOCK: usize = 1 << 16;
/// 8 MiB, or 50 ms at 1 Gb/s: the longest time for which the kernel throttles a real-time thread.
pub const MAX_FRAMES: usize = 4096;
/// 512 KiB. A whole number of blocks, as is every larger power of two.
pub const MIN_FRAMES: usize = 256;
const TP_STATUS_KERNEL: u32 = 0;
const TP_STATUS_USER: u32 = 1;

pub struct RxRing {
    memory: *mut u8,
    frames: usize,
    /// Index of the current frame.
    current: usize,
    /// The caller holds the current frame; the next call returns it to the kernel.
    is_lent: bool,
}

/// A received packet in the ring.
pub struct RxFrame<'a> {
    /// From the IP header on.
    pub bytes: &'a [u8],
    /// Length of the packet in bytes; `bytes` is shorter if the frame truncated the packet.
    pub len: u32,
    /// The kernel's RX timestamp (CLOCK_REALTIME).
    pub seconds: u32,
    pub nanoseconds: u32,
}

impl RxRing {
    /// Sets up and maps the socket's ring. `frames` is rounded up to a power of two from
    /// `MIN_FRAMES` to `MAX_FRAMES`.
    pub fn map(socket: &OwnedFd, frames: usize) -> io::Result<RxRing> {
        let frames = frames.next_power_of_two().clamp(MIN_FRAMES, MAX_FRAMES);
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: (frames * FRAME / BLOCK) as u32,
            tp_frame_size: FRAME as u32,
            tp_frame_nr: frames as u32,
        };
        set_option(socket, libc::PACKET_RX_RING, &request)?;
        // SAFETY: a new mapping of the ring's length over the socket; the result is checked.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                frames * FRAME,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                socket.as_raw_fd(),
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(RxRing { memory: memory.cast(), frames, current: 0, is_lent: false })
    }

    fn header(&self, frame: usize) -> *mut libc::tpacket2_hdr {
        // SAFETY: `frame` is below `frames`, so the address lies in the mapping; frames start at
        // multiples of 2048.
        unsafe { self.memory.add(frame * FRAME).cast() }
    }

    fn status(&self, frame: usize) -> &AtomicU32 {
        // SAFETY: the status word is the header's first field, is aligned, and lives as long as the
        // mapping. It is atomic because the kernel writes it concurrently.
        unsafe { &*self.header(frame).cast::<AtomicU32>() }
    }

    /// Returns the current frame to the kernel if it was read, and returns the next filled one.
    #[inline]
    pub fn next(&mut self) -> Option<RxFrame<'_>> {
        self.release();
        self.is_lent = self.front().is_some();
        self.front()
    }

    /// Whether a packet satisfies `predicate`. That packet is the next one to be read; the frames
    /// before it return to the kernel.
    pub fn skip_until(&mut self, predicate: impl Fn(&[u8]) -> bool) -> bool {
        loop {
            self.release();
            match self.front() {
                None => return false,
                Some(frame) if predicate(frame.bytes) => return true,
                Some(_) => self.is_lent = true,
            }
        }
    }

    #[inline]
    fn release(&mut self) {
        if self.is_lent {
            fence(Ordering::Release);
            self.status(self.current).store(TP_STATUS_KERNEL, Ordering::Release);
            self.current = (self.current + 1) % self.frames;
            self.is_lent = false;
        }
    }

    /// The packet in the current frame, if the kernel has filled the frame.
    #[inline]
    fn front(&self) -> Option<RxFrame<'_>> {
        if self.status(self.current).load(Ordering::Acquire) & TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the frame belongs to user space until `release` sets its status to the kernel's;
        // `release` needs this borrow to have ended. The kernel has written the header, and its
        // offsets lie in the frame; `min` bounds them in any case.
        let (header, bytes) = unsafe {
            let header = *self.header(self.current);
            let start = usize::from(header.tp_net).min(FRAME);
            let len = (header.tp_snaplen as usize).min(FRAME - start);
            (header, std::slice::from_raw_parts(self.memory.add(self.current * FRAME + start), len))
        };
        Some(RxFrame { bytes, len: header.tp_len, seconds: header.tp_sec, nanoseconds: header.tp_nsec })
    }
}

impl Drop for RxRing {
    fn drop(&mut self) {
        // SAFETY: the whole mapping that `map` made; no borrow of it outlives the ring.
        unsafe { libc::munmap(self.memory.cast(), self.frames * FRAME) };
    }
}

// SAFETY: the memory belongs to this ring alone.
unsafe impl Send for RxRing {}
