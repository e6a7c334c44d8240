//! ackclock's core: TCP endpoints, queues, links, media and the network that joins them, as pure state machines.
//!
//! Time and packets come in; packets and the next due time come out. Nothing here asks for the time, opens a file, starts a
//! thread or draws a number that the seed does not fix, so the simulator and the real-time emulator drive the same code.
//!
//! The modules lie in the order in which a packet meets them: see `docs/journey.md`.
#![forbid(unsafe_code)]

pub mod due;
pub mod element;
pub mod meter;
pub mod packet;
pub mod probe;
pub mod problem;
pub mod ring;
pub mod rng;
pub mod signal;
pub mod timed;
pub mod units;
pub mod view;

pub mod app;
pub mod endpoint;
pub mod line;
pub mod link;
pub mod medium;
pub mod network;
pub mod queue;
pub mod tcp;

pub use element::{AnyElement, Cause, Element, Event, Out, Port};
pub use endpoint::{AnyEndpoint, Endpoint};
pub use network::{Network, NodeId};
pub use packet::{Arena, Body, BodyId, Packet, Segment};
pub use problem::Problem;
pub use units::{Rate, Span, Time};
