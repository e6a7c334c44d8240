//! What an ACK newly delivers, segment by segment in the order in which Linux processes it.

use super::machine::State;
use crate::tcp::info::CaState;
use crate::tcp::recovery::{LinuxAck, RecoveryContext};
use crate::tcp::timestamps::timestamp;

/// Flags of an ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deliveries {
    /// FLAG_DATA_ACKED, FLAG_DATA_SACKED.
    pub acked: bool,
    pub sacked: bool,
    /// FLAG_ORIG_SACK_ACKED: data up to high_seq that was never retransmitted.
    pub original: bool,
    /// Segments delivered when the newest of these was sent.
    pub prior_delivered: Option<u64>,
}

impl State {
    /// `tcp_sacktag_write_queue()` and `tcp_clean_rtx_queue()`: advances RACK, and looks for
    /// reordering.
    pub fn take_deliveries(&mut self, ack: &LinuxAck, ctx: &mut RecoveryContext<'_>) -> Deliveries {
        let mut log = ctx.scoreboard.take_deliveries();
        if log.len() > 1 && ack.has_blocks {
            log.sort_unstable_by_key(|sent| (!sent.by_sack, sent.index));
        }
        let mut flags = Deliveries::default();
        let mut retransmission_acked = false;
        let (mut sacked_low, mut acked_low) = (u64::MAX, u64::MAX);
        let mut newest = None;
        let min = ctx.rtt.min();
        for sent in &log {
            flags.sacked |= sent.by_sack;
            flags.acked |= !sent.by_sack;
            if sent.retransmitted {
                retransmission_acked |= !sent.by_sack;
            } else if sent.by_sack || !sent.was_sacked {
                let low = if sent.by_sack { &mut sacked_low } else { &mut acked_low };
                *low = (*low).min(sent.seq);
                flags.original |= sent.end <= self.high_seq;
            }
            if sent.was_sacked {
                continue;
            }
            if self.settings.sack {
                self.delivered += 1;
                self.rack.total_delivered += 1;
                // `tcp_skb_spurious_retrans()`
                let spurious = !sent.by_sack && sent.retransmitted && ack.echoes_before(timestamp(sent.sent_at));
                if !spurious {
                    self.rack.advance(sent.index, sent.sent_at, sent.retransmitted, ctx.now, min);
                }
            }
            newest = newest.max(Some((sent.sent_at, sent.index)));
        }
        flags.prior_delivered = newest
            .map(|(sent_at, index)| if self.rack.dsack_seen { self.rack.delivered_before(sent_at, index) } else { u64::MAX });
        if self.settings.sack {
            if sacked_low < ack.prior_fack && (self.ca_state != CaState::Loss || self.undo.marker.is_some()) {
                let highest = ctx.scoreboard.highest_sacked_end().unwrap_or(0).max(ack.prior_fack);
                self.reordering.check_sack(sacked_low, highest, ctx.segment);
            }
            if acked_low < ack.prior_fack {
                self.reordering.check_sack(acked_low, ctx.scoreboard.forward_ack(ctx.una), ctx.segment);
            }
        } else if retransmission_acked {
            flags.original = false;
        }
        log.clear();
        ctx.scoreboard.return_deliveries(log);
        self.rack.trim(ctx.scoreboard.first_index());
        flags
    }
}
