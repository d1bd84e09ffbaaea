// SPDX-License-Identifier: Apache-2.0
//! The group and sender of an entry.

use crate::Net;
use cli::Error;
use msg::retval;
use std::fmt;
use std::net::IpAddr;
use wire::{Address, Prefix};

/// Groups and their senders: `(*, G/len)`, `(*, G)` or `(S, G)`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Group<A> {
    /// The group, without bits beyond `len`.
    pub addr: A,
    /// Prefix length of the group, in bits; the address length, if there is a source.
    pub len: u8,
    /// The only sender; `None` for all.
    pub source: Option<A>,
}

impl<A: Address> Group<A> {
    /// All senders, and the groups of a prefix.
    pub fn any(prefix: Prefix<A>) -> Self {
        let net = prefix.network();
        Self { addr: net.addr(), len: net.len(), source: None }
    }

    /// The same with untyped addresses.
    pub fn erased(self) -> Group<IpAddr> {
        Group { addr: self.addr.into(), len: self.len, source: self.source.map(Into::into) }
    }
}

/// One sender and one group.
pub fn from<F: Net>(source: F::Addr, addr: F::Addr) -> Group<F::Addr> {
    Group { addr, len: F::BITS, source: Some(source) }
}

/// Refuses an invalid sender address. An address that is not a group is accepted, as in VPP:
/// clients put such entries into tables, and no packet finds them.
pub(super) fn check<F: Net>(group: &Group<F::Addr>) -> Result<(), Error> {
    let refuse = |why: String| Err(Error::parse(why).retval(retval::INVALID_VALUE));
    match group.source {
        Some(source) if source.multicast() || source == F::Addr::ZERO => {
            refuse(format!("{source} is no sender"))
        }
        _ => Ok(()),
    }
}

impl<A: fmt::Display + Into<IpAddr> + Copy> fmt::Display for Group<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addr: IpAddr = self.addr.into();
        let all = if addr.is_ipv6() { 128 } else { 32 };
        let text = match self.source {
            Some(source) => format!("({source}, {})", self.addr),
            None if self.len == all => format!("(*, {})", self.addr),
            None => format!("(*, {}/{})", self.addr, self.len),
        };
        f.pad(&text)
    }
}
