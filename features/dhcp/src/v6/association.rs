// SPDX-License-Identifier: Apache-2.0
//! Identity associations in messages: what a client sends, and what a server answers (RFC 8415 21.4
//! to 21.6, 21.21, 21.22).

use super::message::{FIXED, Options, code, kind, put};
use std::net::Ipv6Addr;
use wire::{Ip6Prefix, Prefix};

/// The identifier of our associations: an interface has one of each kind.
pub const IAID: u32 = 1;
/// Leases of one association at most: more are ignored.
pub const MOST_LEASES: usize = 16;
/// Status of success (RFC 8415 21.13).
pub const SUCCESS: u16 = 0;
/// Status: the server doesn't know the association.
pub const NO_BINDING: u16 = 3;

/// The kind of an association.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// Addresses of the interface.
    Addresses,
    /// Prefixes that are delegated to the router.
    Prefixes,
}

impl Kind {
    /// The code of the association's option.
    pub fn code(self) -> u16 {
        match self {
            Self::Addresses => code::IA_NA,
            Self::Prefixes => code::IA_PD,
        }
    }

    /// The code of the option of a lease in it.
    fn lease(self) -> u16 {
        match self {
            Self::Addresses => code::IA_ADDRESS,
            Self::Prefixes => code::IA_PREFIX,
        }
    }
}

/// A lease in a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lease {
    /// The prefix; an address has all of its bits.
    pub prefix: Ip6Prefix,
    /// Seconds until it is deprecated.
    pub preferred: u32,
    /// Seconds until it ends.
    pub valid: u32,
}

impl Lease {
    fn option(&self, kind: Kind) -> Vec<u8> {
        let times = [self.preferred.to_be_bytes(), self.valid.to_be_bytes()].concat();
        let addr = self.prefix.addr().octets();
        match kind {
            Kind::Addresses => [&addr[..], &times].concat(),
            Kind::Prefixes => [&times[..], &[self.prefix.len()], &addr].concat(),
        }
    }

    fn read(kind: Kind, data: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u32::from_be_bytes(*data.get(at..)?.first_chunk()?));
        let (addr_at, times_at, len) = match kind {
            Kind::Addresses => (0, 16, 128),
            Kind::Prefixes => (9, 0, *data.get(8)?),
        };
        let addr: [u8; 16] = *data.get(addr_at..)?.first_chunk()?;
        let (preferred, valid) = (number(times_at)?, number(times_at + 4)?);
        let prefix = Prefix::new(Ipv6Addr::from(addr), len)?.network();
        let addr = prefix.addr();
        let usable = len > 0 && !addr.is_unspecified() && !addr.is_loopback();
        let usable = usable && !addr.is_multicast() && !addr.is_unicast_link_local();
        (usable && preferred <= valid).then_some(Self { prefix, preferred, valid })
    }
}

/// A message of a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClientMessage<'a> {
    /// Its type.
    pub kind: u8,
    /// The transaction's number, 24 bits.
    pub xid: u32,
    /// The client's identifier.
    pub duid: &'a [u8],
    /// The server's identifier, if one is meant.
    pub server: Option<&'a [u8]>,
    /// Hundredths of a second since the exchange began.
    pub elapsed: u16,
    /// The kind of the association.
    pub association: Kind,
    /// The times of the association that the client would like, in seconds.
    pub times: (u32, u32),
    /// The leases that the client has or would like.
    pub leases: &'a [Lease],
}

impl ClientMessage<'_> {
    /// The message's bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = (u32::from(self.kind) << 24 | self.xid & 0xff_ffff).to_be_bytes().to_vec();
        put(&mut bytes, code::CLIENT_ID, self.duid);
        if let Some(server) = self.server {
            put(&mut bytes, code::SERVER_ID, server);
        }
        put(&mut bytes, code::ELAPSED_TIME, &self.elapsed.to_be_bytes());
        put(&mut bytes, code::OPTION_REQUEST, &code::SOL_MAX_RT.to_be_bytes());
        let mut association = IAID.to_be_bytes().to_vec();
        association.extend(self.times.0.to_be_bytes());
        association.extend(self.times.1.to_be_bytes());
        for lease in self.leases {
            put(&mut association, self.association.lease(), &lease.option(self.association));
        }
        put(&mut bytes, self.association.code(), &association);
        bytes
    }
}

/// A server's answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Its type: advertise or reply.
    pub kind: u8,
    /// The server's identifier.
    pub server: Vec<u8>,
    /// The server's preference.
    pub preference: u8,
    /// The status of the message.
    pub status: u16,
    /// The status of the association.
    pub inner_status: u16,
    /// T1 and T2 of the association, in seconds.
    pub times: (u32, u32),
    /// The association is there, and has a usable lease or none at all.
    pub has_association: bool,
    /// The leases. One whose preferred lifetime is above the valid one is left out (RFC 8415 21.6).
    pub leases: Vec<Lease>,
    /// The longest time between two solicitations that the server wants, in seconds.
    pub sol_max_rt: Option<u32>,
}

/// The transaction's number of a message.
pub fn xid(message: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(*message.first_chunk::<FIXED>()?) & 0xff_ffff)
}

/// The status in options; success if there is none.
fn status(options: Options<'_>) -> u16 {
    let status = options.get(code::STATUS).and_then(|data| data.first_chunk::<2>());
    status.map_or(SUCCESS, |bytes| u16::from_be_bytes(*bytes))
}

impl Answer {
    /// Reads an answer to the client with this identifier (RFC 8415 16.3, 16.10). `None` for one
    /// that has to be ignored: of another type, for another client, without a server, or with T1
    /// above T2 (21.4).
    pub fn read(message: &[u8], duid: &[u8], association: Kind) -> Option<Self> {
        let (fixed, options) = message.split_first_chunk::<FIXED>()?;
        let [kind, ..] = *fixed;
        let options = Options(options);
        if !matches!(kind, kind::ADVERTISE | kind::REPLY) || options.get(code::CLIENT_ID)? != duid {
            return None;
        }
        let server = options.get(code::SERVER_ID).filter(|id| (2..=130).contains(&id.len()))?;
        let mut answer = Self {
            kind,
            server: server.to_vec(),
            preference: options.get(code::PREFERENCE).and_then(|d| d.first()).map_or(0, |p| *p),
            status: status(options),
            inner_status: SUCCESS,
            times: (0, 0),
            has_association: false,
            leases: Vec::new(),
            sol_max_rt: None,
        };
        let max = options.get(code::SOL_MAX_RT).and_then(|d| d.first_chunk::<4>());
        let max = max.map(|bytes| u32::from_be_bytes(*bytes));
        answer.sol_max_rt = max.filter(|seconds| (60..=86_400).contains(seconds));
        for (code, data) in options {
            let Some((fixed, inner)) = data.split_first_chunk::<12>() else { continue };
            let number = |at: usize| {
                u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]])
            };
            if code != association.code() || number(0) != IAID {
                continue;
            }
            answer.times = (number(4), number(8));
            if answer.times.0 > answer.times.1 && answer.times.1 > 0 {
                return None;
            }
            let inner = Options(inner);
            answer.inner_status = status(inner);
            let leases = inner.filter(|(code, _)| *code == association.lease());
            let leases = leases.filter_map(|(_, data)| Lease::read(association, data));
            answer.leases = leases.take(MOST_LEASES).collect();
            let has_any = inner.into_iter().any(|(code, _)| code == association.lease());
            answer.has_association = !has_any || !answer.leases.is_empty();
            break;
        }
        Some(answer)
    }
}
