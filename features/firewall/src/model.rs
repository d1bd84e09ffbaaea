// SPDX-License-Identifier: Apache-2.0
//! Rules, as commands, the saved configuration and JSON have them.

use crate::packet::Packet;
use crate::sets::{Members, contains};
use crate::values::{FlagMatch, Icmp, Length, Place, Ports, Protocol};
use acl::packet::Part;
use cli::{Error, Result};
use graph::SwIfIndex;
use object::{Arguments, Choice};
use std::net::IpAddr;
use wire::IpProtocol;

/// The outcome for packets.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Action {
    /// They pass, and make a session by which their flow passes in both directions.
    Accept,
    /// They are dropped.
    #[default]
    Drop,
    /// They are dropped, and their sender is told.
    Reject,
}

impl Choice for Action {
    const ALL: &'static [(&'static str, Self)] =
        &[("accept", Self::Accept), ("drop", Self::Drop), ("reject", Self::Reject)];
}

/// A rule: what becomes of packets that meet all its conditions.
#[derive(Arguments, Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// The outcome.
    #[words("{accept | drop | reject}")]
    pub action: Action,
    /// Its name.
    #[words("[name <name:string>]")]
    pub name: Option<String>,
    /// Their source.
    #[words("[src <source:word>]")]
    pub source: Option<Place>,
    /// Their destination.
    #[words("[dst <destination:word>]")]
    pub destination: Option<Place>,
    /// Their protocol.
    #[words("[proto <protocol:word>]")]
    pub protocol: Option<Protocol>,
    /// Source ports of TCP and UDP.
    #[words("[sport <sport:word>]", json = "source_ports")]
    pub source_ports: Option<Ports>,
    /// Destination ports of TCP and UDP.
    #[words("[dport <dport:word>]", json = "destination_ports")]
    pub destination_ports: Option<Ports>,
    /// Type and code of ICMP.
    #[words("[icmp <icmp:word>]")]
    pub icmp: Option<Icmp>,
    /// Flags of TCP.
    #[words("[tcp-flags <flags:word>]", json = "tcp_flags")]
    pub flags: Option<FlagMatch>,
    /// Differentiated services code point.
    #[words("[dscp <dscp:0-63>]")]
    pub dscp: Option<u8>,
    /// Bytes of the packet.
    #[words("[length <length:word>]")]
    pub length: Option<Length>,
    /// A set of interfaces by which they come.
    #[words("[in <in:word>]", json = "in")]
    pub input: Option<String>,
    /// A set of interfaces by which they leave.
    #[words("[out <out:word>]", json = "out")]
    pub output: Option<String>,
    /// The most that it accepts in a second: packets that begin a session, or pass without one.
    #[words("[rate <rate:1-1000000000>]")]
    pub rate: Option<u32>,
    /// They are logged.
    #[words("[log]")]
    pub log: bool,
}

impl Rule {
    /// Checks that its conditions go together.
    ///
    /// # Errors
    /// Conditions that no packet meets together.
    pub fn check(&self) -> Result<()> {
        let protocol = self.protocol.map(|protocol| IpProtocol(protocol.0));
        let has_ports = self.source_ports.is_some() || self.destination_ports.is_some();
        let is_icmp = matches!(protocol, Some(IpProtocol::ICMP | IpProtocol::ICMP6));
        let may_have_ports = matches!(protocol, None | Some(IpProtocol::TCP | IpProtocol::UDP));
        if has_ports && !may_have_ports {
            return Err(Error::usage("ports are those of TCP and UDP: expected proto tcp or udp"));
        }
        if self.flags.is_some() && protocol != Some(IpProtocol::TCP) {
            return Err(Error::usage("flags are those of TCP: expected proto tcp"));
        }
        if self.icmp.is_some() && !is_icmp {
            return Err(Error::usage("type and code are of ICMP: expected proto icmp or icmp6"));
        }
        match self.rate {
            Some(0) => return Err(Error::usage("expected a rate of 1 or more in a second, not 0")),
            Some(_) if self.action != Action::Accept => {
                return Err(Error::usage(
                    "a rate is of packets that are accepted: expected accept",
                ));
            }
            _ => {}
        }
        if self.families() == [false; 2] {
            return Err(Error::usage(
                "source, destination and protocol are of two IP versions: no packet has both",
            ));
        }
        Ok(())
    }

