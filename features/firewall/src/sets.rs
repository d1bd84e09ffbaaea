// SPDX-License-Identifier: Apache-2.0
//! Named sets of networks, ports and interfaces, which rules name. A set may change without any
//! rule being compiled again: rules ask whether a packet's address, port or interface is in it.

use cli::{Error, Result};
use graph::SwIfIndex;
use net::Net;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use sync::Turn;
use tables::{Forest, Leaf, Lpm, Route};
use wire::{Ip4, Ip6, Prefix};

/// Sets at most.
pub const SETS: usize = 1 << 12;
/// Members of a set at most.
pub const MEMBERS: usize = 1 << 20;

/// The members of a set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Members {
    /// Networks, or single addresses.
    Networks(BTreeSet<(IpAddr, u8)>),
    /// Ports, from the first to the last.
    Ports(BTreeSet<(u16, u16)>),
    /// Interfaces.
    Interfaces(BTreeSet<SwIfIndex>),
}

impl Members {
    /// Its word in commands.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Networks(_) => "network",
            Self::Ports(_) => "port",
            Self::Interfaces(_) => "interface",
        }
    }

    /// Number of members.
    pub fn count(&self) -> usize {
        match self {
            Self::Networks(all) => all.len(),
            Self::Ports(all) => all.len(),
            Self::Interfaces(all) => all.len(),
        }
    }

    /// True if an address is in a network of the set, one by one.
    pub fn has_address(&self, address: IpAddr) -> bool {
        let Self::Networks(all) = self else { return false };
        all.iter().any(|network| contains(*network, address))
    }

    /// True if a port is in the set.
    pub fn has_port(&self, port: u16) -> bool {
        matches!(self, Self::Ports(all) if all.iter().any(|(a, b)| (*a..=*b).contains(&port)))
    }

    /// True if an interface is in the set.
    pub fn has_interface(&self, sw_if: SwIfIndex) -> bool {
        matches!(self, Self::Interfaces(all) if all.contains(&sw_if))
    }
}

/// True if a network contains an address.
pub fn contains((network, len): (IpAddr, u8), address: IpAddr) -> bool {
    match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            Prefix::new(network, len).is_some_and(|network| network.contains(address))
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => {
            Prefix::new(network, len).is_some_and(|network| network.contains(address))
        }
        _ => false,
    }
}

/// A set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Set {
    /// A number that rules know it by.
    pub number: u16,
    /// Its members.
    pub members: Members,
}

/// A set of sets, a bit for each.
type Bits = Vec<u64>;

fn has(bits: &[u64], set: u16) -> bool {
    bits.get(usize::from(set) / 64).is_some_and(|word| word >> (set % 64) & 1 != 0)
}

/// The sets of an address: addresses with the same sets are one class.
struct Networks<F: Net> {
    classes: Lpm<F::Key>,
    rows: Vec<Bits>,
}

impl<F: Net> Networks<F> {
    /// Of networks, each with a set that it is in; `None` without any.
    fn new(
        all: &[(Prefix<F::Addr>, u16)],
        sets: usize,
        forest: &Arc<Forest>,
    ) -> Result<Option<Self>> {
        if all.is_empty() {
            return Ok(None);
        }
        let empty = vec![0_u64; sets.div_ceil(64)];
        // In order, a network stands before all that it contains.
        let mut networks: BTreeMap<Prefix<F::Addr>, Bits> = BTreeMap::new();
        for (network, set) in all {
            let bits = networks.entry(network.network()).or_insert_with(|| empty.clone());
            bits[usize::from(*set) / 64] |= 1 << (set % 64);
        }
        networks.entry(Prefix::DEFAULT).or_insert(empty);
        let (mut rows, mut known) = (Vec::new(), HashMap::new());
        let mut around: Vec<(Prefix<F::Addr>, Bits)> = Vec::new();
        let mut routes = Vec::with_capacity(networks.len());
        for (network, mut bits) in networks {
            while around.pop_if(|(outer, _)| !outer.covers(&network)).is_some() {}
            if let Some((_, outer)) = around.last() {
                bits.iter_mut().zip(outer).for_each(|(word, outer)| *word |= outer);
            }
            let class = *known.entry(bits.clone()).or_insert_with(|| {
                rows.push(bits.clone());
                rows.len() as u32 - 1
            });
            let leaf = Leaf { hop: class, route: 1 };
            routes.push(Route { key: F::key(network.addr()), len: network.len(), leaf });
            around.push((network, bits));
        }
        let full = || Error::limit("no address space is left for the networks of sets");
        let classes = Lpm::new(forest).map_err(|_| full())?;
        if classes.insert_all(&routes) < routes.len() {
            return Err(full());
        }
        Ok(Some(Self { classes, rows }))
    }

