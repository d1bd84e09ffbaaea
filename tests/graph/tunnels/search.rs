// SPDX-License-Identifier: Apache-2.0
//! Of random tunnels that share ends, numbers, tables and groups, each datagram is received by the
//! one that a search through all finds.

use net::IfCounters;
use net::Interfaces;
use net::drive::{Rig, peer_mac, port_mac};
use testkit::{Rng, pkt};

use super::{KINDS, Kind, is_v6, rig};

const LOCALS: [&str; 4] = ["10.0.1.1", "10.0.2.1", "2001:db8:1::1", "2001:db8:2::1"];
const REMOTES: [&str; 6] =
    ["10.0.1.2", "10.0.1.3", "10.0.2.2", "2001:db8:1::2", "2001:db8:1::3", "2001:db8:2::2"];
const GROUPS: [&str; 3] = ["239.1.1.1", "239.1.1.2", "ff05::7"];

/// A tunnel, as the search knows it; `remote` may be a group.
#[derive(Clone, PartialEq, Debug)]
struct Known {
    local: &'static str,
    remote: &'static str,
    table: u32,
    id: u32,
}

fn is_group(address: &str) -> bool {
    address.parse::<std::net::IpAddr>().expect("an address").is_multicast()
}

impl Known {
    fn random(rng: &mut Rng) -> Self {
        let local = *rng.pick::<&str>(&LOCALS);
        let all = if rng.one_in(4) { &GROUPS[..] } else { &REMOTES };
        let all: Vec<_> = all.iter().filter(|to| is_v6(to) == is_v6(local)).collect();
        let remote = **rng.pick::<&&str>(&all);
        // Groups are those of port p1, which is in table 0.
        let table = if is_group(remote) { 0 } else { 7 * rng.below(2) as u32 };
        Self { local, remote, table, id: 5 + rng.below(2) as u32 }
    }

    fn create(&self, kind: &Kind) -> String {
        let to = if is_group(self.remote) { " p1" } else { "" };
        let line = kind.create(self.local, &format!("{}{to}", self.remote), self.id);
        if self.table == 0 { line } else { format!("{line} encap-vrf-id {}", self.table) }
    }

    /// The key of a group's tunnel has no local address.
    fn same_key(&self, other: &Self) -> bool {
        self == other
            || is_group(self.remote) && Self { local: self.local, ..other.clone() } == *self
    }
}

/// Port p3 is in table 7 and has the same addresses as p1 and p2.
fn site() -> Rig {
    let mut rig = rig(3);
    rig.add_port(3);
    rig.add_port(4);
    for line in [
        "ip table add 7",
        "ip6 table add 7",
        "set interface ip table p3 7",
        "set interface ip6 table p3 7",
        "set interface ip address p3 10.0.1.1/24",
        "set interface ip address p3 10.0.2.1/24",
        "set interface ip address p3 2001:db8:1::1/64",
        "set interface ip address p3 2001:db8:2::1/64",
        "set interface l2 bridge p4 9",
    ] {
        rig.cli(line);
    }
    rig
}

/// The MAC address that packets to an address have.
fn destination(port: usize, to: &str) -> [u8; 6] {
    match to.parse().expect("an address") {
        std::net::IpAddr::V4(group) if group.is_multicast() => {
            let [_, b, c, d] = group.octets();
            [1, 0, 0x5e, b & 0x7f, c, d]
        }
        std::net::IpAddr::V6(group) if group.is_multicast() => {
            let [.., a, b, c, d] = group.octets();
            [0x33, 0x33, a, b, c, d]
        }
        _ => port_mac(port).0,
    }
}

