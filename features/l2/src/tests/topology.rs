// SPDX-License-Identifier: Apache-2.0
//! Random topologies of ports, VLANs, domains and stations, against a plain model of a bridge (IEEE
//! 802.1Q 8.6 to 8.8).

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap};

const PORTS: usize = 4;
const DOMAINS: u32 = 3;
const STATIONS: u8 = 6;

/// A bridged interface: a port itself, or one of its sub-interfaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct BridgedPort {
    port: usize,
    vlan: Option<u16>,
}

impl BridgedPort {
    fn name(self) -> String {
        self.vlan.map_or_else(|| format!("p{}", self.port), |vlan| format!("p{}.{vlan}", self.port))
    }
}

#[derive(Clone, Copy, Debug)]
struct Member {
    place: BridgedPort,
    domain: u32,
    shg: u8,
    /// The tag of the sub-interface is taken off received frames, and put in sent ones.
    pops: bool,
}

#[derive(Clone, Debug)]
enum Op {
    Send { port: usize, vlan: Option<u16>, source: u8, destination: Option<u8> },
    Switch { domain: u32, what: What, on: bool },
    Flush { domain: u32 },
    Filter { domain: u32, station: u8, on: bool },
    Leave { member: usize },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    Learn,
    Forward,
    Flood,
    UuFlood,
}

/// A bridge domain of the model: its flags and its table of stations.
#[derive(Clone, Debug)]
struct Domain {
    learn: bool,
    forward: bool,
    flood: bool,
    uu_flood: bool,
    stations: HashMap<u8, usize>,
    filtered: Vec<u8>,
}

struct Model {
    members: Vec<Option<Member>>,
    domains: BTreeMap<u32, Domain>,
}

impl Model {
    fn new(members: &[Member]) -> Self {
        let domain = Domain {
            learn: true,
            forward: true,
            flood: true,
            uu_flood: true,
            stations: HashMap::new(),
            filtered: Vec::new(),
        };
        Self {
            members: members.iter().copied().map(Some).collect(),
            domains: (1..=DOMAINS).map(|id| (id, domain.clone())).collect(),
        }
    }

    /// The member that takes a frame: the sub-interface of its VLAN, else the port itself. `made`
    /// are all sub-interfaces that there are.
    fn taker(&self, made: &[Member], port: usize, vlan: Option<u16>) -> Option<usize> {
        let exists = made.iter().any(|m| m.place == BridgedPort { port, vlan });
        let place = BridgedPort { port, vlan: vlan.filter(|_| exists) };
        self.members.iter().position(|m| m.is_some_and(|m| m.place == place))
    }

    /// The copies that leave.
    fn send(
        &mut self,
        made: &[Member],
        (port, vlan): (usize, Option<u16>),
        (source, destination): (u8, Option<u8>),
        inner: &[u8],
    ) -> Vec<(usize, Vec<u8>)> {
        let Some(at) = self.taker(made, port, vlan) else { return Vec::new() };
        let Some(rx) = self.members[at] else { return Vec::new() };
        let Some(domain) = self.domains.get_mut(&rx.domain) else { return Vec::new() };
        let tags = vlan.filter(|_| !(rx.pops && rx.place.vlan.is_some()));
        if domain.learn && domain.filtered.contains(&source) {
            return Vec::new();
        }
        if domain.learn {
            domain.stations.insert(source, at);
        }
        let others = |m: &Member| {
            m.domain == rx.domain && m.place != rx.place && (rx.shg == 0 || m.shg != rx.shg)
        };
        let all = self.members.iter().flatten().filter(|m| others(m)).copied().collect::<Vec<_>>();
        let known = destination.filter(|_| domain.forward);
        // Where destinations aren't looked up, unicast is flooded as groups are.
        let floods_unknown = domain.uu_flood || !domain.forward && domain.flood;
        let to = match (destination, known) {
            (None, _) => {
                if domain.flood {
                    all
                } else {
                    Vec::new()
                }
            }
            (_, Some(to)) if domain.filtered.contains(&to) => Vec::new(),
            (_, Some(to)) if domain.stations.contains_key(&to) => {
                let member = self.members[domain.stations[&to]];
                member.into_iter().filter(|m| others(m)).collect()
            }
            _ => {
                if floods_unknown {
                    all
                } else {
                    Vec::new()
                }
            }
        };
        let sent = to.into_iter().map(|m| {
            let own = m.place.vlan.filter(|_| m.pops);
            (
                m.place.port,
                own.into_iter()
                    .chain(tags)
                    .rev()
                    .fold(inner.to_vec(), |frame, id| tagged(id, &frame)),
            )
        });
        let mut sent: Vec<_> = sent.collect();
        sent.sort();
        sent
    }
}

fn tagged(id: u16, frame: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    let [a, b] = id.to_be_bytes();
    frame.splice(12..12, [0x81, 0, a, b]);
    frame
}

