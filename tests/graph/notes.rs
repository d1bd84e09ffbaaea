// SPDX-License-Identifier: Apache-2.0
//! Notes beside answers: commands that do what they were told, where that may be a mistake.

use daemon::plugins;
use fixture::tree;
use graph::drive::Bench;

const GROUND: &str = "create loopback interface
    create loopback interface
    set interface state loop0 up
    set interface state loop1 up
    ip table add 7
    ip6 table add 7
    set interface ip address loop0 10.0.0.1/24
    set interface ip address loop0 2001:db8::1/64
    set interface ip table loop1 7
    set interface ip address loop1 10.7.0.1/24
    set acl-plugin acl permit";

struct Notes {
    bench: Bench,
    tree: cli::Tree<graph::World>,
}

impl Notes {
    fn new() -> Self {
        let this = Self { bench: Bench::new(plugins::ALL), tree: tree() };
        for line in GROUND.lines() {
            assert_eq!(this.of(line), [""; 0], "{line}");
        }
        this
    }

    #[track_caller]
    fn of(&self, line: &str) -> Vec<String> {
        let notes = self.tree.notes(&self.bench.world, line.trim());
        let notes = notes.unwrap_or_else(|e| panic!("{line}: {e}"));
        let text = |note: &String| note.trim_start_matches("note: ").trim_end().to_string();
        notes.iter().map(text).collect()
    }

    #[track_caller]
    fn has(&self, line: &str, note: &str) {
        assert_eq!(self.of(line), [note], "{line}");
    }

    #[track_caller]
    fn none(&self, line: &str) {
        assert_eq!(self.of(line), [""; 0], "{line}");
    }
}

#[test]
fn a_next_hop_that_is_our_own_address_is_noted() {
    let notes = Notes::new();
    let own = "the next hop 10.0.0.1 is this router's own address, of loop0";
    for line in [
        "ip route add 10.1.0.0/16 via 10.0.0.1",
        "ip route add 10.2.0.0/16 via 10.0.0.1 loop0",
        "ip route add table 7 10.3.0.0/16 via 10.0.0.1 next-hop-table 0",
        "abf policy add id 1 acl 0 via 10.0.0.1",
        "l3xc add loop1 via 10.0.0.1",
        "ip mroute add 232.1.1.1 via 10.0.0.1 loop0 Forward",
        "ip punt redirect add rx loop1 via 10.0.0.1 loop0",
        "create teib loop0 peer 10.9.9.9 nh 10.0.0.1",
    ] {
        notes.has(line, own);
    }
    notes.has(
        "ip route add 2001:db8:1::/48 via 2001:db8::1",
        "the next hop 2001:db8::1 is this router's own address, of loop0",
    );
    for line in [
        "ip route add 10.4.0.0/16 via 10.0.0.2",
        // Another table's: the address isn't ours there.
        "ip route add table 7 10.5.0.0/16 via 10.0.0.1",
        "ip route del 10.1.0.0/16 via 10.0.0.1",
        "l3xc del loop1",
        "ip mroute del 232.1.1.1 via 10.0.0.1 loop0",
        "abf policy del id 1 acl 0 via 10.0.0.1",
    ] {
        notes.none(line);
    }
}

#[test]
fn bits_behind_the_length_of_a_network_are_noted() {
    let notes = Notes::new();
    let note = |text: &str, network: &str| {
        format!("{text} has bits behind its length: it stands for {network}")
    };
    for (line, text, network) in [
        ("ip route add 10.1.2.3/8 via 10.0.0.2", "10.1.2.3/8", "10.0.0.0/8"),
        ("ip route add 2001:db8::7/32 via drop", "2001:db8::7/32", "2001:db8::/32"),
        ("ip route del 10.0.0.9/8", "10.0.0.9/8", "10.0.0.0/8"),
        ("ip mroute add 232.1.1.1/24 Drop", "232.1.1.1/24", "232.1.1.0/24"),
        ("set urpf-accept add 10.8.0.1/16", "10.8.0.1/16", "10.8.0.0/16"),
        ("svs table add ip4 table-id 9", "", ""),
        ("svs route add 10.6.0.1/16 table-id 9 src-table-id 7", "10.6.0.1/16", "10.6.0.0/16"),
        ("ip6 nd loop0 prefix 2001:db8::1/64", "2001:db8::1/64", "2001:db8::/64"),
    ] {
        match text {
            "" => notes.none(line),
            text => notes.has(line, &note(text, network)),
        }
    }
    for line in [
        "ip route add 10.9.0.0/16 via 10.0.0.2",
        "ip route add 10.9.0.1/32 via 10.0.0.2",
        "ip route add 0.0.0.0/0 via 10.0.0.2",
        // An interface has an address, and only what is set is noted.
        "set interface ip address loop0 10.10.0.1/16",
        "set interface ip address del loop0 10.10.0.1/16",
        "show ip fib 10.9.0.0/8 longer-prefixes",
    ] {
        notes.none(line);
    }
}

