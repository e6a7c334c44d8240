//! What the last ACK of each connection said: what an ACK changes can only be told against the one before it.

use crate::packet::{Flags, SackBlocks};
use crate::view::{Connection, TcpView, after, hash};

/// Connections that are remembered. Two that fall into one place forget each other, and what is not remembered is taken for a change.
const PLACES: usize = 256;

/// The last ACK of each connection, in a table that does not grow.
#[derive(Debug, Default)]
pub struct LastAckTable {
    places: Vec<Option<LastAck>>,
}

#[derive(Clone, Copy, Debug)]
pub struct LastAck {
    connection: Connection,
    ack: u32,
    window: u32,
    sack: SackBlocks,
    ecn_bits: (Flags, u8),
    /// ACKs with this number that a filter has taken out.
    pub taken_out: u32,
}

/// What an ACK says that the one before it did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AckDelta {
    /// Another window, or nobody knows.
    pub window: bool,
    /// A SACK block beyond those of the one before it.
    pub sack: bool,
    /// It acknowledges nothing new: its very coming is the message.
    pub duplicate: bool,
    /// Other congestion echoes, or reserved bits.
    pub ecn_bits: bool,
}

impl LastAckTable {
    fn place(&mut self, connection: &Connection) -> &mut Option<LastAck> {
        if self.places.is_empty() {
            self.places.resize(PLACES, None);
        }
        let key = match connection {
            Connection::Simulated(flow) => hash(0, &flow.to_le_bytes()),
            Connection::Real { from, to, ports } => {
                let ends = hash(hash(0, from), to);
                hash(ends, [ports.0.to_le_bytes(), ports.1.to_le_bytes()].as_flattened())
            }
        };
        &mut self.places[(key % PLACES as u64) as usize]
    }

    /// Takes note of an ACK, and says what is new in it.
    pub fn note(&mut self, view: &TcpView) -> AckDelta {
        let place = self.place(&view.connection);
        let before = place.filter(|last| last.connection == view.connection);
        let taken_out = before.filter(|last| last.ack == view.ack).map_or(0, |last| last.taken_out);
        let (connection, ack, window, sack) = (view.connection, view.ack, view.window, view.sack);
        *place = Some(LastAck { connection, ack, window, sack, ecn_bits: ecn_bits(view), taken_out });
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

    /// The note on this connection's last ACK.
    pub fn last(&mut self, connection: &Connection) -> Option<&mut LastAck> {
        self.place(connection).as_mut().filter(|last| last.connection == *connection)
    }
}

/// What a header says besides acknowledging: echoes of congestion (RFC 3168, RFC 9768) and bits that are not understood here.
pub fn ecn_bits(view: &TcpView) -> (Flags, u8) {
    let echoes = Flags::ECE.with(Flags::CWR).with(Flags::AE);
    (Flags(view.flags.0 & echoes.0), view.reserved)
}

/// Whether one of these blocks contains it.
pub fn within((start, end): (u32, u32), blocks: &SackBlocks) -> bool {
    blocks.raw().iter().any(|&(from, to)| !after(from, start) && !after(end, to))
}
