//! Changes to a packet's body. A body that several packets carry is copied first, so that a change reaches one packet only.

use super::raw;
use crate::packet::{Arena, Body, BodyId, Ecn};

/// What to set; what is `None` stays. Real bytes are rewritten with their checksums (RFC 1624).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpEdit {
    /// The two ECN bits of the IP header, of any packet.
    pub ecn: Option<Ecn>,
}

impl TcpEdit {
    pub const fn ecn(ecn: Ecn) -> TcpEdit {
        TcpEdit { ecn: Some(ecn) }
    }

    fn apply(&self, body: &mut Body) {
        match body {
            Body::Segment(segment) => segment.ecn = self.ecn.unwrap_or(segment.ecn),
            Body::Raw(bytes) => {
                if let Some(ecn) = self.ecn {
                    raw::set_ecn(bytes, ecn);
                }
            }
            // All that a datagram says stands in its packet's header.
            Body::Datagram(_) => {}
        }
    }
}

impl Arena {
    /// Changes the body that one packet carries, and says where it lies now.
    pub fn edit(&mut self, id: BodyId, edit: &TcpEdit) -> BodyId {
        let id = self.own(id);
        edit.apply(self.get_mut(id));
        id
    }
}
