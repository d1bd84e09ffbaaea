// SPDX-License-Identifier: Apache-2.0
//! An interface of the host.

use std::io;

use wire::MacAddr;

use crate::message::{Message, attributes, i32_at, text, u16_at, u32_at};

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

impl OperState {
    fn from_kernel(value: u8) -> Self {
        [
            Self::Unknown,
            Self::NotPresent,
            Self::Down,
            Self::LowerLayerDown,
            Self::Testing,
            Self::Dormant,
            Self::Up,
        ]
        .get(usize::from(value))
        .copied()
        .unwrap_or_default()
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

    /// Reads an RTM_NEWLINK or RTM_DELLINK message: `ifinfomsg`, then attributes. Unknown
    /// attributes are skipped, so that newer kernels are understood.
    pub(crate) fn parse(message: Message<'_>) -> io::Result<Self> {
        let body = message.body;
        let invalid = || io::Error::new(io::ErrorKind::InvalidData, "short link message");
        let mut link = Self {
            hardware: u16_at(body, 2).ok_or_else(invalid)?,
            index: i32_at(body, 4).ok_or_else(invalid)? as u32,
            flags: u32_at(body, 8).ok_or_else(invalid)?,
            ..Self::default()
        };
        for (kind, value) in attributes(body.get(16..).ok_or_else(invalid)?) {
            match kind {
                libc::IFLA_IFNAME => link.name = text(value),
                libc::IFLA_MTU => link.mtu = u32_at(value, 0).ok_or_else(invalid)?,
                libc::IFLA_ADDRESS => link.mac = <[u8; 6]>::try_from(value).ok().map(MacAddr),
                libc::IFLA_OPERSTATE => {
                    link.oper = value
                        .first()
                        .map_or_else(OperState::default, |&v| OperState::from_kernel(v));
                }
                libc::IFLA_MASTER => link.master = u32_at(value, 0),
                libc::IFLA_LINKINFO => {
                    link.kind = attributes(value).find_map(|(kind, value)| {
                        (kind == libc::IFLA_INFO_KIND).then(|| text(value))
                    });
                }
                _ => {}
            }
        }
        Ok(link)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Attributes, finish, messages, request};

    #[test]
    fn reads_a_link_message() {
        let mut body = [0u8; 16];
        body[2..4].copy_from_slice(&1u16.to_ne_bytes());
        body[4..8].copy_from_slice(&9i32.to_ne_bytes());
        body[8..12].copy_from_slice(&((libc::IFF_UP | libc::IFF_RUNNING) as u32).to_ne_bytes());
        let info = Attributes::default().name(libc::IFLA_INFO_KIND, "veth");
        let message = request(libc::RTM_NEWLINK, 0, &body)
            .name(libc::IFLA_IFNAME, "v0")
            .number(libc::IFLA_MTU, 9000)
            .attribute(libc::IFLA_ADDRESS, &[2, 0, 0, 0, 0, 1])
            .attribute(libc::IFLA_OPERSTATE, &[6])
            .attribute(0x2abc, &[1, 2, 3])
            .number(libc::IFLA_MASTER, 4)
            .attribute(libc::IFLA_LINKINFO, info.bytes());
        let bytes = finish(message, 1);
        let link = Link::parse(messages(&bytes).next().unwrap()).unwrap();
        assert_eq!(
            (link.index, link.name.as_str(), link.mtu, link.oper),
            (9, "v0", 9000, OperState::Up)
        );
        assert_eq!(link.mac, Some(MacAddr([2, 0, 0, 0, 0, 1])));
        assert_eq!((link.master, link.kind.as_deref()), (Some(4), Some("veth")));
        assert!(link.is_admin_up() && link.is_link_up() && link.is_ethernet());
    }

    #[test]
    fn a_short_message_is_an_error() {
        let message = Message { kind: libc::RTM_NEWLINK, sequence: 0, body: &[0; 15] };
        assert!(Link::parse(message).is_err());
        assert_eq!(OperState::from_kernel(200), OperState::Unknown);
    }
}