    /// The sets of an address.
    #[inline(always)]
    fn of(&self, address: F::Addr, turn: &Turn<'_>) -> &[u64] {
        let mut class = [0];
        self.classes.hops::<simd::V1>(&[F::key(address)], &mut class, turn);
        self.rows.get(class[0] as usize).map(Vec::as_slice).unwrap_or_default()
    }
}

/// All sets, as workers read them.
#[derive(Default)]
pub struct SetIndex {
    ip4: Option<Networks<Ip4>>,
    ip6: Option<Networks<Ip6>>,
    /// Bits of all ports, by the number of the set.
    ports: HashMap<u16, Box<[u64]>>,
    interfaces: HashMap<u16, BTreeSet<u32>>,
}

/// A protocol whose addresses are in sets.
pub trait InSets: Net {
    /// The sets of an address.
    fn sets<'t>(index: &'t SetIndex, address: Self::Addr, turn: &Turn<'_>) -> &'t [u64];
    /// The network, if it is of this protocol.
    fn network(network: (IpAddr, u8)) -> Option<Prefix<Self::Addr>>;
}

impl InSets for Ip4 {
    fn sets<'t>(index: &'t SetIndex, address: Self::Addr, turn: &Turn<'_>) -> &'t [u64] {
        index.ip4.as_ref().map_or(&[], |networks| networks.of(address, turn))
    }

    fn network((addr, len): (IpAddr, u8)) -> Option<Prefix<Self::Addr>> {
        if let IpAddr::V4(addr) = addr { Prefix::new(addr, len) } else { None }
    }
}

impl InSets for Ip6 {
    fn sets<'t>(index: &'t SetIndex, address: Self::Addr, turn: &Turn<'_>) -> &'t [u64] {
        index.ip6.as_ref().map_or(&[], |networks| networks.of(address, turn))
    }

    fn network((addr, len): (IpAddr, u8)) -> Option<Prefix<Self::Addr>> {
        if let IpAddr::V6(addr) = addr { Prefix::new(addr, len) } else { None }
    }
}

impl SetIndex {
    /// Compiles sets.
    ///
    /// # Errors
    /// No address space for their networks.
    pub fn new<'s>(sets: impl Iterator<Item = &'s Set>, forest: &Arc<Forest>) -> Result<Self> {
        let (mut all, mut this) = (Vec::new(), Self::default());
        let mut most = 0;
        for set in sets {
            most = most.max(usize::from(set.number) + 1);
            match &set.members {
                Members::Networks(networks) => {
                    all.extend(networks.iter().map(|network| (*network, set.number)));
                }
                Members::Ports(ports) => {
                    let mut bits = vec![0_u64; (1 << 16) / 64].into_boxed_slice();
                    for port in ports.iter().flat_map(|(first, last)| *first..=*last) {
                        bits[usize::from(port) / 64] |= 1 << (port % 64);
                    }
                    this.ports.insert(set.number, bits);
                }
                Members::Interfaces(interfaces) => {
                    let interfaces = interfaces.iter().map(|sw_if| sw_if.0).collect();
                    this.interfaces.insert(set.number, interfaces);
                }
            }
        }
        fn of<F: InSets>(all: &[((IpAddr, u8), u16)]) -> Vec<(Prefix<F::Addr>, u16)> {
            let of = |(network, set): &((IpAddr, u8), u16)| Some((F::network(*network)?, *set));
            all.iter().filter_map(of).collect()
        }
        this.ip4 = Networks::new(&of::<Ip4>(&all), most, forest)?;
        this.ip6 = Networks::new(&of::<Ip6>(&all), most, forest)?;
        Ok(this)
    }

    /// True if an address is in a set.
    #[inline(always)]
    pub fn has_address<F: InSets>(&self, set: u16, address: F::Addr, turn: &Turn<'_>) -> bool {
        has(F::sets(self, address, turn), set)
    }

    /// True if a port is in a set.
    #[inline(always)]
    pub fn has_port(&self, set: u16, port: u16) -> bool {
        let word = self.ports.get(&set).and_then(|bits| bits.get(usize::from(port) / 64));
        word.is_some_and(|word| word >> (port % 64) & 1 != 0)
    }

    /// True if an interface is in a set.
    #[inline(always)]
    pub fn has_interface(&self, set: u16, sw_if: u32) -> bool {
        self.interfaces.get(&set).is_some_and(|all| all.contains(&sw_if))
    }
}
