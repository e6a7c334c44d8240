//! ackclock's core: TCP endpoints, queues, links, media and the network that joins them, as pure state machines.
//!
//! Time and packets come in; packets and the next due time come out. Nothing here asks for the time, opens a file, starts a
//! thread or draws a number that the seed does not fix, so the simulator and the real-time emulator drive the same code.
//!
//! The modules lie in the order in which a packet meets them: see `docs/journey.md`.
#![forbid(unsafe_code)]

pub mod element;
pub mod event_heap;
pub mod in_flight;
pub mod meter;
pub mod packet;
pub mod probe;
pub mod problem;
pub mod ring;
pub mod rng;
pub mod statistics;
pub mod throughput_models;
pub mod timer_tree;
pub mod units;
pub mod view;

pub mod app;
pub mod endpoint;
pub mod impairment;
pub mod link;
pub mod medium;
pub mod network;
pub mod queue;
pub mod tcp;

pub use element::{DropReason, Element, Event, Output, Port};
pub use endpoint::{AnyEndpoint, Endpoint};
pub use network::{AnyElement, Network, NodeId};
pub use packet::{Arena, Body, BodyId, Packet, Segment};
pub use problem::Problem;
pub use units::{Rate, Span, Time};