fn search(kind: &Kind, seed: u64) {
    let mut rig = site();
    let mut rng = Rng::new(seed);
    let mut all: Vec<(Known, String)> = Vec::new();
    let (mut taken, mut missed) = (0, 0);
    // Before the first tunnel of a protocol, its port belongs to nobody.
    let mut is_registered = [false; 2];
    for round in 0..3000_u32 {
        let packet = Known::random(&mut rng);
        if round % 20 == 0 {
            let line = packet.create(kind);
            if let Some(at) = all.iter().position(|(other, _)| other.same_key(&packet)) {
                rig.cli(&format!("{} del", all[at].0.create(kind)));
                all.remove(at);
            } else {
                let name = rig.cli(&line).trim().to_string();
                rig.cli(&format!("set interface l2 bridge {name} 9 1"));
                is_registered[usize::from(is_v6(packet.local))] = true;
                all.push((packet.clone(), name));
            }
        }
        if round % 50 == 0 {
            let (of, port) = (*rng.pick::<&str>(&["ip", "ip6"]), *rng.pick::<&str>(&["p0", "p3"]));
            let del = if rng.one_in(2) { " del" } else { "" };
            rig.cli(&format!("set interface {of} {}-bypass {port}{del}", kind.bypass));
        }
        let Known { local, remote, table, id } = packet.clone();
        let sender: Vec<_> = REMOTES.iter().filter(|from| is_v6(from) == is_v6(local)).collect();
        let sender = **rng.pick::<&&str>(&sender);
        let (from, to, port) = match (is_group(remote), table) {
            (true, _) => (sender, remote, 1),
            (false, 0) => (remote, local, 0),
            (false, _) => (remote, local, 3),
        };
        let find = |wanted: &dyn Fn(&Known) -> bool| all.iter().find(|(known, _)| wanted(known));
        let (counts, received) = if is_group(remote) {
            let group = find(&|known| known.remote == remote && known.id == id);
            let sender = group.and_then(|(group, _)| {
                let local = group.local;
                find(&|known| *known == Known { local, remote: sender, table: 0, id })
            });
            (group.filter(|_| sender.is_some()), sender)
        } else {
            let one = find(&|known| *known == packet);
            (one, one)
        };
        let inner = pkt::ip4("192.0.2.1", "192.0.2.2")
            .udp(1, 2)
            .payload([&round.to_be_bytes()[..], &[7; 40]].concat())
            .build();
        let frame = [&[2, 0, 0, 0, 9, 4][..], &[2, 0, 0, 0, 8, 1], &[8, 0], &inner].concat();
        let datagram = kind.datagram(from, to, id, &frame);
        let ethertype: [u8; 2] = if is_v6(local) { [0x86, 0xdd] } else { [8, 0] };
        let outer = [&destination(port, to)[..], &peer_mac(port).0, &ethertype, &datagram].concat();
        let world = rig.world();
        let rx = |name: &str| {
            let at = world.get::<Interfaces>().find(name).expect("there").at();
            world.get::<IfCounters>().rx.sum(at)
        };
        let before = counts.map(|(_, name)| rx(name));
        let missing = kind.count(&rig, is_v6(local), "no such tunnel packets");
        let sent = rig.pass(port, &outer);
        let want = if received.is_some() { vec![(4, frame.clone())] } else { vec![] };
        assert_eq!(sent, want, "{round}: {packet:?} from {sender} of {all:?}");
        if let (Some((_, name)), Some((packets, bytes))) = (counts, before) {
            assert_eq!(rx(name), (packets + 1, bytes + frame.len() as u64), "{round}: {packet:?}");
            taken += 1;
        } else if !is_group(remote) && is_registered[usize::from(is_v6(local))] {
            let now = kind.count(&rig, is_v6(local), "no such tunnel packets");
            assert_eq!(now, missing + 1, "{round}: {packet:?}");
            missed += 1;
        }
    }
    assert!(taken > 500 && missed > 500, "{taken} {missed}");
    assert_eq!(rig.bench.buffers_out(), 0, "buffers are lost");
}

#[test]
fn datagrams_are_received_by_the_tunnel_that_a_search_finds() {
    for (seed, kind) in KINDS.iter().enumerate().filter(|(_, kind)| !kind.layer3) {
        println!("{}", kind.prefix);
        search(kind, 11 + seed as u64);
    }
}
