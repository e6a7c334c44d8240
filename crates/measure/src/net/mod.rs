//! The sockets: one loop for the far end (`server`), one for the end that asks (`client`), and what both are made of. All that is decided
//! here is when to look; what is said and sent is decided in `control` and `udp`.

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
