// SPDX-License-Identifier: Apache-2.0
//! Benchmark scenarios.

use crate::side::INPUTS;
use crate::tunnels::{Kind, Tunnels};
use testkit::internet::Traffic;

/// Which protocol's packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    Ip4,
    Ip6,
    /// Frames that are switched.
    Ethernet,
    /// Packets of IPv4 into tunnels or out of them.
    Tunnels(Tunnels),
}

impl Family {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ip4 => "ip4",
            Self::Ip6 => "ip6",
            Self::Ethernet => "l2",
            Self::Tunnels(_) => "tunnel",
        }
    }
}

/// A router: scenarios with the same one share an instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Table {
    pub family: Family,
    /// Routes of the shape of the Internet's; up to 16, that many /16 or /32 side by side. Of
    /// switched frames: stations of a bridge domain, half of them behind each port; 0 for a
    /// cross-connect. The number of tunnels.
    pub routes: usize,
    /// Interfaces that the routes lead out by.
    pub outputs: usize,
    /// Number of next hops of each route: the size of its ECMP group.
    pub paths: usize,
    /// Packets have [`crate::side::SENDERS`] sources, with a route back, and strict uRPF is on.
    pub urpf: bool,
    /// Packets have [`crate::side::SENDERS`] sources, and are held against so many rules of an ACL,
    /// of which the last one permits them. 0 for no ACL.
    pub rules: usize,
    /// The last rule makes a session of each flow.
    pub reflect: bool,
    /// Established connections of TCP through the zone firewall, whose packets they are; 0 for no
    /// firewall.
    pub connections: usize,
    /// Packets arrive and leave on sub-interfaces with one tag each; the number of VLANs on input,
    /// used in rotation. 0 for no tags.
    pub vlans: u16,
}

impl Table {
    /// One output, one path for each route, no feature.
    fn of(family: Family, routes: usize) -> Self {
        Self {
            family,
            routes,
            outputs: 1,
            paths: 1,
            urpf: false,
            rules: 0,
            reflect: false,
            connections: 0,
            vlans: 0,
        }
    }
}

/// A router, its traffic, and what the peer and we aim at.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub name: String,
    pub table: Table,
    pub traffic: Traffic,
    /// Packets that an input brings at once.
    pub vector: usize,
    /// Interfaces that packets come in by, one after the other in each turn: they meet in one
    /// vector.
    pub inputs: usize,
    /// Each route counts its packets.
    pub counters: bool,
    /// The super-path is on; else packets go through the graph node by node.
    pub super_path: bool,
    /// FD.io VPP 26.06 on the reference machine, clocks per packet; the better of as built and
    /// tuned for the processor.
    pub peer: Option<f64>,
    /// Target, clocks per packet.
    pub target: Option<f64>,
}

/// Two scenarios whose ratio is a promise.
#[derive(Clone, Copy, Debug)]
pub struct Promise {
    pub large: &'static str,
    pub small: &'static str,
    pub at_most: f64,
}

/// Speed doesn't depend on the size of the tables: beside one flow over one route, which is looked
/// up once a block, and beside as many flows over one route. Ten thousand tunnels are to cost
/// little more than one.
pub const PROMISES: &[Promise] = &[
    Promise { large: "ip4-1M-uniform", small: "ip4-1", at_most: 1.25 },
    Promise { large: "ip4-1M-uniform", small: "ip4-1-uniform", at_most: 1.25 },
    Promise { large: "ip6-200k-uniform", small: "ip6-1", at_most: 1.3 },
    Promise { large: "ip6-200k-uniform", small: "ip6-1-uniform", at_most: 1.3 },
    Promise { large: "tunnel-ipip-in-10k", small: "tunnel-ipip-in-1", at_most: 1.5 },
    Promise { large: "tunnel-ipip-out-10k", small: "tunnel-ipip-out-1", at_most: 1.5 },
];

