//! The first copy of a retransmission that filled a gap arrives after it: overtaken, and not lost
//! before the capture point.

use super::super::super::context::PacketContext;
use super::super::Ledger;

impl Ledger {
    /// A copy of a captured segment passes. Returns true if it is the late first copy.
    pub fn revise_lost_upstream(&mut self, ctx: &PacketContext<'_>) -> bool {
        let mut records = self.records.iter_mut().rev();
        let Some(record) = records.find(|record| record.start == ctx.start() && record.fills_gap) else { return false };
        // The retransmission itself, twice.
        if ctx.segment.ip_id == Some(record.ip_id) && record.tsval == ctx.tsval() {
            return false;
        }
        record.fills_gap = false;
        let rare = self.rare_mut();
        rare.lost_upstream = rare.lost_upstream.saturating_sub(ctx.segments);
        true
    }
}
