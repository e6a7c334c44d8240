//! The control connection: handshake (`hello`, `noise`), keys of the messages outside it (`keys`),
//! frames (`frame`), messages (`message`, `table`), and the state machines of the two ends (`server`,
//! `client`). They take bytes and times, and return bytes and actions.

pub mod client;
pub mod connection_slots;
pub mod frame;
pub mod hello;
pub mod keys;
pub mod message;
pub mod noise;
pub mod registry;
pub mod server;
pub mod table;
