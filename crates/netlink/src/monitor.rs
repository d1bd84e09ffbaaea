// SPDX-License-Identifier: Apache-2.0
//! News of the host's interfaces as they happen.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use netlink_packet_core::NetlinkBuffer;
use rustix::{
    io::Errno,
    net::{RecvFlags, SocketFlags, recv, sockopt},
};

use crate::{
    link::Link,
    socket::{DATAGRAM, bind_to, messages, open},
};

/// A change of one of the host's interfaces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LinkEvent {
    /// It is new, or something about it changed: name, flags, state, MTU, address …
    Changed(Link),
    /// It is gone: deleted, or moved to another namespace.
    Gone(Link),
    /// Events were lost because they came faster than they were read, or can't be parsed: ask
    /// [`crate::Rtnl::links`] for the present state.
    Lost,
}

/// Listens to the changes of all interfaces of the namespace that it was made in.
///
/// Make it before asking for the present state, so that no change falls in between.
#[derive(Debug)]
pub struct Monitor {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

impl Monitor {
    /// Starts to listen in the network namespace of the calling thread. Needs no privilege.
    pub fn new() -> io::Result<Self> {
        let socket = open(SocketFlags::NONBLOCK, None)?;
        // A thousand interfaces may change at once. Without privilege the limit of the host
        // applies.
        if sockopt::set_socket_recv_buffer_size_force(&socket, 4 << 20).is_err() {
            sockopt::set_socket_recv_buffer_size(&socket, 4 << 20)?;
        }
        bind_to(&socket, libc::RTMGRP_LINK as u32)?;
        Ok(Self { socket, buffer: vec![0; DATAGRAM] })
    }

    /// Hands every event that has come so far to `event`. Returns at once if there are none.
    pub fn read(&mut self, mut event: impl FnMut(LinkEvent)) -> io::Result<()> {
        loop {
            match recv(&self.socket, &mut self.buffer[..], RecvFlags::empty()) {
                Ok((len, _)) => events(&self.buffer[..len]).for_each(&mut event),
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(Errno::NOBUFS) => event(LinkEvent::Lost),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for Monitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The events in a datagram.
fn events(datagram: &[u8]) -> impl Iterator<Item = LinkEvent> {
    messages(datagram).filter_map(|message| match message {
        Ok(message) => parse(&message),
        Err(_) => Some(LinkEvent::Lost),
    })
}

fn parse(message: &NetlinkBuffer<&[u8]>) -> Option<LinkEvent> {
    let event = match message.message_type() {
        libc::RTM_NEWLINK => LinkEvent::Changed,
        libc::RTM_DELLINK => LinkEvent::Gone,
        _ => return None,
    };
    // The groups also carry the bridge's port messages (AF_BRIDGE), which say nothing about the
    // interface itself.
    let payload = message.payload();
    (payload.first() == Some(&(libc::AF_UNSPEC as u8)))
        .then(|| Link::parse(payload).map_or(LinkEvent::Lost, event))
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::link::tests::message;
    use netlink_packet_core::NetlinkMessage;
    use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
    use proptest::prelude::*;

    fn datagram(messages: impl IntoIterator<Item = RouteNetlinkMessage>) -> Vec<u8> {
        let mut bytes = Vec::new();
        for message in messages {
            let mut message = NetlinkMessage::from(message);
            message.finalize();
            let at = bytes.len();
            bytes.resize(at + message.buffer_len(), 0);
            message.serialize(&mut bytes[at..]);
        }
        bytes
    }

    fn some_events() -> Vec<u8> {
        let mut port = message(vec![]);
        port.header.interface_family = AddressFamily::Bridge;
        let (new, gone) = (message(vec![]), message(vec![]));
        datagram([
            RouteNetlinkMessage::NewLink(new),
            RouteNetlinkMessage::NewLink(port),
            RouteNetlinkMessage::NewAddress(Default::default()),
            RouteNetlinkMessage::DelLink(gone),
        ])
    }

    #[suite::test]
    fn events_are_those_of_interfaces() {
        let all: Vec<_> = events(&some_events()).collect();
        let [LinkEvent::Changed(new), LinkEvent::Gone(gone)] = &all[..] else { panic!("{all:?}") };
        assert_eq!((new.name.as_str(), new), ("v0", gone));
    }

    #[suite::test]
    fn what_cant_be_parsed_is_lost() {
        let whole = some_events();
        let cut: Vec<_> = events(&whole[..whole.len() - 1]).collect();
        assert!(matches!(cut[..], [LinkEvent::Changed(_), LinkEvent::Lost]), "{cut:?}");
        // a message of two bytes
        assert_eq!(events(&[18, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).count(), 1);
    }

    proptest! {
        #[suite::test]
        fn broken_messages_dont_panic(
            changes in proptest::collection::vec((0usize..400, any::<u8>()), 1..6),
            len in 0usize..400,
        ) {
            let mut bytes = some_events();
            for (at, byte) in changes {
                if let Some(b) = bytes.get_mut(at) {
                    *b = byte;
                }
            }
            bytes.truncate(len);
            prop_assert!(events(&bytes).count() <= bytes.len() / 16 + 1);
        }
    }
}
