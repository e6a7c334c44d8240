//! Linux's recovery, ACK by ACK: one state machine holds loss detection (RACK-TLP, or duplicate ACKs
//! without SACK), the reduction of the window (PRR), F-RTO, ECN's reduction and undo, since what an
//! ACK means in one of them depends on the state of the others (`tcp_fastretrans_alert()`).
//!
//! The RFC's way is the recovery `rack` with the host's `undo`, `eifel` and `frto`.

mod deliveries;
mod loss_probe;
mod machine;
mod rack;
mod reduction;
mod reno_sack;
mod reordering;
mod timer;
mod undo;

use super::{AckInfo, Recovery, RecoveryContext, Retransmit};
use crate::tcp::cc::{AnyCc, CongestionControl};
use crate::tcp::config::{FrtoKind, TcpConfig};
use crate::tcp::info::CaState;
use crate::tcp::scoreboard::{Index, Scoreboard};
use crate::tcp::timer_wheel::TimerWheel;
use crate::units::Time;
use machine::{Rexmit, Settings, State};
use reordering::Reordering;
use timer::Pending;

/// Boxed: larger than every other recovery.
#[derive(Clone, Debug, Default)]
pub struct LinuxRecovery(Box<State>);

impl LinuxRecovery {
    /// Takes the host's settings.
    pub fn configure(&mut self, config: &TcpConfig) {
        let state = &mut *self.0;
        state.settings = Settings {
            threshold: config.dupack_threshold,
            undo_by_dsack: config.undo,
            undo_by_echo: config.eifel,
            frto: config.frto != FrtoKind::Off,
            tail_loss_probe: config.tail_loss_probe,
            rto_min: config.rto_min,
            wheel: TimerWheel::new(config),
            sack: true,
        };
        state.reordering = Reordering::new(config.dupack_threshold);
    }

    /// SACK was not negotiated: duplicate ACKs are counted (`tcp_is_reno()`).
    pub fn do_without_sack(&mut self) {
        self.0.settings.sack = false;
    }

    pub fn ca_state(&self) -> CaState {
        self.0.ca_state
    }

    /// Segments that duplicate ACKs reported as delivered, without SACK.
    pub fn reno_sacked(&self) -> u32 {
        self.0.reno.sacked_out
    }

    /// Segments that the last ACK reported as delivered, by which slow start may grow.
    pub fn delivered(&self) -> u32 {
        self.0.delivered
    }

    /// A CWR flag is due on the next data (true), or no longer (false), since the last call.
    pub fn take_cwr_flag(&mut self) -> Option<bool> {
        self.0.cwr_flag.take()
    }

    /// F-RTO sends new data before any retransmission.
    pub fn sends_new_data_first(&self) -> bool {
        self.0.rexmit == Rexmit::New
    }

    /// There is no new data for F-RTO to send: the retransmissions follow.
    pub fn end_frto(&mut self) {
        (self.0.frto, self.0.rexmit) = (false, Rexmit::Lost);
    }

    /// snd.nxt when F-RTO last looked: new data lies above.
    pub fn high_seq(&self) -> u64 {
        self.0.high_seq
    }

    /// A tail loss probe is due: also new data that Nagle's algorithm holds back is sent.
    pub fn probes(&self) -> bool {
        self.0.probe.is_due()
    }

    /// All segments have new indices.
    pub fn follow_division(&mut self, ctx: &mut RecoveryContext<'_>) {
        self.0.rack.follow_division(ctx.scoreboard);
    }

    /// The probe of the path MTU was lost, since the last call.
    pub fn take_mtu_probe_loss(&mut self) -> bool {
        std::mem::take(&mut self.0.mtu_probe_lost)
    }

    /// Segments in flight have become too long, were divided, and are marked lost.
    pub fn on_mtu_reduced(&mut self, ctx: &mut RecoveryContext<'_>) {
        self.0.on_mtu_reduced(ctx);
    }

    /// The retransmission timer runs again after the RTO.
    pub fn restart_after_rto(&mut self, ctx: &mut RecoveryContext<'_>) {
        let wheel = self.0.settings.wheel;
        self.0.timer.set_rto(wheel, ctx);
    }
}

impl Recovery for LinuxRecovery {
    fn on_ack(&mut self, info: &AckInfo, ctx: &mut RecoveryContext<'_>) -> bool {
        self.0.on_ack(info, ctx)
    }

    /// The sender calls `on_ack` as well.
    #[inline]
    fn on_clean_ack(&mut self, _una: u64) -> bool {
        self.0.ca_state == CaState::Open && self.0.reno.sacked_out == 0
    }

    fn on_timeout(&mut self, ctx: &mut RecoveryContext<'_>) {
        self.0.enter_loss(ctx);
    }

    fn on_timer(&mut self, ctx: &mut RecoveryContext<'_>) -> bool {
        let state = &mut *self.0;
        match state.timer.pending {
            Pending::Probe => state.send_probe(ctx),
            Pending::Reordering => state.on_reordering_timeout(ctx),
            Pending::Rto | Pending::None => *ctx.timer = Time::NEVER,
        }
        false
    }

    fn wants_sends(&self) -> bool {
        true
    }

    fn on_sent(&mut self, index: Index, retransmission: bool, ctx: &mut RecoveryContext<'_>) {
        self.0.on_sent(index, retransmission, ctx);
    }

    fn window(&self, cc: &AnyCc) -> f64 {
        self.0.probe.window(cc.cwnd())
    }

    fn in_flight(&self, scoreboard: &Scoreboard) -> u32 {
        self.0.in_flight(scoreboard)
    }

    fn next_retransmit(&mut self, scoreboard: &mut Scoreboard) -> Option<Retransmit> {
        if self.0.rexmit != Rexmit::Lost {
            return None;
        }
        scoreboard.next_lost().map(Retransmit::IfRoom)
    }

    /// Without new data the probe retransmits the last segment.
    fn next_rescue(&mut self, scoreboard: &mut Scoreboard) -> Option<Index> {
        let last = scoreboard.end_index().checked_sub(1)?;
        (self.probes() && scoreboard.get(last).is_some()).then_some(last)
    }

    fn is_probing(&self) -> bool {
        self.probes()
    }

    fn active(&self) -> bool {
        self.0.ca_state == CaState::Recovery
    }

    fn restarts_timer(&self) -> bool {
        false
    }

    fn reordering(&self) -> Option<u32> {
        Some(self.0.reordering.metric)
    }
}
