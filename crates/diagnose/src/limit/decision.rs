//! The limit of a flow and its evidence, as sentences.

use super::facts::LimitFacts;
use super::kind::LimitKind;
use crate::number_text::{configured_size as size, count, milliseconds, rate, share_text};
use ackclock_contract::Document;
use serde::Serialize;

/// The limit of a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Document)]
pub struct FlowLimit {
    pub kind: &'static str,
    /// Where it lies; null for a limit at an endpoint.
    pub hop: Option<String>,
    #[document(names("down", "up"))]
    pub direction: Option<String>,
    /// For cwnd and recovery "overflow", "policer", "channel", "mark", "mtu" or "none"; for the receive window
    /// "buffer", "scaling" or "autotuning"; for the application "reader", "proxy" or "proxy_buffer";
    /// for the path of the ACKs "data" or "acks"; else null.
    pub cause: Option<String>,
    /// The evidence, a clause.
    pub because: String,
    /// The limit and its evidence, a sentence without its full stop. No part of `limit` in documents.
    #[serde(skip)]
    pub why: String,
}

/// Cause, place, and the clause and the sentence.
struct Evidence {
    cause: Option<&'static str>,
    hop: String,
    direction: String,
    because: String,
    why: String,
}

impl Evidence {
    fn of_endpoint(cause: Option<&'static str>, claim: &str, because: String) -> Evidence {
        let why = format!("{claim}: {because}");
        Evidence { cause, hop: String::new(), direction: String::new(), because, why }
    }

    fn of_hop(cause: Option<&'static str>, (hop, direction): (&str, &str), claim: &str, because: String) -> Evidence {
        Evidence { hop: hop.into(), direction: direction.into(), ..Evidence::of_endpoint(cause, claim, because) }
    }
}

impl LimitFacts {
    /// The limit with the largest share of the time ([`super::kind::largest`]), with its evidence.
    pub fn decide(&self) -> FlowLimit {
        let kind = self.kind();
        let is_application = |kind| matches!(kind, LimitKind::ReceiveWindow | LimitKind::Application);
        if self.window_cap == "proxy_buffer" && is_application(kind) {
            return limit(LimitKind::Application, self.proxy_buffer());
        }
        if kind == LimitKind::ReceiveWindow && matches!(self.window_cap.as_str(), "reader" | "proxy") {
            return limit(LimitKind::Application, self.reader());
        }
        let mut evidence = match kind {
            LimitKind::Bottleneck => self.bottleneck(),
            LimitKind::AckPath => self.ack_path(),
            LimitKind::ReceiveWindow => self.receive_window(),
            LimitKind::SendBuffer => self.send_buffer(),
            LimitKind::Cwnd => self.cwnd(),
            LimitKind::Application => self.application(),
            LimitKind::Recovery => self.recovery(),
            LimitKind::Pacing => self.pacing(),
        };
        if !self.feeds.is_empty() {
            // RTT and windows of this reason are those of the part in front of the proxy.
            let proxy = self.flow.rsplit_once('@').map_or(self.flow.as_str(), |(_, proxy)| proxy);
            evidence.why = format!("in front of the proxy of `{proxy}` {}", evidence.why);
        }
        limit(kind, evidence)
    }

