// SPDX-License-Identifier: Apache-2.0
//! Tables of networks and the ports that their hosts may send to.

use cli::{Error, Result};
use std::collections::VecDeque;
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{GraceTicket, Qsbr, Slots, Turn};
use tables::{Forest, Leaf, Lpm, Route};
use wire::Ip4Prefix;

/// Ports from the first to the last, both included.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Range {
    /// The first; not 0.
    pub first: u16,
    /// The last.
    pub last: u16,
}

impl Range {
    /// A range of ports.
    ///
    /// # Errors
    /// Port 0, or ports that are out of order (−7).
    pub fn new(first: u16, last: u16) -> Result<Self> {
        if first == 0 || first > last {
            return Err(Error::parse(format!(
                "ports {first} to {last}: expected 1 to 65535, the lower one first"
            ))
            .retval(msg::retval::INVALID_VALUE));
        }
        Ok(Self { first, last })
    }

    /// Returns true if a port is in the range.
    pub fn has(self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            write!(f, "port {}", self.first)
        } else {
            write!(f, "range {} - {}", self.first, self.last)
        }
    }
}

/// Ranges of a network at most: a packet is held against each.
pub const RANGES: usize = 64;

/// A table.
pub struct Ranges {
    networks: Lpm<u32>,
    /// By the hop of a network's leaf.
    allowed: Slots<Vec<Range>>,
    control: Mutex<Control>,
    domain: Arc<Qsbr>,
}

/// State that the packet path doesn't need.
#[derive(Default)]
struct Control {
    /// Numbers used so far.
    end: u32,
    /// Numbers of deleted networks, each with the grace period until which a packet may still look
    /// it up.
    free: VecDeque<(GraceTicket, u32)>,
}

impl Control {
    fn number(&mut self) -> u32 {
        if let Some((_, number)) = self.free.pop_front_if(|(ticket, _)| ticket.is_over()) {
            return number;
        }
        self.end += 1;
        self.end - 1
    }
}

/// A network of the table, and the number of its ports.
fn network(route: &Route<u32>) -> Option<(Ip4Prefix, u32)> {
    Some((Ip4Prefix::new(route.key.into(), route.len)?, route.leaf.hop))
}

impl Ranges {
    /// A table without networks: nothing is allowed.
    pub fn new(forest: &Arc<Forest>) -> Result<Self> {
        let networks = Lpm::new(forest).map_err(|e| Error::limit(e.to_string()))?;
        let domain = forest.domain().clone();
        Ok(Self {
            networks,
            allowed: Slots::new(domain.clone()),
            control: Mutex::default(),
            domain,
        })
    }

    /// Returns true if a source may send to a port.
    #[inline(always)]
    pub fn allow(&self, source: u32, port: u16, turn: &Turn<'_>) -> bool {
        let leaf = self.networks.lookup(source, turn);
        if leaf == Leaf::NONE {
            return false;
        }
        let ranges = self.allowed.get(leaf.hop, turn);
        ranges.is_some_and(|ranges| ranges.iter().any(|range| range.has(port)))
    }

    fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().expect("no panic inside")
    }

    fn number_of(&self, network: Ip4Prefix) -> Option<u32> {
        self.networks.get(network.addr().to_bits(), network.len()).map(|leaf| leaf.hop)
    }

    fn ranges(&self, number: u32) -> Vec<Range> {
        self.allowed.read(number, |ranges| ranges.cloned()).unwrap_or_default()
    }

    /// Frees the ports of a network that no lookup finds any more.
    fn free(&self, control: &mut Control, number: u32) {
        self.allowed.clear(number);
        control.free.push_back((self.domain.grace(), number));
    }

    /// Allows a network these ports too.
    ///
    /// # Errors
    /// Too many ranges, or no room for another network; nothing is changed then.
    pub fn add(&self, network: Ip4Prefix, ranges: &[Range]) -> Result<()> {
        let mut control = self.control();
        let old = self.number_of(network);
        let mut all = old.map_or_else(Vec::new, |number| self.ranges(number));
        all.extend(ranges);
        all.sort_unstable();
        all.dedup();
        if all.len() > RANGES {
            return Err(Error::limit(format!(
                "{network} would have {} ranges of ports",
                all.len()
            ))
            .hint(format!("{RANGES} are possible: name wider ones"))
            .retval(msg::retval::EXCEEDED_NUMBER_OF_RANGES_CAPACITY));
        }
        if let Some(number) = old {
            self.allowed.set(number, all);
            return Ok(());
        }
        let number = control.number();
        self.allowed.set(number, all);
        let leaf = Leaf { hop: number, route: 1 };
        self.networks.insert(network.addr().to_bits(), network.len(), leaf).map(|_| ()).map_err(
            |e| {
                self.free(&mut control, number);
                Error::limit(e.to_string())
            },
        )
    }

    /// Removes ports from a network; with the last ones goes the network.
    ///
    /// # Errors
    /// Ports that were never allowed (−6); nothing is changed then.
    pub fn remove(&self, network: Ip4Prefix, ranges: &[Range]) -> Result<()> {
        let mut control = self.control();
        let none = |what: String| Error::not_found(what).retval(msg::retval::NO_SUCH_ENTRY);
        let number =
            self.number_of(network).ok_or_else(|| none(format!("{network} has no ports")))?;
        let mut all = self.ranges(number);
        for range in ranges {
            let at = all.iter().position(|one| one == range);
            all.remove(at.ok_or_else(|| none(format!("{network} has no {range}")))?);
        }
        if !all.is_empty() {
            self.allowed.set(number, all);
            return Ok(());
        }
        self.networks.remove(network.addr().to_bits(), network.len());
        self.free(&mut control, number);
        Ok(())
    }

    /// All networks and their ports.
    pub fn list(&self) -> Vec<(Ip4Prefix, Vec<Range>)> {
        let mut all = Vec::new();
        self.networks.for_each(&mut |route| all.extend(network(&route)));
        all.into_iter().map(|(network, number)| (network, self.ranges(number))).collect()
    }

    /// The network that speaks for a source, and its ports.
    pub fn find(&self, source: Ipv4Addr) -> Option<(Ip4Prefix, Vec<Range>)> {
        let (network, number) = network(&self.networks.covering(source.to_bits(), 32)?)?;
        Some((network, self.ranges(number)))
    }
}
