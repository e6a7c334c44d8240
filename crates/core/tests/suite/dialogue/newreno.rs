//! NewReno (RFC 6582).

use crate::dialogue::script::*;
use ackclock_core::tcp::RecoveryKind::NewReno;

/// Section 3.2, step 3: a partial ACK deflates the window by what it acknowledges, and adds one segment back. Of
/// ten segments the first and the fifth are lost: ssthresh is five, and eight duplicate ACKs inflate the window
/// to thirteen.
#[test]
fn partial_ack_deflates_the_window_by_what_it_acknowledges_but_one_segment() {
    let mut d = Dialogue::sender(tcp(NewReno));
    d.expects_new(0.1, 1..10_001);
    d.at(0.2).acks(1, 8);
    let highest = d.all_sent().iter().map(|segment| segment.seq).max();
    assert_eq!(highest, Some(12_001));
    // 13 - 4 + 1 segments may be outstanding, of which there are nine.
    d.at(0.3).ack(4001);
    d.expects(0.3).retransmitted(4001..5001);
    d.expects_new(0.3, 13_001..14_001);
    d.sends_nothing_until(0.31);
}
