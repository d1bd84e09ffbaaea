// SPDX-License-Identifier: Apache-2.0
//! The relay agent information (RFC 3046): the interface that a client is at, and its VPN.

use super::vss;
use crate::v4::message::code;
use std::net::Ipv4Addr;

/// Sub-option: the interface, by its index of 4 bytes (RFC 3046 3.1, agent circuit id).
const CIRCUIT: u8 = 1;
/// Sub-option: the interface's address (RFC 3527, link selection).
const LINK: u8 = 5;
/// Sub-option: the VPN (RFC 6607 3.2).
const VSS: u8 = 151;
/// Sub-option: the VPN has not been used by the server, which removes it otherwise (RFC 6607 3.4).
const VSS_CONTROL: u8 = 152;

/// Bytes of the option at most, and the end behind it.
pub const MOST: usize = 2 + 6 + 6 + (2 + vss::MOST) + 2 + 1;

/// The option as it is written, with the end of options behind it.
pub struct Written {
    bytes: [u8; MOST],
    len: usize,
}

impl Written {
    /// For a client at this interface, whose table has this VPN.
    #[inline(always)]
    pub fn new(sw_if: u32, link: Ipv4Addr, vss: Option<&[u8]>) -> Self {
        let mut written = Self { bytes: [0; MOST], len: 0 };
        written.put(&[code::RELAY_AGENT, 0]);
        written.put(&[CIRCUIT, 4]);
        written.put(&sw_if.to_be_bytes());
        written.put(&[LINK, 4]);
        written.put(&link.octets());
        if let Some(vss) = vss {
            let vss = &vss[..vss.len().min(vss::MOST)];
            written.put(&[VSS, vss.len() as u8]);
            written.put(vss);
            written.put(&[VSS_CONTROL, 0]);
        }
        written.bytes[1] = (written.len - 2) as u8;
        written.put(&[code::END]);
        written
    }

    #[inline(always)]
    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// The bytes.
    #[inline(always)]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// The option of a server's answer.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Information {
    /// The interface's index.
    pub sw_if: Option<u32>,
    /// The interface's address.
    pub link: Option<Ipv4Addr>,
    /// The server has not used the VPN.
    pub vss_unused: bool,
}

impl Information {
    /// Reads the option's data, up to a sub-option that isn't whole.
    #[inline(always)]
    pub fn read(mut data: &[u8]) -> Self {
        let mut read = Self::default();
        while let Some((&[kind, len], rest)) = data.split_first_chunk::<2>()
            && let Some((value, rest)) = rest.split_at_checked(len.into())
        {
            let four: Option<[u8; 4]> = value.try_into().ok();
            match kind {
                CIRCUIT => read.sw_if = four.map(u32::from_be_bytes),
                LINK => read.link = four.map(Into::into),
                VSS_CONTROL => read.vss_unused = true,
                _ => {}
            }
            data = rest;
        }
        read
    }
}
