// SPDX-License-Identifier: Apache-2.0
//! Settings of a router's advertisements (RFC 4861 6.2.1), and their encoding.

use cli::{Error, Result};
use msg::retval;
use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use wire::nd::{
    LinkOption, MAX_ND_OPTIONS, MtuOption, NdOptionKind, PrefixInfo, RouterAdvertisement,
};
use wire::{Icmp6Type, Ip6Prefix, MacAddr, U16, U32};
use zerocopy::IntoBytes;

/// Options of a message besides the two of its head: receivers like us take no more in all.
const MOST_OPTIONS: usize = MAX_ND_OPTIONS - 2;

/// Settings of an advertised prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RaPrefix {
    /// Seconds that it is valid; all ones for ever.
    pub valid: u32,
    /// Seconds that addresses of it are preferred; all ones for ever.
    pub preferred: u32,
    /// It isn't advertised.
    pub no_advertise: bool,
    /// Its addresses are not on the link, but routed to it.
    pub off_link: bool,
    /// Hosts don't make addresses of it.
    pub no_autoconfig: bool,
    /// Its addresses are not on the link.
    pub no_onlink: bool,
    /// Its lifetimes end that many seconds after this time of the instance's clock (nanoseconds),
    /// instead of counting anew from every advertisement.
    pub since: Option<u64>,
}

impl Default for RaPrefix {
    /// A month and a week (RFC 4861 6.2.1).
    fn default() -> Self {
        Self {
            valid: 2_592_000,
            preferred: 604_800,
            no_advertise: false,
            off_link: false,
            no_autoconfig: false,
            no_onlink: false,
            since: None,
        }
    }
}

impl RaPrefix {
    /// Returns the flag for addresses that are on the link.
    pub fn on_link(&self) -> bool {
        !self.off_link && !self.no_onlink
    }

    /// Returns the remaining seconds of a lifetime at a time.
    pub fn left(&self, lifetime: u32, now: u64) -> u32 {
        match self.since {
            Some(since) if lifetime != PrefixInfo::INFINITE => lifetime.saturating_sub(
                u32::try_from(now.saturating_sub(since) / 1_000_000_000).unwrap_or(u32::MAX),
            ),
            _ => lifetime,
        }
    }

    fn option(&self, prefix: Ip6Prefix, now: u64) -> PrefixInfo {
        let flags = if self.on_link() { PrefixInfo::ON_LINK } else { 0 }
            | if self.no_autoconfig { 0 } else { PrefixInfo::AUTONOMOUS };
        let info = PrefixInfo::new(
            prefix,
            flags,
            self.left(self.valid, now),
            self.left(self.preferred, now),
        );
        PrefixInfo { prefix: prefix.addr().octets(), ..info }
    }
}

/// Settings of an interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RaConfig {
    /// No advertisements are sent: the default (RFC 4861 6.2.1).
    pub suppress: bool,
    /// Addresses come by DHCPv6.
    pub managed: bool,
    /// Other things come by DHCPv6.
    pub other: bool,
    /// The option with the router's link-layer address is left out.
    pub no_link: bool,
    /// A host that solicits is answered by unicast.
    pub unicast: bool,
    /// The advertised router lifetime is 0: no default router any longer.
    pub cease: bool,
    /// Seconds between two advertisements to all, at most.
    pub max_interval: u32,
    /// Seconds between two advertisements to all, at least.
    pub min_interval: u32,
    /// Seconds that hosts take this for a default router.
    pub lifetime: u32,
    /// Number of initial advertisements, which come sooner.
    pub initial_count: u32,
    /// Seconds between initial advertisements at most.
    pub initial_interval: u32,
    /// Hop limit for packets of hosts.
    pub hop_limit: u8,
    /// The prefixes, in the order of adding. Bits behind the length of one are sent as they are,
    /// and receivers ignore them.
    pub prefixes: Vec<(Ip6Prefix, RaPrefix)>,
    /// Recursive name servers, with their lifetimes in seconds (RFC 8106).
    pub servers: BTreeMap<Ipv6Addr, u32>,
    /// Domains to search names in, with their lifetimes in seconds (RFC 8106).
    pub domains: BTreeMap<String, u32>,
}