    fn back(&self) -> &'static str {
        if self.direction == "down" { "up" } else { "down" }
    }

    fn bottleneck(&self) -> Evidence {
        let because = format!("it has no free capacity {} of the time", share_text(self.share(LimitKind::Bottleneck)));
        let claim = LimitKind::Bottleneck.claim(&format!(" `{} {}`", self.bottleneck, self.direction), 0.0);
        Evidence::of_hop(None, (&self.bottleneck, &self.direction), &claim, because)
    }

    fn ack_path(&self) -> Evidence {
        let behind = if self.data_beside_acks { "the data of the other direction" } else { "other ACKs" };
        let because = format!(
            "an ACK waits {} on average behind {behind}, {} of the RTT",
            milliseconds(self.ack_wait_ms),
            share_text(self.ack_part)
        );
        let claim = LimitKind::AckPath.claim(&format!(" of `{} {}`", self.ack_hop, self.back()), 0.0);
        let cause = if self.data_beside_acks { "data" } else { "acks" };
        Evidence::of_hop(Some(cause), (&self.ack_hop, self.back()), &claim, because)
    }

    fn receive_window(&self) -> Evidence {
        let buffer = size(self.buffer_bytes);
        let (cause, cap) = match self.window_cap.as_str() {
            "scaling" => ("scaling", format!("without window scaling 65,535 B are the maximum, of a buffer of {buffer}")),
            "autotuning" => ("autotuning", format!("autotuning has not raised it to its maximum ({buffer} of buffer)")),
            _ => ("buffer", "the receive buffer sets it".into()),
        };
        let rtt_ms = if self.window_rtt_ms > 0.0 { self.window_rtt_ms } else { self.rtt_ms };
        let because = format!("{}; {cap}", window_per_rtt(self.window_bytes, rtt_ms));
        let share = self.share(LimitKind::ReceiveWindow);
        let claim = LimitKind::ReceiveWindow.claim(&format!(" ({})", size(self.window_bytes)), share);
        Evidence::of_endpoint(Some(cause), &claim, because)
    }

    fn send_buffer(&self) -> Evidence {
        let is_fixed = self.send_buffer_bytes != 0.0;
        let buffer = if is_fixed { format!(" ({})", size(self.send_buffer_bytes)) } else { String::new() };
        let because = if is_fixed {
            window_per_rtt(self.send_buffer_bytes, self.rtt_ms)
        } else {
            "the tuned buffer has not grown to the window".into()
        };
        let claim = LimitKind::SendBuffer.claim(&buffer, self.share(LimitKind::SendBuffer));
        Evidence::of_endpoint(None, &claim, because)
    }

    fn cwnd(&self) -> Evidence {
        let cause = self.loss();
        if cause == "none" {
            let claim = LimitKind::Cwnd.claim("", self.share(LimitKind::Cwnd));
            return Evidence::of_endpoint(Some(cause), &claim, "it is still growing, without a loss".into());
        }
        let hop = if cause == "mark" { &self.bottleneck } else { &self.loss_hop };
        let because = format!("{} after {}", count(self.cuts, "reduction", "reductions"), self.after(hop));
        let claim = LimitKind::Cwnd.claim("", self.share(LimitKind::Cwnd) + self.share(LimitKind::Recovery));
        Evidence::of_hop(Some(cause), (hop, &self.direction), &claim, because)
    }

    fn recovery(&self) -> Evidence {
        let timeouts = if self.timeouts >= 0.5 {
            format!(", with {}", count(self.timeouts, "retransmission timeout", "retransmission timeouts"))
        } else {
            String::new()
        };
        let because = format!("it follows {}{timeouts}", self.after(&self.loss_hop));
        let claim = LimitKind::Recovery.claim("", self.share(LimitKind::Recovery));
        Evidence::of_hop(Some(self.loss()), (&self.loss_hop, &self.direction), &claim, because)
    }

    fn after(&self, hop: &str) -> String {
        let place = format!("`{hop} {}`", self.direction);
        let loss = self.loss();
        if loss == "mark" {
            return if hop.is_empty() { "ECN marks".into() } else { format!("ECN marks of {place}") };
        }
        if loss == "mtu" {
            let packets = count(self.loss_drops, "packet", "packets");
            return format!("{packets} longer than the MTU of {place}, which no report of a router made smaller");
        }
        let (noun, nouns) = if loss == "channel" { ("loss", "losses") } else { ("drop", "drops") };
        let place = match loss {
            "channel" => format!("on the channel of {place}"),
            "policer" => format!("by the policer of {place}"),
            _ => format!("at the queue of {place}"),
        };
        let number = count(self.loss_drops, noun, nouns);
        if self.shares_loss_hop { format!("{nouns} {place} ({number} of all flows)") } else { format!("{number} {place}") }
    }

    fn application(&self) -> Evidence {
        let time = share_text(self.share(LimitKind::Application));
        if !self.pushed_by.is_empty() {
            let because = format!("the proxy has nothing to forward {time} of the time");
            let claim = format!("the flow `{}` in front of the proxy limits goodput", self.pushed_by);
            return Evidence::of_endpoint(Some("proxy"), &claim, because);
        }
        let because = format!("it has no data to send {time} of the time");
        Evidence::of_endpoint(None, &LimitKind::Application.claim("", 0.0), because)
    }

    /// A receiver that reads slowly, or a proxy that cannot forward.
    fn reader(&self) -> Evidence {
        let goodput = rate(self.goodput_bps);
        if self.window_cap == "proxy" {
            let because = format!("the proxy's buffer is full, so that it reads {goodput} and the receive window closes");
            let claim = format!("the flow `{}` behind the proxy limits goodput", self.feeds);
            return Evidence::of_endpoint(Some("proxy"), &claim, because);
        }
        let because = format!("the receiver reads {goodput}, so that the receive window closes");
        Evidence::of_endpoint(Some("reader"), &LimitKind::Application.claim("", 0.0), because)
    }

    fn proxy_buffer(&self) -> Evidence {
        let buffer = size(self.proxy_bytes);
        let because = format!(
            "it holds data until the receiver has acknowledged it, so at most {buffer} in an RTT of {} behind the proxy",
            milliseconds(self.proxy_rtt_ms)
        );
        Evidence::of_endpoint(Some("proxy_buffer"), &format!("the proxy's buffer ({buffer}) limits goodput"), because)
    }

    fn pacing(&self) -> Evidence {
        let because = format!("the pacing rate holds back data {} of the time", share_text(self.share(LimitKind::Pacing)));
        Evidence::of_endpoint(None, &LimitKind::Pacing.claim("", 0.0), because)
    }
}

fn window_per_rtt(bytes: f64, rtt_ms: f64) -> String {
    let each = format!("one window per RTT of {}", milliseconds(rtt_ms));
    if bytes > 0.0 && rtt_ms > 0.0 { format!("{each} is {}", rate(8e3 * bytes / rtt_ms)) } else { each }
}

fn limit(kind: LimitKind, evidence: Evidence) -> FlowLimit {
    let Evidence { cause, hop, direction, because, why } = evidence;
    let is_at_hop = !hop.is_empty();
    FlowLimit {
        kind: kind.name(),
        direction: is_at_hop.then_some(direction),
        hop: is_at_hop.then_some(hop),
        cause: cause.map(Into::into),
        because,
        why,
    }
}