    /// True for IPv4 and for IPv6, if packets of it may match.
    pub fn families(&self) -> [bool; 2] {
        let mut both = [true; 2];
        for place in [&self.source, &self.destination].into_iter().flatten() {
            if let Place::Network(addr, _) = place {
                both[usize::from(addr.is_ipv4())] = false;
            }
        }
        both
    }

    /// Names of the sets that it names.
    pub fn sets(&self) -> impl Iterator<Item = (&str, &'static str)> {
        let places = [&self.source, &self.destination].into_iter().flatten();
        let places = places.filter_map(Place::set).map(|name| (name, "network"));
        let ports = [&self.source_ports, &self.destination_ports].into_iter().flatten();
        let ports = ports.filter_map(Ports::set).map(|name| (name, "port"));
        let interfaces = [&self.input, &self.output].into_iter().flatten();
        let interfaces = interfaces.map(|name| (name.as_str(), "interface"));
        places.chain(ports).chain(interfaces)
    }

    /// True if a packet meets all conditions, one after the other: the definition that compiled
    /// rules are held against. `interfaces` are those by which it came and leaves, `set` finds the
    /// members of a set.
    pub fn matches<'s, A: Copy + Into<IpAddr>>(
        &self,
        packet: &Packet<A>,
        interfaces: [u32; 2],
        set: &impl Fn(&str) -> Option<&'s Members>,
    ) -> bool {
        let tuple = &packet.tuple;
        let (source, destination): (IpAddr, IpAddr) =
            (tuple.source.into(), tuple.destination.into());
        let in_place = |place: &Option<Place>, address| match place {
            None => true,
            Some(Place::Network(network, len)) => contains((*network, *len), address),
            Some(Place::Set(name)) => set(name).is_some_and(|set| set.has_address(address)),
        };
        let upper = tuple.upper;
        let protocol = IpProtocol(upper.protocol);
        let has_ports = matches!(protocol, IpProtocol::TCP | IpProtocol::UDP);
        let in_ports = |ports: &Option<Ports>, port| match ports {
            None => true,
            Some(_) if !has_ports || upper.part != Part::Whole => false,
            Some(Ports::Range(first, last)) => (*first..=*last).contains(&port),
            Some(Ports::Set(name)) => set(name).is_some_and(|set| set.has_port(port)),
        };
        let in_interfaces = |name: &Option<String>, sw_if| {
            name.as_ref()
                .is_none_or(|name| set(name).is_some_and(|set| set.has_interface(SwIfIndex(sw_if))))
        };
        in_place(&self.source, source)
            && in_place(&self.destination, destination)
            && self.protocol.is_none_or(|wanted| wanted.0 == upper.protocol)
            && in_ports(&self.source_ports, upper.source)
            && in_ports(&self.destination_ports, upper.destination)
            && self.icmp.is_none_or(|icmp| {
                icmp.kind == upper.source as u8
                    && icmp.code.is_none_or(|code| code == upper.destination as u8)
            })
            && self.flags.is_none_or(|flags| upper.flags & flags.mask == flags.value)
            && self.dscp.is_none_or(|dscp| dscp == packet.dscp)
            && self.length.is_none_or(|length| (length.0..=length.1).contains(&packet.length))
            && in_interfaces(&self.input, interfaces[0])
            && in_interfaces(&self.output, interfaces[1])
    }
}

/// Checks a differentiated services code point of a message.
///
/// # Errors
/// One of more than six bits.
pub fn check_dscp(dscp: Option<u8>) -> Result<Option<u8>> {
    match dscp {
        Some(dscp) if dscp > 63 => {
            Err(Error::parse(format!("expected a code point of 0 to 63, not {dscp}")))
        }
        dscp => Ok(dscp),
    }
}

/// Settings of a policy.
#[derive(Arguments, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PolicyOptions {
    /// The outcome for packets that no rule matches.
    #[words("[default <default:accept|drop|reject>]", default, json = "default")]
    pub otherwise: Action,
    /// Packets that no rule matches are logged.
    #[words("[log]")]
    pub log: bool,
    /// TCP connections whose begin wasn't seen are taken, for paths of which only one direction
    /// leads here.
    #[words("[loose]")]
    pub loose: bool,
}
