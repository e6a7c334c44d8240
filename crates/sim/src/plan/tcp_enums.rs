//! Keys of a TCP that are one of some words, each with the core's type for it.

use ackclock_core::tcp;
use serde::Deserialize;

/// The first word is what a plan means that does not say the key, where it may be left out.
macro_rules! words {
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
            fn from(word: $name) -> $core {
                match word {
                    $name::$first => <$core>::$first,
                    $($name::$other => <$core>::$other),*
                }
            }
        }
    )*};
}

words! {
    /// Which packets are ECN-capable: new data, or all.
    EcnPackets ("lowercase") = tcp::EcnPackets { Data, All }

    /// What the advertised window bounds: sequence space (RFC 9293), or what is in flight (ns-2).
    WindowRule ("kebab-case") = tcp::WindowRule { Sequence, InFlight }

    /// Where NewReno's window goes at the end of a recovery (RFC 6582, section 3.2, step 3, options 1 and 2).
    NewRenoExit ("kebab-case") = tcp::NewRenoExit { Flight, Threshold }

    /// The form of F-RTO.
    Frto ("lowercase") = tcp::FrtoKind { Off, Basic, Sack }

    /// What a pause of more than a timeout leaves of the window: all, the initial one (RFC 5681), or half for each timeout (RFC 2861).
    IdleRestart ("lowercase") = tcp::IdleRestart { Off, Restart, Decay }

    /// What `rto_min` bounds: the timeout (RFC 6298), or its variance term (Linux).
    RtoFloor ("lowercase") = tcp::RtoFloor { Timeout, Variance }

    /// What starts the retransmission timer anew: ACKs of new data (RFC 6298), those and the beginning of a recovery (ns-2's Sack1), or every
    /// ACK (ns-2's TCP-Linux).
    RtoRestart ("kebab-case") = tcp::RtoRestart { Advance, Recovery, Head, HeadAndSack, EveryAck }

    /// What is kept of a path between connections: nothing, the round trip for the first timeout, or that, its variance and the threshold.
    MetricsCache ("lowercase") = tcp::MetricsCache { Off, Rtt, Full }

    /// What becomes of a window of which a part is used: it stays, shrinks (RFC 2861), or is kept but not trusted (RFC 7661).
    WindowValidation ("lowercase") = tcp::WindowValidation { Off, Rfc2861, Rfc7661 }

    /// Which segments carry PSH: each, or the last of what is written and of each chunk.
    Push ("lowercase") = tcp::Push { Every, Chunks }

    /// How far a receive buffer grows with what was read in a round trip.
    WindowGrowth ("lowercase") = tcp::WindowGrowth { Double, Lead, Near }
}
