// SPDX-License-Identifier: Apache-2.0
//! A netlink socket for requests and their answers, whatever they are about.

use std::io;
use std::os::fd::OwnedFd;

use netlink_packet_core::{
    DoneBuffer, ErrorBuffer, NLM_F_REQUEST, NLMSG_DONE, NLMSG_ERROR, NetlinkBuffer, NetlinkMessage,
    NetlinkPayload, NetlinkSerializable,
};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{Protocol, RecvFlags, SendFlags, SocketFlags, recv, sendto};

use crate::socket::{DATAGRAM, bind_to, malformed, messages, open};

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
        let socket = open(SocketFlags::empty(), protocol)?;
        bind_to(&socket, 0)?;
        Ok(Self { socket, sequence: 0, buffer: vec![0; DATAGRAM] })
    }

    /// Sends `request` and hands the payloads of the answers to `answer`, until the kernel
    /// acknowledges or ends the dump. `flags` has NLM_F_ACK or NLM_F_DUMP.
    pub fn talk<R>(
        &mut self,
        flags: u16,
        request: R,
        mut answer: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()>
    where
        R: NetlinkSerializable + Into<NetlinkPayload<R>>,
    {
        self.sequence = self.sequence.wrapping_add(1);
        let bytes = encode(self.sequence, flags, request);
        sendto(&self.socket, &bytes, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        loop {
            let len = match recv(&self.socket, &mut self.buffer[..], RecvFlags::empty()) {
                Ok((len, _)) => len,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            for message in messages(&self.buffer[..len]) {
                let message = message.map_err(malformed)?;
                if message.sequence_number() != self.sequence {
                    continue; // an answer to a request that was given up
                }
                match result(&message) {
                    Some(result) => return result,
                    None => answer(message.payload())?,
                }
            }
        }
    }
}

/// The bytes of a request.
fn encode<R>(sequence: u32, flags: u16, request: R) -> Vec<u8>
where
    R: NetlinkSerializable + Into<NetlinkPayload<R>>,
{
    let mut message = NetlinkMessage::from(request);
    message.header.sequence_number = sequence;
    message.header.flags = NLM_F_REQUEST | flags;
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

/// The result of a request, if this message is its last one.
fn result(message: &NetlinkBuffer<&[u8]>) -> Option<io::Result<()>> {
    let payload = message.payload();
    let code = match message.message_type() {
        NLMSG_ERROR => ErrorBuffer::new_checked(payload).map(|b| b.code().map_or(0, i32::from)),
        NLMSG_DONE => DoneBuffer::new_checked(payload).map(|b| b.code()),
        _ => return None,
    };
    Some(match code {
        Ok(0) => Ok(()),
        Ok(code) => Err(io::Error::from_raw_os_error(code.saturating_neg())),
        Err(error) => Err(malformed(error)),
    })
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use netlink_packet_core::NLM_F_ACK;
    use netlink_packet_route::RouteNetlinkMessage;
    use netlink_packet_route::link::{LinkAttribute, LinkMessage};

    #[suite::test]
    fn a_request_is_as_rtnetlink_has_it() {
        let mut link = LinkMessage::default();
        link.header.index = 9;
        link.attributes = vec![LinkAttribute::IfName("eth0".into()), LinkAttribute::Mtu(1500)];
        let mut expected = Vec::new();
        // nlmsghdr: length, type RTM_NEWLINK, flags NLM_F_REQUEST and NLM_F_ACK, sequence, port
        expected.extend(52u32.to_ne_bytes());
        expected.extend([16u16, 5].map(u16::to_ne_bytes).concat());
        expected.extend([7u32, 0].map(u32::to_ne_bytes).concat());
        // ifinfomsg: family, type, index, flags, mask
        expected.extend([0u32, 9, 0, 0].map(u32::to_ne_bytes).concat());
        // IFLA_IFNAME, padded, and IFLA_MTU
        expected.extend([9u16, 3].map(u16::to_ne_bytes).concat());
        expected.extend(b"eth0\0\0\0\0");
        expected.extend([8u16, 4].map(u16::to_ne_bytes).concat());
        expected.extend(1500u32.to_ne_bytes());
        assert_eq!(encode(7, NLM_F_ACK, RouteNetlinkMessage::NewLink(link)), expected);
    }

    #[suite::test]
    fn results_are_the_kernels() {
        let result = |kind: u16, payload: &[u8]| {
            let mut bytes = (16 + payload.len() as u32).to_ne_bytes().to_vec();
            bytes.extend(kind.to_ne_bytes());
            bytes.resize(16, 0);
            bytes.extend(payload);
            let message = messages(&bytes).next().unwrap().unwrap();
            super::result(&message).map(|r| r.map_err(|e| (e.raw_os_error(), e.kind())))
        };
        let invalid = Some(Err((None, io::ErrorKind::InvalidData)));
        for kind in [NLMSG_ERROR, NLMSG_DONE] {
            let error = result(kind, &(-libc::ENODEV).to_ne_bytes());
            assert_eq!(error.unwrap().unwrap_err().0, Some(libc::ENODEV));
            assert_eq!(result(kind, &[0; 20]), Some(Ok(())));
            assert_eq!(result(kind, &[0; 3]), invalid);
            assert!(result(kind, &i32::MIN.to_ne_bytes()).unwrap().is_err());
        }
        assert_eq!(result(16, &[]), None);
    }
}
