// SPDX-License-Identifier: Apache-2.0
//! The parameters of a tunnel.

use crate::{Key, bits};
use bitflags::bitflags;
use cli::{Error, Result, retval};
use graph::{NodeIndex, SwIfIndex, World};
use net::{Fib, FloodRole, IfKind, Implied, TableIndex};
use object::Arguments;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{Ip4, Ip6, IpProtocol, MacAddr};

/// The two ends in the underlay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TunnelEndpoints {
    /// The address here.
    pub local: IpAddr,
    /// The address of the other end.
    pub remote: IpAddr,
    /// Id of the table that outer packets are routed in.
    pub table: u32,
    /// The interface by which outer packets leave, if the other end is a group.
    pub group_interface: Option<SwIfIndex>,
}

impl TunnelEndpoints {
    /// Two hosts, or a group and the interface by which packets to it leave.
    pub fn new(local: IpAddr, remote: IpAddr, table: u32, by: Option<SwIfIndex>) -> Self {
        let group_interface = by.filter(|_| remote.is_multicast());
        Self { local, remote, table, group_interface }
    }

    /// The index of the table.
    ///
    /// # Errors
    /// A table that isn't there (−3).
    pub fn table_index(&self, world: &World) -> Result<TableIndex> {
        match self.local {
            IpAddr::V4(_) => world.get::<Fib<Ip4>>().find_table(self.table),
            IpAddr::V6(_) => world.get::<Fib<Ip6>>().find_table(self.table),
        }
    }

    /// Finds the table and takes a reference on it, until [`Self::release_table`].
    ///
    /// # Errors
    /// A table that isn't there (−3).
    pub fn hold_table(&self, world: &World) -> Result<TableIndex> {
        match self.local {
            IpAddr::V4(_) => world.get::<Fib<Ip4>>().hold_table(self.table),
            IpAddr::V6(_) => world.get::<Fib<Ip6>>().hold_table(self.table),
        }
    }

    /// Gives back the reference that [`Self::hold_table`] took.
    pub fn release_table(&self, world: &World, table: TableIndex) {
        match self.local {
            IpAddr::V4(_) => world.get::<Fib<Ip4>>().release_table(world, table),
            IpAddr::V6(_) => world.get::<Fib<Ip6>>().release_table(world, table),
        }
    }

    /// Checks that the address here is one of one host.
    ///
    /// # Errors
    /// An address that isn't (−57).
    pub fn check_local(&self) -> Result<()> {
        if self.local.is_multicast() || self.local.is_unspecified() {
            let why = wire::not_one_host(self.local);
            return Err(Error::parse(why).retval(retval::INVALID_SRC_ADDRESS));
        }
        Ok(())
    }

    /// Checks the other end of a tunnel with one, or the lack of it in a multipoint tunnel.
    ///
    /// # Errors
    /// Ends of two protocols (−153) or the same (−82); another end of a multipoint tunnel (−58).
    pub fn check_mode(&self, multipoint: bool) -> Result<()> {
        if !multipoint {
            return self.check(retval::INVALID_PROTOCOL);
        }
        if !self.remote.is_unspecified() {
            let why = format!("the other ends are entries of `create teib', not {}", self.remote);
            return Err(Error::parse(why).retval(retval::INVALID_DST_ADDRESS));
        }
        Ok(())
    }

    /// Checks that both are of one protocol and not the same.
    ///
    /// # Errors
    /// The first is `mixed`; −82 the second.
    pub fn check(&self, mixed: retval::Retval) -> Result<()> {
        let Self { local, remote, .. } = self;
        if local.is_ipv4() != remote.is_ipv4() {
            return Err(
                Error::parse(format!("{local} and {remote} are of two protocols")).retval(mixed)
            );
        }
        if local == remote {
            return Err(Error::parse(format!("both ends are {local}")).retval(retval::SAME_SRC_DST));
        }
        Ok(())
    }
}

/// A MAC address by the number of a tunnel, as VPP makes them for some kinds.
pub const fn numbered_mac(instance: u32) -> MacAddr {
    let [.., high, low] = instance.to_be_bytes();
    MacAddr([0xd0, 0x0b, 0xee, 0xd0, high, low])
}

/// A MAC address that the two ends of a tunnel don't share, and that is the same after a restart.
pub fn derived_mac<S: Spec>(spec: &S) -> MacAddr {
    let ends = spec.ends();
    let Key { local, remote, table, id, other } = spec.key(&ends, ends.table);
    let mix =
        |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let words = [local as u64, (local >> 64) as u64, remote as u64, (remote >> 64) as u64];
    let rest = [u64::from(table) << 32 | u64::from(id), other.into(), bits(ends.local) as u64];
    let [a, b, c, d, ..] = words.into_iter().chain(rest).fold(0, mix).to_be_bytes();
    MacAddr([0x02, 0xfe, a, b, c, d])
}

