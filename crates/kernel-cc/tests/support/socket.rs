//! A minimal TCP stack that calls a program of bpf/, compiled for the host, for tests.

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
    max_outstanding: u32,
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

/// The kernel's slow start (RFC 5681, section 3.1): grows the window up to ssthresh. Returns the
/// ACKed segments beyond it.
#[unsafe(no_mangle)]
extern "C" fn tcp_slow_start(socket: &mut Socket, acked: u32) -> u32 {
    let cwnd = (socket.cwnd + acked).min(socket.ssthresh);
    let remaining = acked - (cwnd - socket.cwnd);
    socket.cwnd = cwnd.min(socket.clamp);
    remaining
}

/// The window before the cut, or the present window if it is larger.
#[unsafe(no_mangle)]
extern "C" fn tcp_reno_undo_cwnd(socket: &mut Socket) -> u32 {
    socket.cwnd.max(socket.prior_cwnd)
}

/// A connection: the kernel's calls of a congestion control.
pub struct Connection {
    pub socket: Socket,
    control: &'static Operations,
}

impl Connection {
    pub fn new(control: &'static Operations, cwnd: u32) -> Connection {
        let socket = Socket { cwnd, ssthresh: NO_THRESHOLD, clamp: u32::MAX, mss: MSS, ..Socket::default() };
        let mut connection = Connection { socket, control };
        // SAFETY, here and below: Socket has the layout of the programs' tcp_sock, and the
        // reference is exclusive.
        unsafe { control.init.expect("defined by every program")(&mut connection.socket) };
        connection
    }

    /// Sets snd_nxt: the segments 1 to `segment` have been sent.
    pub fn send_to(&mut self, segment: u32) {
        self.socket.sent = segment.wrapping_mul(MSS);
    }

    /// Delivers segments without `cong_avoid`, as during recovery.
    pub fn deliver(&mut self, segments: u32, rtt_us: Option<u32>) {
        self.socket.delivered += segments;
        self.socket.acknowledged = self.socket.acknowledged.wrapping_add(segments * MSS);
        let sample = AckSample { acked: segments, rtt_us: rtt_us.map_or(-1, |rtt| rtt as i32), in_flight: 0 };
        unsafe {
            if let Some(in_ack_event) = self.control.in_ack_event {
                in_ack_event(&mut self.socket, 0);
            }
            if let Some(pkts_acked) = self.control.pkts_acked {
                pkts_acked(&mut self.socket, &sample);
            }
        }
    }

    pub fn acknowledge(&mut self, segments: u32, rtt_us: Option<u32>) {
        self.deliver(segments, rtt_us);
        let ack = self.socket.acknowledged;
        unsafe { self.control.cong_avoid.expect("defined by every program")(&mut self.socket, ack, segments) };
    }

    /// Enters recovery: the window is reduced to ssthresh.
    pub fn lose(&mut self) {
        self.cut();
        self.socket.cwnd = self.socket.cwnd.min(self.socket.ssthresh);
    }

    pub fn recovered(&mut self) {
        self.socket.cwnd = self.socket.ssthresh;
        self.cwnd_event(COMPLETE_CWR);
    }

    pub fn time_out(&mut self) {
        self.cut();
        self.cwnd_event(LOSS);
        self.socket.cwnd = 1;
    }

    pub fn undo(&mut self, ssthresh: u32) {
        self.socket.cwnd = unsafe { self.control.undo_cwnd.expect("defined by every program")(&mut self.socket) };
        self.socket.ssthresh = ssthresh;
    }

    fn cut(&mut self) {
        self.socket.prior_cwnd = self.socket.cwnd;
        self.socket.counted = 0;
        self.socket.ssthresh = unsafe { self.control.ssthresh.expect("defined by every program")(&mut self.socket) };
    }

    fn cwnd_event(&mut self, event: u32) {
        if let Some(cwnd_event) = self.control.cwnd_event {
            unsafe { cwnd_event(&mut self.socket, event) };
        }
    }
}
