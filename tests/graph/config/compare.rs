// SPDX-License-Identifier: Apache-2.0
//! Compares two instances: the output of their `show` commands, and the packets that they forward.

use super::Instance;
use fixture::read_pcap;
use net::{IfKind, Interfaces};
use serde_json::Value;
use std::collections::BTreeSet;
use testkit::pkt;

impl Instance {
    /// The output of `show` commands, without ages and the numbers of internal objects.
    pub fn shows(&mut self) -> Vec<String> {
        const SHOWS: &[&str] = &[
            "show interface -j",
            "show hardware-interfaces",
            "show interface rx-placement",
            "show interface tx-queue",
            "show ip table -j",
            "show ip fib -j",
            "show ip neighbors -j",
            "show ip neighbor-config",
            "show interface address -j",
            "show ip6 interface -j",
            "show ip6 table -j",
            "show ip6 fib -j",
            "show ip mfib -j",
            "show ip6 mfib -j",
            "show ip6 icmp",
            "show ip6 dad",
            "show ip6 nd proxy",
            "show ip pmtu",
            "show ip container",
            "show ip punt redirect",
            "show ip6 punt redirect",
            "show ip source-and-port-range-check",
            "show punt socket registrations",
            "show urpf",
            "show teib",
            "show ipip tunnel -j",
            "show 6rd tunnel",
            "show gre tunnel -j",
            "show vxlan tunnel -j",
            "show geneve tunnel -j",
            "show gtpu answer -j",
            "show gtpu tunnel -j",
            "show vxlan-gpe -j",
            "show l2tpv3 -j",
            "show pppoe session -j",
            "show pppoe fib",
            "show mode -j",
            "show bridge-domain -j",
            "show bond",
            "show super-path",
            "show interface default rx-mode",
            "show arp proxy -j",
            "show ip icmp",
            "show packet-generator",
            "show adj summary",
            "show interface secondary-mac-address",
            "show interface span",
            "show sub-interfaces",
            "show ip local",
            "show ip6 local",
            "show ip6 nd autoconfig",
            "show punt db",
            "show l3xc",
            "show interface tcp-mss-clamp",
            "show pipe",
            "show p2p_ethernet",
            "show svs",
            "show stn rules -j",
            "show l2patch",
            "show l2xcrw",
            "show cdp",
            "show bond details",
            "show udp encap -j",
            "show classify tables verbose -j",
            "show inacl type ip4",
            "show outacl type ip4",
            "show logging configuration",
            "show trace filter",
            "show bpf trace filter",
        ];
        let mut lines: Vec<String> = SHOWS.iter().map(|s| s.to_string()).collect();
        for interface in self.bench.world.get::<Interfaces>().list() {
            lines.push(format!("show interface features {}", cli::quote(&interface.name)));
            lines.push(format!("show interface tag {}", cli::quote(&interface.name)));
        }
        let said = |line: String| {
            let text = steady(self.must(&line));
            // Protocols and ports of tunnels are registered by the first one, and stay so, as in
            // VPP.
            let stays = |row: &&str| {
                !["ipip4-", "ipip6-", "gre4-", "gre6-", "l2tp-"]
                    .iter()
                    .any(|node| row.contains(node))
            };
            let text = if line.ends_with(" local") {
                text.lines().filter(stays).collect::<Vec<_>>().join("\n")
            } else {
                text
            };
            format!("{line}\n{text}")
        };
        lines.into_iter().map(said).collect()
    }

    /// The packets that each interface of the packet generator sends when packets come in by all of
    /// them.
    pub fn forwards(&mut self) -> Vec<(String, Vec<Vec<u8>>)> {
        let interfaces = self.bench.world.get::<Interfaces>().list();
        let ports: Vec<_> = interfaces.iter().filter(|i| i.device.driver() == "pg").collect();
        for port in &ports {
            let file = self.dir.path().join(port.sw_if.to_string());
            let _ = std::fs::remove_file(&file);
            self.must(&format!(
                "packet-generator capture {} pcap {}",
                cli::quote(&port.name),
                file.display()
            ));
        }
        for port in &ports {
            for n in 0..24 {
                let destination = format!("10.{}.{}.{}", n % 12, n % 3, 1 + n % 5);
                let mut packet = pkt::ip4("10.0.0.200", destination.as_str())
                    .ttl(9)
                    .udp(1000 + n, 2000)
                    .payload_len(20)
                    .build();
                let mut node = "ip4-input";
                if port.kind == IfKind::Ethernet {
                    let ethernet = [&port.mac.octets()[..], &[2, 0, 0, 0, 9, 9], &[8, 0]].concat();
                    packet = [ethernet, packet].concat();
                    node = "ethernet-input";
                }
                self.bench.send(node, &packet, |b| b.rx_if = port.sw_if.0);
            }
        }
        let mut out = Vec::new();
        for port in &ports {
            self.must(&format!("packet-generator capture {} disable", cli::quote(&port.name)));
            let file = self.dir.path().join(port.sw_if.to_string());
            let mut packets = if file.exists() { read_pcap(&file) } else { Vec::new() };
            // The number of requests for a neighbour depends on the time that passes between
            // packets.
            let mut asked = BTreeSet::new();
            let is_question =
                |p: &[u8]| port.kind == IfKind::Ethernet && p.get(12..14) == Some(&[8, 6]);
            packets.retain(|packet| !is_question(packet) || asked.insert(packet.clone()));
            out.push((port.name.clone(), packets));
        }
        out
    }
}

