//! The sender's part in a window reduction: state saved for an undo, and RFC 7661 for windows that
//! are not validated.

use super::cwv::CwndValidation;
use super::undo::Undo;
use crate::tcp::cc::{AnyCc, Congestion, CongestionControl};
use crate::tcp::recovery::{Outstanding, WindowCut};

#[derive(Clone, Debug)]
pub struct SenderWindowCut {
    /// RFC 7661, where the host uses it.
    pub cwv: Option<Box<CwndValidation>>,
    /// Where the host undoes spurious reductions.
    pub undo: Option<Box<Undo>>,
}

impl SenderWindowCut {
    /// A reduction may prove to be spurious.
    #[inline]
    pub fn can_undo(&self) -> bool {
        self.undo.as_ref().is_some_and(|undo| undo.has_saved())
    }
}

impl WindowCut for SenderWindowCut {
    fn cut_for_loss(&mut self, cc: &mut AnyCc, congestion: &Congestion, outstanding: Outstanding, retransmitted: u64) {
        if let Some(undo) = &mut self.undo {
            undo.save(cc, outstanding, false);
        }
        match &mut self.cwv {
            None => cc.on_congestion(congestion),
            Some(cwv) => cwv.cut(cc, congestion, retransmitted),
        }
    }

    fn cut_for_mark(&mut self, cc: &mut AnyCc, congestion: &Congestion) {
        if let Some(undo) = &mut self.undo {
            undo.discard();
        }
        match &mut self.cwv {
            None => cc.on_congestion(congestion),
            Some(cwv) => {
                cwv.cut(cc, congestion, 0);
                // No loss follows whose retransmissions section 4.4.1 would subtract.
                cwv.reset();
            }
        }
    }
}