fn members() -> impl Strategy<Value = Vec<Member>> {
    let vlan = prop_oneof![Just(None), (10..13u16).prop_map(Some)];
    let place = (0..PORTS, vlan).prop_map(|(port, vlan)| BridgedPort { port, vlan });
    let member = (place, 1..=DOMAINS, prop_oneof![3 => Just(0), 1 => 1..3u8], any::<bool>());
    let member = member.prop_map(|(place, domain, shg, pops)| Member { place, domain, shg, pops });
    prop::collection::vec(member, 2..10).prop_map(|mut all| {
        let mut seen = Vec::new();
        all.retain(|m| {
            !seen.contains(&m.place) && {
                seen.push(m.place);
                true
            }
        });
        all
    })
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let vlan = prop_oneof![Just(None), (10..14u16).prop_map(Some)];
    let to = prop_oneof![1 => Just(None), 4 => (0..STATIONS).prop_map(Some)];
    let send = (0..PORTS, vlan, 0..STATIONS, to);
    let send = send.prop_map(|(port, vlan, source, destination)| Op::Send {
        port,
        vlan,
        source,
        destination,
    });
    let what =
        prop_oneof![Just(What::Learn), Just(What::Forward), Just(What::Flood), Just(What::UuFlood)];
    let switch = (1..=DOMAINS, what, any::<bool>()).prop_map(|(domain, what, on)| Op::Switch {
        domain,
        what,
        on,
    });
    let filter = (1..=DOMAINS, 0..STATIONS, any::<bool>())
        .prop_map(|(domain, station, on)| Op::Filter { domain, station, on });
    let op = prop_oneof![
        20 => send,
        1 => switch,
        1 => (1..=DOMAINS).prop_map(|domain| Op::Flush { domain }),
        1 => filter,
        1 => (0..10usize).prop_map(|member| Op::Leave { member }),
    ];
    prop::collection::vec(op, 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[suite::test]
    fn frames_go_where_a_plain_bridge_sends_them(made in members(), ops in ops()) {
        let mut rig = rig(PORTS);
        for id in 1..=DOMAINS {
            rig.cli(&format!("create bridge-domain {id}"));
        }
        for m in &made {
            let name = m.place.name();
            if let Some(vlan) = m.place.vlan {
                rig.cli(&format!("create sub-interfaces p{} {vlan}", m.place.port));
                rig.cli(&format!("set interface state {name} up"));
            }
            rig.cli(&format!("set interface l2 bridge {name} {} {}", m.domain, m.shg));
            if m.pops && m.place.vlan.is_some() {
                rig.cli(&format!("set interface l2 tag-rewrite {name} pop 1"));
            }
        }
        let mut model = Model::new(&made);
        for (n, op) in ops.into_iter().enumerate() {
            match op {
                Op::Send { port, vlan, source, destination } => {
                    let to = destination.map_or(MacAddr::BROADCAST, host);
                    let inner = frame_to(host(source), to, n as u8);
                    let sent = vlan.map_or_else(|| inner.clone(), |id| tagged(id, &inner));
                    let want = model.send(&made, (port, vlan), (source, destination), &inner);
                    prop_assert_eq!(rig.pass(port, &sent), want, "{} of {} to {:?}", n, source, destination);
                }
                Op::Switch { domain, what, on } => {
                    let d = model.domains.get_mut(&domain).expect("there");
                    let (word, flag) = match what {
                        What::Learn => ("learn", &mut d.learn),
                        What::Forward => ("forward", &mut d.forward),
                        What::Flood => ("flood", &mut d.flood),
                        What::UuFlood => ("uu-flood", &mut d.uu_flood),
                    };
                    *flag = on;
                    rig.cli(&format!("set bridge-domain {word} {domain}{}", if on { "" } else { " disable" }));
                }
                Op::Flush { domain } => {
                    rig.cli(&format!("l2fib flush-mac bridge-domain {domain}"));
                    model.domains.get_mut(&domain).expect("there").stations.clear();
                }
                Op::Filter { domain, station, on } => {
                    let d = model.domains.get_mut(&domain).expect("there");
                    if on {
                        rig.cli(&format!("l2fib add {} {domain} filter", host(station)));
                        d.stations.remove(&station);
                        d.filtered.push(station);
                    } else if d.filtered.contains(&station) {
                        rig.cli(&format!("l2fib del {} {domain}", host(station)));
                        d.filtered.retain(|other| *other != station);
                    }
                }
                Op::Leave { member } => {
                    if let Some(m) = model.members.get_mut(member).and_then(Option::take) {
                        rig.cli(&format!("set interface l3 {}", m.place.name()));
                        let d = model.domains.get_mut(&m.domain).expect("there");
                        d.stations.retain(|_, at| *at != member);
                    }
                }
            }
        }
        let pops = rig.count("l2-output", "L2 output tag rewrite drops");
        prop_assert_eq!(pops, 0);
    }
}
