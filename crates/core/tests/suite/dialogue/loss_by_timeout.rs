//! An RTO's effect on window and transmission (RFC 5681, section 3.1; RFC 6298, section 5).

use crate::dialogue::script::*;
use ackclock_core::tcp::RecoveryKind::{self, NewReno, Sack};
use ackclock_core::tcp::TcpConfig;

/// RFC 3465, section 2.3, and RFC 5681, section 3.1: an ACK after a retransmission may cover
/// segments that arrived before.
#[test]
fn ack_earns_one_segment_after_a_timeout() {
    for byte_counting in [1, 2, 65_535] {
        let mut d = Dialogue::sender(TcpConfig { byte_counting, ..tcp(NewReno) });
        d.expects_new(0.1, 1..10_001);
        d.expects(0.4).retransmitted(1..1001);
        d.at(0.5).ack(6001);
        d.expects(0.5).retransmitted(6001..7001);
        d.expects(0.5).retransmitted(7001..8001);
        d.window_is(2.0, 5.0);
    }
}

/// RFC 6298, (5.4): an RTO in a recovery ends it.
#[test]
fn timeout_in_a_recovery_ends_it_and_leaves_one_segment() {
    for recovery in [RecoveryKind::Classic, NewReno, Sack] {
        let mut d = Dialogue::sender(tcp(recovery));
        d.expects_new(0.1, 1..10_001);
        if recovery == Sack {
            d.at(0.2).sack(1, &[1001..4001]);
        } else {
            d.at(0.2).acks(1, 3);
        }
        d.expects(0.2).retransmitted(1..1001);
        d.expects(0.4).retransmitted(1..1001);
        assert_eq!(d.cwnd(), 1.0);
        let stats = d.endpoint.sender_stats(time(0.4));
        assert_eq!((stats.fast_retransmits, stats.timeouts, stats.window_cuts), (1, 1, 2));
        d.at(0.5).ack(10_001);
        assert_eq!(d.cwnd(), 2.0);
    }
}
