//! TCP keys with a fixed set of values, and the core's enums for them.

use ackclock_core::tcp;
use serde::Deserialize;

/// The first value is the default of a key that may be absent.
macro_rules! tcp_enums {
    ($($(#[$about:meta])* $name:ident ($case:literal) = $core:ty { $first:ident $(, $other:ident)* })*) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
        #[serde(rename_all = $case)]
        pub enum $name {
            #[default]
            $first,
            $($other),*
        }

        impl From<$name> for $core {
            fn from(value: $name) -> $core {
                match value {
                    $name::$first => <$core>::$first,
                    $($name::$other => <$core>::$other),*
                }
            }
        }
    )*};
}

tcp_enums! {
    /// ECN-capable packets: new data, or all.
    EcnPackets ("lowercase") = tcp::EcnPackets { Data, All }

    /// The quantity that the advertised window bounds: sequence space (RFC 9293), or bytes in
    /// flight (ns-2).
    WindowRule ("kebab-case") = tcp::WindowRule { Sequence, InFlight }

    /// NewReno's window at the end of a recovery (RFC 6582, section 3.2, step 3, options 1 and 2).
    NewRenoExit ("kebab-case") = tcp::NewRenoExit { Flight, Threshold }

    /// The variant of F-RTO (RFC 5682).
    Frto ("lowercase") = tcp::FrtoKind { Off, Basic, Sack }

    /// The window after an idle time above the RTO: unchanged, the initial window (RFC 5681), or
    /// halved for each RTO (RFC 2861).
    IdleRestart ("lowercase") = tcp::IdleRestart { Off, Restart, Decay }

    /// The quantity that `rto_min` bounds: the RTO (RFC 6298), or its variance term (Linux).
    RtoFloor ("lowercase") = tcp::RtoFloor { Timeout, Variance }

    /// Events that restart the retransmission timer: ACKs of new data (RFC 6298), these and the
    /// start of a recovery (ns-2's Sack1), retransmissions of the oldest segment (Linux), or every
    /// ACK (ns-2's TCP-Linux).
    RtoRestart ("kebab-case") = tcp::RtoRestart { Advance, Recovery, Head, HeadAndSack, EveryAck }

    /// Path metrics that the next connection inherits: none, the RTT for the initial RTO, or RTT,
    /// RTT variance and ssthresh.
    MetricsCache ("lowercase") = tcp::MetricsCache { Off, Rtt, Full }

    /// Handling of a window that is not fully used: unchanged, decayed (RFC 2861), or non-validated
    /// (RFC 7661).
    WindowValidation ("lowercase") = tcp::WindowValidation { Off, Rfc2861, Rfc7661 }

    /// Segments with PSH: each, or the last of a write and of each chunk.
    Push ("lowercase") = tcp::Push { Every, Chunks }

    /// Growth of the receive buffer relative to the bytes read in an RTT.
    WindowGrowth ("lowercase") = tcp::WindowGrowth { Double, Lead, Near }
}
