//! Scripts of packetdrill's language against the engine's TCP endpoint, in virtual time.
//!
//! [`Script::parse`] reads a script; [`run`] plays it: inbound packets and socket calls at their
//! times go to a [`TcpEndpoint`](ackclock_core::tcp::TcpEndpoint), and each segment that it sends is
//! compared with the script's next outbound packet. Nothing of a script is executed outside the
//! endpoint: commands in backquotes are read for their sysctls, assertions by a small evaluator.
//!
//! The language: Cardwell et al., "packetdrill: Scriptable Network Stack Testing, from Sockets to
//! Packets", USENIX ATC 2013.
#![forbid(unsafe_code)]

mod run;
mod script;

pub use run::{Failure, Ignored, Outcome, RunOptions, TraceLine, Unsupported, Verdict, run};
pub use script::{
    AccEcnFields, Base, Event, Packet, PacketOption, Script, ScriptError, SocketCall, Statement, Sysctl, TcpPacket, When,
};
