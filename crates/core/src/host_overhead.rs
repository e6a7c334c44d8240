//! The random delay of a packet in its sending host, which keeps flows out of phase.

use crate::Span;

/// Maximum delay of a packet of a flow alone.
const ALONE: Span = Span::from_us(100);

/// Maximum delay of a packet of a flow that shares a queue.
const SHARED: Span = Span::from_ms(1);

/// The flow and its path.
#[derive(Debug, Clone, Copy)]
pub struct HostOverhead {
    /// IP size of its data packets.
    pub packet_bytes: u64,
    /// Rate of the slowest hop in bit/s; none without a rate.
    pub slowest_bps: Option<u64>,
    /// Datagrams, or the only TCP connection.
    pub alone: bool,
}

impl HostOverhead {
    /// The maximum: a share of the service time at the slowest hop.
    ///
    /// TCP flows that share a queue may synchronise in phase (Floyd and Jacobson, On Traffic Phase
    /// Effects in Packet-Switched Gateways, 1992). Half a service time reorders their packets, which
    /// prevents it; with a tenth, six flows had the same result in every seed, in another order. A
    /// single flow cannot synchronise: a tenth affects it little.
    pub fn max(&self) -> Span {
        let bits = u128::from(self.packet_bytes) * 8;
        let service = self.slowest_bps.filter(|&bps| bps > 0).map(|bps| bits * PS_PER_S / u128::from(bps));
        let service = Span(service.and_then(|ps| u64::try_from(ps).ok()).unwrap_or(SHARED.0));
        if self.alone { ALONE.min(Span(service.0 / 10)) } else { SHARED.min(Span(service.0 / 2)) }
    }
}

const PS_PER_S: u128 = 1_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::HostOverhead;
    use crate::Span;

    #[test]
    fn overhead_is_half_a_service_time_among_flows_and_a_tenth_alone_up_to_a_maximum() {
        let at = |mbps: u64, alone| HostOverhead { packet_bytes: 1500, slowest_bps: Some(mbps * 1_000_000), alone }.max();
        assert_eq!(at(12, false), Span::from_us(500));
        assert_eq!(at(12, true), Span::from_us(100));
        assert_eq!(at(120, true), Span::from_us(10));
        assert_eq!(at(1, false), Span::from_ms(1));
        assert_eq!(HostOverhead { packet_bytes: 1500, slowest_bps: None, alone: false }.max(), Span::from_us(500));
    }
}
