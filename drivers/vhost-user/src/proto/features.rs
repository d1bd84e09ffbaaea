// SPDX-License-Identifier: Apache-2.0
//! Feature bits of virtio-net and vhost-user (Virtual I/O Device 1.3, 5.1.3 and 6).

use bitflags::bitflags;
use driver::TxOffloads;
use std::fmt;

macro_rules! bits {
    ($($name:ident = $bit:literal => $text:literal,)*) => {
        bitflags! {
            /// Bits that are offered to a guest, or that it has taken.
            #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
            pub struct Features: u64 {
                $(#[doc = $text] const $name = 1 << $bit;)*
            }
        }

        /// Names by bit.
        const NAMES: &[(u32, &str)] = &[$(($bit, $text)),*];
    };
}

bits! {
    CSUM = 0 => "VIRTIO_NET_F_CSUM",
    GUEST_CSUM = 1 => "VIRTIO_NET_F_GUEST_CSUM",
    GUEST_TSO4 = 7 => "VIRTIO_NET_F_GUEST_TSO4",
    GUEST_TSO6 = 8 => "VIRTIO_NET_F_GUEST_TSO6",
    GUEST_ECN = 9 => "VIRTIO_NET_F_GUEST_ECN",
    HOST_TSO4 = 11 => "VIRTIO_NET_F_HOST_TSO4",
    HOST_TSO6 = 12 => "VIRTIO_NET_F_HOST_TSO6",
    HOST_ECN = 13 => "VIRTIO_NET_F_HOST_ECN",
    MRG_RXBUF = 15 => "VIRTIO_NET_F_MRG_RXBUF",
    CTRL_VQ = 17 => "VIRTIO_NET_F_CTRL_VQ",
    GUEST_ANNOUNCE = 21 => "VIRTIO_NET_F_GUEST_ANNOUNCE",
    MQ = 22 => "VIRTIO_NET_F_MQ",
    LOG_ALL = 26 => "VHOST_F_LOG_ALL",
    ANY_LAYOUT = 27 => "VIRTIO_F_ANY_LAYOUT",
    INDIRECT_DESC = 28 => "VIRTIO_F_INDIRECT_DESC",
    EVENT_IDX = 29 => "VIRTIO_F_EVENT_IDX",
    PROTOCOL_FEATURES = 30 => "VHOST_USER_F_PROTOCOL_FEATURES",
    VERSION_1 = 32 => "VIRTIO_F_VERSION_1",
    RING_PACKED = 34 => "VIRTIO_F_RING_PACKED",
    GUEST_USO4 = 54 => "VIRTIO_NET_F_GUEST_USO4",
    GUEST_USO6 = 55 => "VIRTIO_NET_F_GUEST_USO6",
    HOST_USO = 56 => "VIRTIO_NET_F_HOST_USO",
}

impl Features {
    /// Offered always.
    pub const BASE: Self = Self::MRG_RXBUF
        .union(Self::CTRL_VQ)
        .union(Self::GUEST_ANNOUNCE)
        .union(Self::MQ)
        .union(Self::LOG_ALL)
        .union(Self::ANY_LAYOUT)
        .union(Self::INDIRECT_DESC)
        .union(Self::PROTOCOL_FEATURES)
        .union(Self::VERSION_1);

    /// Checksums and segmentation of packets to the guest.
    const TO_GUEST: Self = Self::GUEST_CSUM
        .union(Self::GUEST_TSO4)
        .union(Self::GUEST_TSO6)
        .union(Self::GUEST_ECN)
        .union(Self::GUEST_USO4)
        .union(Self::GUEST_USO6);

    /// Checksums and segmentation of the guest's packets.
    const FROM_GUEST: Self = Self::CSUM
        .union(Self::HOST_TSO4)
        .union(Self::HOST_TSO6)
        .union(Self::HOST_ECN)
        .union(Self::HOST_USO);

    /// All for segmentation.
    pub const GSO: Self = Self::TO_GUEST.union(Self::FROM_GUEST);

    /// Returns true if the headers of the guest's packets mean something.
    pub const fn has_guest_work(self) -> bool {
        self.intersects(Self::FROM_GUEST)
    }

    /// The work that the guest takes over for packets that it receives.
    pub const fn tx_offloads(self) -> TxOffloads {
        TxOffloads {
            csum: self.contains(Self::GUEST_CSUM),
            gso: self.contains(Self::GUEST_TSO4) && self.contains(Self::GUEST_TSO6),
            udp_gso: self.contains(Self::GUEST_USO4) && self.contains(Self::GUEST_USO6),
        }
    }

    /// Bytes of a packet's header: the number of merged buffers is always there in a device of
    /// version 1 (5.1.6).
    pub const fn header(self) -> usize {
        if self.contains(Self::MRG_RXBUF) || self.contains(Self::VERSION_1) { 12 } else { 10 }
    }

    /// The names of the bits that are set, with their numbers.
    pub fn names(self) -> impl Iterator<Item = (u32, &'static str)> {
        NAMES.iter().copied().filter(move |(bit, _)| self.bits() & (1 << bit) != 0)
    }
}

impl fmt::Display for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.bits())
    }
}

bitflags! {
    /// Bits of the protocol.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Protocol: u64 {
        /// Several pairs of rings.
        const MQ = 1 << 0;
        /// The log of written pages is a file.
        const LOG_SHMFD = 1 << 1;
        /// Requests may ask for a reply.
        const REPLY_ACK = 1 << 3;
        /// The log of chains in flight is a file that the front-end keeps.
        const INFLIGHT_SHMFD = 1 << 12;
    }
}

impl Protocol {
    /// All that are offered.
    pub const OFFERED: Self =
        Self::MQ.union(Self::LOG_SHMFD).union(Self::REPLY_ACK).union(Self::INFLIGHT_SHMFD);

    /// The names of the bits that are set, with their numbers.
    pub fn names(self) -> impl Iterator<Item = (u32, &'static str)> {
        let names = [
            (0, "VHOST_USER_PROTOCOL_F_MQ"),
            (1, "VHOST_USER_PROTOCOL_F_LOG_SHMFD"),
            (3, "VHOST_USER_PROTOCOL_F_REPLY_ACK"),
            (12, "VHOST_USER_PROTOCOL_F_INFLIGHT_SHMFD"),
        ];
        names.into_iter().filter(move |(bit, _)| self.bits() & (1 << bit) != 0)
    }
}
