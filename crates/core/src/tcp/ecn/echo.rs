//! The receiver's ECN feedback: ECE, or the counters of AccECN.

use super::{AccEcnOption, EcnCounts, EcnMode, FIRST_CE_PACKETS, FIRST_ECT_BYTES, ace_flags, handshake_code};
use crate::packet::{AccEcn, Ecn, Flags, RareOption, Segment, U24};

/// The form of the feedback.
#[derive(Clone, Copy, Debug)]
pub struct EchoMode {
    pub agreed: EcnMode,
    /// The sender counts marked segments by the ECE of each ACK (DCTCP).
    pub by_state: bool,
    /// Data carries ECE after a marked pure ACK.
    pub marked_acks: bool,
    pub option: AccEcnOption,
}

/// State of the receiver's feedback.
#[derive(Clone, Debug)]
pub struct EcnEcho {
    state: EchoState,
    /// ACK number and ECE of an ACK for the data before a change of the CE state, sent before any
    /// other (RFC 8257, section 3.2).
    owed: Option<(u64, bool)>,
    /// Marks on pure ACKs are echoed (`asymmetry`, section 4.3.1)...
    echoes_marked_acks: bool,
    /// ...by the next data segment.
    ack_was_marked: bool,
}

#[derive(Clone, Debug)]
enum EchoState {
    /// RFC 3168, section 6.1.3: ECE from a mark until CWR arrives.
    Latch { ece: bool },
    /// RFC 8257, section 3.2: ECE is the CE state of the last data.
    State { ce: bool },
    /// RFC 9768, section 3.2.
    Count(Box<AccEcnCounters>),
}

#[derive(Clone, Debug)]
struct AccEcnCounters {
    /// The ACE code of the SYN-ACK's codepoint, which a client's first segment carries.
    handshake: Option<u8>,
    ce_packets: u64,
    ce_bytes: u64,
    ect0_bytes: u64,
    ect1_bytes: u64,
    /// CE state of the last data.
    was_ce: bool,
    marks_since_ack: u32,
    /// Marks have been counted that no option has carried.
    option_due: bool,
    option: AccEcnOption,
    /// The peer sends the option, so the path forwards it.
    peer_sends_option: bool,
    /// The last D-SACK went with the option.
    option_with_dsack: bool,
    /// The path drops segments with the option.
    option_is_dropped: bool,
}

/// RFC 9768, section 3.2.2.5.1: at most this many marks per ACK.
const MARKS_PER_ACK: u32 = 2;
/// Option bytes in a TCP header.
const OPTION_ROOM: u16 = 40;

impl EcnEcho {
    /// `answered`: at a client, the codepoint of the SYN-ACK.
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
                option: how.option,
                peer_sends_option: false,
                option_with_dsack: false,
                option_is_dropped: false,
            })),
            _ if how.by_state => EchoState::State { ce: false },
            _ => EchoState::Latch { ece: false },
        };
        EcnEcho { state, owed: None, echoes_marked_acks: how.marked_acks, ack_was_marked: false }
    }

    /// A segment arrived. `waiting`: the number of an ACK that is being delayed. Returns whether an
    /// ACK must be sent at once.
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

    /// A segment of the peer carries the AccECN option, or does not. Returns whether every segment of
    /// this end carries one from here on.
    pub fn on_option(&mut self, segment: &Segment) -> bool {
        let EchoState::Count(counters) = &mut self.state else { return false };
        let first = !counters.peer_sends_option && matches!(segment.rare_option, RareOption::AccEcn(_));
        counters.peer_sends_option |= first;
        first && counters.option == AccEcnOption::Every
    }

    /// A segment arrived again. If the last ACK of a duplicate carried the option, ACKs with it are
    /// lost (RFC 9768, section 3.2.3.2.3): no more are sent.
    pub fn on_duplicate(&mut self) {
        if let EchoState::Count(counters) = &mut self.state {
            counters.option_is_dropped |= counters.option_with_dsack;
        }
    }

    /// The SYN-ACK arrived again: the ACK reports its codepoint (RFC 9768, section 3.2.2.1).
    pub fn on_repeated_syn_ack(&mut self, ecn: Ecn) {
        if let EchoState::Count(counters) = &mut self.state {
            counters.handshake = Some(handshake_code(ecn));
        }
    }

    /// What was received, for reports; None without AccECN.
    pub fn received(&self) -> Option<EcnCounts> {
        let EchoState::Count(counters) = &self.state else { return None };
        Some(EcnCounts {
            ce: counters.ce_packets - FIRST_CE_PACKETS,
            ce_bytes: counters.ce_bytes,
            ect0_bytes: counters.ect0_bytes - FIRST_ECT_BYTES,
            ect1_bytes: counters.ect1_bytes - FIRST_ECT_BYTES,
        })
    }

    /// The ACK that must be sent before any other.
    pub fn take_owed(&mut self) -> Option<(u64, bool)> {
        self.owed.take()
    }

    pub fn owes(&self) -> bool {
        self.owed.is_some()
    }

    /// Writes the feedback into an outgoing segment.
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
    /// RFC 9768, sections 3.2.1 and 3.2.2.5.1: counts a segment and returns whether it triggers an
    /// ACK.
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
        let timestamp_len = if segment.timestamps.is_some() { 12 } else { 0 };
        let sack = if segment.sack.is_empty() { 0 } else { 4 + 8 * segment.sack.len() as u16 };
        let option = RareOption::AccEcn(AccEcn {
            ect0: U24::new(self.ect0_bytes),
            ce: U24::new(self.ce_bytes),
            ect1: U24::new(self.ect1_bytes),
        });
        let wanted = match self.option {
            AccEcnOption::Off => false,
            AccEcnOption::Changes => self.option_due,
            AccEcnOption::Every => self.peer_sends_option && !self.option_is_dropped,
        };
        // SACK has priority: the ACE field counts without the option.
        if wanted && segment.rare_option == RareOption::None && timestamp_len + sack + option.wire_bytes() <= OPTION_ROOM {
            segment.rare_option = option;
            segment.len = segment.len.saturating_add(option.wire_bytes());
            self.option_due = false;
            self.option_with_dsack = segment.sack.near(segment.ack).next().is_some_and(|first| first.1 <= segment.ack);
        }
    }
}