impl Default for RaConfig {
    fn default() -> Self {
        Self {
            suppress: true,
            managed: false,
            other: false,
            no_link: false,
            unicast: false,
            cease: false,
            max_interval: 200,
            min_interval: 150,
            lifetime: 600,
            initial_count: 3,
            initial_interval: 16,
            hop_limit: 64,
            prefixes: Vec::new(),
            servers: BTreeMap::new(),
            domains: BTreeMap::new(),
        }
    }
}

/// The lifetime that goes with an interval, unless another one is set.
pub fn usual_lifetime(max_interval: u32) -> u32 {
    RaConfig::default().lifetime.max(max_interval)
}

fn refuse(why: String) -> Error {
    Error::parse(why).retval(retval::INVALID_VALUE)
}

impl RaConfig {
    /// Adds a prefix, or replaces its settings; returns false if it was there.
    pub fn set_prefix(&mut self, prefix: Ip6Prefix, new: RaPrefix) -> bool {
        match self.prefixes.iter_mut().find(|(old, _)| old.network() == prefix.network()) {
            Some(entry) => *entry = (prefix, new),
            None => {
                self.prefixes.push((prefix, new));
                return true;
            }
        }
        false
    }

    /// Settings of an advertised prefix.
    pub fn prefix(&self, prefix: Ip6Prefix) -> Option<RaPrefix> {
        self.prefixes.iter().find(|(old, _)| old.network() == prefix.network()).map(|(_, p)| *p)
    }

    /// Removes a prefix; returns false if it isn't there.
    pub fn remove_prefix(&mut self, prefix: Ip6Prefix) -> bool {
        let before = self.prefixes.len();
        self.prefixes.retain(|(old, _)| old.network() != prefix.network());
        self.prefixes.len() < before
    }

    /// Sets the intervals; the lifetime goes with them, unless another one is set.
    pub fn set_intervals(&mut self, max: u32, min: u32) {
        let usual = self.lifetime == usual_lifetime(self.max_interval);
        (self.max_interval, self.min_interval) = (max, min);
        if usual {
            self.lifetime = usual_lifetime(max);
        }
    }

    /// Checks that the numbers are consistent (RFC 4861 6.2.1).
    ///
    /// # Errors
    /// Inconsistent numbers (−7).
    pub fn check(&self) -> Result<()> {
        let Self { max_interval: max, min_interval: min, lifetime, .. } = *self;
        if !(4..=1800).contains(&max) {
            return Err(refuse(format!(
                "an interval of at most {max} seconds: 4 to 1800 are possible"
            )));
        }
        let highest = (max * 3 / 4).max(3);
        if !(3..=highest).contains(&min) {
            return Err(refuse(format!(
                "an interval of at least {min} seconds: 3 to {highest} go with one of at most {max}"
            )));
        }
        if lifetime != 0 && !(max..=9000).contains(&lifetime) {
            return Err(refuse(format!(
                "a lifetime of {lifetime} seconds: 0, or {max} to 9000 are possible"
            )));
        }
        if self.initial_count > 3 || !(1..=16).contains(&self.initial_interval) {
            let (count, interval) = (self.initial_count, self.initial_interval);
            return Err(refuse(format!(
                "{count} first ones every {interval} seconds: up to 3, every 1 to 16 are possible"
            )));
        }
        if let Some((prefix, _)) = self.prefixes.iter().find(|(_, p)| p.preferred > p.valid) {
            return Err(refuse(format!("{prefix} can't be preferred for longer than it is valid")));
        }
        Ok(())
    }

    /// The advertisement as it is now: messages from their type on, of `room` bytes at most each.
    /// Options that don't fit into one message continue in further ones, which have the same
    /// head (RFC 4861 6.2.3). `last` tells hosts that this is a default router no longer.
    pub fn messages(
        &self,
        mac: MacAddr,
        mtu: u32,
        now: u64,
        last: bool,
        room: usize,
    ) -> Vec<Vec<u8>> {
        let head = self.head(mac, mtu, last);
        let (mut messages, mut options) = (vec![head.clone()], 0);
        for option in self.options(now) {
            let fits = messages.last().is_some_and(|message| message.len() + option.len() <= room);
            if !fits || options == MOST_OPTIONS {
                messages.push(head.clone());
                options = 0;
            }
            if let Some(message) = messages.last_mut() {
                message.extend(option);
                options += 1;
            }
        }
        messages
    }

