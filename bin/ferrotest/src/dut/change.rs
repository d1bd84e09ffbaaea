// SPDX-License-Identifier: Apache-2.0
//! Changes of a device while it forwards: a restart, and routes that are loaded or taken out.

use std::fmt::Write as _;
use std::net::IpAddr;

use super::Device;
use crate::lab::{End, Lab};
use crate::traffic::random::MOST_ADDRESSES;

/// A change of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// It starts anew.
    Restart,
    /// Routes are loaded.
    Add(Routes),
    /// Routes are taken out.
    Delete(Routes),
    /// All sessions of a translation are removed.
    Clear,
}

impl Change {
    /// Changes the device; returns when it has confirmed that.
    ///
    /// # Errors
    /// The device can't, or refuses.
    pub fn apply(self, device: &mut dyn Device, lab: &Lab) -> Result<(), String> {
        match self {
            Self::Restart => device.restart(lab),
            Self::Add(routes) => device.routes(lab, routes, Verb::Add),
            Self::Delete(routes) => device.routes(lab, routes, Verb::Delete),
            Self::Clear => device.clear_sessions(lab),
        }
    }
}

/// Verb of a change of routes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verb {
    /// They are loaded.
    Add,
    /// They are taken out.
    Delete,
}

/// Host routes by the tester's right port. The first ones lead to the addresses of the range of
/// destinations, so that random destinations use them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Routes {
    /// Number.
    pub count: u32,
    /// True for IPv6.
    pub ip6: bool,
}

/// Most routes of a load: those of 10.0.0.0/8.
pub const MOST_ROUTES: u32 = 1 << 24;

/// Routes with networks one behind the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// First address.
    pub first: IpAddr,
    /// Number.
    pub count: u32,
}

impl Block {
    fn addresses(self) -> impl Iterator<Item = IpAddr> {
        (0..self.count).map(move |n| match self.first {
            IpAddr::V4(first) => IpAddr::V4((first.to_bits().wrapping_add(n)).into()),
            IpAddr::V6(first) => IpAddr::V6((first.to_bits().wrapping_add(n.into())).into()),
        })
    }
}

impl Routes {
    /// The next hop.
    pub fn via(self) -> IpAddr {
        let (ip4, ip6) = End::Right.addresses().tester;
        if self.ip6 { ip6.into() } else { ip4.into() }
    }

    /// Prefix length of each.
    pub fn prefix_len(self) -> u8 {
        if self.ip6 { 128 } else { 32 }
    }

    /// The routes as blocks of neighbouring networks.
    pub fn blocks(self) -> Vec<Block> {
        let range = End::Right.addresses().range;
        if self.ip6 {
            return vec![Block { first: range.ip6.into(), count: self.count }];
        }
        let used = self.count.min(MOST_ADDRESSES);
        let other = Block { first: [10, 0, 0, 0].into(), count: self.count - used };
        let all = [Block { first: range.ip4.into(), count: used }, other];
        all.into_iter().filter(|block| block.count > 0).collect()
    }

    /// The prefixes, one to a line, between two texts.
    pub fn lines(self, before: &str, after: &str) -> String {
        let (mut text, len) = (String::new(), self.prefix_len());
        for address in self.blocks().into_iter().flat_map(Block::addresses) {
            let _ = writeln!(text, "{before}{address}/{len}{after}");
        }
        text
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn routes_begin_with_the_destinations_of_the_traffic() {
        let few = Routes { count: 257, ip6: false };
        let text = few.lines("route add ", " dev right");
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 257);
        assert_eq!(lines[0], "route add 198.19.1.0/32 dev right");
        assert_eq!(lines[256], "route add 198.19.2.0/32 dev right");
        let many = Routes { count: 100_000, ip6: false };
        let counts: Vec<_> = many.blocks().iter().map(|block| block.count).collect();
        assert_eq!(counts, [65_000, 35_000]);
        assert_eq!(many.lines("", "").lines().last(), Some("10.0.136.183/32"));
        let six = Routes { count: 3, ip6: true };
        let expected = "2001:2:0:8001::/128\n2001:2:0:8001::1/128\n2001:2:0:8001::2/128\n";
        assert_eq!(
            (six.lines("", ""), six.via()),
            (expected.into(), "2001:2:0:8000::2".parse().unwrap())
        );
    }
}
