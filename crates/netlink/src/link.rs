// SPDX-License-Identifier: Apache-2.0
//! An interface of the host.

use std::ffi::CStr;

use netlink_packet_core::{DecodeError, Emitable, NlaBuffer, NlasIterator, parse_u8, parse_u32};
use netlink_packet_route::link::{LinkHeader, State};
use wire::MacAddr;

/// Operational state of an interface (RFC 2863 §6, `IF_OPER_*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OperState {
    /// Not reported by the driver; loopback and tun devices often don't report it.
    #[default]
    Unknown,
    /// The hardware is missing.
    NotPresent,
    /// Down.
    Down,
    /// Down because the interface below is.
    LowerLayerDown,
    /// In a test.
    Testing,
    /// Up as soon as some event comes (802.1X, for instance).
    Dormant,
    /// Passes packets.
    Up,
}

impl From<State> for OperState {
    fn from(state: State) -> Self {
        match state {
            State::NotPresent => Self::NotPresent,
            State::Down => Self::Down,
            State::LowerLayerDown => Self::LowerLayerDown,
            State::Testing => Self::Testing,
            State::Dormant => Self::Dormant,
            State::Up => Self::Up,
            _ => Self::Unknown,
        }
    }
}

/// An interface of the host, as the kernel described it at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Link {
    /// Interface index; unique in its namespace, never reused while the interface lives.
    pub index: u32,
    /// Name, as in `ip link`.
    pub name: String,
    /// `IFF_*` flags (netdevice(7)).
    pub flags: u32,
    /// Hardware type (`ARPHRD_*`): 1 is Ethernet, 65534 has no link layer header.
    pub hardware: u16,
    /// Operational state.
    pub oper: OperState,
    /// Largest packet without its link layer header, in bytes.
    pub mtu: u32,
    /// Ethernet address, if it has one of six bytes.
    pub mac: Option<MacAddr>,
    /// Index of the bridge (bond, VRF) that it belongs to.
    pub master: Option<u32>,
    /// Index of the interface that it lies on (a VLAN's, a macvlan's) or of a veth's other end.
    pub lower: Option<u32>,
    /// Kind of a virtual interface: `veth`, `tun`, `bridge` …
    pub kind: Option<String>,
    /// Megabits a second. rtnetlink doesn't report it: [`crate::Ethtool`] does.
    pub speed: Option<u32>,
}

impl Link {
    /// Switched on by the administrator.
    pub fn is_admin_up(&self) -> bool {
        self.flags & libc::IFF_UP as u32 != 0
    }

    /// The carrier is there and packets pass.
    pub fn is_link_up(&self) -> bool {
        self.flags & libc::IFF_RUNNING as u32 != 0
    }

    /// Frames have an Ethernet header.
    pub fn is_ethernet(&self) -> bool {
        self.hardware == libc::ARPHRD_ETHER || self.hardware == libc::ARPHRD_LOOPBACK
    }

    /// Parses the payload of an RTM_NEWLINK or RTM_DELLINK message: `ifinfomsg`, then attributes.
    ///
    /// Attributes that aren't needed are skipped, so that newer kernels are understood and a
    /// driver's odd attribute hides no link. `LinkMessage::parse` would fail for the whole message.
    pub(crate) fn parse(payload: &[u8]) -> Result<Self, DecodeError> {
        let header = LinkHeader::parse(payload)?;
        let mut link = Self {
            index: header.index,
            hardware: header.link_layer_type.into(),
            flags: header.flags.bits(),
            ..Self::default()
        };
        for attribute in NlasIterator::new(&payload[header.buffer_len()..]) {
            let attribute = attribute?;
            let value = attribute.value();
            match attribute.kind() {
                libc::IFLA_IFNAME => link.name = text(&attribute)?,
                libc::IFLA_MTU => link.mtu = parse_u32(value)?,
                libc::IFLA_ADDRESS => link.mac = <[u8; 6]>::try_from(value).ok().map(MacAddr),
                libc::IFLA_OPERSTATE => link.oper = State::from(parse_u8(value)?).into(),
                libc::IFLA_LINK => link.lower = Some(parse_u32(value)?),
                libc::IFLA_MASTER => link.master = Some(parse_u32(value)?),
                libc::IFLA_LINKINFO => link.kind = kind(value)?,
                _ => {}
            }
        }
        Ok(link)
    }
}

