//! A program of bpf/, compiled for the host, on a socket of which a test is the stack.

/// `struct tcp_sock` of host/vmlinux.h.
#[repr(C)]
#[derive(Default)]
pub struct Socket {
    private: [u64; 13],
    pub now_us: u64,
    pub cwnd: u32,
    pub ssthresh: u32,
    pub counted: u32,
    clamp: u32,
    prior_cwnd: u32,
    delivered: u32,
    acknowledged: u32,
    sent: u32,
    mss: u32,
    outstanding: u32,
    most_outstanding: u32,
    pub limited: u32,
}

#[repr(C)]
struct AckSample {
    acked: u32,
    rtt_us: i32,
    in_flight: u32,
}

/// `struct tcp_congestion_ops` of host/vmlinux.h.
#[repr(C)]
pub struct Operations {
    init: Option<unsafe extern "C" fn(*mut Socket)>,
    in_ack_event: Option<unsafe extern "C" fn(*mut Socket, u32)>,
    pkts_acked: Option<unsafe extern "C" fn(*mut Socket, *const AckSample)>,
    cong_avoid: Option<unsafe extern "C" fn(*mut Socket, u32, u32)>,
    ssthresh: Option<unsafe extern "C" fn(*mut Socket) -> u32>,
    cwnd_event: Option<unsafe extern "C" fn(*mut Socket, u32)>,
    undo_cwnd: Option<unsafe extern "C" fn(*mut Socket) -> u32>,
    flags: u32,
    name: [u8; 16],
}

#[link(name = "programs", kind = "static")]
unsafe extern "C" {
    pub static vegas_control: Operations;
    pub static veno_control: Operations;
    pub static westwood_control: Operations;
    pub static bic_control: Operations;
    pub static biad_control: Operations;
}

const MSS: u32 = 1448;
pub const NO_THRESHOLD: u32 = 0x7fff_ffff;
const COMPLETE_CWR: u32 = 2;
const LOSS: u32 = 3;

/// RFC 5681, section 3.1, as the kernel offers it to programs: up to the threshold, and the credit that is left.
#[unsafe(no_mangle)]
extern "C" fn tcp_slow_start(socket: &mut Socket, acked: u32) -> u32 {
    let opened = (socket.cwnd + acked).min(socket.ssthresh);
    let left = acked - (opened - socket.cwnd);
    socket.cwnd = opened.min(socket.clamp);
    left
}

/// The window before the cut, or what has become of it, if that is more.
#[unsafe(no_mangle)]
extern "C" fn tcp_reno_undo_cwnd(socket: &mut Socket) -> u32 {
    socket.cwnd.max(socket.prior_cwnd)
}

/// A connection: what the kernel's stack does around a congestion control.
pub struct Connection {
    pub socket: Socket,
    control: &'static Operations,
}

impl Connection {
    pub fn new(control: &'static Operations, cwnd: u32) -> Connection {
        let socket = Socket { cwnd, ssthresh: NO_THRESHOLD, clamp: u32::MAX, mss: MSS, ..Socket::default() };
        let mut new = Connection { socket, control };
        // SAFETY: Socket is what the programs take it for, and nothing else refers to it meanwhile; so everywhere below.
        unsafe { control.init.expect("every program has it")(&mut new.socket) };
        new
    }

    /// Segments numbered from 1 up to this one have been sent.
    pub fn send_to(&mut self, segment: u32) {
        self.socket.sent = segment.wrapping_mul(MSS);
    }

    /// Segments arrived; in a recovery the window is not the congestion control's.
    pub fn deliver(&mut self, segments: u32, rtt_us: Option<u32>) {
        self.socket.delivered += segments;
        self.socket.acknowledged = self.socket.acknowledged.wrapping_add(segments * MSS);
        let sample = AckSample { acked: segments, rtt_us: rtt_us.map_or(-1, |rtt| rtt as i32), in_flight: 0 };
        unsafe {
            if let Some(tell) = self.control.in_ack_event {
                tell(&mut self.socket, 0);
            }
            if let Some(tell) = self.control.pkts_acked {
                tell(&mut self.socket, &sample);
            }
        }
    }

    pub fn acknowledge(&mut self, segments: u32, rtt_us: Option<u32>) {
        self.deliver(segments, rtt_us);
        let ack = self.socket.acknowledged;
        unsafe { self.control.cong_avoid.expect("every program has it")(&mut self.socket, ack, segments) };
    }

    /// A recovery begins: the window goes to the threshold.
    pub fn lose(&mut self) {
        self.cut();
        self.socket.cwnd = self.socket.cwnd.min(self.socket.ssthresh);
    }

    pub fn recovered(&mut self) {
        self.socket.cwnd = self.socket.ssthresh;
        self.tell(COMPLETE_CWR);
    }

    pub fn time_out(&mut self) {
        self.cut();
        self.tell(LOSS);
        self.socket.cwnd = 1;
    }

    pub fn undo(&mut self, ssthresh: u32) {
        self.socket.cwnd = unsafe { self.control.undo_cwnd.expect("every program has it")(&mut self.socket) };
        self.socket.ssthresh = ssthresh;
    }

    fn cut(&mut self) {
        self.socket.prior_cwnd = self.socket.cwnd;
        self.socket.counted = 0;
        self.socket.ssthresh = unsafe { self.control.ssthresh.expect("every program has it")(&mut self.socket) };
    }

    fn tell(&mut self, event: u32) {
        if let Some(tell) = self.control.cwnd_event {
            unsafe { tell(&mut self.socket, event) };
        }
    }
}
