//! The protocols at which decoding ends, with the names that a reader knows from Wireshark.

use std::fmt;

/// A protocol that is not decoded, by the number that names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// A link type of <https://www.tcpdump.org/linktypes.html>.
    Link(u16),
    EtherType(u16),
    /// Destination service access point of LLC (IEEE 802.2).
    Llc(u8),
    /// SNAP of an organization other than that of EtherTypes: organization and protocol.
    Snap(u32, u16),
    Ppp(u16),
    /// Protocol number of IP.
    Ip(u8),
    Wifi(WifiFrame),
    /// GRE of version 1 (RFC 2637).
    Pptp,
    /// MPLS with neither IP nor an Ethernet pseudowire in it.
    Mpls,
    /// IPv4 and IPv6 have other versions.
    IpVersion(u8),
    /// An address family of a loopback header or of NFLOG.
    Family(u32),
}

/// Frames of IEEE 802.11 without a readable packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WifiFrame {
    Management,
    Control,
    /// A data frame without data, such as QoS null.
    NoData,
    /// Encrypted data.
    Protected,
    /// A fragment of an MSDU.
    Fragment,
    /// Several MSDUs in one frame.
    Aggregate,
    /// An extension, or another version.
    Other,
}

impl Protocol {
    /// True for what hosts, switches and access points send for themselves: it carries no data of an
    /// application.
    pub fn is_control(self) -> bool {
        match self {
            // ARP, LLDP, EAPOL, pause frames, slow protocols, PTP, CFM, PPPoE discovery, CDP.
            Protocol::EtherType(kind) => {
                matches!(kind, 0x0806 | 0x88cc | 0x888e | 0x8808 | 0x8809 | 0x88f7 | 0x8902 | 0x8863 | 0x2000)
            }
            // Spanning tree, IS-IS.
            Protocol::Llc(point) => matches!(point, 0x42 | 0xfe),
            // Cisco: CDP, VTP, PVST.
            Protocol::Snap(organization, _) => organization == 0x0c,
            // Control protocols of PPP: the first bit is set, or network control protocols.
            Protocol::Ppp(kind) => kind >= 0x8000,
            // ICMP, IGMP, ICMPv6, EIGRP, OSPF, PIM, VRRP, no next header.
            Protocol::Ip(number) => matches!(number, 1 | 2 | 58 | 88 | 89 | 103 | 112 | 59),
            Protocol::Wifi(frame) => matches!(frame, WifiFrame::Management | WifiFrame::Control | WifiFrame::NoData),
            Protocol::Link(_) | Protocol::Pptp | Protocol::Mpls | Protocol::IpVersion(_) | Protocol::Family(_) => false,
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Protocol::Link(number) => match link_name(number) {
                Some(name) => write!(f, "{name} (link type {number})"),
                None => write!(f, "link type {number}"),
            },
            Protocol::EtherType(kind) => match ethertype_name(kind) {
                Some(name) => f.write_str(name),
                None => write!(f, "EtherType {kind:#06x}"),
            },
            Protocol::Llc(0x42) => f.write_str("STP"),
            Protocol::Llc(0xfe) => f.write_str("IS-IS"),
            Protocol::Llc(0xe0) => f.write_str("IPX"),
            Protocol::Llc(0xf0) => f.write_str("NetBIOS"),
            Protocol::Llc(point) => write!(f, "LLC DSAP {point:#04x}"),
            Protocol::Snap(0x0c, 0x2000) => f.write_str("CDP"),
            Protocol::Snap(organization, kind) => write!(f, "SNAP {organization:06x} {kind:#06x}"),
            Protocol::Ppp(0xc021) => f.write_str("PPP LCP"),
            Protocol::Ppp(0xc023) => f.write_str("PPP PAP"),
            Protocol::Ppp(0xc223) => f.write_str("PPP CHAP"),
            Protocol::Ppp(0x8021) => f.write_str("PPP IPCP"),
            Protocol::Ppp(0x8057) => f.write_str("PPP IPV6CP"),
            Protocol::Ppp(0x80fd) => f.write_str("PPP CCP"),
            Protocol::Ppp(0x00fd) => f.write_str("PPP compressed or encrypted"),
            Protocol::Ppp(kind) => write!(f, "PPP {kind:#06x}"),
            Protocol::Ip(number) => match ip_name(number) {
                Some(name) => f.write_str(name),
                None => write!(f, "IP protocol {number}"),
            },
            Protocol::Wifi(frame) => f.write_str(match frame {
                WifiFrame::Management => "802.11 management",
                WifiFrame::Control => "802.11 control",
                WifiFrame::NoData => "802.11 without data",
                WifiFrame::Protected => "802.11 protected data",
                WifiFrame::Fragment => "802.11 fragment",
                WifiFrame::Aggregate => "802.11 A-MSDU",
                WifiFrame::Other => "802.11 extension",
            }),
            Protocol::Pptp => f.write_str("PPTP"),
            Protocol::Mpls => f.write_str("MPLS without IP"),
            Protocol::IpVersion(version) => write!(f, "IP version {version}"),
            Protocol::Family(family) => write!(f, "address family {family}"),
        }
    }
}

fn link_name(number: u16) -> Option<&'static str> {
    Some(match number {
        6 => "Token Ring",
        7 => "ARCNET",
        10 => "FDDI",
        123 => "SunATM",
        138 => "IEEE 1394",
        143 => "DOCSIS",
        187 | 201 => "Bluetooth HCI",
        189 | 220 | 249 => "USB",
        195 | 215 | 230 | 283 => "IEEE 802.15.4",
        197 => "ERF",
        201..=203 => "LAPD",
        227 => "CAN",
        231 => "D-Bus",
        247 | 250 => "InfiniBand",
        251 | 256 | 272 => "Bluetooth LE",
        253 => "netlink",
        u16::MAX => "unknown link",
        _ => return None,
    })
}

fn ethertype_name(kind: u16) -> Option<&'static str> {
    Some(match kind {
        0x0806 => "ARP",
        0x2000 => "CDP",
        0x6558 => "transparent Ethernet bridging",
        0x8035 => "RARP",
        0x8137 => "IPX",
        0x8808 => "Ethernet flow control",
        0x8809 => "LACP",
        0x8863 => "PPPoE discovery",
        0x888e => "EAPOL",
        0x8892 => "PROFINET",
        0x88a4 => "EtherCAT",
        0x88b8 => "GOOSE",
        0x88ba => "IEC 61850 sampled values",
        0x88cc => "LLDP",
        0x88e5 => "MACsec",
        0x88f7 => "PTP",
        0x8902 => "CFM",
        0x8906 => "FCoE",
        0x8915 => "RoCE",
        0x894f => "NSH",
        0x9000 => "loopback test",
        _ => return None,
    })
}

fn ip_name(number: u8) -> Option<&'static str> {
    Some(match number {
        1 => "ICMP",
        2 => "IGMP",
        33 => "DCCP",
        46 => "RSVP",
        50 => "ESP",
        58 => "ICMPv6",
        59 => "IPv6 without payload",
        88 => "EIGRP",
        89 => "OSPF",
        97 => "EtherIP",
        103 => "PIM",
        108 => "IPComp",
        112 => "VRRP",
        115 => "L2TPv3",
        132 => "SCTP",
        136 => "UDP-Lite",
        _ => return None,
    })
}