/// Every scenario.
pub fn all() -> Vec<Scenario> {
    use Family::{Ip4, Ip6};
    use Traffic::{OneFlow, Uniform, Zipf};
    let mut all = Vec::new();
    // VPP's figures: quiet machine, route counters on, see docs/performance.md.
    let mut add = |family, routes, traffic, peer, target| {
        let table = Table::of(family, routes);
        for counters in [false, true] {
            all.push(Scenario::new(table, traffic, 256, counters, peer, target));
        }
    };
    add(Ip4, 1, OneFlow, Some(51.6), Some(38.0));
    add(Ip4, 1, Uniform, None, None);
    add(Ip4, 10_000, OneFlow, None, None);
    add(Ip4, 10_000, Zipf, None, None);
    add(Ip4, 10_000, Uniform, None, None);
    add(Ip4, 100_000, OneFlow, None, None);
    add(Ip4, 100_000, Zipf, Some(93.0), Some(44.0));
    add(Ip4, 100_000, Uniform, Some(143.0), Some(46.0));
    add(Ip4, 1_000_000, OneFlow, None, None);
    add(Ip4, 1_000_000, Zipf, Some(103.0), Some(46.0));
    add(Ip4, 1_000_000, Uniform, Some(229.0), Some(48.0));
    add(Ip6, 1, OneFlow, Some(72.0), Some(48.0));
    add(Ip6, 1, Uniform, None, None);
    add(Ip6, 20_000, OneFlow, None, None);
    add(Ip6, 20_000, Zipf, Some(210.0), Some(55.0));
    add(Ip6, 20_000, Uniform, Some(252.0), Some(55.0));
    add(Ip6, 200_000, OneFlow, None, None);
    add(Ip6, 200_000, Zipf, Some(439.0), Some(60.0));
    add(Ip6, 200_000, Uniform, Some(800.0), Some(62.0));
    add(Ip6, 1_000_000, Zipf, None, None);
    add(Ip6, 1_000_000, Uniform, Some(2497.0), Some(72.0));
    for family in [Ip4, Ip6] {
        let table = Table::of(family, 1);
        for (vector, vpp, target) in
            [(64, 59.0, 43.0), (16, 163.0, 65.0), (4, 500.0, 150.0), (1, 744.0, 450.0)]
        {
            let known = family == Ip4;
            let (peer, target) = (known.then_some(vpp), known.then_some(target));
            all.push(Scenario::new(table, OneFlow, vector, true, peer, target));
        }
        for (outputs, vpp) in [(2, 66.5), (4, 58.0)] {
            // One clock more than over one output.
            let (peer, target) =
                if family == Ip4 { (Some(vpp), Some(39.0)) } else { (None, Some(49.0)) };
            let table = Table { outputs, ..Table::of(family, outputs) };
            for counters in [false, true] {
                all.push(Scenario::new(table, Uniform, 256, counters, peer, target));
            }
        }
        let middle = if family == Ip4 { 10_000 } else { 20_000 };
        let table = Table::of(family, middle);
        for vector in [32, 96] {
            all.push(Scenario::new(table, Uniform, vector, true, None, None).by_inputs(INPUTS));
        }
        let table = Table { paths: 2, ..table };
        all.push(Scenario::new(table, Uniform, 256, true, None, None));
        // The aims are those of IPv4 with features; VPP was measured with the same packets.
        let table = Table { urpf: true, ..Table::of(family, 1) };
        let figure = |clocks| (family == Ip4).then_some(clocks);
        let checked = Scenario::new(table, Uniform, 256, true, figure(77.0), figure(50.0));
        all.push(Scenario { target: figure(62.0), ..checked.clone().by_the_graph() });
        all.push(checked);
        for (rules, reflect, peer, target) in [
            (1, false, Some(136.0), Some(54.0)),
            (50, false, Some(150.0), Some(60.0)),
            (1000, false, Some(227.0), Some(91.0)),
            (10_000, false, None, None),
            (100_000, false, None, None),
            (50, true, Some(106.0), Some(53.0)),
        ] {
            let table = Table { rules, reflect, ..Table::of(family, 1) };
            let known = |clocks: Option<f64>| clocks.filter(|_| family == Ip4);
            all.push(Scenario::new(table, Uniform, 256, true, known(peer), known(target)));
        }
        for (connections, target) in [(1000, 45.0), (1_000_000, 75.0)] {
            let table = Table { connections, ..Table::of(family, 1) };
            let held = Scenario::new(table, Uniform, 256, true, None, figure(target));
            all.push(Scenario { target: None, ..held.clone().by_the_graph() });
            all.push(held);
        }
        let table = Table { vlans: 1, ..Table::of(family, 1) };
        let tagged = Scenario::new(table, Uniform, 256, true, figure(71.0), figure(45.0));
        let table = Table { vlans: 16, ..table };
        let mixed = Scenario::new(table, Uniform, 256, true, None, None);
        for scenario in [tagged, mixed] {
            all.push(Scenario { target: None, ..scenario.clone().by_the_graph() });
            all.push(scenario);
        }
        let large = if family == Ip4 { 1_000_000 } else { 200_000 };
        for (routes, traffic) in [(1, OneFlow), (large, Uniform)] {
            let table = Table::of(family, routes);
            all.push(Scenario::new(table, traffic, 256, false, None, None).by_the_graph());
        }
    }
    for (stations, peer, target) in [
        (0, 27.0, 18.0),
        (1, 48.0, 30.0),
        (10_000, 87.0, 42.0),
        (100_000, 135.0, 50.0),
        (1_000_000, 346.0, 85.0),
    ] {
        let table = Table::of(Family::Ethernet, stations);
        let switched = Scenario::new(table, Uniform, 256, false, Some(peer), Some(target));
        all.push(switched.clone().by_the_graph());
        all.push(switched);
    }
    // The other kinds of datagrams have the aims of VXLAN, by 1.15.
    let datagram = ((None, Some(57.5)), (None, Some(69.0)));
    for (kind, (into, out)) in [
        (Kind::IpIp, ((Some(82.0), Some(55.0)), (Some(191.0), Some(65.0)))),
        (Kind::Gre, ((Some(96.0), Some(55.0)), (Some(120.0), Some(65.0)))),
        (Kind::Vxlan, ((Some(71.0), Some(50.0)), (Some(118.0), Some(60.0)))),
        (Kind::Geneve, datagram),
        (Kind::Gtpu, datagram),
        (Kind::VxlanGpe, datagram),
        (Kind::L2tp, ((None, None), (None, None))),
        (Kind::Pppoe, ((None, None), (None, None))),
    ] {
        for (is_out, (peer, target)) in [(false, into), (true, out)] {
            let table = Table::of(Family::Tunnels(Tunnels { kind, out: is_out }), 1);
            all.push(Scenario::new(table, OneFlow, 256, false, peer, target));
            // One tunnel is cross-connected with the port that frames come in by.
            let is_one = kind.is_switched() && !is_out || matches!(kind, Kind::L2tp | Kind::Pppoe);
            if !is_one {
                let table = Table { routes: 10_000, ..table };
                all.push(Scenario::new(table, Uniform, 256, false, None, None));
            }
        }
    }
    all
}

