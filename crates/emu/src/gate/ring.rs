//! The ring of arrivals (Documentation/networking/packet_mmap.rst of the kernel): frames of fixed size in memory that the kernel shares,
//! each with a word that says whose it is. One frame a packet, because larger blocks are only handed over when they are full or old.

use super::set;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering, fence};

/// TPACKET_V2: stamps in nanoseconds, one frame a packet.
pub const VERSION: libc::c_int = 1;

/// Room for the header and a packet of 1500 B.
const FRAME: usize = 2048;
const BLOCK: usize = 1 << 16;
/// 8 MiB, 50 ms at 1 Gb/s: as long as a kernel may keep us from running.
pub const MOST_FRAMES: usize = 4096;
/// 512 KiB. A whole number of blocks, as every power of two above it is.
pub const LEAST_FRAMES: usize = 256;
const OF_KERNEL: u32 = 0;
const OF_USER: u32 = 1;

pub struct Ring {
    memory: *mut u8,
    frames: usize,
    at: usize,
    /// The frame before `at` is still being read.
    lent: bool,
}

/// A packet that has arrived.
pub struct Arrival<'a> {
    /// From its IP header on.
    pub bytes: &'a [u8],
    /// Its whole length, of which the ring may hold less.
    pub len: u32,
    /// Wall-clock time.
    pub seconds: u32,
    pub nanoseconds: u32,
}

impl Ring {
    /// Asks for a ring of so many frames, a power of two from `LEAST_FRAMES` on, on the socket, and maps it.
    pub fn map(socket: &OwnedFd, frames: usize) -> io::Result<Ring> {
        let frames = frames.next_power_of_two().clamp(LEAST_FRAMES, MOST_FRAMES);
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: (frames * FRAME / BLOCK) as u32,
            tp_frame_size: FRAME as u32,
            tp_frame_nr: frames as u32,
        };
        set(socket, libc::PACKET_RX_RING, &request)?;
        // SAFETY: a new mapping of the ring's own length over the socket; the result is checked.
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
        Ok(Ring { memory: memory.cast(), frames, at: 0, lent: false })
    }

    fn header(&self, frame: usize) -> *mut libc::tpacket2_hdr {
        // SAFETY: `frame` is below `frames`, so the address lies in the mapping; frames begin at multiples of 2048.
        unsafe { self.memory.add(frame * FRAME).cast() }
    }

    fn owner(&self, frame: usize) -> &AtomicU32 {
        // SAFETY: the status word is the header's first field, aligned, and lives as long as the mapping; the kernel changes it
        // while we look, which is why it is atomic.
        unsafe { &*self.header(frame).cast::<AtomicU32>() }
    }

    /// The oldest packet not yet read. The one given before goes back to the kernel.
    #[inline]
    pub fn next(&mut self) -> Option<Arrival<'_>> {
        self.give_back();
        self.lent = self.front().is_some();
        self.front()
    }

    /// Whether a packet matches `wanted`; it is then the next one, and the frames before it return to the kernel.
    pub fn skip_until(&mut self, wanted: impl Fn(&[u8]) -> bool) -> bool {
        loop {
            self.give_back();
            match self.front() {
                None => return false,
                Some(arrival) if wanted(arrival.bytes) => return true,
                Some(_) => self.lent = true,
            }
        }
    }

    #[inline]
    fn give_back(&mut self) {
        if self.lent {
            fence(Ordering::Release);
            self.owner(self.at).store(OF_KERNEL, Ordering::Release);
            self.at = (self.at + 1) % self.frames;
            self.lent = false;
        }
    }

    /// The packet in the current frame, if the kernel has filled the frame.
    #[inline]
    fn front(&self) -> Option<Arrival<'_>> {
        if self.owner(self.at).load(Ordering::Acquire) & OF_USER == 0 {
            return None;
        }
        // SAFETY: the frame belongs to user space until `give_back` sets its status to the kernel's; `give_back` needs this borrow to have
        // ended. The kernel has written the header, and its offsets lie in the frame; `min` holds them there anyway.
        let (header, bytes) = unsafe {
            let header = *self.header(self.at);
            let start = usize::from(header.tp_net).min(FRAME);
            let len = (header.tp_snaplen as usize).min(FRAME - start);
            (header, std::slice::from_raw_parts(self.memory.add(self.at * FRAME + start), len))
        };
        Some(Arrival { bytes, len: header.tp_len, seconds: header.tp_sec, nanoseconds: header.tp_nsec })
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping that `map` made, whole; no borrow of it outlives this.
        unsafe { libc::munmap(self.memory.cast(), self.frames * FRAME) };
    }
}

// SAFETY: the memory belongs to this ring alone.
unsafe impl Send for Ring {}
