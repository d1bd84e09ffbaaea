// SPDX-License-Identifier: Apache-2.0
//! The neighbours whose events a client subscribed to.

use graph::SwIfIndex;
use std::net::{IpAddr, Ipv6Addr};

/// The neighbours whose events a client subscribed to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Watch {
    /// Interface, or all.
    pub sw_if: Option<SwIfIndex>,
    /// Address, or all.
    pub ip: Option<IpAddr>,
}

impl Watch {
    /// Returns true if the client subscribed to events of this neighbour.
    pub fn covers(&self, sw_if: SwIfIndex, ip: IpAddr) -> bool {
        self.sw_if.is_none_or(|wanted| wanted == sw_if) && self.ip.is_none_or(|wanted| wanted == ip)
    }

    /// Returns a key that is unique among watchers.
    pub fn to_key(self) -> String {
        let sw_if = self.sw_if.map_or(u32::MAX, |sw_if| sw_if.0);
        format!("{sw_if} {}", self.ip.unwrap_or(Ipv6Addr::UNSPECIFIED.into()))
    }

    /// Parses a key made by [`Self::to_key`].
    pub fn of_key(key: &str) -> Option<Self> {
        let (sw_if, ip) = key.split_once(' ')?;
        let (sw_if, ip): (u32, IpAddr) = (sw_if.parse().ok()?, ip.parse().ok()?);
        Some(Self {
            sw_if: (sw_if != u32::MAX).then_some(SwIfIndex(sw_if)),
            ip: Some(ip).filter(|ip| !ip.is_unspecified()),
        })
    }
}