/// The address that is none, of the protocol of another.
pub const fn unspecified(like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    }
}

bitflags! {
    /// The fields copied between inner and outer headers, with VPP's bits.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Flags: u8 {
        /// The outer IPv4 header says "don't fragment" where the inner one does.
        const COPY_DF = 1;
        /// The outer IPv4 header says "don't fragment".
        const SET_DF = 2;
        /// The outer DSCP is the inner one.
        const COPY_DSCP = 4;
        /// The outer ECN is the inner one.
        const COPY_ECN = 8;
        /// When the outer header is taken off, its ECN goes into the inner one.
        const DECAP_COPY_ECN = 0x10;
        /// Packets of one inner flow take one path through the underlay, other flows others.
        const INNER_HASH = 0x20;
        /// The outer TTL or hop limit is the inner one.
        const COPY_HOP_LIMIT = 0x40;
        /// The outer flow label is the inner one, or the inner flow's hash.
        const COPY_FLOW_LABEL = 0x80;
    }
}

/// The settings of outer headers that an operator chooses.
#[derive(Arguments, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HeaderMarking {
    /// The fields copied from or to the inner header.
    #[words(
        "[encap-copy-df] [encap-set-df] [encap-copy-dscp] [encap-copy-ecn] [decap-copy-ecn] \
         [encap-inner-hash] [encap-copy-hop-limit] [encap-copy-flow-label]"
    )]
    pub flags: Flags,
    /// The DSCP of outer headers, unless it is copied: 0 to 63.
    #[words("[dscp <dscp:0-63>]", default, then = check_dscp)]
    pub dscp: u8,
    /// Their TTL or hop limit as it leaves, if it isn't the kind's own; 0 is the kind's own.
    #[words("[hop-limit <hoplimit:u8>]", default)]
    pub hop_limit: u8,
    /// The interface's MTU follows the path of the outer packets.
    #[words("[track-mtu]")]
    pub track_mtu: bool,
}

/// Checks a DSCP (RFC 2474 3).
///
/// # Errors
/// More than 6 bits.
fn check_dscp(dscp: u8) -> Result<u8> {
    match dscp {
        0..64 => Ok(dscp),
        _ => Err(Error::parse(format!("a DSCP is at most 63, not {dscp}"))),
    }
}

/// The configuration of a tunnel of a kind.
pub trait Spec: Clone + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// The prefix of the names of its interfaces.
    const PREFIX: &'static str;
    /// Its driver, as `show hardware-interfaces` calls it.
    const DRIVER: &'static str;
    /// The value that a second tunnel with the same ends is refused with.
    const EXISTS: retval::Retval;
    /// Admin state of a new one.
    const STARTS_UP: bool;

    /// The settings that the creation of the interface implies.
    fn implied(&self) -> Implied {
        Implied { up: Self::STARTS_UP, ..Implied::default() }
    }
    /// The ends.
    fn ends(&self) -> TunnelEndpoints;
    /// The settings of outer headers.
    fn marks(&self) -> HeaderMarking;
    /// The node that its interface sends by.
    fn encap(&self) -> &'static str;
    /// The key of packets that are received between these ends, of which one is not in
    /// [`Self::ends`] if there are several. `table` is the index of their table.
    fn key(&self, ends: &TunnelEndpoints, table: u32) -> Key;
    /// The kind of payload of its interface.
    fn carries(&self) -> IfKind;
    /// Its interface carries Ethernet frames while it is in layer-2 mode, whatever it carries
    /// otherwise.
    fn switches(&self) -> bool {
        self.carries() == IfKind::Ethernet
    }
    /// The MTU of a new interface.
    fn mtu(&self) -> u16 {
        9000
    }
    /// The MAC address of a new interface; zero without.
    fn mac(&self, instance: u32) -> MacAddr;
    /// The protocol of outer packets, if it is always the same.
    fn protocol(&self) -> IpProtocol;
    /// The TTL of IPv4 and the hop limit of IPv6 of outer packets as they leave.
    fn hop_limits(&self) -> [u8; 2] {
        // The values of VPP, less the hop that its own lookup takes.
        [253, 254]
    }
    /// The protocol behind the outer IP header.
    fn header(&self) -> Vec<u8>;
    /// Where packets go that are received, if it is chosen.
    fn next(&self, _world: &World) -> Option<NodeIndex> {
        None
    }
    /// The part that its interface has in the floods of a bridge domain.
    fn flood_role(&self) -> FloodRole {
        FloodRole::Port
    }
    /// Outer packets of the kind are numbered, together with those of other tunnels between the
    /// same ends: [`End::sequence`](crate::End).
    fn has_sequence(&self) -> bool {
        false
    }
    /// Several other ends: each packet names its own.
    fn is_multipoint(&self) -> bool {
        false
    }
}
