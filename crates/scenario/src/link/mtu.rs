//! The longest packet that a hop carries.

use crate::Keys;
use crate::values::Bytes;
use ackclock_core::link::{MIN_MTU, MtuConfig};
use serde_json::json;

/// The router before the hop drops longer packets, which TCP sends with "don't fragment".
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(plan = Mtu::plan_json)]
pub struct Mtu {
    /// Maximum length of an IP packet; at least the 68 B of RFC 791.
    #[key(min = "68 B", max = "65535 B", allowed = "a size from \"68 B\" to \"65535 B\"", example = "1400 B")]
    pub ip: Bytes,
    /// The router reports what it drops with ICMP, so that the sender makes its segments smaller; false
    /// is a black hole.
    #[key(default = true, example = false)]
    pub icmp: bool,
    /// SYNs through the hop offer an MSS of at most the MTU without 40 B of headers, in both directions.
    #[key(default = false, example = true)]
    pub clamp_mss: bool,
}

const _: () = assert!(MIN_MTU == 68);

impl Mtu {
    pub fn config(&self) -> MtuConfig {
        // The bounds of the key.
        MtuConfig { ip: self.ip.0 as u16, icmp: self.icmp, clamp_mss: self.clamp_mss }
    }

    fn plan_json(&self) -> serde_json::Value {
        json!(self.config())
    }
}