    /// Head of every message.
    fn head(&self, mac: MacAddr, mtu: u32, last: bool) -> Vec<u8> {
        let flags = if self.managed { RouterAdvertisement::MANAGED } else { 0 }
            | if self.other { RouterAdvertisement::OTHER } else { 0 };
        let lifetime = if last || self.cease { 0 } else { self.lifetime };
        let fixed = RouterAdvertisement {
            kind: Icmp6Type::ROUTER_ADVERTISEMENT.0,
            code: 0,
            checksum: U16::ZERO,
            hop_limit: self.hop_limit,
            flags,
            lifetime: U16::new(lifetime.min(0xffff) as u16),
            reachable: U32::ZERO,
            retransmit: U32::ZERO,
        };
        let mut bytes = fixed.as_bytes().to_vec();
        if !self.no_link {
            bytes.extend(LinkOption::new(NdOptionKind::SOURCE_LINK, mac).as_bytes());
        }
        bytes.extend(MtuOption::new(mtu).as_bytes());
        bytes
    }

    /// The options that may be spread over several messages, none longer than 264 bytes.
    fn options(&self, now: u64) -> impl Iterator<Item = Vec<u8>> {
        let advertised = self.prefixes.iter().filter(|(_, p)| !p.no_advertise);
        let prefixes =
            advertised.map(move |(prefix, p)| p.option(*prefix, now).as_bytes().to_vec());
        let servers = self.servers.iter().map(|(server, lifetime)| {
            let mut bytes = vec![NdOptionKind::RDNSS.0, 3, 0, 0];
            bytes.extend(lifetime.to_be_bytes());
            bytes.extend(server.octets());
            bytes
        });
        let domains = self.domains.iter().map(|(domain, lifetime)| {
            let mut names = Vec::new();
            for label in domain.split('.') {
                names.push(label.len() as u8);
                names.extend(label.bytes());
            }
            names.push(0);
            names.resize(names.len().next_multiple_of(8), 0);
            let mut bytes = vec![NdOptionKind::DNSSL.0, 1 + (names.len() / 8) as u8, 0, 0];
            bytes.extend(lifetime.to_be_bytes());
            bytes.extend(names);
            bytes
        });
        prefixes.chain(servers).chain(domains)
    }
}