#[test]
fn a_further_path_by_a_repeated_command_is_noted() {
    let notes = Notes::new();
    let more = |n| {
        format!(
            "10.1.0.0/16 has {n} paths now, which share its packets; \
             `ip route del 10.1.0.0/16 via …' removes one"
        )
    };
    notes.none("ip route add 10.1.0.0/16 via 10.0.0.2");
    notes.none("ip route add 10.1.0.0/16 via 10.0.0.2");
    notes.has("ip route add 10.1.0.0/16 via 10.0.0.3", &more(2));
    notes.has("ip route add 10.1.0.0/16 via 10.0.0.4", &more(3));
    notes.none("ip route del 10.1.0.0/16 via 10.0.0.4");
    notes.none("ip route add 10.2.0.0/16 via 10.0.0.2 via 10.0.0.3");
    notes.none("ip route add table 7 10.1.0.0/16 via 10.7.0.2");
}

#[test]
fn a_source_of_a_tunnel_that_is_not_ours_is_noted() {
    let notes = Notes::new();
    let creates = |source: &str, table: &str| -> Vec<String> {
        let ends = |here, there| format!("{here} {source} {there} 192.0.2.1");
        let (src, local) = (ends("src", "dst"), ends("local", "remote"));
        vec![
            format!("create vxlan tunnel {src} vni 9 encap-vrf-id {table}"),
            format!("create vxlan-gpe tunnel {local} vni 9 encap-vrf-id {table}"),
            format!("create gre tunnel {src} outer-fib-id {table}"),
            format!("create ipip tunnel {src} outer-table-id {table}"),
            format!("create geneve tunnel {local} vni 9 encap-vrf-id {table}"),
            format!("create gtpu tunnel {src} teid 9 encap-vrf-id {table}"),
            format!(
                "create 6rd tunnel ip6-pfx 2a01:{}::/32 ip4-pfx 10.0.0.0/8 ip4-src {source} \
                 ip4-table-id {table}",
                source.replace('.', "").parse::<u64>().unwrap() % 1000
                    + table.parse::<u64>().unwrap()
            ),
            format!("udp encap add {source} 192.0.2.1 4000 4001 table-id {table}"),
        ]
    };
    let note = |source: &str, place: &str| {
        format!(
            "the source {source} is no address of this router{place}: packets to it don't come \
             out of the tunnel until it is one"
        )
    };
    for line in creates("10.0.0.99", "0") {
        notes.has(&line, &note("10.0.0.99", ""));
    }
    for line in creates("10.0.0.1", "7") {
        notes.has(&line, &note("10.0.0.1", " in table 7"));
    }
    notes.has("create l2tpv3 tunnel client 2001:db8::2 our 2001:db8::9", &note("2001:db8::9", ""));
    notes.none("create l2tpv3 tunnel client 2001:db8::3 our 2001:db8::1");
    for line in creates("10.0.0.1", "0").iter().chain(&creates("10.7.0.1", "7")) {
        notes.none(line);
    }
    // An address that only a route makes ours.
    notes.none("ip route add 10.8.8.8/32 via local");
    notes.none("create ipip tunnel src 10.8.8.8 dst 192.0.2.1");
}

#[test]
fn a_bridge_domain_that_is_made_in_passing_is_noted() {
    let notes = Notes::new();
    notes.none("create bridge-domain 100");
    notes.none("set interface l2 bridge loop0 100 bvi");
    assert_eq!(
        notes.of("set interface l2 bridge loop0 200 bvi"),
        ["bridge domain 200 wasn't there: it was made", "loop0 has left bridge domain 100"]
    );
    notes.has("set interface l2 bridge loop0 100 bvi", "loop0 has left bridge domain 200");
    notes.none("set interface l2 bridge loop0 100 bvi");
}

#[test]
fn only_an_operator_gets_notes() {
    let notes = Notes::new();
    let world = &notes.bench.world;
    let line = "uncomment {\nip route add 10.1.0.1/16 via 10.0.0.2\nshow version\n}";
    // The answer is what it is without notes.
    assert!(!notes.tree.answer(world, line).unwrap().contains("note"));
    let noted = notes.tree.notes(world, line).unwrap();
    assert_eq!(noted.len(), 1);
    assert!(noted[0].starts_with("uncomment:2: note: 10.1.0.1/16 has bits"), "{noted:?}");
}
