//! The last ACK of each connection, to detect what a new ACK changes.

use crate::packet::{Flags, SackBlocks};
use crate::view::{Connection, TcpView, after, hash};

/// Size of the hash table. Colliding connections replace each other; the ACK after a replacement
/// counts as a change.
const SLOTS: usize = 256;

/// The last ACK of each connection, in a table of fixed size.
#[derive(Debug, Default)]
pub struct LastAckTable {
    slots: Vec<Option<LastAck>>,
}

#[derive(Clone, Copy, Debug)]
pub struct LastAck {
    connection: Connection,
    ack: u32,
    window: u32,
    sack: SackBlocks,
    ecn_bits: (Flags, u8),
    /// ACKs with this number that the filter has removed.
    pub filtered: u32,
}

/// What differs between an ACK and the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AckDelta {
    /// The window differs, or the previous ACK is unknown.
    pub window: bool,
    /// A SACK block that the previous ACK does not cover.
    pub sack: bool,
    /// Acknowledges no new data: a duplicate ACK.
    pub duplicate: bool,
    /// The congestion echo or the reserved bits differ.
    pub ecn_bits: bool,
}

impl LastAckTable {
    fn slot(&mut self, connection: &Connection) -> &mut Option<LastAck> {
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, None);
        }
        let key = match connection {
            Connection::Simulated(flow) => hash(0, &flow.to_le_bytes()),
            Connection::Real { from, to, ports } => {
                let ends = hash(hash(0, from), to);
                hash(ends, [ports.0.to_le_bytes(), ports.1.to_le_bytes()].as_flattened())
            }
        };
        &mut self.slots[(key % SLOTS as u64) as usize]
    }

    /// Stores an ACK and returns what it changes.
    pub fn update(&mut self, view: &TcpView) -> AckDelta {
        let slot = self.slot(&view.connection);
        let before = slot.filter(|last| last.connection == view.connection);
        let filtered = before.filter(|last| last.ack == view.ack).map_or(0, |last| last.filtered);
        let (connection, ack, window, sack) = (view.connection, view.ack, view.window, view.sack);
        *slot = Some(LastAck { connection, ack, window, sack, ecn_bits: ecn_bits(view), filtered });
        let Some(last) = before else {
            return AckDelta { window: true, sack: !sack.is_empty(), duplicate: false, ecn_bits: true };
        };
        AckDelta {
            window: last.window != window,
            sack: sack.raw().iter().any(|&block| !within(block, &last.sack)),
            duplicate: !after(ack, last.ack),
            ecn_bits: last.ecn_bits != ecn_bits(view),
        }
    }

    /// The last ACK of this connection.
    pub fn last(&mut self, connection: &Connection) -> Option<&mut LastAck> {
        self.slot(connection).as_mut().filter(|last| last.connection == *connection)
    }
}

/// Congestion echo (RFC 3168, RFC 9768) and reserved bits.
pub fn ecn_bits(view: &TcpView) -> (Flags, u8) {
    let echoes = Flags::ECE.with(Flags::CWR).with(Flags::AE);
    (Flags(view.flags.0 & echoes.0), view.reserved)
}

/// True if one of these blocks contains the range.
pub fn within((start, end): (u32, u32), blocks: &SackBlocks) -> bool {
    blocks.raw().iter().any(|&(from, to)| !after(from, start) && !after(end, to))
}
