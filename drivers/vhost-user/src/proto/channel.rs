// SPDX-License-Identifier: Apache-2.0
//! A socket that carries messages and descriptors. It never waits: a message that comes in parts is
//! kept until it is whole.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::message::{HEADER, Header, MAX_FDS, MAX_PAYLOAD, Message};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// One end of a connection.
pub struct Channel {
    fd: OwnedFd,
    bytes: [u8; HEADER + MAX_PAYLOAD],
    /// Bytes of the message that are there.
    len: usize,
    header: Option<Header>,
    fds: Vec<OwnedFd>,
}

/// The result of a read.
pub enum Received {
    /// A message, and as many descriptors as it has to have.
    Message(Message, Vec<OwnedFd>),
    /// No whole message is there.
    Nothing,
    /// The front-end has closed its end.
    Closed,
    /// The front-end doesn't speak the protocol.
    Malformed(String),
}

impl Channel {
    /// Takes a connected, non-blocking socket of type SOCK_STREAM.
    pub fn new(fd: OwnedFd) -> Self {
        let bytes = [0; HEADER + MAX_PAYLOAD];
        Self { fd, bytes, len: 0, header: None, fds: Vec::new() }
    }

    /// Sends the bytes of a reply, with a descriptor if it has one.
    ///
    /// # Errors
    /// Of sendmsg(2); a front-end that reads too slowly.
    pub fn send(&self, bytes: &[u8], fd: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let fds = [fd.unwrap_or(self.fd.as_fd())];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        loop {
            let mut control = SendAncillaryBuffer::new(&mut space);
            if fd.is_some() {
                // There is room for one.
                let _ = control.push(SendAncillaryMessage::ScmRights(&fds));
            }
            match sendmsg(&self.fd, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL) {
                Ok(sent) if sent == bytes.len() => return Ok(()),
                Ok(_) => return Err(io::ErrorKind::WriteZero.into()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Reads a message, as far as it is there.
    pub fn receive(&mut self) -> Received {
        loop {
            let whole = HEADER + self.header.map_or(0, |header| header.size as usize);
            if self.len < whole {
                match self.read(whole) {
                    Ok(()) => continue,
                    Err(received) => return received,
                }
            }
            match self.header {
                Some(header) => return self.finish(header),
                None => {
                    // It is whole.
                    let bytes = self.bytes.first_chunk().unwrap_or(&[0; HEADER]);
                    match Header::parse(bytes) {
                        Ok(header) => self.header = Some(header),
                        Err(text) => return Received::Malformed(text),
                    }
                }
            }
        }
    }

    /// Reads up to the end of the header or the message, and never into the next one: descriptors
    /// belong to the message with which they come.
    fn read(&mut self, whole: usize) -> Result<(), Received> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut slices = [IoSliceMut::new(&mut self.bytes[self.len..whole])];
        let got = loop {
            match recvmsg(&self.fd, &mut slices, &mut control, RecvFlags::CMSG_CLOEXEC) {
                Ok(got) => break got,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Err(Received::Nothing),
                Err(_) => return Err(Received::Closed),
            }
        };
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                self.fds.extend(rights);
            }
        }
        if got.bytes == 0 {
            return Err(Received::Closed);
        }
        if self.fds.len() > MAX_FDS || got.flags.contains(ReturnFlags::CTRUNC) {
            let text = format!("a message has more than {MAX_FDS} descriptors");
            return Err(Received::Malformed(text));
        }
        self.len += got.bytes;
        Ok(())
    }

    fn finish(&mut self, header: Header) -> Received {
        let message = Message::parse(header, &self.bytes[HEADER..self.len]);
        let fds = std::mem::take(&mut self.fds);
        (self.len, self.header) = (0, None);
        match message {
            Err(text) => Received::Malformed(text),
            Ok(message) if message.fds() != fds.len() => Received::Malformed(format!(
                "{}: {} descriptors, not {}",
                message.kind.name(),
                fds.len(),
                message.fds()
            )),
            Ok(message) => Received::Message(message, fds),
        }
    }

    /// The number of the descriptor, for people.
    pub fn number(&self) -> i32 {
        self.fd.as_raw_fd()
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