impl Scenario {
    fn new(
        table: Table,
        traffic: Traffic,
        vector: usize,
        counters: bool,
        peer: Option<f64>,
        target: Option<f64>,
    ) -> Self {
        let mut name = format!("{}-{}", table.family.name(), short(table.routes));
        if table.family == Family::Ethernet {
            name = if table.routes == 0 {
                "l2-xconnect".into()
            } else {
                format!("l2-bridge-{}", short(table.routes))
            };
        } else if let Family::Tunnels(Tunnels { kind, out }) = table.family {
            name = format!(
                "tunnel-{}-{}-{}",
                kind.name(),
                if out { "out" } else { "in" },
                short(table.routes)
            );
        } else if table.outputs > 1 {
            name += "-mixed";
        } else {
            name += match traffic {
                Traffic::OneFlow if table.routes == 1 => "",
                Traffic::OneFlow => "-flow",
                Traffic::Zipf => "-zipf",
                Traffic::Uniform | Traffic::AllAddresses => "-uniform",
            };
        }
        if table.paths > 1 {
            name += &format!("-{}-paths", table.paths);
        }
        if table.urpf {
            name += "-urpf";
        }
        if table.rules > 0 {
            name += &format!("-acl-{}", short(table.rules));
        }
        if table.reflect {
            name += "-reflect";
        }
        if table.connections > 0 {
            name += &format!("-firewall-{}", short(table.connections));
        }
        match table.vlans {
            0 => {}
            1 => name += "-vlan",
            n => name += &format!("-{n}-vlans"),
        }
        if vector != 256 {
            name += &format!("-vector-{vector}");
        }
        if counters {
            name += "-counted";
        }
        Self { name, table, traffic, vector, inputs: 1, counters, super_path: true, peer, target }
    }

    /// The same packets, by several interfaces.
    fn by_inputs(self, inputs: usize) -> Self {
        Self { name: format!("{}-{inputs}-inputs", self.name), inputs, ..self }
    }

    /// The same without the super-path.
    fn by_the_graph(self) -> Self {
        Self { name: self.name + "-graph", super_path: false, ..self }
    }
}

/// 10k, 1M.
fn short(n: usize) -> String {
    match n {
        1_000_000.. => format!("{}M", n / 1_000_000),
        1000.. => format!("{}k", n / 1000),
        _ => n.to_string(),
    }
}
