// SPDX-License-Identifier: Apache-2.0
//! A router with any number of hosts around it, each on a cable of its own, with IPv4 and IPv6.

use std::collections::BTreeSet;

use fixture::{Router, eventually};
use testkit::lab::{Lab, Netns};

/// A host and where it is joined.
pub struct Spoke {
    /// Its namespace. The interface is `eth0`.
    pub host: Netns,
    /// The router's interface towards it.
    pub port: String,
    /// It is `10.0.N.2` and `2001:db8:N::2`, the router `.1`.
    network: u8,
}

impl Spoke {
    /// The host's addresses.
    pub fn addresses(&self) -> [String; 2] {
        both(self.network, 2)
    }

    /// The router's addresses there.
    pub fn gateways(&self) -> [String; 2] {
        both(self.network, 1)
    }
}

/// An address of each protocol in a network.
pub fn both(network: u8, host: u8) -> [String; 2] {
    [format!("10.0.{network}.{host}"), format!("2001:db8:{network}::{host}")]
}

/// The router and its hosts.
pub struct Star {
    pub router: Router,
    pub spokes: Vec<Spoke>,
}

impl Star {
    /// Spokes by name, network, and route table.
    #[track_caller]
    pub fn new(lab: &Lab, spokes: &[(&str, u8, u32)]) -> Star {
        Self::configured(lab, "", spokes)
    }

    /// As [`Self::new`], with more sections of startup.conf.
    #[track_caller]
    pub fn configured(lab: &Lab, startup: &str, spokes: &[(&str, u8, u32)]) -> Star {
        let netns = lab.netns("router");
        netns.sysctl("net/ipv6/conf/all/disable_ipv6", "1");
        netns.sysctl("net/ipv6/conf/default/disable_ipv6", "1");
        let router = Router::start(&netns, &format!("cpu {{ workers 1 }}\n{startup}"));
        let mut tables = BTreeSet::from([0]);
        let spokes = spokes.iter().map(|(name, network, table)| {
            let (host, port) = (lab.netns(name), format!("host-{name}"));
            lab.veth((&host, "eth0"), (&netns, name));
            let spoke = Spoke { host, port, network: *network };
            let [ip4, ip6] = spoke.gateways();
            let port = &spoke.port;
            router.run(&format!("create host-interface name {name}"));
            let new = tables.insert(*table);
            for ip in ["ip", "ip6"].iter().filter(|_| *table > 0) {
                if new {
                    router.run(&format!("{ip} table add {table}"));
                }
                router.run(&format!("set interface {ip} table {port} {table}"));
            }
            router.script(&format!(
                "set interface ip address {port} {ip4}/24\nset interface ip address {port} {ip6}/64\n\
                 ip6 nd {port} ra-suppress\nset interface state {port} up\n"
            ));
            for (address, len) in spoke.addresses().iter().zip([24, 64]) {
                spoke.host.addr("eth0", &format!("{address}/{len}"));
            }
            spoke.gateways().iter().for_each(|gateway| spoke.host.route("default", gateway));
            spoke
        });
        let spokes: Vec<_> = spokes.collect();
        let star = Star { router, spokes };
        // Until everybody's link-local address may be used.
        for spoke in &star.spokes {
            for gateway in spoke.gateways() {
                eventually("the router answers", || {
                    spoke.host.ping("-c1", &gateway).success().then_some(())
                });
            }
        }
        star
    }
}