/// The kind of a link in its attribute IFLA_LINKINFO.
fn kind(info: &[u8]) -> Result<Option<String>, DecodeError> {
    for attribute in NlasIterator::new(info) {
        let attribute = attribute?;
        if attribute.kind() == libc::IFLA_INFO_KIND {
            return text(&attribute).map(Some);
        }
    }
    Ok(None)
}

/// A name, which the kernel ends with NUL. It doesn't have to be UTF-8.
fn text(attribute: &NlaBuffer<&[u8]>) -> Result<String, DecodeError> {
    let name = CStr::from_bytes_until_nul(attribute.value())
        .map_err(|error| DecodeError::from(error.to_string()))?;
    Ok(name.to_string_lossy().into_owned())
}

#[cfg(feature = "tests")]
pub(crate) mod tests {
    use super::*;
    use netlink_packet_core::DefaultNla;
    use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkInfo, LinkLayerType};
    use netlink_packet_route::link::{LinkFlags, LinkMessage};

    /// A message of the kernel about a link, and with `more` behind that.
    pub(crate) fn message(more: Vec<LinkAttribute>) -> LinkMessage {
        let mut message = LinkMessage::default();
        message.header.index = 9;
        message.header.link_layer_type = LinkLayerType::Ether;
        message.header.flags = LinkFlags::Up | LinkFlags::Running;
        message.attributes = vec![
            LinkAttribute::IfName("v0".into()),
            LinkAttribute::Mtu(9000),
            LinkAttribute::Address(vec![2, 0, 0, 0, 0, 1]),
            LinkAttribute::OperState(State::Up),
            LinkAttribute::Other(DefaultNla::new(0x2abc, vec![1, 2, 3])),
            LinkAttribute::Controller(4),
            LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Veth)]),
        ];
        message.attributes.extend(more);
        message
    }

    fn bytes(message: &LinkMessage) -> Vec<u8> {
        let mut bytes = vec![0; message.buffer_len()];
        message.emit(&mut bytes);
        bytes
    }

    fn other(kind: u16, value: &[u8]) -> LinkAttribute {
        LinkAttribute::Other(DefaultNla::new(kind, value.to_vec()))
    }

    #[suite::test]
    fn parses_a_link_message() {
        let link = Link::parse(&bytes(&message(vec![]))).unwrap();
        assert_eq!(
            (link.index, link.name.as_str(), link.mtu, link.oper),
            (9, "v0", 9000, OperState::Up)
        );
        assert_eq!(link.mac, Some(MacAddr([2, 0, 0, 0, 0, 1])));
        assert_eq!((link.master, link.kind.as_deref()), (Some(4), Some("veth")));
        assert!(link.is_admin_up() && link.is_link_up() && link.is_ethernet());
    }

    #[suite::test]
    fn a_name_may_be_any_bytes() {
        let message = message(vec![other(libc::IFLA_IFNAME, b"w\xff\0")]);
        assert_eq!(Link::parse(&bytes(&message)).unwrap().name, "w\u{fffd}");
    }

    #[suite::test]
    fn attributes_of_others_are_skipped() {
        let plain = Link::parse(&bytes(&message(vec![]))).unwrap();
        // None of these is as `LinkAttribute`'s parser wants it.
        let odd = [libc::IFLA_AF_SPEC, libc::IFLA_VFINFO_LIST, libc::IFLA_STATS64, libc::IFLA_XDP];
        let message = message(odd.map(|kind| other(kind, &[1, 0])).to_vec());
        assert_eq!(Link::parse(&bytes(&message)).unwrap(), plain);
    }

    #[suite::test]
    fn a_malformed_message_is_an_error() {
        let whole = bytes(&message(vec![]));
        for len in [0, 15, 19, 22, whole.len() - 1] {
            assert!(Link::parse(&whole[..len]).is_err(), "{len} bytes");
        }
        for (kind, value) in [
            (libc::IFLA_MTU, &[1, 2, 3][..]),
            (libc::IFLA_OPERSTATE, &[]),
            (libc::IFLA_MASTER, &[0; 8]),
            (libc::IFLA_IFNAME, b"no end"),
            (libc::IFLA_LINKINFO, &[9, 0, 1, 0]),
        ] {
            assert!(Link::parse(&bytes(&message(vec![other(kind, value)]))).is_err(), "{kind}");
        }
        assert_eq!(OperState::from(State::from(200)), OperState::Unknown);
    }
}
