// SPDX-License-Identifier: Apache-2.0
//! Neighbour discovery, multicast listener discovery.

use core::fmt;
use core::net::Ipv6Addr;

use super::Printer;
use crate::mld::{Mld2Record, Mld2Report, MldMessage};
use crate::nd::{
    NdOption, NdOptions, NeighborMessage, PrefixInfo, Redirect, RouterAdvertisement,
    RouterSolicitation,
};
use crate::{Header, Icmp6Type};

/// A lifetime in seconds.
struct Lifetime(u32);

impl fmt::Display for Lifetime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == PrefixInfo::INFINITE { f.write_str("infinite") } else { self.0.fmt(f) }
    }
}

/// The names of the bits that are set, each with a blank before it.
struct Bits<'a>(u32, &'a [(u32, &'a str)]);

impl fmt::Display for Bits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.1
            .iter()
            .filter(|(bit, _)| self.0 & bit != 0)
            .try_for_each(|(_, name)| write!(f, " {name}"))
    }
}

impl Printer<'_, '_> {
    /// Behind the first line of such a message; others say nothing.
    pub(super) fn discovery(&mut self, kind: Icmp6Type, bytes: &[u8]) -> fmt::Result {
        let options = match kind {
            Icmp6Type::NEIGHBOR_SOLICITATION | Icmp6Type::NEIGHBOR_ADVERTISEMENT => {
                let Some((message, options)) = NeighborMessage::split(bytes) else { return Ok(()) };
                const FLAGS: [(u32, &str); 3] = [
                    (NeighborMessage::ROUTER, "router"),
                    (NeighborMessage::SOLICITED, "solicited"),
                    (NeighborMessage::OVERRIDE, "override"),
                ];
                let flags = Bits(message.flags.get(), &FLAGS);
                self.detail(format_args!("target address {}{flags}", message.target()))?;
                options
            }
            Icmp6Type::ROUTER_SOLICITATION => match RouterSolicitation::split(bytes) {
                Some((_, options)) => options,
                None => return Ok(()),
            },
            Icmp6Type::ROUTER_ADVERTISEMENT => {
                let Some((message, options)) = RouterAdvertisement::split(bytes) else {
                    return Ok(());
                };
                const FLAGS: [(u32, &str); 2] = [
                    (RouterAdvertisement::MANAGED as u32, "managed"),
                    (RouterAdvertisement::OTHER as u32, "other"),
                ];
                let flags = Bits(message.flags.into(), &FLAGS);
                self.detail(format_args!(
                    "hop limit {}, lifetime {}{flags}",
                    message.hop_limit, message.lifetime
                ))?;
                self.detail(format_args!(
                    "preference {}, reachable {} ms, retransmit {} ms",
                    message.preference(),
                    message.reachable,
                    message.retransmit
                ))?;
                options
            }
            Icmp6Type::REDIRECT => {
                let Some((message, options)) = Redirect::split(bytes) else { return Ok(()) };
                let (target, to) =
                    (Ipv6Addr::from(message.target), Ipv6Addr::from(message.destination));
                self.detail(format_args!("target address {target}, destination {to}"))?;
                options
            }
            Icmp6Type::MLD_QUERY | Icmp6Type::MLD_REPORT | Icmp6Type::MLD_DONE => {
                let Some(message) = MldMessage::view(bytes) else { return Ok(()) };
                let (group, time) = (message.group(), message.max_response_ms());
                return self.detail(format_args!("group {group}, answer within {time} ms"));
            }
            Icmp6Type::MLD2_REPORT => return self.records(bytes),
            _ => return Ok(()),
        };
        self.options(options)
    }

    fn records(&mut self, bytes: &[u8]) -> fmt::Result {
        for record in Mld2Report::records(bytes) {
            let kind = match record.kind {
                1 => "is-include",
                Mld2Record::IS_EXCLUDE => "is-exclude",
                Mld2Record::TO_INCLUDE => "to-include",
                Mld2Record::TO_EXCLUDE => "to-exclude",
                5 => "allow",
                6 => "block",
                _ => "unknown",
            };
            let group = Ipv6Addr::from(record.group);
            self.detail(format_args!("{kind} group {group}, {} sources", record.sources))?;
        }
        Ok(())
    }

    fn options(&mut self, options: &[u8]) -> fmt::Result {
        for option in NdOptions::new(options) {
            match option {
                Ok(option) => self.option(option.into())?,
                Err(error) => self.detail(format_args!("{error}"))?,
            }
        }
        Ok(())
    }

    fn option(&mut self, option: NdOption<'_>) -> fmt::Result {
        match option {
            NdOption::SourceLink(mac) => {
                self.detail(format_args!("source link-layer address {mac}"))
            }
            NdOption::TargetLink(mac) => {
                self.detail(format_args!("target link-layer address {mac}"))
            }
            NdOption::Prefix(info) => {
                const FLAGS: [(u32, &str); 2] = [
                    (PrefixInfo::ON_LINK as u32, "on-link"),
                    (PrefixInfo::AUTONOMOUS as u32, "autonomous"),
                ];
                let flags = Bits(info.flags.into(), &FLAGS);
                let (valid, preferred) =
                    (Lifetime(info.valid.get()), Lifetime(info.preferred.get()));
                let (addr, len) = (Ipv6Addr::from(info.prefix), info.prefix_len);
                self.detail(format_args!(
                    "prefix {addr}/{len} valid {valid} preferred {preferred}{flags}"
                ))
            }
            NdOption::Redirected(bytes) => {
                self.detail(format_args!("redirected packet, {} bytes", bytes.len()))
            }
            NdOption::Mtu(mtu) => self.detail(format_args!("mtu {mtu}")),
            NdOption::Nonce(nonce) => {
                self.detail(format_args!("nonce "))?;
                nonce.iter().try_for_each(|byte| self.text(format_args!("{byte:02x}")))
            }
            NdOption::Route(route) => {
                let (prefix, lifetime) = (route.prefix, Lifetime(route.lifetime));
                self.detail(format_args!(
                    "route {prefix} preference {} lifetime {lifetime}",
                    route.preference
                ))
            }
            NdOption::Rdnss { lifetime, servers } => {
                self.detail(format_args!("name servers lifetime {}", Lifetime(lifetime)))?;
                servers.iter().try_for_each(|s| self.text(format_args!(" {}", Ipv6Addr::from(*s))))
            }
            NdOption::Dnssl { lifetime, domains } => {
                self.detail(format_args!("search lifetime {} {domains}.", Lifetime(lifetime)))
            }
            NdOption::Other(raw) => {
                self.detail(format_args!("option {} length {}", raw.kind.0, raw.bytes.len()))
            }
        }
    }
}
