// SPDX-License-Identifier: Apache-2.0
//! Netlink sockets, and the messages in what they receive.

use std::{io, os::fd::OwnedFd};

use netlink_packet_core::{DecodeError, NLA_ALIGNTO, NetlinkBuffer};
use rustix::net::{
    AddressFamily, Protocol, SocketFlags, SocketType, bind, netlink::SocketAddrNetlink, socket_with,
};

/// Size of receive buffers. Larger than the kernel's datagrams, which have at most 32 KiB.
pub const DATAGRAM: usize = 64 << 10;

/// Opens a socket of a protocol (`None`: rtnetlink) in the network namespace of the calling thread.
pub fn open(flags: SocketFlags, protocol: Option<Protocol>) -> io::Result<OwnedFd> {
    // protocol 0 is NETLINK_ROUTE
    let flags = flags | SocketFlags::CLOEXEC;
    Ok(socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?)
}

/// Binds a socket to a port number that the kernel chooses, and to multicast groups.
pub fn bind_to(socket: &OwnedFd, groups: u32) -> io::Result<()> {
    Ok(bind(socket, &SocketAddrNetlink::new(0, groups))?)
}

/// The messages of one datagram. One that isn't whole is an error, and the last item.
pub fn messages(
    mut datagram: &[u8],
) -> impl Iterator<Item = Result<NetlinkBuffer<&[u8]>, DecodeError>> {
    std::iter::from_fn(move || {
        if datagram.is_empty() {
            return None;
        }
        let message = NetlinkBuffer::new_checked(datagram);
        let end = match &message {
            // NLMSG_ALIGNTO is the same number.
            Ok(message) => (message.length() as usize).next_multiple_of(NLA_ALIGNTO),
            Err(_) => datagram.len(),
        };
        datagram = datagram.get(end..).unwrap_or_default();
        Some(message)
    })
}

/// The error for a message that the kernel wouldn't send.
pub fn malformed(error: DecodeError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[suite::test]
    fn messages_are_aligned_and_the_last_may_be_cut() {
        let mut datagram = Vec::new();
        for (kind, len) in [(16u16, 17u32), (17, 16), (18, 24)] {
            datagram.extend(len.to_ne_bytes());
            datagram.extend(kind.to_ne_bytes());
            datagram.resize(datagram.len() + 10, 0xab);
            datagram.resize(datagram.len() + (len as usize - 16).next_multiple_of(4), 0xcd);
        }
        let kinds = |datagram: &[u8]| -> Vec<_> {
            messages(datagram)
                .map(|m| m.ok().map(|m| (m.message_type(), m.payload().len())))
                .collect()
        };
        assert_eq!(kinds(&datagram), [Some((16, 1)), Some((17, 0)), Some((18, 8))]);
        assert_eq!(kinds(&datagram[..datagram.len() - 1]), [Some((16, 1)), Some((17, 0)), None]);
        assert_eq!(kinds(&datagram[..35]), [Some((16, 1)), None]);
        assert_eq!(kinds(&[]), []);
    }

    proptest! {
        #[suite::test]
        fn garbage_ends(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(messages(&bytes).count() <= bytes.len() / 16 + 1);
        }
    }
}
