// SPDX-License-Identifier: Apache-2.0
//! Requests: where they go, from which source address, and their frames.

use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use ip_neighbor::resolve::source_for;
use ip6_nd::compose;
use net::{Addresses, IfKind, Interface, Interfaces, LinkLocals};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;
use wire::nd::{NeighborMessage, solicited_node};
use wire::{Address, EtherType, Ethernet, Header, Ip4, Ip6, Ipv6Header, MacAddr};
use zerocopy::IntoBytes;

/// The least time from one frame to the next, so that no client fills a link.
pub const LEAST_INTERVAL: Duration = Duration::from_millis(1);

/// An arping as it was asked for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Request {
    /// The address that is asked for or announced.
    pub address: IpAddr,
    /// The interface by which frames leave.
    pub sw_if: SwIfIndex,
    /// Announces the address as ours, instead of asking for its station.
    pub gratuitous: bool,
    /// Detects other users of the address: asks without a source address where there is none, or
    /// where it is the address itself, and counts every use by another station.
    pub detects_conflicts: bool,
    /// Number of frames.
    pub repeat: u32,
    /// Time from one frame to the next, and after the last one.
    pub interval: Duration,
}

/// The frames of a request, all of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// A request from an address of ours, unspecified for a probe (RFC 5227 1.1).
    Arp(Ipv4Addr),
    Garp,
    /// A solicitation from an address of ours, unspecified for a probe (RFC 4862 5.4.2).
    Solicitation(Ipv6Addr),
    Advertisement,
}

/// Sends the frames of a request whose interface and source address are checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sender {
    address: IpAddr,
    sw_if: SwIfIndex,
    kind: Kind,
}

/// An interval in seconds; a smaller one than [`LEAST_INTERVAL`], also 0, is taken as that.
///
/// # Errors
/// Negative, infinite, no number (−7).
pub fn interval(seconds: f64) -> Result<Duration> {
    let wrong = |e| Error::parse(format!("interval: {e}")).retval(retval::INVALID_VALUE);
    let interval = Duration::try_from_secs_f64(seconds).map_err(wrong)?;
    Ok(interval.max(LEAST_INTERVAL))
}

fn no_source(interface: &Interface) -> Error {
    let why = format!("no source address for egress interface {}", interface.name);
    Error::failed(why).retval(retval::INVALID_SRC_ADDRESS)
}

fn is_one_host(address: IpAddr) -> bool {
    let is_broadcast = address == IpAddr::V4(Ipv4Addr::BROADCAST);
    !is_broadcast && !address.is_multicast() && !address.is_unspecified() && !address.is_loopback()
}

impl Sender {
    /// Checks a request.
    ///
    /// # Errors
    /// An interface that isn't there (−2), carries no Ethernet frames (−151), is down (−74) or has
    /// no address to ask from (−57); an address that isn't that of one host (−58).
    pub fn new(world: &World, request: &Request) -> Result<Self> {
        let Request { address, sw_if, gratuitous, detects_conflicts, .. } = *request;
        let interface = world.get::<Interfaces>().get(sw_if)?;
        if interface.kind != IfKind::Ethernet {
            let why = format!("{} carries no Ethernet frames", interface.name);
            return Err(Error::unsupported(why).retval(retval::NON_ETHERNET));
        }
        if !is_one_host(address) {
            let why = wire::not_one_host(address);
            return Err(Error::parse(why).retval(retval::INVALID_DST_ADDRESS));
        }
        if !interface.admin_up || !interface.link_up {
            let why = format!("{} is down", interface.name);
            return Err(Error::failed(why).retval(retval::UNEXPECTED_INTF_STATE));
        }
        let kind = match address {
            IpAddr::V4(_) if gratuitous => Kind::Garp,
            IpAddr::V6(_) if gratuitous => Kind::Advertisement,
            IpAddr::V4(ip) => {
                let own = world.get::<Addresses<Ip4>>().usable(sw_if);
                match source_for(&own, ip) {
                    Some(source) if source != ip || !detects_conflicts => Kind::Arp(source),
                    None if !detects_conflicts => return Err(no_source(&interface)),
                    // A probe names no sender: the address isn't in use yet, and a request for it
                    // from itself would announce it (RFC 5227 2.1.1).
                    _ => Kind::Arp(Ipv4Addr::UNSPECIFIED),
                }
            }
            IpAddr::V6(ip) => match source6(world, sw_if, ip) {
                Some(source) if !detects_conflicts || !has6(world, sw_if, ip) => {
                    Kind::Solicitation(source)
                }
                None if !detects_conflicts => return Err(no_source(&interface)),
                // As for IPv4 (RFC 4862 5.4.2).
                _ => Kind::Solicitation(Ipv6Addr::UNSPECIFIED),
            },
        };
        Ok(Self { address, sw_if, kind })
    }

