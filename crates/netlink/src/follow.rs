// SPDX-License-Identifier: Apache-2.0
//! Follows all that routing programs change in the host: notifications, and dumps in pieces.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NLMSG_DONE, NLMSG_ERROR};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{RecvFlags, SendFlags, SocketFlags, recv, sendto, sockopt};

use crate::changes::{Change, parse};
use crate::socket::{DATAGRAM, bind_to, messages, open};

/// State of a socket after a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadState {
    /// All that has come was read.
    Drained,
    /// There may be more.
    More,
    /// Notifications were lost: the buffer was full, or one couldn't be parsed.
    Lost,
    /// A dump has ended; true if the kernel's table changed meanwhile, so that it has to be
    /// repeated.
    Ended(bool),
}

/// Notifications of links, addresses, neighbours and routes of the namespace that it was made in.
/// Reading never waits.
#[derive(Debug)]
pub struct Follower {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

/// The groups of rtnetlink(7): links, neighbours, addresses and routes of both protocols.
const GROUPS: u32 = 0x1 | 0x4 | 0x10 | 0x40 | 0x100 | 0x400;

impl Follower {
    /// Starts to listen in the network namespace of the calling thread, with so many bytes for
    /// notifications that aren't read yet. More than the host's limit needs CAP_NET_ADMIN.
    pub fn new(bytes: usize) -> io::Result<Self> {
        let socket = open(SocketFlags::NONBLOCK, None)?;
        if sockopt::set_socket_recv_buffer_size_force(&socket, bytes).is_err() {
            sockopt::set_socket_recv_buffer_size(&socket, bytes)?;
        }
        bind_to(&socket, GROUPS)?;
        Ok(Self { socket, buffer: vec![0; DATAGRAM] })
    }

    /// Hands changes to `change`, those of one datagram at a time until `enough` of them.
    ///
    /// # Errors
    /// The socket's.
    pub fn read(&mut self, enough: usize, change: impl FnMut(Change)) -> io::Result<ReadState> {
        read(&self.socket, &mut self.buffer, None, enough, change)
    }
}

impl AsFd for Follower {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The kind of objects of a dump.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DumpOf {
    /// Links.
    Links,
    /// Addresses.
    Addresses,
    /// Neighbours.
    Neighbors,
    /// Routes of a protocol: true for IPv6.
    Routes(bool),
}

/// A dump that is read in pieces. Reading never waits.
#[derive(Debug)]
pub struct Dump {
    socket: OwnedFd,
    buffer: Vec<u8>,
    sequence: u32,
    /// The kernel's table has changed since the dump began.
    is_interrupted: bool,
}

impl Dump {
    /// Opens a socket in the network namespace of the calling thread. Needs no privilege.
    pub fn new() -> io::Result<Self> {
        let socket = open(SocketFlags::NONBLOCK, None)?;
        bind_to(&socket, 0)?;
        Ok(Self { socket, buffer: vec![0; DATAGRAM], sequence: 0, is_interrupted: false })
    }

    /// Asks for all objects of a kind; an unfinished dump is given up.
    ///
    /// # Errors
    /// The kernel's.
    pub fn begin(&mut self, of: DumpOf) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        self.is_interrupted = false;
        let (kind, family) = match of {
            DumpOf::Links => (libc::RTM_GETLINK, libc::AF_UNSPEC),
            DumpOf::Addresses => (libc::RTM_GETADDR, libc::AF_UNSPEC),
            DumpOf::Neighbors => (libc::RTM_GETNEIGH, libc::AF_UNSPEC),
            DumpOf::Routes(false) => (libc::RTM_GETROUTE, libc::AF_INET),
            DumpOf::Routes(true) => (libc::RTM_GETROUTE, libc::AF_INET6),
        };
        // `ifinfomsg` is the longest of their headers, 16 bytes.
        let mut bytes = 32u32.to_ne_bytes().to_vec();
        bytes.extend([kind, NLM_F_REQUEST | NLM_F_DUMP].map(u16::to_ne_bytes).concat());
        bytes.extend([self.sequence, 0].map(u32::to_ne_bytes).concat());
        bytes.push(family as u8);
        bytes.resize(32, 0);
        sendto(&self.socket, &bytes, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        Ok(())
    }

    /// Hands objects of the dump to `change`, those of one datagram at a time until `enough` of
    /// them.
    ///
    /// # Errors
    /// The kernel's.
    pub fn read(&mut self, enough: usize, change: impl FnMut(Change)) -> io::Result<ReadState> {
        let Self { socket, buffer, sequence, is_interrupted } = self;
        read(socket, buffer, Some((*sequence, is_interrupted)), enough, change)
    }
}

impl AsFd for Dump {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// `NLM_F_DUMP_INTR`
const INTERRUPTED: u16 = 0x10;

fn read(
    socket: &OwnedFd,
    buffer: &mut [u8],
    mut dump: Option<(u32, &mut bool)>,
    enough: usize,
    mut change: impl FnMut(Change),
) -> io::Result<ReadState> {
    let mut n = 0;
    while n < enough {
        let len = match recv(socket, &mut *buffer, RecvFlags::empty()) {
            Ok((len, _)) => len,
            Err(Errno::AGAIN) => return Ok(ReadState::Drained),
            Err(Errno::INTR) => continue,
            Err(Errno::NOBUFS) => return Ok(ReadState::Lost),
            Err(error) => return Err(error.into()),
        };
        for message in messages(&buffer[..len]) {
            let Ok(message) = message else { return Ok(ReadState::Lost) };
            if let Some((sequence, is_interrupted)) = &mut dump {
                if message.sequence_number() != *sequence {
                    continue; // of a dump that was given up
                }
                **is_interrupted |= message.flags() & INTERRUPTED != 0;
                match message.message_type() {
                    NLMSG_DONE => return Ok(ReadState::Ended(**is_interrupted)),
                    NLMSG_ERROR => return Err(io::Error::other("the kernel refuses a dump")),
                    _ => {}
                }
            }
            match parse(&message) {
                Ok(Some(parsed)) => {
                    n += 1;
                    change(parsed);
                }
                Ok(None) => n += 1,
                Err(_) if dump.is_none() => return Ok(ReadState::Lost),
                Err(error) => return Err(crate::socket::malformed(error)),
            }
        }
    }
    Ok(ReadState::More)
}
