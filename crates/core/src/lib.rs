//! ackclock's core: TCP endpoints, queues, links, media and the network that connects them, as pure
//! state machines.
//!
//! Inputs are times and packets; outputs are packets and the next due time. No code in this crate
//! reads a clock, opens a file, starts a thread or draws a random number that the seed does not
//! fix, so the simulator and the real-time emulator drive the same code.
//!
//! `docs/inside/journey.md` follows a packet through the modules.
#![forbid(unsafe_code)]

pub mod element;
pub mod event_heap;
mod in_flight;
pub mod meter;
pub mod packet;
pub mod probe;
pub mod problem;
pub mod ring;
pub mod rng;
pub mod schedule;
#[cfg(any(test, feature = "slow-path"))]
pub mod shortcuts;
pub mod statistics;
pub mod throughput_models;
pub mod time_account;
pub mod timer_tree;
pub mod units;
pub mod view;

pub mod app;
pub mod autorate;
pub mod config_check;
pub mod config_form;
pub mod endpoint;
pub mod gcc;
pub mod host;
pub mod host_overhead;
pub mod impairment;
pub mod link;
pub mod medium;
pub mod network;
pub mod queue;
pub mod score;
pub mod tcp;

pub use element::{DropReason, Element, Event, Output, Port};
pub use endpoint::{AnyEndpoint, Endpoint};
pub use network::{AnyElement, Network, NodeId};
pub use packet::{Arena, Body, BodyId, Packet, Segment};
pub use problem::Problem;
pub use units::{Rate, Span, Time};