/// Without what differs from one instance to the next that is the same otherwise.
fn steady(text: String) -> String {
    let Ok(mut json) = serde_json::from_str::<Value>(&text) else { return text };
    fn clean(value: &mut Value) {
        match value {
            Value::Array(all) => all.iter_mut().for_each(clean),
            Value::Object(all) => {
                // The order in which paths were added doesn't affect the flow hash.
                if let Some(Value::Array(paths)) = all.get_mut("paths") {
                    paths.sort_by_key(Value::to_string);
                }
                for key in [
                    "age",
                    "bsn",
                    "isn",
                    "learned",
                    "counters",
                    "list",
                    "adj",
                    "index",
                    "adjacency",
                    "adjacencies",
                    "shared",
                    "path_list",
                    "alias_of",
                    "stats_index",
                    "locks",
                    "fib_index",
                    "sent",
                    "buckets",
                    "packets",
                    "bytes",
                    "hits",
                    "session",
                    "last_heard",
                ] {
                    all.remove(key);
                }
                all.values_mut().for_each(clean);
            }
            _ => {}
        }
    }
    clean(&mut json);
    format!("{json:#}")
}

/// A difference between two instances.
#[derive(Debug)]
pub struct Difference {
    /// The command that shows it, or what else differs.
    pub of: String,
    pub text: String,
}

impl Difference {
    pub fn new(of: impl Into<String>, text: impl Into<String>) -> Self {
        Self { of: of.into(), text: text.into() }
    }
}

/// The first difference between the `show` output of two instances.
pub fn differ(these: &[String], those: &[String]) -> Result<(), Difference> {
    for (this, that) in these.iter().zip(those) {
        let name = this.lines().next().unwrap_or_default();
        if let Some((a, b)) = this.lines().zip(that.lines()).find(|(a, b)| a != b) {
            return Err(Difference::new(name, format!("{a}\ninstead of\n{b}")));
        }
        if this != that {
            return Err(Difference::new(name, format!("{this}\ninstead of\n{that}")));
        }
    }
    let (a, b) = (these.len(), those.len());
    if a == b { Ok(()) } else { Err(Difference::new("shows", format!("{a} instead of {b}"))) }
}

/// Both see the same, line by line.
#[track_caller]
pub fn same(these: Vec<String>, those: Vec<String>, what: &str) {
    differ(&these, &those).unwrap_or_else(|d| panic!("{} of {what}:\n{}", d.of, d.text));
}

/// Runs an instance's configuration in a new one, and returns the first difference.
pub fn compare_again(first: &mut Instance) -> Result<(), Difference> {
    let text = first.config();
    let mut again = Instance::try_after(&text)
        .map_err(|e| Difference::new("a line", format!("{e}\n{text}")))?;
    if again.config() != text {
        let text = format!("{}\ninstead of\n{text}", again.config());
        return Err(Difference::new("the configuration", text));
    }
    first.pass(5);
    again.pass(5);
    differ(&again.shows(), &first.shows())
        .map_err(|d| Difference { text: format!("{}\n\n{text}", d.text), ..d })?;
    for ((name, again), (_, first)) in again.forwards().into_iter().zip(first.forwards()) {
        if again != first {
            let text = format!("{again:?}\ninstead of\n{first:?}\n{text}");
            return Err(Difference::new(format!("packets of {name}"), text));
        }
    }
    Ok(())
}

/// Runs an instance's configuration in a new one, which has to be the same.
#[track_caller]
pub fn made_again(first: &mut Instance, what: &str) {
    compare_again(first).unwrap_or_else(|d| panic!("{} of {what}:\n{}", d.of, d.text));
}
