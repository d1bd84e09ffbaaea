// SPDX-License-Identifier: Apache-2.0
//! MACIP ACLs: which hosts may send by an interface, by the pair of MAC and IP address.
//!
//! An interface has one at most. It covers received packets of IPv4 and IPv6, and ARP, whose sender
//! counts. Where frames are switched, all others are dropped. If a rule asks for it, what the
//! interface sends is checked too, by destination.

pub mod api;
pub mod cli;
pub mod control;
pub mod node;
pub mod show;

use ::cli::{Error, Result, retval};
use std::collections::HashMap;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::{Address, Ip4Prefix, Ip6Prefix, MacAddr, Prefix};

/// The verdict of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// Packets are dropped.
    Deny,
    /// Packets pass.
    Permit,
    /// Packets pass, and those that the interface sends are checked too.
    PermitBoth,
}

impl Action {
    /// By their numbers in messages; 2 is permit, too.
    const NUMBERS: [Self; 4] = [Self::Deny, Self::Permit, Self::Permit, Self::PermitBoth];

    /// The action of a number in messages.
    ///
    /// # Errors
    /// No action has the number (−7).
    pub fn of(number: u8) -> Result<Self> {
        Self::NUMBERS.get(usize::from(number)).copied().ok_or_else(|| {
            let why = format!("expected an action of 0 to 3, not {number}");
            Error::parse(why).retval(retval::INVALID_VALUE)
        })
    }

    /// Its number in messages.
    pub const fn number(self) -> u8 {
        match self {
            Self::Deny => 0,
            Self::Permit => 1,
            Self::PermitBoth => 3,
        }
    }
}

/// The addresses that a rule is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Network {
    /// Sender prefix of IPv4 and ARP.
    Ip4(Ip4Prefix),
    /// Sender prefix of IPv6.
    Ip6(Ip6Prefix),
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip4(network) => network.fmt(f),
            Self::Ip6(network) => network.fmt(f),
        }
    }
}

/// A rule.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rule {
    /// Verdict on a frame that matches.
    pub action: Action,
    /// The MAC address, as far as the mask compares it.
    pub mac: MacAddr,
    /// The bits of the MAC address that are compared.
    pub mask: MacAddr,
    /// The network of the IP address.
    pub network: Network,
}

/// As commands take it.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.action {
            Action::Deny => f.write_str("deny")?,
            Action::Permit => f.write_str("permit")?,
            Action::PermitBoth => f.write_str("action 3")?,
        }
        write!(f, " ip {} mac {} mask {}", self.network, self.mac, self.mask)
    }
}

/// The part of addresses that rules of one shape compare.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Shape {
    mask: u64,
    len: u8,
}

/// Numbers of rules by the bits that they compare.
type Numbers<A> = HashMap<(u64, A), u32>;

/// Rules of one IP version: those of one shape are in one map, so a lookup takes a step for each
/// shape, whatever the number of rules.
#[derive(Debug)]
struct Rules<A> {
    shapes: Vec<(Shape, Numbers<A>)>,
}

impl<A: Address> Default for Rules<A> {
    fn default() -> Self {
        Self { shapes: Vec::new() }
    }
}

impl<A: Address> Rules<A> {
    fn add(&mut self, number: u32, rule: &Rule, network: Prefix<A>) {
        let shape = Shape { mask: rule.mask.to_bits(), len: network.len() };
        let at = self.shapes.iter().position(|(there, _)| *there == shape).unwrap_or_else(|| {
            self.shapes.push((shape, HashMap::new()));
            self.shapes.len() - 1
        });
        let key = (rule.mac.to_bits() & shape.mask, network.network().addr());
        // The first of equal rules decides.
        self.shapes[at].1.entry(key).or_insert(number);
    }

    /// The first rule that matches.
    fn find(&self, mac: u64, ip: A) -> Option<u32> {
        let find = |(shape, rules): &(Shape, Numbers<A>)| {
            rules.get(&(mac & shape.mask, ip & A::mask(shape.len))).copied()
        };
        self.shapes.iter().filter_map(find).min()
    }
}

/// The rules of an ACL as packets are held against them.
#[derive(Debug, Default)]
pub struct Compiled {
    actions: Vec<Action>,
    ip4: Rules<Ipv4Addr>,
    ip6: Rules<Ipv6Addr>,
}

impl Compiled {
    /// Compiles rules.
    pub fn new(rules: &[Rule]) -> Self {
        let mut compiled =
            Self { actions: rules.iter().map(|rule| rule.action).collect(), ..Self::default() };
        for (number, rule) in (0..).zip(rules) {
            match rule.network {
                Network::Ip4(network) => compiled.ip4.add(number, rule, network),
                Network::Ip6(network) => compiled.ip6.add(number, rule, network),
            }
        }
        compiled
    }

    /// True if what the interface sends is checked.
    pub fn checks_sent(&self) -> bool {
        self.actions.contains(&Action::PermitBoth)
    }

    fn is_permitted(&self, found: Option<u32>) -> bool {
        let action = found.and_then(|number| self.actions.get(number as usize));
        action.is_some_and(|action| *action != Action::Deny)
    }

    /// True if a host may have this pair of addresses.
    pub fn permits4(&self, mac: MacAddr, ip: Ipv4Addr) -> bool {
        self.is_permitted(self.ip4.find(mac.to_bits(), ip))
    }

    /// As [`Self::permits4`].
    pub fn permits6(&self, mac: MacAddr, ip: Ipv6Addr) -> bool {
        self.is_permitted(self.ip6.find(mac.to_bits(), ip))
    }
}
