//! The control channel: who may speak (`keys`, `hello`), what is a frame (`frame`), what is said (`message`, `table`), and each end's
//! state machine (`server`, `client`), which gets bytes and times and gives bytes and acts.

pub mod client;
pub mod connection_slots;
pub mod frame;
pub mod hello;
pub mod keys;
pub mod message;
pub mod registry;
pub mod server;
pub mod table;