    /// Name of the frames.
    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::Arp(_) => "ARP Request",
            Kind::Garp => "GARP",
            Kind::Solicitation(_) => "Neighbor Solicitation",
            Kind::Advertisement => "Unsolicited Neighbor Advertisement",
        }
    }

    /// Name of the replies.
    pub fn replies(&self) -> &'static str {
        match self.address {
            IpAddr::V4(_) => "ARP Replies",
            IpAddr::V6(_) => "ICMP6 neighbor advertisements",
        }
    }

    /// Sends a frame, from the main thread. False if the interface is gone.
    pub fn send(&self, world: &World) -> bool {
        let Ok(interface) = world.get::<Interfaces>().get(self.sw_if) else { return false };
        match (self.address, self.kind) {
            (IpAddr::V4(ip), Kind::Arp(source)) => {
                arp::send(world, &interface, vec![arp::Request::who_has(ip, source)]);
            }
            (IpAddr::V4(ip), _) => {
                arp::send(world, &interface, vec![arp::Request::announce(ip)]);
            }
            (IpAddr::V6(ip), Kind::Solicitation(source)) => {
                let frame = if source.is_unspecified() {
                    probe6(interface.mac, ip)
                } else {
                    compose::solicitation(interface.mac, source, ip, None).to_vec()
                };
                ip6_nd::say(world, &interface, "requests", vec![frame]);
            }
            (IpAddr::V6(ip), _) => {
                let frame = compose::announcement(interface.mac, ip);
                ip6_nd::say(world, &interface, "gratuitous", vec![frame]);
            }
        }
        true
    }
}

/// A solicitation from the unspecified address, which names no link-layer address (RFC 4861 4.3).
pub fn probe6(mac: MacAddr, target: Ipv6Addr) -> Vec<u8> {
    let group = solicited_node(target);
    let mut packet = vec![0; Ipv6Header::LEN];
    packet.extend(NeighborMessage::solicitation(target).as_bytes());
    compose::write_header(&mut packet, Ipv6Addr::UNSPECIFIED, group);
    let ethernet = Ethernet::new(mac, MacAddr::ip6_multicast(group), EtherType::IP6);
    [ethernet.as_bytes(), &packet].concat()
}

/// True if an interface has this address, also that of the link.
fn has6(world: &World, sw_if: SwIfIndex, ip: Ipv6Addr) -> bool {
    let own = world.get::<Addresses<Ip6>>().list(sw_if);
    own.iter().any(|own| own.addr() == ip) || world.get::<LinkLocals>().address(sw_if) == Some(ip)
}

/// Our address in the network of a host; that of the link for one of the link, or if there is no
/// other (RFC 4861 7.2.2).
fn source6(world: &World, sw_if: SwIfIndex, to: Ipv6Addr) -> Option<Ipv6Addr> {
    let link = world.get::<LinkLocals>().usable(sw_if);
    if to.link_local() && link.is_some() {
        return link;
    }
    source_for(&world.get::<Addresses<Ip6>>().usable(sw_if), to).or(link)
}
