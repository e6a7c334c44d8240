//! What comes out of the network for real hosts: noted with the time for which it was planned, and sent as soon as the loop is back.

use crate::door::Door;
use crate::gate::Batch;
use crate::helper::Helper;
use ackclock_core::Time;
use ackclock_core::network::EndpointId;
use ackclock_core::packet::Body;

/// Whom an end of a flow stands for.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub gate: u32,
    /// The live client whose link it is.
    pub client: u32,
}

/// A packet that has come out.
#[derive(Debug, Clone, Copy)]
pub struct Released {
    pub planned: Time,
    pub client: u32,
}

pub struct Outlet {
    /// By endpoint; none for simulated ones.
    places: Vec<Option<Place>>,
    batches: Vec<Batch>,
    /// Gates with something to send.
    filled: Vec<u32>,
    released: Vec<Released>,
    /// Where one may help.
    pub helper: Option<Helper>,
    /// Packets that no gate could send, as they were none.
    pub unreal: u64,
}

impl Outlet {
    pub fn new(places: Vec<Option<Place>>, gates: usize) -> Outlet {
        let batches = (0..gates).map(|_| Batch::default()).collect();
        Outlet { places, batches, filled: Vec::new(), released: Vec::new(), helper: None, unreal: 0 }
    }

    #[inline]
    pub fn place(&self, end: EndpointId) -> Option<Place> {
        self.places.get(end.0 as usize).copied().flatten()
    }

    /// Packets that wait to be sent.
    pub fn len(&self) -> usize {
        self.released.len()
    }

    /// Takes a packet out that has reached a real host's end.
    #[inline]
    pub fn take(&mut self, now: Time, place: Place, body: &Body) {
        let Body::Raw(bytes) = body else {
            self.unreal += 1;
            return;
        };
        let batch = &mut self.batches[place.gate as usize];
        if batch.is_empty() {
            self.filled.push(place.gate);
        }
        batch.push(bytes);
        self.released.push(Released { planned: now, client: place.client });
    }

    /// Sends all that has come out; gives how many packets were lost, and when each was to leave.
    pub fn flush<D: Door>(&mut self, doors: &mut [D]) -> (u64, std::vec::Drain<'_, Released>) {
        let (filled, batches) = (&mut self.filled, &mut self.batches);
        let lost = match self.helper.as_ref().filter(|helper| helper.worth(filled.len(), self.released.len())) {
            Some(helper) => helper.send(filled.drain(..), batches),
            None => filled.drain(..).map(|gate| doors[gate as usize].send(&mut batches[gate as usize])).sum(),
        };
        (lost, self.released.drain(..))
    }
}
