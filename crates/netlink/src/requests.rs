// SPDX-License-Identifier: Apache-2.0
//! A netlink socket for requests and their answers, whatever they are about.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{Protocol, RecvFlags, SendFlags, SocketFlags, bind, recv, sendto};

use crate::message::{Attributes, Message, finish, messages};
use crate::monitor::{DATAGRAM, open};

const ERROR: u16 = libc::NLMSG_ERROR as u16;
const DONE: u16 = libc::NLMSG_DONE as u16;

/// A socket that speaks for the network namespace that it was made in.
#[derive(Debug)]
pub struct Requests {
    socket: OwnedFd,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Requests {
    /// Opens a socket of a protocol (`None`: rtnetlink) in the network namespace of the calling
    /// thread.
    pub fn new(protocol: Option<Protocol>) -> io::Result<Self> {
        let socket = open(SocketFlags::CLOEXEC, protocol)?;
        bind(&socket, &SocketAddrNetlink::new(0, 0))?;
        Ok(Self { socket, sequence: 0, buffer: vec![0; DATAGRAM] })
    }

    /// Sends `request` and hands the answers to `answer`, until the kernel acknowledges or ends the
    /// dump.
    pub fn talk(
        &mut self,
        request: Attributes,
        mut answer: impl FnMut(Message<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let bytes = finish(request, self.sequence);
        sendto(&self.socket, &bytes, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        loop {
            let len = match recv(&self.socket, &mut self.buffer[..], RecvFlags::empty()) {
                Ok((len, _)) => len,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            for message in messages(&self.buffer[..len]) {
                match message.kind {
                    // an answer to a request that was given up
                    _ if message.sequence != self.sequence => {}
                    ERROR | DONE => return message.error(),
                    _ => answer(message)?,
                }
            }
        }
    }
}
