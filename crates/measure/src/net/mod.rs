//! Sockets and clocks: the event loops of the server (`server`) and of the client (`client`), and
//! their parts. The protocol's decisions are in `control` and `udp`.

mod capture;
pub mod client;
pub mod clock;
mod datagrams;
pub mod log;
pub mod path;
pub mod privileges;
pub mod sample;
pub mod server;
mod sockets;
pub mod stamp;
mod tcp_flow;
mod tcp_info;
mod test_io;
mod wait;
