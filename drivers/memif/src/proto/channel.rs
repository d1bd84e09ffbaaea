// SPDX-License-Identifier: Apache-2.0
//! A socket that carries messages and descriptors. It never waits.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::Message;
use super::message::LEN;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// One end of a connection.
pub struct Channel(OwnedFd);

/// The result of a read.
pub enum Received {
    /// A message, and the descriptor that came with it.
    Message(Message, Option<OwnedFd>),
    /// Nothing is there.
    Nothing,
    /// The peer has closed its end.
    Closed,
    /// The peer doesn't speak the protocol.
    Malformed(&'static str),
}

impl Channel {
    /// Takes a connected, non-blocking socket of type SOCK_SEQPACKET.
    pub fn new(fd: OwnedFd) -> Self {
        Self(fd)
    }

    /// Sends a message.
    ///
    /// # Errors
    /// Of sendmsg(2); a peer that reads too slowly.
    pub fn send(&self, message: &Message, fd: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let bytes = message.encode();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fds;
        if let Some(fd) = fd {
            fds = [fd];
            control.push(SendAncillaryMessage::ScmRights(&fds));
        }
        loop {
            match sendmsg(&self.0, &[IoSlice::new(&bytes)], &mut control, SendFlags::NOSIGNAL) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Reads a message.
    pub fn receive(&self) -> Received {
        // A byte more shows a message that is too long.
        let mut bytes = [0; LEN + 1];
        let mut space =
            [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2), ScmCredentials(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let got = loop {
            match recvmsg(
                &self.0,
                &mut [IoSliceMut::new(&mut bytes)],
                &mut control,
                RecvFlags::CMSG_CLOEXEC,
            ) {
                Ok(got) => break got,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Received::Nothing,
                Err(_) => return Received::Closed,
            }
        };
        let mut fds = Vec::new();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                fds.extend(rights);
            }
        }
        if got.bytes == 0 {
            return Received::Closed;
        }
        let Ok(bytes) = <&[u8; LEN]>::try_from(&bytes[..got.bytes]) else {
            return Received::Malformed("a message isn't of 128 bytes");
        };
        if fds.len() > 1 || got.flags.contains(ReturnFlags::CTRUNC) {
            return Received::Malformed("a message has more than one descriptor");
        }
        match Message::parse(bytes) {
            Some(message) => Received::Message(message, fds.pop()),
            None => Received::Malformed("unknown message type"),
        }
    }

    /// The number of the descriptor, for people.
    pub fn number(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