/// A domain's name as an option can hold it.
///
/// # Errors
/// One whose labels are empty, too long, or have odd characters (−7).
pub fn domain(name: &str) -> Result<String> {
    let name = name.strip_suffix('.').unwrap_or(name);
    let odd = |l: &str| {
        l.is_empty()
            || l.len() > 63
            || !l.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
    };
    if name.len() > 253 || name.split('.').any(odd) {
        return Err(refuse(format!("`{name}' is no domain's name")));
    }
    Ok(name.to_ascii_lowercase())
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use wire::Header;
    use wire::nd::{NdOption, NdOptions};

    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

    #[suite::test]
    fn an_advertisement_says_what_is_set() {
        let mut config = RaConfig { managed: true, lifetime: 900, ..RaConfig::default() };
        let prefix: Ip6Prefix = "2001:db8::/64".parse().unwrap();
        let absolute = RaPrefix {
            valid: 100,
            preferred: 50,
            off_link: true,
            since: Some(0),
            ..RaPrefix::default()
        };
        config.set_prefix(prefix, absolute);
        config.set_prefix(
            "2001:db8:1::/64".parse().unwrap(),
            RaPrefix { no_advertise: true, ..absolute },
        );
        config.servers.insert("2001:db8::53".parse().unwrap(), 60);
        config.domains.insert(domain("Example.ORG.").unwrap(), 70);
        config.check().unwrap();
        let bytes = config.messages(MAC, 1400, 60_000_000_000, false, 1360).concat();
        let (fixed, options) = RouterAdvertisement::split(&bytes).unwrap();
        assert_eq!((fixed.flags, fixed.lifetime.get(), fixed.hop_limit), (0x80, 900, 64));
        let seen: Vec<NdOption<'_>> = NdOptions::new(options).map(|o| o.unwrap().into()).collect();
        assert_eq!(seen[..2], [NdOption::SourceLink(MAC), NdOption::Mtu(1400)]);
        let NdOption::Prefix(p) = seen[2] else { panic!("{seen:?}") };
        assert_eq!(
            (p.network(), p.flags, p.valid.get(), p.preferred.get()),
            (Some(prefix), 0x40, 40, 0)
        );
        assert!(matches!(seen[3], NdOption::Rdnss { lifetime: 60, .. }));
        assert!(
            matches!(seen[4], NdOption::Dnssl { lifetime: 70, domains } if domains.to_string() == "example.org")
        );
        assert_eq!(seen.len(), 5);
        let last = config.messages(MAC, 1400, 0, true, 1360);
        assert_eq!(last.len(), 1);
        assert_eq!(RouterAdvertisement::view(&last[0]).unwrap().lifetime.get(), 0);
    }

    #[suite::test]
    fn what_does_not_fit_goes_on_in_further_messages() {
        let mut config = RaConfig { managed: true, lifetime: 900, ..RaConfig::default() };
        let prefixes: Vec<Ip6Prefix> =
            (0..200).map(|i| format!("2001:db8:{i:x}::/64").parse().unwrap()).collect();
        for prefix in &prefixes {
            config.set_prefix(*prefix, RaPrefix::default());
        }
        let servers: Vec<Ipv6Addr> =
            (1..=9).map(|i| format!("2001:db8::{i}").parse().unwrap()).collect();
        config.servers.extend(servers.iter().map(|s| (*s, 60)));
        let long = [["x".repeat(63).as_str(); 3].join("."), "y".repeat(61)].join(".");
        config.domains.insert(domain(&long).unwrap(), 70);
        for (room, wanted) in [(1240, 6), (1460, 5), (8960, 4)] {
            let messages = config.messages(MAC, 1400, 0, false, room);
            let (mut told, mut asked, mut searched) = (Vec::new(), 0, 0);
            for message in &messages {
                assert!(message.len() <= room, "{} bytes in {room}", message.len());
                let (fixed, options) = RouterAdvertisement::split(message).unwrap();
                assert_eq!((fixed.flags, fixed.lifetime.get(), fixed.hop_limit), (0x80, 900, 64));
                let seen: Vec<NdOption<'_>> =
                    NdOptions::new(options).map(|o| o.unwrap().into()).collect();
                assert_eq!(seen[..2], [NdOption::SourceLink(MAC), NdOption::Mtu(1400)]);
                for option in &seen[2..] {
                    match option {
                        NdOption::Prefix(p) => told.push(p.network().unwrap()),
                        NdOption::Rdnss { .. } => asked += 1,
                        NdOption::Dnssl { domains, .. } => {
                            assert_eq!(domains.to_string(), long);
                            searched += 1;
                        }
                        other => panic!("{other:?}"),
                    }
                }
            }
            assert_eq!(messages.len(), wanted, "room {room}");
            assert_eq!((told, asked, searched), (prefixes.clone(), 9, 1));
        }
    }

    #[suite::test]
    fn numbers_that_do_not_go_together() {
        let usual = RaConfig::default;
        for (config, part) in [
            (RaConfig { max_interval: 3, ..usual() }, "4 to 1800"),
            (RaConfig { min_interval: 151, ..usual() }, "3 to 150"),
            (RaConfig { lifetime: 100, ..usual() }, "200 to 9000"),
            (RaConfig { initial_count: 4, ..usual() }, "up to 3"),
        ] {
            let error = config.check().unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
        let mut config = usual();
        config.set_prefix(
            "2001:db8::/64".parse().unwrap(),
            RaPrefix { valid: 1, ..RaPrefix::default() },
        );
        assert!(config.check().is_err());
        assert!(domain("a..b").is_err() && domain("a b").is_err());
        assert!(
            RaConfig { max_interval: 4, min_interval: 3, lifetime: 0, ..usual() }.check().is_ok()
        );
    }
}
