// SPDX-License-Identifier: Apache-2.0
//! The settings of an exporter.

use crate::stream::Limits;
use cli::{Error, Result};
use graph::World;
use msg::retval;
use net::{Fib, TableIndex};
use std::net::IpAddr;
use wire::{Ip4, Ip6};

/// The port of IPFIX (RFC 7011 10.1).
pub const PORT: u16 = 4739;
/// Bytes of a datagram if the path's MTU isn't known (RFC 7011 10.3.3), with its IP header.
pub const PATH_MTU: u32 = 512;
/// Bounds of the path's MTU.
pub const PATH_MTUS: std::ops::RangeInclusive<u32> = 68..=1450;
/// Seconds from one sending of templates to the next, if no other number is set.
pub const TEMPLATE_INTERVAL: u32 = 20;
/// The longest template interval: a day.
const LONGEST_INTERVAL: u32 = 86_400;
const SECOND: u64 = 1_000_000_000;

/// The settings of an exporter with a collector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The receiver.
    pub collector: IpAddr,
    /// Its port.
    pub port: u16,
    /// The source of datagrams, of the same IP version.
    pub source: IpAddr,
    /// Id of the table of the collector; `None`: none was named, it is the default one.
    pub vrf: Option<u32>,
    /// Bytes of a datagram at most, with its IP header.
    pub path_mtu: u32,
    /// Seconds from one sending of templates to the next.
    pub template_interval: u32,
    /// Datagrams of IPv4 have a checksum.
    pub checksum: bool,
}

impl Settings {
    /// The limits of its streams.
    pub fn limits(&self) -> Limits {
        let headers = if self.collector.is_ipv6() { 40 } else { 20 } + 8;
        Limits {
            message: self.path_mtu as usize - headers,
            templates: u64::from(self.template_interval) * SECOND,
        }
    }

    /// Checks them, and returns the table of the collector.
    ///
    /// # Errors
    /// A setting that is out of range (−7); no such table (−3).
    pub fn check(&self, world: &World) -> Result<TableIndex> {
        let refuse = |why: String| Err(Error::parse(why).retval(retval::INVALID_VALUE));
        if self.source.is_unspecified() || self.source.is_ipv6() != self.collector.is_ipv6() {
            let version = if self.collector.is_ipv6() { 6 } else { 4 };
            return refuse(format!(
                "expected a source address of IPv{version} as the collector's, not {}",
                self.source
            ));
        }
        if self.port == 0 {
            return refuse("expected a port of the collector from 1 to 65535, not 0".into());
        }
        if self.path_mtu > *PATH_MTUS.end() {
            return refuse(format!("too big path-mtu value, maximum is {}", PATH_MTUS.end()));
        }
        if self.path_mtu < *PATH_MTUS.start() {
            return refuse(format!("too small path-mtu value, minimum is {}", PATH_MTUS.start()));
        }
        if !(1..=LONGEST_INTERVAL).contains(&self.template_interval) {
            return refuse(format!(
                "expected a template interval of 1 to {LONGEST_INTERVAL} seconds, not {}",
                self.template_interval
            ));
        }
        let vrf = self.vrf.unwrap_or(0);
        match self.collector {
            IpAddr::V4(_) => world.get::<Fib<Ip4>>().find_table(vrf),
            IpAddr::V6(_) => world.get::<Fib<Ip6>>().find_table(vrf),
        }
    }
}
