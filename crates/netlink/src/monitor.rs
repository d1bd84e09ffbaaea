// SPDX-License-Identifier: Apache-2.0
//! News of the host's interfaces as they happen.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::{
    io::Errno,
    net::{
        AddressFamily, Protocol, RecvFlags, SocketFlags, SocketType, bind,
        netlink::SocketAddrNetlink, recv, socket_with, sockopt,
    },
};

use crate::{
    link::Link,
    message::{Message, messages},
};

/// Receives larger datagrams than the kernel sends (it packs at most 32 KiB into one).
pub(crate) const DATAGRAM: usize = 64 << 10;

/// A change of one of the host's interfaces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LinkEvent {
    /// It is new, or something about it changed: name, flags, state, MTU, address …
    Changed(Link),
    /// It is gone: deleted, or moved to another namespace.
    Gone(Link),
    /// Events were lost because they came faster than they were read: ask [`crate::Rtnl::links`]
    /// what is true now.
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
        let socket = open(SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
        // A thousand interfaces may change at once. Without privilege the limit of the host
        // applies.
        if sockopt::set_socket_recv_buffer_size_force(&socket, 4 << 20).is_err() {
            sockopt::set_socket_recv_buffer_size(&socket, 4 << 20)?;
        }
        bind(&socket, &SocketAddrNetlink::new(0, libc::RTMGRP_LINK as u32))?;
        Ok(Self { socket, buffer: vec![0; DATAGRAM] })
    }

    /// Hands every event that has come so far to `event`. Returns at once if there are none.
    pub fn read(&mut self, mut event: impl FnMut(LinkEvent)) -> io::Result<()> {
        loop {
            match recv(&self.socket, &mut self.buffer[..], RecvFlags::empty()) {
                Ok((len, _)) => {
                    messages(&self.buffer[..len]).filter_map(parse).for_each(&mut event)
                }
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

fn parse(message: Message<'_>) -> Option<LinkEvent> {
    let event = match message.kind {
        libc::RTM_NEWLINK => LinkEvent::Changed,
        libc::RTM_DELLINK => LinkEvent::Gone,
        _ => return None,
    };
    // The groups also carry the bridge's port messages (AF_BRIDGE), which say nothing about the
    // interface itself.
    (message.body.first() == Some(&(libc::AF_UNSPEC as u8)))
        .then(|| Link::parse(message).map_or(LinkEvent::Lost, event))
}

/// A netlink socket in the namespace of the calling thread; without a protocol one of rtnetlink.
pub(crate) fn open(flags: SocketFlags, protocol: Option<Protocol>) -> io::Result<OwnedFd> {
    // protocol 0 is NETLINK_ROUTE
    Ok(socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?)
}
