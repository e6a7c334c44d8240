//! The scores of calls, games, pages, videos and conferences over the window of the metrics.

use crate::app_of;
use crate::build::FlowEndpoints;
use crate::plan::{Flow, WorkloadConfig};
use ackclock_contract::Document;
use ackclock_core::app::{AnyApp, CallEnd};
use ackclock_core::endpoint::AnyEndpoint;
use ackclock_core::network::Network;
use ackclock_core::score::{CallScore, CallWindow, Codec, ConferenceScore, GameScore, PageScore, VideoScore};
use ackclock_core::{Span, Time};
use serde::Serialize;

/// What people feel of a flow's application: the keys of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Document)]
#[serde(untagged)]
pub enum AppScore {
    Call(CallScore),
    Game(GameScore),
    Page(PageScore),
    Video(VideoScore),
    Conference(ConferenceScore),
}

impl AppScore {
    /// The kind of the workload.
    pub fn kind(&self) -> &'static str {
        match self {
            AppScore::Call(_) => "call",
            AppScore::Game(_) => "game",
            AppScore::Page(_) => "page",
            AppScore::Video(_) => "video",
            AppScore::Conference(_) => "conference",
        }
    }

    /// Of a call; others have no published grade.
    pub fn grade(&self) -> Option<&'static str> {
        if let AppScore::Call(call) = self { call.grade() } else { None }
    }
}

/// The score of a flow over `span`; of a page always of all of it, at its first connection. None for
/// other flows.
pub fn read(flow: &Flow, endpoints: &FlowEndpoints, network: &Network, span: (Time, Time)) -> Option<AppScore> {
    let (server, client) = (network.endpoint(endpoints.server), network.endpoint(endpoints.client));
    match (flow.workload, server, client) {
        (WorkloadConfig::Call { gap_ps, impairment, loss_robustness, .. }, AnyEndpoint::CallEnd(a), AnyEndpoint::CallEnd(b)) => {
            let codec = Codec { impairment, loss_robustness };
            Some(AppScore::Call(CallScore::of(&windows(a, b, span), codec, Span(gap_ps))))
        }
        (WorkloadConfig::Game { .. }, _, AnyEndpoint::GameClient(game)) => Some(AppScore::Game(game.score(span.1))),
        (WorkloadConfig::Conference { .. }, AnyEndpoint::Conference(a), AnyEndpoint::Conference(b)) => {
            let scores = [a.score(span), b.score(span)];
            scores.into_iter().flatten().reduce(ConferenceScore::worse).map(AppScore::Conference)
        }
        (WorkloadConfig::Page { connection: 0, .. }, _, client) => match app_of(client)? {
            AnyApp::BrowserConnection(browser) => Some(AppScore::Page(browser.page().score())),
            _ => None,
        },
        (WorkloadConfig::Video { .. }, _, client) => match app_of(client)? {
            AnyApp::VideoPlayer(player) => Some(AppScore::Video(player.score(span))),
            _ => None,
        },
        _ => None,
    }
}

/// The windows of a call, each with both directions.
fn windows(server: &CallEnd, client: &CallEnd, span: (Time, Time)) -> Vec<[CallWindow; 2]> {
    let up = server.windows(client.source(), span);
    client.windows(server.source(), span).into_iter().zip(up).map(|(down, up)| [down, up]).collect()
}
