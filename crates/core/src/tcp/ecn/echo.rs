//! What a receiver says of the marks it saw.

use super::{EcnMode, FIRST_CE_PACKETS, FIRST_ECT_BYTES, ace_flags, handshake_code};
use crate::packet::{AccEcn, Ecn, Flags, RareOption, Segment, U24};

/// How a receiver speaks of marks.
#[derive(Clone, Copy, Debug)]
pub struct EchoMode {
    pub agreed: EcnMode,
    /// The sender counts marked segments by each ACK's ECE.
    pub by_state: bool,
    /// Data says that ACKs came marked.
    pub marked_acks: bool,
}

/// The receiving half's feedback.
#[derive(Clone, Debug)]
pub struct EcnEcho {
    state: EchoState,
    /// An ACK for what came before the state changed, which is sent before any other (RFC 8257, section 3.2): its number and ECE.
    owed: Option<(u64, bool)>,
    /// Marks on pure ACKs are said, too (`asymmetry`, section 4.3.1)...
    echoes_marked_acks: bool,
    /// ...by the next data after one.
    ack_was_marked: bool,
}

#[derive(Clone, Debug)]
enum EchoState {
    /// RFC 3168, section 6.1.3: ECE from a mark until the sender's CWR.
    Latch { ece: bool },
    /// RFC 8257, section 3.2: ECE is the state of the last data.
    State { ce: bool },
    /// RFC 9768, section 3.2.
    Count(Box<AccEcnCounters>),
}

#[derive(Clone, Debug)]
struct AccEcnCounters {
    /// How the SYN-ACK came, which a client's first segment says.
    handshake: Option<u8>,
    ce_packets: u64,
    ce_bytes: u64,
    ect0_bytes: u64,
    ect1_bytes: u64,
    /// Of the last data.
    was_ce: bool,
    marks_since_ack: u32,
    /// Something has been counted that no option has said.
    option_due: bool,
}

/// RFC 9768, section 3.2.2.5.1: an ACK after so many marks at the latest.
const MARKS_PER_ACK: u32 = 2;
/// A header's room for options.
const OPTION_ROOM: u16 = 40;

impl EcnEcho {
    /// A client says how the SYN-ACK came.
    pub fn new(how: EchoMode, answered: Option<Ecn>) -> EcnEcho {
        let state = match how.agreed {
            EcnMode::Accurate => EchoState::Count(Box::new(AccEcnCounters {
                handshake: answered.map(handshake_code),
                ce_packets: FIRST_CE_PACKETS + u64::from(answered == Some(Ecn::Ce)),
                ce_bytes: 0,
                ect0_bytes: FIRST_ECT_BYTES,
                ect1_bytes: FIRST_ECT_BYTES,
                was_ce: false,
                marks_since_ack: 0,
                option_due: false,
            })),
            _ if how.by_state => EchoState::State { ce: false },
            _ => EchoState::Latch { ece: false },
        };
        EcnEcho { state, owed: None, echoes_marked_acks: how.marked_acks, ack_was_marked: false }
    }

    /// A segment has come; `waiting` is the number of an ACK that is being delayed. Says whether an ACK must go out at once.
    pub fn on_arrival(&mut self, segment: &Segment, ecn: Ecn, waiting: Option<u64>) -> bool {
        let ce = ecn == Ecn::Ce;
        let data = segment.payload > 0;
        self.ack_was_marked |= ce && !data && self.echoes_marked_acks;
        match &mut self.state {
            EchoState::Latch { ece } if data => {
                *ece = ce || (*ece && !segment.flags.has(Flags::CWR));
                false
            }
            EchoState::State { ce: state } if data && *state != ce => {
                self.owed = waiting.map(|ack| (ack, *state));
                *state = ce;
                true
            }
            EchoState::Count(counters) => counters.count(segment.payload, ecn),
            _ => false,
        }
    }

    /// The ACK that is due before any other.
    pub fn take_owed(&mut self) -> Option<(u64, bool)> {
        self.owed.take()
    }

    pub fn owes(&self) -> bool {
        self.owed.is_some()
    }

    /// Says on an outgoing segment what has been seen.
    pub fn fill(&mut self, segment: &mut Segment) {
        match &mut self.state {
            EchoState::Latch { ece } | EchoState::State { ce: ece } => {
                let ack_was_marked = segment.payload > 0 && std::mem::take(&mut self.ack_was_marked);
                if *ece || ack_was_marked {
                    segment.flags = segment.flags.with(Flags::ECE);
                }
            }
            EchoState::Count(counters) => counters.fill(segment),
        }
    }
}

impl AccEcnCounters {
    /// RFC 9768, sections 3.2.1 and 3.2.2.5.1: counts, and says whether this calls for an ACK.
    fn count(&mut self, payload: u32, ecn: Ecn) -> bool {
        let bytes = u64::from(payload);
        match ecn {
            Ecn::NotEct => {}
            Ecn::Ect0 => self.ect0_bytes += bytes,
            Ecn::Ect1 => self.ect1_bytes += bytes,
            Ecn::Ce => {
                self.ce_packets += 1;
                self.ce_bytes += bytes;
                self.marks_since_ack += 1;
            }
        }
        if payload == 0 {
            return false;
        }
        self.option_due |= ecn != Ecn::NotEct;
        let began = ecn == Ecn::Ce && !self.was_ce;
        self.was_ce = ecn == Ecn::Ce;
        began || self.marks_since_ack >= MARKS_PER_ACK
    }

    fn fill(&mut self, segment: &mut Segment) {
        let code = self.handshake.take().unwrap_or((self.ce_packets % 8) as u8);
        segment.flags = segment.flags.with(ace_flags(code));
        self.marks_since_ack = 0;
        let stamps = if segment.timestamps.is_some() { 12 } else { 0 };
        let sack = if segment.sack.is_empty() { 0 } else { 4 + 8 * segment.sack.len() as u16 };
        let option = RareOption::AccEcn(AccEcn {
            ect0: U24::new(self.ect0_bytes),
            ce: U24::new(self.ce_bytes),
            ect1: U24::new(self.ect1_bytes),
        });
        // SACK goes first: the ACE field goes on counting without the option.
        if self.option_due && segment.rare_option == RareOption::None && stamps + sack + option.wire_bytes() <= OPTION_ROOM {
            segment.rare_option = option;
            segment.len = segment.len.saturating_add(option.wire_bytes());
            self.option_due = false;
        }
    }
}
