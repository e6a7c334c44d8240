//! Proportional rate reduction (RFC 9937, section 6.2).

use crate::dialogue::script::*;
use ackclock_core::tcp::RecoveryKind::Prr;
use ackclock_core::tcp::TcpConfig;

/// Of twenty segments the first twelve are lost, and three SACKs arrive: far fewer are in flight than
/// ssthresh, ten.
fn many_lost() -> Dialogue {
    let mut d = Dialogue::sender(TcpConfig { initial_window: 20.0, ..tcp(Prr) });
    d.expects_new(0.1, 1..20_001);
    for end in [13_001, 14_001, 15_001] {
        d.at(0.2).sack(1, &[12_001..end]);
    }
    d.run_until(0.21);
    d
}

/// SafeACK: an ACK that advances and detects no loss releases one segment more than was delivered, as in slow
/// start. A SACK releases what it delivers.
#[test]
fn prr_sends_one_segment_more_when_the_ack_advances_without_further_loss() {
    let mut by_sack = many_lost();
    by_sack.at(0.22).sack(1, &[12_001..16_001]);
    assert_eq!(by_sack.all_sent().len(), 1);
    let mut by_partial_ack = many_lost();
    by_partial_ack.at(0.3).sack(1001, &[12_001..15_001]);
    assert_eq!(by_partial_ack.all_sent().len(), 2);
}
